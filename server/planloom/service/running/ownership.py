"""Which plans this process runs: a plan belongs to one server at a time, and outlives the one that crashed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

from planloom.domain.errors import OwnedElsewhere, PlanloomError, PlanUnreadable, StorageFailed, UnknownThing
from planloom.domain.events import catalog as ev
from planloom.domain.events.folding import IllegalTransition
from planloom.domain.plans.plan import PauseReason, Plan, PlanError
from planloom.domain.values import PlanId
from planloom.execution.effects.reconcile import reconcile_intents
from planloom.execution.effects.staging_area import drop_staged
from planloom.execution.jobs import Jobs
from planloom.execution.plan_store import PlanStore
from planloom.execution.summary import execution_summary
from planloom.storage.ledger import LEASE_SECONDS, Ledger, owned_elsewhere
from planloom.workspace.edits.after_crash import clear_leftovers
from planloom.workspace.view import WorkspaceView

STOPPED = "The plan was stopped, since what it did could not be written to the plan ledger."
_ENDED = "The server ended while the plan ran."
log = logging.getLogger(__name__)


class Ownership:
    """The plans of this process, and the order in which requests on one plan are taken.

    A plan of which an event could not be written is let go: `halt` stops what runs of it, and it is taken back
    when the ledger can be written again, in the way in which the plans of a dead server are taken.
    """

    def __init__(
        self,
        plan_store: PlanStore,
        ledger: Ledger,
        view: WorkspaceView,
        jobs: Jobs,
        halt: Callable[[PlanId], Awaitable[None]],
    ) -> None:
        self._plan_store = plan_store
        self._view = view
        self._ledger = ledger
        self._jobs = jobs
        self._halt = halt
        self._unsettled: set[PlanId] = set()
        self._ours: set[PlanId] = set()
        self._orphans: set[PlanId] = set()
        self._let_go: set[PlanId] = set()
        self._locks: dict[PlanId, asyncio.Lock] = {}
        plan_store.on_stop(self._stopped)

    @asynccontextmanager
    async def turn(self, plan_id: PlanId) -> AsyncIterator[None]:
        """One request on a plan at a time, in order of arrival. A plan of a dead server is settled first.

        Raises UnknownThing, OwnedElsewhere, PlanUnreadable, and StorageFailed if nothing can be written now.
        """
        await self._jobs.join(f"let-go:{plan_id}")
        async with self._lock(plan_id):
            await self._plan_store.ready()
            plan = self.take(plan_id)
            if plan_id in self._unsettled:
                await clear_leftovers(self._view, plan)
                settled = await reconcile_intents(self._plan_store, self._view, plan)
                self._unsettled.discard(plan_id)
                drop_staged(self._plan_store, settled)
            yield

    def _lock(self, plan_id: PlanId) -> asyncio.Lock:
        return self._locks.setdefault(plan_id, asyncio.Lock())

    def add(self, plan_id: PlanId) -> None:
        """A plan that this process has begun: its lease came with its first event."""
        self._ours.add(plan_id)

    def see(self, plan_id: PlanId) -> Plan:
        """The plan, to be read. Raises UnknownThing, PlanUnreadable, StorageFailed."""
        plan = self._plan_store.find(plan_id)
        if plan is None:
            raise UnknownThing("plan", plan_id)
        return plan

    def take(self, plan_id: PlanId) -> Plan:
        """The plan, to be changed by this process.

        Raises UnknownThing, PlanUnreadable, StorageFailed, or OwnedElsewhere while another living server runs it.
        """
        if plan_id in self._ours:
            return self.see(plan_id)
        self.see(plan_id)
        other = self._ledger.claim(plan_id, self._plan_store.clock().isoformat())
        if other is not None:
            raise owned_elsewhere(other)
        plan = self._plan_store.plan(plan_id)
        self._ours.add(plan_id)
        unsettled = any(edit.state == "intended" for edit in plan.edits)
        if unsettled:
            self._unsettled.add(plan_id)
        try:
            plan = self._adopt(plan)
        except IllegalTransition as error:
            # Damage that reads well and makes no sense: what the plan is waiting for is nowhere in it.
            self._ours.discard(plan_id)
            self._unsettled.discard(plan_id)
            self._plan_store.forget(plan_id)
            raise self._plan_store.mark_unreadable(
                PlanUnreadable(plan_id, f"it does not fit together ({error})")
            ) from error
        self._let_go.discard(plan_id)
        return plan if unsettled else drop_staged(self._plan_store, plan)

    def _adopt(self, plan: Plan) -> Plan:
        """Bring a plan whose server has died, or that was let go, to a state from which a person can go on.

        Nothing runs by itself.
        """
        stopped = plan.plan_id in self._let_go
        reason: PauseReason = "storage" if stopped else "restart"
        if plan.status == "draft":
            message = STOPPED if stopped else "The server ended while the plan was being drafted."
            error = PlanError(code="storage_failed" if stopped else "interrupted", message=message)
            return self._plan_store.record(
                plan.plan_id, ev.PlanFailed(summary=execution_summary(plan), error=error)
            )
        if plan.status not in ("approved", "executing", "paused"):
            return plan
        happened: list[ev.Event] = []
        if plan.status != "paused" or plan.pause_reason == "conflict":
            # The pause comes first: what follows it no longer counts as time in which the plan has worked.
            happened.append(ev.PlanPaused(reason=reason, detail=STOPPED if stopped else _ENDED))
        happened += [
            ev.ApprovalResolved(approval_id=each.approval_id, decision="superseded", by="server")
            for each in plan.pending.approvals
        ]
        happened += [
            ev.ConflictResolved(task_id=each.step_id, edit_id=each.edit_id, files=(), by="server")
            for each in plan.pending.conflicts
        ]
        happened += [
            ev.TaskUpdate(task_id=step.step_id, status="pending")
            for step in plan.steps
            if step.status == "running"
        ]
        return self._plan_store.record(plan.plan_id, *happened)

    def _stopped(self, plan_id: PlanId, error: PlanloomError) -> None:
        """An event of a plan could not be written: stop what runs of it and let it go."""
        if isinstance(error, StorageFailed):
            self._let_go.add(plan_id)
            self._orphans.add(plan_id)
        self._jobs.start(f"let-go:{plan_id}", self._give_up(plan_id))

    async def _give_up(self, plan_id: PlanId) -> None:
        await self._halt(plan_id)
        # A request that is under way ends first: it meets the failure, and not a plan that is not there.
        async with self._lock(plan_id):
            self._ours.discard(plan_id)
            self._unsettled.discard(plan_id)
            self._plan_store.forget(plan_id)

    def is_left_open(self, plan_id: PlanId) -> bool:
        """Whether a paused plan asks or does what only the server that ran it could carry on."""
        try:
            plan = self.see(plan_id)
        except PlanloomError:
            return False
        return bool(
            plan.pending.approvals
            or plan.pending.conflicts
            or any(step.status == "running" for step in plan.steps)
            or any(edit.state == "intended" for edit in plan.edits)
        )

    def take_orphans(self, plan_ids: Iterable[PlanId]) -> None:
        """Adopt those of the plans whose server has died; the others are left to theirs.

        What cannot be adopted now since the ledger fails is tried again with the leases.
        """
        for plan_id in tuple(plan_ids):
            self._orphans.add(plan_id)
            try:
                self.take(plan_id)
            except (OwnedElsewhere, PlanUnreadable, UnknownThing):
                self._orphans.discard(plan_id)
            except StorageFailed:
                continue
            else:
                self._orphans.discard(plan_id)

    async def settle(self) -> None:
        """Look at the files of every adopted plan whose last edit is in doubt."""
        for plan_id in tuple(self._unsettled):
            try:
                async with self.turn(plan_id):
                    continue
            except PlanloomError as error:
                log.warning("plan %s could not be settled: %s", plan_id, error.message)

    def forget(self, plan_id: PlanId) -> None:
        """A plan that was deleted."""
        self._ours.discard(plan_id)
        self._locks.pop(plan_id, None)
        self._plan_store.forget(plan_id)

    async def keep(self, seconds: float = LEASE_SECONDS / 3) -> None:
        """Renew the leases for as long as the process lives, and take plans back that were let go."""
        while True:
            await asyncio.sleep(seconds)
            await self.look_after()

    async def look_after(self) -> None:
        """Renew the leases once. If the ledger can be written again, take back what was let go."""
        try:
            await self._ledger.ready()
            self._ledger.renew(self._ours)
            self._ledger.probe()
        except StorageFailed as error:
            log.warning("the leases were not renewed: %s", error.message)
            return
        for plan_id in tuple(self._orphans):
            await self._jobs.join(f"let-go:{plan_id}")
        self.take_orphans(self._orphans)
        await self.settle()
