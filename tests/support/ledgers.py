"""Ledgers as faults and crashes leave them."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from planloom.storage.ledger import Ledger

Kind = Literal["full", "busy", "read_only", "io"]
_ERRORS: dict[Kind, tuple[int, str]] = {
    "full": (sqlite3.SQLITE_FULL, "database or disk is full"),
    "busy": (sqlite3.SQLITE_BUSY, "database is locked"),
    "read_only": (sqlite3.SQLITE_READONLY, "attempt to write a readonly database"),
    "io": (sqlite3.SQLITE_IOERR, "disk I/O error"),
}


def cut_back(path: Path, last: int, status: str | None = None) -> None:
    """Take from a ledger what came after event `last`, as if its server had died then."""
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("DELETE FROM events WHERE seq > ?", (last,))
        raw.execute("UPDATE plans SET seq = ?, status = coalesce(?, status)", (last, status))


def without_checksums(path: Path) -> None:
    """Take from the events of a ledger their checksums, which older servers did not write."""
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE events SET type = substr(type, 1, instr(type || ' ', ' ') - 1)")


def as_of_version(path: Path, version: int) -> None:
    """Take from a ledger what the versions of its schema after this one added, but for changes of its events."""
    without_checksums(path)
    with closing(sqlite3.connect(path)) as raw, raw:
        if version < 7:
            for table in ("memory", "memory_terms"):
                raw.execute(f"DROP TABLE {table}")
        if version < 6:
            raw.execute("DROP TABLE outcomes")
        if version < 5:
            for table in ("open_work", "compactions"):
                raw.execute(f"DROP TABLE {table}")
            for index in ("plans_by_status", "blobs_by_plan"):
                raw.execute(f"DROP INDEX {index}")
        if version < 3:
            raw.execute("DROP TABLE progress")
            raw.execute("DROP INDEX plans_by_workspace")
            raw.execute("DROP INDEX plans_by_session")
            raw.execute("CREATE INDEX plans_by_time ON plans (workspace, created_at DESC)")
            raw.execute("CREATE INDEX plans_by_session ON plans (session_id, created_at DESC)")
        raw.execute(f"PRAGMA user_version = {version}")


class Faults:
    """Makes the connections of a ledger fail at its n-th transaction, and at all after it, until `mend`.

    `when` says whether the transaction fails as it begins or as it ends; one that is to end is rolled back. With
    `statement` every statement but a rollback is counted, also while the ledger opens: the n-th fails, and those
    after it for as long as the file `marker` exists, which is made when the first one fails.
    """

    def __init__(
        self,
        kind: Kind,
        at: int,
        when: Literal["begin", "commit", "statement"] = "begin",
        marker: Path | None = None,
    ) -> None:
        self.kind = kind
        self.at = at
        self.when = when
        self.count = 0
        self.broken = False
        self.failed = asyncio.Event()
        self._marker = marker
        self._armed = when == "statement"

    def ledger(self, path: Path) -> Ledger:
        """A ledger that opens well and fails later; it waits for nobody who has locked it."""
        self._armed = False
        made = Ledger(path, connect=self.connect, patience=0.0)
        self._armed = True
        return made

    def mend(self) -> None:
        """From now on nothing fails any more."""
        self.at, self.broken = 10**9, False
        if self._marker is not None:
            self._marker.unlink(missing_ok=True)

    def arm(self, at: int) -> None:
        """Let the `at`-th statement from here on fail."""
        self.count, self.at = 0, at

    def connect(self, *args: Any, **named: Any) -> sqlite3.Connection:
        """What a Ledger takes as `connect`."""
        made = sqlite3.connect(*args, factory=_Connection, **named)
        assert isinstance(made, _Connection)
        made.faults = self
        return made

    def statement(self, statement: str) -> None:
        """A statement is about to be made. Raises sqlite3.OperationalError if it fails."""
        if not self._armed:
            return
        if self.when == "statement":
            self._any(statement)
            return
        begins, ends = statement.startswith("BEGIN"), statement == "COMMIT"
        self.count += begins
        if self.count < self.at:
            return
        if (begins and (self.broken or self.when == "begin")) or (ends and self.when == "commit"):
            self._fail()

    def _any(self, statement: str) -> None:
        if statement == "ROLLBACK":
            return
        self.count += 1
        if self.count == self.at:
            if self._marker is not None:
                self._marker.touch()
            self._fail()
        if self.broken and self._marker is not None and self._marker.exists():
            self._fail()

    def _fail(self) -> None:
        self.broken = True
        self.failed.set()
        code, text = _ERRORS[self.kind]
        error = sqlite3.OperationalError(text)
        error.sqlite_errorcode = code
        raise error


class _Connection(sqlite3.Connection):
    faults: Faults | None = None

    def execute(self, statement: str, values: Any = ()) -> sqlite3.Cursor:  # type: ignore[override]
        if self.faults is not None:
            self.faults.statement(statement)
        return super().execute(statement, values)

    def executemany(self, statement: str, values: Any) -> sqlite3.Cursor:  # type: ignore[override]
        if self.faults is not None and self.faults.when == "statement":
            self.faults.statement(statement)
        return super().executemany(statement, values)
