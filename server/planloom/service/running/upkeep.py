"""Keeps the ledger small, its lists fast and a backup of it, and removes what is left of plans, once an hour."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from planloom.domain.errors import PlanloomError
from planloom.domain.events.catalog import Recorded
from planloom.domain.events.folding import OPEN
from planloom.domain.plans.plan import Plan
from planloom.domain.values import PlanId
from planloom.execution.jobs import Jobs
from planloom.execution.plan_store import PlanStore
from planloom.execution.session import Session
from planloom.storage.backup import back_up
from planloom.storage.compaction import CompactingLedger, Kept, checkpoint
from planloom.storage.ledger import Ledger
from planloom.tools.confinement.confined_command import remove_plan_folder

UNDO_DAYS = 30
"""For so many days after a plan's last event nothing is removed that an undo of it needs."""
_FIRST_SECONDS = 10.0
_ROUND_SECONDS = 3600.0
_WORK_SECONDS = 0.05
"""How long one stretch of work goes on in its thread before the server's own work has the ledger to itself again."""
_REST_SECONDS = 0.05
_MOST_PLANS = 1_000_000
_CHECKPOINT_ROWS = 400
"""About 4 MB of the ledger's log."""
_CHECKPOINT_TRIES = 10
"""The log begins anew only if nothing is written during a checkpoint."""
Work = Callable[[CompactingLedger], bool]
"""A piece of work on the ledger; True if it is to be done again, since it has not ended."""
log = logging.getLogger(__name__)


class Upkeep:
    """The background work on one ledger. It can be cut off anywhere: what is left is done in the next round."""

    def __init__(self, session: Session, ledger: Ledger, jobs: Jobs) -> None:
        self._session = session
        self._ledger = ledger
        self._jobs = jobs
        self._todo: deque[Work] = deque()
        self._in_file = 0
        self._checkpoint_due = asyncio.Event()

    async def run(self) -> None:
        """Do a round now and then, for as long as the process lives."""
        await self._jobs.sleep(_FIRST_SECONDS)
        while True:
            await self.round()
            await self._jobs.sleep(_ROUND_SECONDS)

    def on_event(self, _recorded: Recorded, _after: Plan) -> None:
        """Notice when so much is in the ledger's log that it is worth two flushes of the disk."""
        if self._ledger.logged - self._in_file >= _CHECKPOINT_ROWS:
            self._checkpoint_due.set()

    async def checkpoints(self) -> None:
        """Bring the ledger's log into its file whenever it has grown, for as long as the process lives.

        In a thread: the commit that did it would keep the event loop waiting for the disk.
        """
        while self._ledger.path is not None:
            await self._checkpoint_due.wait()
            for _ in range(_CHECKPOINT_TRIES):
                self._in_file = self._ledger.logged
                await asyncio.to_thread(checkpoint, self._ledger.path)
                if self._ledger.logged == self._in_file:
                    break
                await self._jobs.sleep(_REST_SECONDS)
            self._checkpoint_due.clear()

    async def round(self) -> None:
        """Do all there is to do now."""
        if self._ledger.path is None or self._ledger.problem is not None:
            return
        self._todo = deque([self._plan])
        while await asyncio.to_thread(self._work):
            await self._jobs.sleep(_REST_SECONDS)

    def _work(self) -> bool:
        """Work for a short time; False when nothing is left to do. Runs in a thread."""
        until = time.monotonic() + _WORK_SECONDS
        try:
            store = CompactingLedger(self._ledger.path)
            try:
                while self._todo and store.problem is None and time.monotonic() < until:
                    if not self._todo[0](store):
                        self._todo.popleft()
                return bool(self._todo) and store.problem is None
            finally:
                store.close()
        except PlanloomError as error:
            log.info("the upkeep of the ledger is put off: %s", error.message)
            return False

    def _plan(self, store: CompactingLedger) -> bool:
        """Find what is to be done."""
        settings = self._session.settings.storage
        now = self._session.clock()
        kept = Kept(
            old=now - timedelta(days=settings.keep_texts_days),
            safe=now - timedelta(days=UNDO_DAYS),
            max_bytes=settings.max_texts_mb * 1_000_000,
        )
        self._todo.extend(partial(_count, plan_id) for plan_id in store.uncounted())
        self._todo.extend(partial(self._compact, plan_id, kept) for plan_id in store.compactable(kept))
        self._todo += (CompactingLedger.shrink, self._sweep, _back_up)
        return False

    def _sweep(self, store: CompactingLedger) -> bool:
        """Remove the folders of plans that have ended or are gone: those whose server has died were left."""
        folder = self._session.plan_folders
        found = tuple(folder.iterdir()) if folder.is_dir() else ()
        going_on = {*store.plans(statuses=OPEN, limit=_MOST_PLANS)} if found else set()
        for each in found:
            if each.name not in going_on:
                remove_plan_folder(each)
        return False

    def _compact(self, plan_id: PlanId, kept: Kept, store: CompactingLedger) -> bool:
        try:
            plan = PlanStore(store).read(plan_id)
        except PlanloomError:
            # The texts of a plan that cannot be read may be all that is left of it.
            return False
        if any(edit.state == "intended" for edit in plan.edits):
            # A crashed undo: to find out what became of it, its texts are compared with the files.
            return False
        return store.compact(plan_id, kept, self._session.clock())


def _back_up(store: CompactingLedger) -> bool:
    if store.path is not None:
        back_up(store.path)
    return False


def _count(plan_id: PlanId, store: CompactingLedger) -> bool:
    """Store the progress of a plan."""
    try:
        store.keep_state(PlanStore(store).read(plan_id))
    except PlanloomError as error:
        log.info("plan %s is not counted: %s", plan_id, error.message)
    return False
