"""The ledger: every event of every plan, durable before anyone hears of it.

Appending is synchronous on purpose. A commit takes a tenth of a millisecond, a thread hop more than that, and an
append that suspends would let two requests interleave on one plan.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import sys
import time
import uuid
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from planloom.domain import events as ev
from planloom.domain.errors import StorageFailed
from planloom.domain.plan import Plan, PlanStatus
from planloom.domain.values import Instant, PlanId, SessionId, Sha256, TemplateId
from planloom.storage.schema import NewerSchema, migrate

LEASE_SECONDS = 15.0
"""How long a lease holds after it was last renewed; its holder renews it three times as often."""
_BUSY_MS = 2_000
log = logging.getLogger(__name__)


class Lease(NamedTuple):
    """Which server process runs a plan; `since` is RFC 3339."""

    owner: str
    pid: int
    since: str


class Ledger:
    """Events, blobs and leases in one SQLite file, shared by every server of the user.

    If the file cannot be opened or written, the ledger goes on in memory and `problem` says why in a sentence.
    """

    def __init__(self, path: Path | None) -> None:
        """Open or make the ledger at `path`; None keeps it in memory."""
        self.path = path
        self.problem: str | None = None
        self.owner = uuid.uuid4().hex
        self._connection = self._open()
        self._waits: bool | None = None

    def append(self, recorded: Sequence[ev.Recorded], plan: Plan) -> None:
        """Write events of one plan, and where the plan stands after them, in one transaction."""
        durable = any(isinstance(each.event, ev.DURABLE) for each in recorded)
        try:
            self._append(recorded, plan, durable=durable)
        except sqlite3.IntegrityError as error:
            raise StorageFailed(f"Another server wrote to this plan meanwhile ({error}).") from error
        except sqlite3.Error as error:
            self._go_on_in_memory(error)
            self._append(recorded, plan, durable=False)

    def _append(self, recorded: Sequence[ev.Recorded], plan: Plan, *, durable: bool) -> None:
        rows = [
            (
                each.plan_id,
                each.seq,
                each.at.isoformat(),
                each.event.type,
                ev.events.dump_json(each.event).decode(),
            )
            for each in recorded
        ]
        with self._transaction(durable=durable) as connection:
            connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", rows)
            known = connection.execute(
                "UPDATE plans SET updated_at = ?, status = ?, version = ?, seq = ? WHERE plan_id = ?",
                (_iso(plan.updated_at), plan.status, plan.version, plan.seq, plan.plan_id),
            )
            if known.rowcount:
                return
            connection.execute(
                "INSERT INTO plans VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    plan.plan_id,
                    plan.session_id,
                    workspace_key(plan.workspace_folders),
                    _iso(plan.created_at),
                    _iso(plan.updated_at),
                    plan.status,
                    plan.version,
                    plan.seq,
                    plan.request,
                ),
            )

    def events(self, plan_id: PlanId, after: int = 0, limit: int | None = None) -> Iterator[ev.Recorded]:
        """The events of a plan with a `seq` above `after`, in order."""
        rows = self._connection.execute(
            "SELECT e.seq, e.at, e.body, p.session_id FROM events e JOIN plans p USING (plan_id)"
            " WHERE e.plan_id = ? AND e.seq > ? ORDER BY e.seq LIMIT ?",
            (plan_id, after, -1 if limit is None else limit),
        ).fetchall()
        for seq, at, body, session in rows:
            yield ev.Recorded.model_construct(
                seq=seq,
                plan_id=plan_id,
                session_id=SessionId(session),
                at=_instant(at),
                event=ev.events.validate_json(body),
            )

    def plans(
        self,
        *,
        workspace: str | None = None,
        session_id: SessionId | None = None,
        statuses: Iterable[PlanStatus] = (),
        limit: int = 100,
    ) -> tuple[PlanId, ...]:
        """Plans, newest first, by workspace, session and status where given."""
        clauses, values = ["1"], list[object]()
        if workspace is not None:
            clauses.append("workspace = ?")
            values.append(workspace)
        if session_id is not None:
            clauses.append("session_id = ?")
            values.append(session_id)
        wanted = tuple(statuses)
        if wanted:
            clauses.append(f"status IN ({', '.join('?' * len(wanted))})")
            values.extend(wanted)
        rows = self._connection.execute(
            f"SELECT plan_id FROM plans WHERE {' AND '.join(clauses)} ORDER BY created_at DESC, plan_id LIMIT ?",
            (*values, limit),
        )
        return tuple(PlanId(row[0]) for row in rows)

    def delete(self, plan_id: PlanId) -> None:
        """Forget a plan with its events and blobs."""
        with self._transaction(durable=True) as connection:
            for table in ("events", "blobs", "leases", "plans"):
                connection.execute(f"DELETE FROM {table} WHERE plan_id = ?", (plan_id,))

    def keep(self, plan_id: PlanId, texts: Iterable[tuple[Sha256, str]]) -> None:
        """Keep texts by hash. They are durable with the next durable event, since one file holds both."""
        rows = [(digest, plan_id, zlib.compress(_bytes(text), 1)) for digest, text in texts]
        try:
            with self._transaction(durable=False) as connection:
                connection.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?, ?)", rows)
        except sqlite3.Error as error:
            self._go_on_in_memory(error)
            with self._transaction(durable=False) as connection:
                connection.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?, ?)", rows)

    def text(self, digest: Sha256) -> str | None:
        """A text by its hash, if it is kept."""
        row = self._connection.execute(
            "SELECT body FROM blobs WHERE sha256 = ? LIMIT 1", (digest,)
        ).fetchone()
        return None if row is None else zlib.decompress(row[0]).decode("utf-8", "surrogatepass")

    def templates(self) -> tuple[str, ...]:
        """The saved templates, as JSON."""
        return tuple(row[0] for row in self._connection.execute("SELECT body FROM templates"))

    def keep_template(self, template_id: TemplateId, body: str) -> None:
        """Keep a template. Raises StorageFailed."""
        try:
            with self._transaction(durable=True) as connection:
                connection.execute("INSERT OR REPLACE INTO templates VALUES (?, ?)", (template_id, body))
        except sqlite3.Error as error:
            raise StorageFailed(f"The template could not be saved ({error}).") from error

    def drop_template(self, template_id: TemplateId) -> None:
        """Forget a template."""
        with self._transaction(durable=True) as connection:
            connection.execute("DELETE FROM templates WHERE template_id = ?", (template_id,))

    def claim(self, plan_id: PlanId, now: str) -> Lease | None:
        """Take or renew the lease of a plan. Returns the other holder's lease if there is a live one."""
        with self._transaction(durable=False) as connection:
            row = connection.execute(
                "SELECT owner, pid, since, renewed FROM leases WHERE plan_id = ?", (plan_id,)
            ).fetchone()
            if row is not None and row[0] != self.owner and _alive(row[1], row[3]):
                return Lease(*row[:3])
            since = row[2] if row is not None and row[0] == self.owner else now
            connection.execute(
                "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?)",
                (plan_id, self.owner, os.getpid(), since, time.time()),
            )
        return None

    def renew(self, plan_ids: Iterable[PlanId]) -> None:
        """Renew the leases that this process holds."""
        with self._transaction(durable=False) as connection:
            connection.executemany(
                "UPDATE leases SET renewed = ? WHERE plan_id = ? AND owner = ?",
                [(time.time(), plan_id, self.owner) for plan_id in plan_ids],
            )

    def release(self) -> None:
        """Give every lease of this process back."""
        try:
            with self._transaction(durable=False) as connection:
                connection.execute("DELETE FROM leases WHERE owner = ?", (self.owner,))
        except sqlite3.Error as error:
            log.warning("leases were not given back: %s", error)

    def close(self) -> None:
        """Give leases back and close the file."""
        self.release()
        self._connection.close()

    def _open(self) -> sqlite3.Connection:
        if self.path is None:
            return _connected(":memory:")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self.path.exists():
                self.path.touch(mode=0o600)
            return _connected(self.path)
        except (OSError, sqlite3.Error, NewerSchema) as error:
            self.problem = (
                f"The plan ledger {self.path} cannot be used ({error}); plans are kept in memory only."
            )
            log.error("%s", self.problem)
            return _connected(":memory:")

    def _go_on_in_memory(self, error: sqlite3.Error) -> None:
        """Keep working after the disk failed: what can still be read comes along."""
        self.problem = (
            f"The plan ledger cannot be written ({error}); from here on plans are kept in memory only."
        )
        log.error("%s", self.problem)
        memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        try:
            self._connection.rollback()
            self._connection.backup(memory)
        except sqlite3.Error as unreadable:
            log.error("the old ledger cannot be read either: %s", unreadable)
            memory = _connected(":memory:")
        self._connection = memory
        self._waits = None

    @contextmanager
    def _transaction(self, *, durable: bool) -> Iterator[sqlite3.Connection]:
        """One transaction; a durable one waits until the disk has it."""
        connection = self._connection
        if durable != self._waits:
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._waits = durable
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.rollback()
            raise
        connection.execute("COMMIT")


def workspace_key(folders: Sequence[str]) -> str:
    """What tells one workspace from another: its folders in order."""
    return "\n".join(folders)


def _connected(where: Path | str) -> sqlite3.Connection:
    connection = sqlite3.connect(where, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
    connection.execute("PRAGMA journal_mode = WAL")
    migrate(connection)
    return connection


def _alive(pid: int, renewed: float) -> bool:
    """Whether a lease holds: its process lives on this machine and renewed it lately."""
    if time.time() - renewed > LEASE_SECONDS:
        return False
    if sys.platform == "win32":  # There, signal 0 would end the process that it asks about.
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _iso(at: Instant | None) -> str:
    return "" if at is None else at.isoformat()


def _instant(text: str) -> Instant:
    return datetime.fromisoformat(text)
