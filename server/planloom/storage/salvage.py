"""Copies what can be read of a damaged ledger into a fresh file, and puts that in its place.

The damaged file is locked meanwhile, so that no server writes what the copy would lack. Of what it holds nothing is
changed: it is kept under another name.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from planloom.domain.errors import StorageFailed
from planloom.storage.backup import Backup, add_plans
from planloom.storage.faults import DAMAGE, fault_of, reason
from planloom.storage.guard import guarded
from planloom.storage.leases import alive
from planloom.storage.opening import Connect, connected
from planloom.storage.schema import VERSION, NewerSchema, migrate, version_of

_BUSY_MS = 2000
_SHOWN = 5
"""How many faults of the file are named."""
_BY_PLAN = ("events", "blobs", "compactions")
_IDS = (
    "SELECT CAST(plan_id AS BLOB) FROM main.plans NOT INDEXED ORDER BY rowid {}",
    "SELECT DISTINCT CAST(plan_id AS BLOB) FROM main.events ORDER BY plan_id {}",
)


class Salvage:
    """A ledger that is locked for its repair. `faults` says what SQLite finds wrong with the file."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, faults: Sequence[str], connect: Connect
    ) -> None:
        self.path = path
        self.fresh = path.with_name(f"{path.name}.repaired")
        self.faults = tuple(faults)
        self._connection = connection
        self._connect = connect

    def copy(self) -> None:
        """Make the file `fresh`: a ledger with every row that can be read, but for leases and what is computed.

        Raises StorageFailed.
        """
        try:
            try:
                self._fill()
            except DAMAGE as error:
                if fault_of(error, self.path).kind != "damaged":
                    raise
                # The list of tables itself is damaged.
                self.faults += ("nothing of the file can be read",)
                self._make(VERSION)
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            raise _failed(self.path, error) from error

    def _make(self, version: int) -> None:
        _remove(self.fresh)
        made = self._connect(self.fresh, isolation_level=None)
        try:
            self.fresh.chmod(0o600)
            made.execute("PRAGMA auto_vacuum = INCREMENTAL")
            migrate(made, version)
        finally:
            made.close()

    def _fill(self) -> None:
        old = self._connection
        version = version_of(old)
        self._make(version)
        old.execute("ATTACH ? AS fresh", (str(self.fresh),))
        try:
            old.execute("PRAGMA fresh.synchronous = FULL")
            old.execute("BEGIN")
            try:
                _copy_all(old, version)
                if _without_ids(old):
                    self.faults += ("the ids of some plans are damaged: only the old file has their events",)
                old.execute("COMMIT")
            finally:
                if old.in_transaction:
                    old.execute("ROLLBACK")
        finally:
            old.execute("DETACH fresh")

    def take_back(self, backup: Backup) -> None:
        """Add the plans of a backup that `fresh` lacks. Raises StorageFailed."""
        try:
            connected(backup.path, self._connect).close()
            with closing(self._connect(self.fresh, isolation_level=None)) as fresh:
                add_plans(fresh, backup)
        except (OSError, sqlite3.Error, UnicodeDecodeError, NewerSchema) as error:
            raise _failed(backup.path, error) from error

    def replace(self, kept: Path) -> None:
        """Put `fresh` in the place of the ledger, which is kept as `kept`. Raises StorageFailed.

        The path names a whole ledger at every moment: the old one, or the fresh one.
        """
        try:
            with self.fresh.open("rb+") as file:
                os.fsync(file.fileno())
            _link(self.path, kept)
            for end in ("-wal", "-shm"):
                # They are left only where the file is so damaged that its log could not be written back.
                rest = self.path.with_name(self.path.name + end)
                if rest.exists():
                    _link(rest, kept.with_name(kept.name + end))
                    rest.unlink()
            self.fresh.replace(self.path)
            if os.name == "posix":
                folder = os.open(self.path.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        except OSError as error:
            raise _failed(self.path, error) from error

    def drop(self) -> None:
        """Remove `fresh`, if it is still there."""
        _remove(self.fresh)


@contextmanager
def salvaging(path: Path, connect: Connect) -> Iterator[Salvage]:
    """Lock a ledger for its repair. Raises StorageFailed: it is in use, of a newer version, or not there."""
    if not path.is_file():
        raise StorageFailed(f"There is no plan ledger at {path}.")
    try:
        guard = guarded(path)
    except OSError as error:
        raise _failed(path, error) from error
    try:
        with _locked(path, connect) as salvage:
            yield salvage
    finally:
        if guard is not None:
            guard.release()


@contextmanager
def _locked(path: Path, connect: Connect) -> Iterator[Salvage]:
    connection = connect(path, isolation_level=None)
    try:
        faults: list[str] = []
        try:
            connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
            found = version_of(connection)
            if found > VERSION:
                raise _failed(path, NewerSchema(f"it has schema {found}, this Planloom knows {VERSION}"))
            _refuse_if_held(path, connection)
            faults += _checked(connection)
            _lock(connection)
        except DAMAGE as error:
            if fault_of(error, path).kind == "busy":
                raise StorageFailed(
                    f"A Planloom server has the plan ledger {path} open. Close the editors that use it, then try again."
                ) from error
            if fault_of(error, path).kind != "damaged":
                raise _failed(path, error) from error
            faults.append(reason(error))
        salvage = Salvage(path, connection, faults[:_SHOWN], connect)
        try:
            yield salvage
        finally:
            connection.close()
            salvage.drop()
    finally:
        connection.close()


def _refuse_if_held(path: Path, connection: sqlite3.Connection) -> None:
    with suppress(*DAMAGE):
        for pid, renewed in connection.execute("SELECT pid, renewed FROM leases"):
            if isinstance(pid, int) and isinstance(renewed, float) and alive(pid, renewed):
                raise StorageFailed(
                    f"A Planloom server (process {pid}) runs plans of the ledger {path}. Close its editor, then try"
                    " again."
                )


def _checked(connection: sqlite3.Connection) -> list[str]:
    found = [str(row[0]) for row in connection.execute(f"PRAGMA quick_check({_SHOWN})")]
    return [] if found == ["ok"] else [line for text in found for line in text.splitlines()]


def _lock(connection: sqlite3.Connection) -> None:
    """Keep every other connection out until this one is closed.

    A ledger leaves WAL mode only when nobody else has it open, and its log is written back then. So the file alone
    is the whole ledger, and may be linked and replaced.
    """
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("BEGIN EXCLUSIVE")
    connection.execute("COMMIT")


def _copy_all(connection: sqlite3.Connection, version: int) -> None:
    tables = [("plans", "rowid, *"), ("events", "*"), ("blobs", "*")]
    tables += [("templates", "*")] * (version > 1) + [("compactions", "*")] * (version > 4)
    damaged = [table for table, columns in tables if not _copied(connection, table, columns)]
    ids: set[bytes] | None = None
    for table in damaged:
        if table in _BY_PLAN:
            ids = ids if ids is not None else _plan_ids(connection)
            for plan_id in ids:
                _copy_plan(connection, table, plan_id)
        else:
            rows = _found(connection, f"SELECT rowid FROM main.{table} NOT INDEXED ORDER BY rowid {{}}")
            for rowid in rows:
                _copied(connection, table, dict(tables)[table], "NOT INDEXED WHERE rowid = ?", rowid)


def _without_ids(connection: sqlite3.Connection) -> bool:
    """Remove from the copy what belongs to ids that are no text. Returns whether there was any."""
    found = False
    for table in ("plans", *_BY_PLAN[:2]):
        rows = connection.execute(f"SELECT DISTINCT CAST(plan_id AS BLOB) FROM fresh.{table}").fetchall()
        for (plan_id,) in rows:
            try:
                plan_id.decode()
            except UnicodeDecodeError:
                connection.execute(f"DELETE FROM fresh.{table} WHERE plan_id = CAST(? AS TEXT)", (plan_id,))
                found = True
    return found


def _copied(
    connection: sqlite3.Connection, table: str, columns: str, where: str = "WHERE true", *values: object
) -> bool:
    """Copy rows of a table, all or none. Returns whether they could be read.

    Without a condition SQLite would copy whole records unread, damaged ones too.
    """
    into = (
        "plans (rowid, plan_id, session_id, workspace, created_at, updated_at, status, version, seq, request)"
    )
    into = into if table == "plans" else table
    try:
        connection.execute(
            f"INSERT OR IGNORE INTO fresh.{into} SELECT {columns} FROM main.{table} {where}", values
        )
    except DAMAGE as error:
        if fault_of(error, None).kind in ("full", "read_only") or not connection.in_transaction:
            raise
        return False
    return True


def _copy_plan(connection: sqlite3.Connection, table: str, plan_id: bytes) -> None:
    """Copy what can be read of a plan's rows in a table; all of them, or else row by row from both ends."""
    mine = "WHERE plan_id = CAST(? AS TEXT)"
    if _copied(connection, table, "*", mine, plan_id):
        return
    key = {"events": "seq", "blobs": "sha256"}.get(table)
    if key is None:
        return
    order = f"ORDER BY plan_id {{0}}, {key} {{0}}" if table == "events" else f"ORDER BY {key} {{0}}"
    for value in _found(connection, f"SELECT {key} FROM main.{table} {mine} {order}", plan_id):
        _copied(connection, table, "*", f"{mine} AND {key} = ?", plan_id, value)


def _plan_ids(connection: sqlite3.Connection) -> set[bytes]:
    return {value for select in _IDS for value in _found(connection, select) if isinstance(value, bytes)}


def _found(connection: sqlite3.Connection, select: str, *values: object) -> list[object]:
    """The first column of the rows up to the first damage, read from the start and from the end."""
    found: dict[object, None] = {}
    for direction in ("ASC", "DESC"):
        with suppress(*DAMAGE):
            for row in connection.execute(select.format(direction), values):
                found[row[0]] = None
    return list(found)


def _link(path: Path, name: Path) -> None:
    """Give a file a second name, or copy it where the file system has no links. Never replaces a file."""
    if name.exists():
        raise FileExistsError(f"{name} exists already")
    try:
        os.link(path, name)
    except OSError:
        shutil.copy2(path, name)
        with name.open("rb+") as file:
            os.fsync(file.fileno())


def _remove(path: Path) -> None:
    for end in ("", "-journal", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)


def _failed(path: Path, error: Exception) -> StorageFailed:
    return StorageFailed(
        f"The plan ledger {path} cannot be repaired ({reason(error)}). It was left as it is."
    )
