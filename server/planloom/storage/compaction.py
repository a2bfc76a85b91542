"""Compacts the ledger: removes the texts of plans that ended long ago, counts plans that no list has counted yet, and
brings the log into the file.

It has a connection of its own, so that it can work in a thread beside the ledger in use. Each transaction is short,
since a writer of another connection waits for it.
"""

from __future__ import annotations

import logging
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from planloom.domain.plans.plan import ENDED
from planloom.domain.values import PlanId
from planloom.storage.event_rows import printable
from planloom.storage.leases import alive
from planloom.storage.ledger import Ledger

_TEXTS = 64
_BYTES = 4_000_000
"""The most texts, and about the most bytes, that one transaction removes."""
_PAGES = 256
"""Free pages that one transaction gives back to the file system."""
_ENDED = "status IN ('{}')".format("', '".join(sorted(ENDED)))


log = logging.getLogger(__name__)


def checkpoint(path: Path) -> None:
    """Bring what SQLite's log of a ledger holds into its file, while its servers go on reading and writing.

    The log begins anew when nothing was written meanwhile; what was stays in it, which is as durable. Waits for the
    disk twice.
    """
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
        ) as connection:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    except sqlite3.Error as error:
        log.info("the log of the ledger is brought into its file later: %s", error)


class Kept(NamedTuple):
    """How long texts of ended plans are kept: removed if the plan ended before `old`.

    If all texts take more than `max_bytes`, those of the oldest plans that ended before `safe` are removed as well.
    """

    old: datetime
    safe: datetime
    max_bytes: int


class CompactingLedger(Ledger):
    """The ledger as the upkeep sees it, beside the one that its server has open. Every method raises StorageFailed."""

    _takes_guard = False
    _busy_ms = 5000
    """How long a statement waits for the server's own transaction, since no event loop waits for it."""

    def uncounted(self) -> tuple[PlanId, ...]:
        """The plans at rest without a stored progress, the newest first: written by an older version."""
        rows = self._read(
            "SELECT p.plan_id FROM plans p LEFT JOIN progress g ON g.plan_id = p.plan_id AND g.seq = p.seq"
            " WHERE g.plan_id IS NULL AND p.status NOT IN ('draft', 'executing') ORDER BY p.rowid DESC"
        )
        return tuple(PlanId(printable(row[0])) for row in rows)

    def compactable(self, kept: Kept) -> tuple[PlanId, ...]:
        """The ended plans whose texts are to be removed, the oldest first."""
        return tuple(self._compactable(kept))

    def _compactable(self, kept: Kept) -> Iterator[PlanId]:
        # One pass in the order of the file: to ask for the texts of each plan, or to group them, takes a hundred times
        # as long.
        sizes: Counter[str] = Counter()
        for plan_id, size in self._read("SELECT plan_id, length(body) FROM blobs"):
            sizes[plan_id] += size
        total = sizes.total()
        rows = self._read(
            f"SELECT plan_id, updated_at FROM plans WHERE {_ENDED} AND updated_at < ? ORDER BY updated_at",
            (kept.safe.isoformat(),),
        )
        for plan_id, updated in rows:
            if plan_id in sizes and (updated < kept.old.isoformat() or total > kept.max_bytes):
                total -= sizes[plan_id]
                yield PlanId(printable(plan_id))

    def compact(self, plan_id: PlanId, kept: Kept, now: datetime) -> bool:
        """Remove some texts of a plan, and record that. Returns whether texts of it are left to be removed.

        Nothing is removed of a plan that has not ended, has changed since `kept.safe`, or has a live server.
        """
        with self._transaction(durable=False) as connection:
            ended = connection.execute(
                f"SELECT 1 FROM plans WHERE plan_id = ? AND {_ENDED} AND updated_at < ?",
                (plan_id, kept.safe.isoformat()),
            ).fetchone()
            lease = connection.execute(
                "SELECT pid, renewed FROM leases WHERE plan_id = ?", (plan_id,)
            ).fetchone()
            if ended is None or (lease is not None and alive(*lease)):
                return False
            found = connection.execute(
                "SELECT sha256, length(body) FROM blobs WHERE plan_id = ? LIMIT ?", (plan_id, _TEXTS)
            ).fetchall()
            removed, size = 0, 0
            for digest, length in found:
                if removed and size + length > _BYTES:
                    break
                connection.execute("DELETE FROM blobs WHERE sha256 = ? AND plan_id = ?", (digest, plan_id))
                removed, size = removed + 1, size + length
            if removed:
                connection.execute(
                    "INSERT INTO compactions VALUES (?, ?, ?, ?) ON CONFLICT (plan_id) DO UPDATE"
                    " SET at = excluded.at, texts = texts + excluded.texts, bytes = bytes + excluded.bytes",
                    (plan_id, now.isoformat(), removed, size),
                )
        return removed < len(found) or removed == _TEXTS

    def shrink(self) -> bool:
        """Give some free pages back to the file system. Returns whether it did; older files can only use them again."""
        (mode,), (free,) = (self._read(f"PRAGMA {name}")[0] for name in ("auto_vacuum", "freelist_count"))
        if mode != 2 or not free:
            return False
        # A script, since one statement is stepped once and would free one page.
        try:
            self._connection.executescript(f"PRAGMA incremental_vacuum({_PAGES})")
        except sqlite3.Error as error:
            raise self._failed(error) from error
        return True
