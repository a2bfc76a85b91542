"""The ledger: stores every event of every plan, durably, before listeners are notified of it.

Appending is synchronous on purpose. A commit takes a tenth of a millisecond, less than a thread hop, and an
append that suspends would let two requests interleave on one plan. Callers await `ready` before they write: it
waits for another program's lock without blocking the event loop.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError
from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_fixed

from planloom.domain.errors import PlanUnreadable, StorageFailed
from planloom.domain.events import catalog as ev
from planloom.domain.plans.outcome import Outcome, outcome
from planloom.domain.plans.plan import (
    Ending,
    Plan,
    PlanStatus,
    PlanSummary,
    Progress,
    Reverted,
    ending,
    has_open_work,
    progress,
    taken_back,
)
from planloom.domain.values import Instant, PlanId, SessionId, Sha256, TemplateId
from planloom.storage import memory_rows
from planloom.storage.backup import OF_PLANS, drop_backup
from planloom.storage.event_rows import RawEvent, Row, as_event, as_row, instant, printable, raw_event
from planloom.storage.faults import (
    BUSY_SECONDS,
    DAMAGE,
    ERRORS,
    Fault,
    emptied,
    fault_of,
    gone,
    taken,
    unusable,
)
from planloom.storage.guard import Guard, guarded
from planloom.storage.leases import Lease, alive, owned_elsewhere
from planloom.storage.opening import BUSY_MS, BUSY_STEP, SQLITE, Connect, connected, is_busy
from planloom.storage.schema import NewerSchema

if TYPE_CHECKING:
    from planloom.domain.memory.entries import MemoryEntry
    from planloom.domain.memory.ranking import Hit

_PROBE_BYTES = 65_536
_LOG_PAGES = 8_000
"""How long SQLite's log may become before a commit brings it into the file, since nothing else has: 32 MB. A commit
that does so waits for the disk, and the event loop with it."""
_TABLES = (*OF_PLANS, "leases", "plans")
log = logging.getLogger(__name__)


class Ledger:
    """Events, blobs and leases in one SQLite file, shared by every server of the user.

    Every statement goes through `_transaction` or `_rows`, which turn SQLite errors into StorageFailed. An event
    that cannot be written is neither kept in memory nor published. Only a file that cannot be opened, is damaged
    or was deleted is replaced by memory, and only for new plans: a plan in the file is never continued in memory,
    because a later server would find it in its old state and repeat its effects.
    """

    _takes_guard = True
    """Whether it keeps other servers away where the file system cannot."""
    _busy_ms = BUSY_MS

    def __init__(
        self, path: Path | None, *, connect: Connect = SQLITE, patience: float = BUSY_SECONDS
    ) -> None:
        """Open or create the ledger at `path`, or in memory for None. Raises StorageFailed while it is locked.

        `patience` is how many seconds `ready` waits for another program's lock; the opening waits as
        long, but at most `MOST_SECONDS`.
        """
        self.path = path
        self.owner = uuid.uuid4().hex
        self._connect = connect
        self._patience = patience
        self._fault: Fault | None = None
        self._unusable: str | None = None
        self._emptied: str | None = None
        self._file: tuple[int, int] | None = None
        self._guard: Guard | None = None
        self._old: sqlite3.Connection | None = None
        self._listeners: list[Callable[[], None]] = []
        self._connection = self._open()
        self._waits: bool | None = None

    @property
    def problem(self) -> str | None:
        """Sentences that say why plans are not stored safely and what to do about it; None if they are."""
        return self._fault.sentence if self._fault is not None else self._unusable

    @property
    def note(self) -> str | None:
        """A sentence on what the file system does not allow, or on a file that was empty; None on a usual one."""
        notes = (self._emptied, None if self._guard is None else self._guard.note)
        return " ".join(filter(None, notes)) or None

    @property
    def logged(self) -> int:
        """How many rows this process has written to SQLite's log so far; 0 where there is no log."""
        return self._connection.total_changes if self._file is not None and self._guard is None else 0

    @property
    def is_lost(self) -> bool:
        """Whether the file was lost after it had been opened: nothing more is written to its plans."""
        return self._old is not None

    def has_lost(self, plan_id: PlanId) -> bool:
        """Whether a plan was in a file that is lost. Raises StorageFailed."""
        return self._old is not None and not _has(self._connection, plan_id)

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever `problem` changes."""
        self._listeners.append(listener)

    async def ready(self) -> None:
        """Wait until no other program has the ledger locked. Raises StorageFailed after `patience` seconds."""
        retrying = AsyncRetrying(
            retry=retry_if_exception(is_busy),
            stop=stop_after_delay(self._patience),
            wait=wait_fixed(BUSY_STEP),
            reraise=True,
        )
        try:
            async for attempt in retrying:
                with attempt:
                    self._lock_once()
        except sqlite3.Error as error:
            # Other faults show at the next write.
            if is_busy(error):
                raise self._failed(error) from error

    def _lock_once(self) -> None:
        """Take and release the lock for writing. Raises sqlite3.Error."""
        if self._file is None:
            return
        connection = self._connection
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        finally:
            connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")

    def append(self, recorded: Sequence[ev.Recorded], plan: Plan, *, durable: bool = True) -> None:
        """Write events of one plan, and the plan's state after them, in one transaction.

        The first event of a plan also claims its lease. With `durable` it returns only when the disk has them.
        Raises StorageFailed, or OwnedElsewhere if another server has claimed the plan; nothing is written then.
        """
        self._append(recorded, plan, durable=durable)
        self._works()

    def _append(self, recorded: Sequence[ev.Recorded], plan: Plan, *, durable: bool) -> None:
        rows = [as_row(each) for each in recorded]
        with self._transaction(durable=durable) as connection:
            self._put(connection, rows, recorded, plan)

    def _put(
        self, connection: sqlite3.Connection, rows: Sequence[Row], recorded: Sequence[ev.Recorded], plan: Plan
    ) -> None:
        # One statement updates the plan and looks up its lease, since this runs at every event.
        updated = connection.execute(
            "UPDATE plans SET updated_at = ?, status = ?, version = ?, seq = ?, request = ? WHERE plan_id = ?"
            " AND NOT EXISTS (SELECT 1 FROM leases WHERE leases.plan_id = plans.plan_id AND owner <> ?)",
            (
                *(_iso(plan.updated_at), plan.status, plan.version, plan.seq, plan.request),
                *(plan.plan_id, self.owner),
            ),
        )
        if not updated.rowcount:
            self._put_new(connection, plan, recorded[0])
        connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", rows)
        if plan.status not in ("draft", "executing"):
            # A plan that moves is counted when it rests: to count every step at every event would make an
            # event of a long plan cost more than one of a short plan.
            _put_state(connection, plan)

    def _put_new(self, connection: sqlite3.Connection, plan: Plan, first: ev.Recorded) -> None:
        """Insert a new plan with its lease: from its very first event it is never without its server.

        Raises OwnedElsewhere, or StorageFailed for a plan that was deleted.
        """
        lease = connection.execute(
            "SELECT owner, pid, since FROM leases WHERE plan_id = ?", (plan.plan_id,)
        ).fetchone()
        if lease is not None and lease[0] != self.owner:
            raise owned_elsewhere(Lease(*lease))
        if first.seq != 1:
            raise StorageFailed(self.problem or "The plan is no longer in the ledger: it was deleted.")
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
        if lease is None:
            self._put_lease(connection, plan.plan_id, first.at.isoformat())

    def events(self, plan_id: PlanId, after: int = 0, limit: int | None = None) -> Iterator[ev.Recorded]:
        """The events of a plan with a `seq` above `after`, in order. Raises StorageFailed, PlanUnreadable."""
        try:
            # Bodies are read as bytes, so that invalid text makes only its own plan unreadable.
            rows = self._rows(
                "SELECT e.seq, e.at, e.type, CAST(e.body AS BLOB), p.session_id"
                " FROM events e JOIN plans p USING (plan_id)"
                " WHERE e.plan_id = ? AND e.seq > ? ORDER BY e.seq LIMIT ?",
                (plan_id, after, -1 if limit is None else limit),
            )
        except DAMAGE as error:
            fault = fault_of(error, self.path)
            if fault.kind != "damaged":
                raise self._failed(error) from error
            raise PlanUnreadable(plan_id, f"the ledger is damaged there ({error})") from error
        for seq, at, kind, body, session in rows:
            try:
                recorded = as_event((plan_id, seq, at, kind, body), session)
            except (ValidationError, ValueError, TypeError) as error:
                log.warning("event %s of plan %s cannot be read: %s", seq, plan_id, error)
                raise PlanUnreadable(plan_id, f"its event {seq} is damaged or of another version") from error
            yield recorded

    def raw_events(self, plan_id: PlanId) -> tuple[RawEvent, ...]:
        """The rows of a plan's events, undecoded; those that SQLite itself cannot read are left out."""
        found: list[RawEvent] = []
        with suppress(*DAMAGE):
            for row in self._rows(
                "SELECT seq, at, type, CAST(body AS BLOB) FROM events WHERE plan_id = ? ORDER BY seq",
                (plan_id,),
            ):
                found.append(raw_event(*row))
        return tuple(found)

    def seq(self, plan_id: PlanId) -> int | None:
        """The number of a plan's last event; None if there is no such plan. Raises StorageFailed."""
        found = "SELECT seq FROM plans WHERE plan_id = ?"
        rows = self._read(found, (plan_id,))
        if not rows and self._old is not None:
            # A plan that is not found may still be in the damaged file, so this read must not fail silently.
            try:
                rows = self._old.execute(found, (plan_id,)).fetchall()
            except ERRORS as error:
                raise StorageFailed(self.problem or str(error)) from error
        return int(rows[0][0]) if rows else None

    def summaries(
        self,
        *,
        workspace: str | None = None,
        session_id: SessionId | None = None,
        statuses: Iterable[PlanStatus] = (),
        limit: int = 100,
    ) -> tuple[PlanRow, ...]:
        """Plans, the newest first, filtered by workspace, session and statuses if given. Raises StorageFailed."""
        which, values = _filtered(workspace, session_id, tuple(statuses))
        rows = self._read(
            "SELECT p.plan_id, p.session_id, p.workspace, p.created_at, p.updated_at, p.status, p.version, p.seq,"
            " p.request, g.body FROM plans p LEFT JOIN progress g ON g.plan_id = p.plan_id AND g.seq = p.seq"
            f" {which} LIMIT ?",
            (*values, limit),
        )
        return tuple(_listed(row) for row in rows[:limit])

    def outcomes(self, limit: int | None = None) -> tuple[Outcome, ...]:
        """The figures of ended plans of all workspaces, the newest first. Raises StorageFailed."""
        rows = self._read(
            "SELECT o.body FROM plans p JOIN outcomes o ON o.plan_id = p.plan_id ORDER BY p.rowid DESC LIMIT ?",
            (-1 if limit is None else limit,),
        )
        return tuple(found for row in rows if (found := _outcome(row[0])) is not None)

    def ended(self, since: Instant | None, until: Instant | None) -> Iterator[tuple[Instant, Outcome]]:
        """When each plan of a time span was created, and its figures; `until` is exclusive. Raises StorageFailed."""
        # Times are stored in UTC, so that their texts have their order.
        first, end = (None if at is None else _iso(at.astimezone(UTC)) for at in (since, until))
        rows = self._read(
            "SELECT p.created_at, o.body FROM plans p JOIN outcomes o ON o.plan_id = p.plan_id"
            " WHERE p.created_at >= coalesce(?, '') AND p.created_at < coalesce(?, '~')",
            (first, end),
        )
        for created, body in rows:
            found = _outcome(body)
            with suppress(ValueError, TypeError):
                if found is not None:
                    yield instant(created), found

    def keep_memory(self, entry: MemoryEntry, terms: Mapping[str, int]) -> None:
        """Store what a plan found and did, with its terms, in place of what was stored before. Raises StorageFailed."""
        with self._transaction(durable=False) as connection:
            if _has(connection, entry.plan_id):
                memory_rows.put(connection, entry, terms)

    def memories(self, workspace: str, limit: int) -> tuple[MemoryEntry, ...]:
        """The memory entries of a workspace's plans, the newest first. Raises StorageFailed."""
        return memory_rows.entries(self._read(*memory_rows.newest(workspace, limit)))

    def memories_of(self, plan_ids: Sequence[PlanId]) -> tuple[MemoryEntry, ...]:
        """The memory entries of these plans, in their order. Raises StorageFailed."""
        found = {
            each.plan_id: each for each in memory_rows.entries(self._read(*memory_rows.of_plans(plan_ids)))
        }
        return tuple(found[plan_id] for plan_id in plan_ids if plan_id in found)

    def memory_count(self, workspace: str) -> int:
        """How many entries a workspace has, at most 1,000. Raises StorageFailed."""
        return sum(row[0] for row in self._read(*memory_rows.count(workspace)))

    def memory_hits(self, workspace: str, terms: Iterable[str]) -> tuple[Hit, ...]:
        """Which entries of a workspace have which of the terms. Raises StorageFailed."""
        return memory_rows.as_hits(self._read(*memory_rows.hits(workspace, terms)))

    def forget_memories(self, workspace: str, plan_id: PlanId | None) -> int:
        """Delete what is stored of a plan of a workspace, or of all for None, for later ones; how many there were.

        The plans stay. Raises StorageFailed.
        """
        with self._transaction(durable=True) as connection:
            kept = [each for (each,) in connection.execute(*memory_rows.remembered(workspace))]
            ids = [each for each in kept if plan_id in (None, each)]
            memory_rows.drop(connection, ids)
        self._works()
        return len(ids)

    def plans(
        self,
        *,
        workspace: str | None = None,
        session_id: SessionId | None = None,
        statuses: Iterable[PlanStatus] = (),
        limit: int = 100,
    ) -> tuple[PlanId, ...]:
        """The ids of the plans that `summaries` returns for the same arguments. Raises StorageFailed."""
        which, values = _filtered(workspace, session_id, tuple(statuses))
        rows = self._read(f"SELECT p.plan_id FROM plans p {which} LIMIT ?", (*values, limit))
        return tuple(PlanId(printable(plan_id)) for (plan_id,) in rows[:limit])

    def all_plans(self) -> tuple[PlanId, ...]:
        """The ids of all plans, and of those of which only events are left. Raises StorageFailed."""
        rows = self._read("SELECT plan_id FROM plans UNION SELECT plan_id FROM events")
        return tuple(PlanId(row[0]) for row in rows)

    def left_open(self, workspace: str) -> dict[PlanId, bool]:
        """The paused plans of a workspace that may have open work: True for those that have, False where an older
        version has not recorded it. Raises StorageFailed."""
        rows = self._read(
            "SELECT p.plan_id, o.is_open FROM plans p"
            " LEFT JOIN open_work o ON o.plan_id = p.plan_id AND o.seq = p.seq"
            " WHERE p.workspace = ? AND p.status = 'paused' AND coalesce(o.is_open, 1) ORDER BY p.rowid DESC",
            (workspace,),
        )
        return {PlanId(printable(plan_id)): bool(is_open) for plan_id, is_open in rows}

    def keep_state(self, plan: Plan) -> None:
        """Store what lists and the start need to know of a plan at rest, so that they need not read its events.

        Raises StorageFailed.
        """
        with self._transaction(durable=False) as connection:
            _put_state(connection, plan)

    def compaction(self, plan_id: PlanId) -> Compaction | None:
        """The record of the compaction of a plan's texts; None without one. Raises StorageFailed."""
        rows = self._read("SELECT at, texts, bytes FROM compactions WHERE plan_id = ?", (plan_id,))
        return Compaction(printable(rows[0][0]), *rows[0][1:]) if rows else None

    def take_over(
        self, recorded: Sequence[ev.Recorded], plan: Plan, texts: Iterable[tuple[Sha256, str]]
    ) -> None:
        """Write a whole plan that was made elsewhere, with its texts: all of it or nothing. Raises StorageFailed."""
        packed = _packed(plan.plan_id, texts)
        with self._transaction(durable=True) as connection:
            _keep(connection, packed)
            self._put(connection, [as_row(each) for each in recorded], recorded, plan)
        self._works()

    def delete(self, plan_id: PlanId) -> None:
        """Delete a plan with all that is stored of it, and the backup, which may hold it. Raises StorageFailed."""
        with self._transaction(durable=True) as connection:
            for table in _TABLES:
                connection.execute(f"DELETE FROM {table} WHERE plan_id = ?", (plan_id,))
        if self.path is not None:
            drop_backup(self.path)
        self._works()

    def keep(self, plan_id: PlanId, texts: Iterable[tuple[Sha256, str]]) -> None:
        """Store texts by hash. They become durable with the next durable event, since one file holds both.

        Raises StorageFailed.
        """
        packed = tuple(_packed(plan_id, texts))
        if packed:
            with self._transaction(durable=False) as connection:
                _keep(connection, packed)

    def text(self, digest: Sha256) -> str | None:
        """The text with this hash, or None if it is missing or damaged. Raises StorageFailed."""
        rows = self._read("SELECT body FROM blobs WHERE sha256 = ? LIMIT 1", (digest,))
        try:
            return zlib.decompress(rows[0][0]).decode("utf-8", "surrogatepass") if rows else None
        except (zlib.error, ValueError, TypeError):
            log.warning("the text %s is damaged in the ledger", digest)
            return None

    def texts(self, plan_id: PlanId) -> tuple[str, ...]:
        """All texts of a plan that are there and not damaged. Raises StorageFailed."""
        digests = [row[0] for row in self._read("SELECT sha256 FROM blobs WHERE plan_id = ?", (plan_id,))]
        found = (self.text(Sha256(digest)) for digest in digests)
        return tuple(text for text in found if text is not None)

    def templates(self) -> tuple[str, ...]:
        """The saved templates, as JSON. Raises StorageFailed."""
        return tuple(row[0] for row in self._read("SELECT body FROM templates"))

    def keep_template(self, template_id: TemplateId, body: str) -> None:
        """Store a template. Raises StorageFailed."""
        with self._transaction(durable=True) as connection:
            connection.execute("INSERT OR REPLACE INTO templates VALUES (?, ?)", (template_id, body))
        self._works()

    def drop_template(self, template_id: TemplateId) -> None:
        """Delete a template. Raises StorageFailed."""
        with self._transaction(durable=True) as connection:
            connection.execute("DELETE FROM templates WHERE template_id = ?", (template_id,))
        self._works()

    def claim(self, plan_id: PlanId, now: str) -> Lease | None:
        """Claim or renew the lease of a plan. Returns the lease of another live server if that holds it.

        Raises StorageFailed, also for a plan of a ledger that can no longer be written.
        """
        with self._transaction(durable=False) as connection:
            if self._old is not None and not _has(connection, plan_id):
                raise StorageFailed(self.problem or "")
            row = connection.execute(
                "SELECT owner, pid, since, renewed FROM leases WHERE plan_id = ?", (plan_id,)
            ).fetchone()
            if row is not None and row[0] != self.owner and alive(row[1], row[3]):
                return Lease(*row[:3])
            since = row[2] if row is not None and row[0] == self.owner else now
            self._put_lease(connection, plan_id, since)
        return None

    def held_by_another(self, plan_id: PlanId) -> Lease | None:
        """The lease of another live server on a plan. Raises StorageFailed."""
        rows = self._read("SELECT owner, pid, since, renewed FROM leases WHERE plan_id = ?", (plan_id,))
        others = (Lease(*row[:3]) for row in rows if row[0] != self.owner and alive(row[1], row[3]))
        return next(others, None)

    def _put_lease(self, connection: sqlite3.Connection, plan_id: PlanId, since: str) -> None:
        connection.execute(
            "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?)",
            (plan_id, self.owner, os.getpid(), since, time.monotonic()),
        )

    def renew(self, plan_ids: Iterable[PlanId]) -> None:
        """Renew the leases that this process holds. Raises StorageFailed."""
        with self._transaction(durable=False) as connection:
            connection.executemany(
                "UPDATE leases SET renewed = ? WHERE plan_id = ? AND owner = ?",
                [(time.monotonic(), plan_id, self.owner) for plan_id in plan_ids],
            )

    def probe(self) -> None:
        """Check with a rolled-back write whether the ledger can be written again. Raises StorageFailed if not."""
        if self._fault is None or self._fault.lasts:
            return
        with self._transaction(durable=True) as connection:
            connection.execute("INSERT OR REPLACE INTO blobs VALUES ('', '', zeroblob(?))", (_PROBE_BYTES,))
        with self._transaction(durable=True) as connection:
            connection.execute("DELETE FROM blobs WHERE plan_id = ''")
        self._works()

    def give_back(self, plan_ids: Iterable[PlanId]) -> None:
        """Release the leases of these plans, if this process holds them. Raises StorageFailed."""
        with self._transaction(durable=False) as connection:
            connection.executemany(
                "DELETE FROM leases WHERE plan_id = ? AND owner = ?",
                [(plan_id, self.owner) for plan_id in plan_ids],
            )

    def release(self) -> None:
        """Release every lease of this process."""
        try:
            with self._transaction(durable=False) as connection:
                connection.execute("DELETE FROM leases WHERE owner = ?", (self.owner,))
        except StorageFailed as error:
            log.warning("the leases were not released: %s", error.message)

    def close(self) -> None:
        """Release the leases and close the file."""
        self.release()
        for connection in (self._connection, self._old):
            if connection is not None:
                connection.close()
        if self._guard is not None:
            self._guard.release()

    def _open(self) -> sqlite3.Connection:
        if self.path is None:
            return connected(":memory:")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._emptied = emptied(self.path)
            if not self.path.exists():
                self.path.touch(mode=0o600)
            self._guard = guarded(self.path) if self._takes_guard else None
            journal = ("WAL" if self._guard is None else "DELETE") if self._takes_guard else None
            connection = connected(self.path, self._connect, journal, self._patience)
            connection.execute(f"PRAGMA busy_timeout = {self._busy_ms}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
            self._file = _identity(self.path)
            return connection
        except (OSError, *ERRORS, NewerSchema) as error:
            if isinstance(error, ERRORS) and (fault := fault_of(error, self.path)).kind == "busy":
                raise StorageFailed(fault.sentence) from error
            self._unusable = unusable(self.path, error)
            log.error("%s", self._unusable)
            return connected(":memory:")

    @contextmanager
    def _transaction(self, *, durable: bool) -> Iterator[sqlite3.Connection]:
        """The only way to write: a transaction. With `durable` it waits for the disk. Raises StorageFailed."""
        if self._file is not None and self.path is not None:
            if _identity(self.path) != self._file:
                self._fail(gone(self.path))
            elif self._guard is not None and not self._guard.is_held:
                self._fail(taken(self.path))
        connection = self._connection
        try:
            if durable != self._waits:
                connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._waits = durable
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        except sqlite3.IntegrityError as error:
            _roll_back(connection)
            log.warning("the ledger already holds a row that was to be written: %s", error)
            raise StorageFailed(
                "Another Planloom server has changed this meanwhile. Reload it and try again."
            ) from error
        except ERRORS as error:
            _roll_back(connection)
            raise self._failed(error) from error
        except BaseException:
            _roll_back(connection)
            raise

    def _read(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Rows of the ledger. Raises StorageFailed."""
        try:
            return self._rows(statement, values)
        except ERRORS as error:
            raise self._failed(error) from error

    def _rows(self, statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """Rows of the ledger, then those still readable in the file it has replaced. Raises sqlite3.Error."""
        rows = self._connection.execute(statement, values).fetchall()
        if self._old is not None:
            with suppress(*ERRORS):
                rows += self._old.execute(statement, values).fetchall()
        return rows

    def _failed(self, error: sqlite3.Error | UnicodeDecodeError) -> StorageFailed:
        """Record a fault. Returns the StorageFailed to raise."""
        fault = fault_of(error, self.path)
        if self._file is not None:
            self._fail(fault)
        return StorageFailed(fault.sentence)

    def _fail(self, fault: Fault) -> None:
        current = self._fault
        if current is not None and (current.lasts or current.kind == fault.kind):
            return
        self._fault = fault
        log.error("%s", fault.sentence)
        if fault.lasts:
            self._old, self._file, self._waits = self._connection, None, None
            self._connection = connected(":memory:")
        self._notify()

    def _works(self) -> None:
        """Clear a passing fault, after a successful write."""
        if self._fault is not None and not self._fault.lasts:
            log.info("the plan ledger can be written again")
            self._fault = None
            self._notify()

    def _notify(self) -> None:
        for listener in tuple(self._listeners):
            listener()


class Compaction(NamedTuple):
    """How many texts of a plan were removed, the bytes that they took in the ledger, and when: RFC 3339."""

    at: str
    texts: int
    bytes: int


class PlanRow(NamedTuple):
    """A plan in a list. `summary` is None for a damaged row; its progress is empty unless `counted`."""

    plan_id: PlanId
    summary: PlanSummary | None
    counted: bool = False


def workspace_key(folders: Sequence[str]) -> str:
    """A key that is equal for workspaces with the same folders in the same order."""
    return "\n".join(folders)


class _State(Progress):
    """The entry of a plan at rest in a list."""

    reverted: Reverted | None = None
    ending: Ending | None = None


_NOTHING = Progress(total=0, pending=0, in_progress=0, completed=0, failed=0, skipped=0, percent_complete=0)


def _filtered(
    workspace: str | None, session_id: SessionId | None, statuses: tuple[PlanStatus, ...]
) -> tuple[str, list[object]]:
    """The clauses that choose plans `p`, the newest first, and their values."""
    clauses, values = ["1"], list[object]()
    if workspace is not None:
        clauses.append("p.workspace = ?")
        values.append(workspace)
    if session_id is not None:
        clauses.append("p.session_id = ?")
        values.append(session_id)
    if statuses:
        clauses.append(f"p.status IN ({', '.join('?' * len(statuses))})")
        values.extend(statuses)
    return f"WHERE {' AND '.join(clauses)} ORDER BY p.rowid DESC", values


def _listed(row: tuple[Any, ...]) -> PlanRow:
    plan_id, session, workspace, created, updated, status, version, seq, request, body = row
    try:
        state = None if body is None else _State.model_validate_json(body)
        summary = PlanSummary(
            plan_id=plan_id,
            session_id=session,
            workspace_folders=tuple(workspace.split("\n")) if workspace else (),
            created_at=instant(created),
            updated_at=instant(updated),
            status=status,
            version=version,
            seq=seq,
            request=request,
            progress=_NOTHING
            if state is None
            else Progress(**state.model_dump(exclude={"reverted", "ending"})),
            reverted=None if state is None else state.reverted,
            ending=None if state is None else state.ending,
        )
        # Bytes that are not text were read as lone surrogates, which cannot be encoded for a client.
        summary.model_dump_json()
    except (ValidationError, ValueError, TypeError) as error:
        log.warning("plan %r is damaged in the ledger: %s", plan_id, error)
        return PlanRow(PlanId(printable(plan_id)), None)
    return PlanRow(PlanId(plan_id), summary, body is not None)


def _outcome(body: str) -> Outcome | None:
    """The figures in a row; None if it is damaged or of a newer version."""
    try:
        return Outcome.model_validate_json(body)
    except ValueError as error:
        log.warning("the figures of a plan cannot be read: %s", error)
        return None


def _put_state(connection: sqlite3.Connection, plan: Plan) -> None:
    # Without what is None, so that an older server can read it.
    state = _State(**progress(plan).model_dump(), reverted=taken_back(plan), ending=ending(plan))
    counted = state.model_dump_json(exclude_none=True)
    connection.execute("INSERT OR REPLACE INTO progress VALUES (?, ?, ?)", (plan.plan_id, plan.seq, counted))
    ended = outcome(plan)
    if ended is not None:
        body = ended.model_dump_json(exclude_none=True)
        connection.execute("INSERT OR REPLACE INTO outcomes VALUES (?, ?)", (plan.plan_id, body))
    if plan.status == "paused":
        connection.execute(
            "INSERT OR REPLACE INTO open_work VALUES (?, ?, ?)", (plan.plan_id, plan.seq, has_open_work(plan))
        )


def _packed(plan_id: PlanId, texts: Iterable[tuple[Sha256, str]]) -> Iterator[tuple[Sha256, PlanId, bytes]]:
    return ((digest, plan_id, zlib.compress(_bytes(text), 1)) for digest, text in texts)


def _keep(connection: sqlite3.Connection, packed: Iterable[tuple[Sha256, PlanId, bytes]]) -> None:
    connection.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?, ?)", packed)


def _has(connection: sqlite3.Connection, plan_id: PlanId) -> bool:
    return connection.execute("SELECT 1 FROM plans WHERE plan_id = ?", (plan_id,)).fetchone() is not None


def _roll_back(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file at `path`, which change when the file is replaced; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _iso(time: Instant | None) -> str:
    return "" if time is None else time.isoformat()
