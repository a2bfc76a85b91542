"""Keeps one copy of the ledger beside it, from which plans that the ledger has lost are taken back."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Collection
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from planloom.domain.text.counted import counted
from planloom.storage import memory_rows

MOST_BYTES: Final = 200_000_000
"""A larger ledger is not copied."""
KEPT_DAYS: Final = 30
"""For so many days the copy of a ledger that has lost all its plans is not replaced by one of what came after it."""
OF_PLANS: Final = ("events", "blobs", "progress", "open_work", "compactions", "outcomes", *memory_rows.TABLES)
"""The tables with rows of plans, beside that of the plans, which another server can use as they are."""
_COUNTED: Final = ("templates", "compactions", *memory_rows.TABLES)
_PLAN: Final = "plan_id, session_id, workspace, created_at, updated_at, status, version, seq, request"
_ERRORS: Final = (sqlite3.Error, OSError, UnicodeDecodeError)
log = logging.getLogger(__name__)


class Backup(NamedTuple):
    """A copy of the ledger: when it was made, and the ids of its plans."""

    path: Path
    made: datetime
    plans: frozenset[str]

    @property
    def sentence(self) -> str:
        """Names the time of the copy and what is in it."""
        return f"A backup of {self.made:%Y-%m-%d %H:%M} holds {counted(len(self.plans), 'plan')}"


def backup_path(ledger: Path) -> Path:
    """Where the copy of a ledger is."""
    return ledger.with_name(f"{ledger.name}.backup")


def backup_of(ledger: Path) -> Backup | None:
    """The copy of a ledger; None if there is none that can be read and has a plan."""
    path = backup_path(ledger)
    try:
        with closing(_reading(path)) as copy:
            plans = _ids(copy)
        return Backup(path, datetime.fromtimestamp(path.stat().st_mtime), plans) if plans else None
    except _ERRORS:
        return None


def back_up(ledger: Path) -> bool:
    """Copy a ledger if it has changed since it was copied last; whether it was. Call it from a thread.

    Servers go on reading and writing meanwhile, for which the ledger must have a log. A damaged ledger does not replace
    a copy, and for `KEPT_DAYS` neither does one that shares no plan with it: its file was emptied or exchanged.
    """
    path, new = backup_path(ledger), ledger.with_name(f"{ledger.name}.backup-new")
    try:
        with closing(_reading(ledger)) as source:
            size = _value(source, "PRAGMA page_count") * _value(source, "PRAGMA page_size")
            plans = _ids(source)
            if not plans or size > MOST_BYTES or _value(source, "PRAGMA journal_mode") != "wal":
                return False
            if path.exists() and _keeps(path, _mark(source), plans):
                return False
            _remove(new)
            new.touch(mode=0o600)
            with closing(sqlite3.connect(new, isolation_level=None)) as copy:
                source.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")
                copy.execute("DELETE FROM leases")
                if _value(copy, "PRAGMA quick_check(1)") != "ok":
                    raise sqlite3.DatabaseError("it is damaged")
        with new.open("rb+") as file:
            os.fsync(file.fileno())
        new.replace(path)
        return True
    except _ERRORS as error:
        log.info("the ledger is not copied: %s", error)
        _remove(new)
        return False


def drop_backup(ledger: Path) -> None:
    """Remove the copy of a ledger, which holds a plan that the user has deleted."""
    backup_path(ledger).unlink(missing_ok=True)


def add_plans(ledger: sqlite3.Connection, backup: Backup) -> None:
    """Add the plans of a backup that a ledger lacks, as older than its own. Raises sqlite3.Error."""
    ledger.execute("ATTACH ? AS backup", (str(backup.path),))
    ledger.execute("PRAGMA synchronous = FULL")
    ledger.execute("BEGIN")
    lacking = "plan_id NOT IN (SELECT plan_id FROM main.plans)"
    for table in OF_PLANS:
        ledger.execute(f"INSERT OR IGNORE INTO main.{table} SELECT * FROM backup.{table} WHERE {lacking}")
    ledger.execute("INSERT OR IGNORE INTO main.templates SELECT * FROM backup.templates")
    first = _value(ledger, "SELECT ifnull(min(rowid), 1) FROM main.plans")
    last = _value(ledger, "SELECT ifnull(max(rowid), 0) FROM backup.plans")
    ledger.execute(
        f"INSERT INTO main.plans (rowid, {_PLAN}) SELECT rowid - ? + ? - 1, {_PLAN} FROM backup.plans WHERE {lacking}",
        (last, first),
    )
    ledger.execute("COMMIT")


def _keeps(path: Path, mark: tuple[int, ...], plans: Collection[str]) -> bool:
    """Whether the copy at a path is as new as a ledger with this mark and these plans, or of another one."""
    try:
        with closing(_reading(path)) as copy:
            earlier = _ids(copy)
            if _mark(copy) == mark and earlier == plans:
                return True
    except _ERRORS:
        return False
    return earlier.isdisjoint(plans) and time.time() - path.stat().st_mtime < KEPT_DAYS * 86_400


def _mark(connection: sqlite3.Connection) -> tuple[int, ...]:
    """A few numbers that change with the ledger."""
    counts = (_value(connection, f"SELECT count(*) FROM {table}") for table in _COUNTED)
    return (_value(connection, "SELECT ifnull(sum(seq), 0) FROM plans"), *counts)


def _ids(connection: sqlite3.Connection) -> frozenset[str]:
    return frozenset(row[0] for row in connection.execute("SELECT plan_id FROM plans"))


def _value(connection: sqlite3.Connection, statement: str) -> Any:
    return connection.execute(statement).fetchone()[0]


def _reading(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)


def _remove(path: Path) -> None:
    for end in ("", "-journal"):
        path.with_name(path.name + end).unlink(missing_ok=True)
