"""Tracks which plans this process runs. A plan is run by one server at a time; after a crash another adopts it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

from planloom.domain.errors import OwnedElsewhere, PlanloomError, PlanUnreadable, StorageFailed, UnknownThing
from planloom.domain.events import catalog as ev
from planloom.domain.events.folding import IllegalTransition
from planloom.domain.plans.commands import CommandProcess, running_in_background
from planloom.domain.plans.plan import ENDED, Fate, PauseReason, Plan, PlanError, has_open_work
from planloom.domain.scheduling import directives as do
from planloom.domain.values import PlanId
from planloom.execution.conductor import Conductor
from planloom.execution.effects.reconcile import drop_staged, reconcile_intents
from planloom.execution.jobs import Jobs, background_jobs
from planloom.execution.plan_store import PlanStore
from planloom.execution.session import Session
from planloom.execution.summary import execution_summary
from planloom.storage.leases import LEASE_SECONDS, owned_elsewhere
from planloom.storage.ledger import Ledger, workspace_key
from planloom.tools.processes.left_over import end_left_over
from planloom.workspace.edits.after_crash import clear_leftovers

STOPPED = "The plan was stopped, because its progress could not be written to the plan ledger."
_ENDED = "The server ended while the plan ran."
_DRAFTING = "The server ended while the plan was being drafted."
_KEPT = 32
"""How many ended plans stay live, so that the user's own undo of their edits is seen."""
_STAGED: frozenset[Fate] = frozenset({"held", "staged"})
log = logging.getLogger(__name__)


class Ownership:
    """The plans of this process, and the order in which requests on one plan are served.

    A plan is released when one of its events cannot be written: all its jobs are stopped. Once the ledger can be
    written again, it is adopted like a plan of a crashed server.
    """

    def __init__(
        self,
        session: Session,
        plan_store: PlanStore,
        ledger: Ledger,
        jobs: Jobs,
        conductor: Conductor,
    ) -> None:
        self._session = session
        self._plan_store = plan_store
        self._ledger = ledger
        self._jobs = jobs
        self._conductor = conductor
        self._unreconciled: set[PlanId] = set()
        self._owned: set[PlanId] = set()
        self._orphans: set[PlanId] = set()
        self._released: set[PlanId] = set()
        self._elsewhere: set[PlanId] = set()
        self._unexamined: list[PlanId] = []
        self._locks: dict[PlanId, asyncio.Lock] = {}
        plan_store.on_stop(self._stopped)
        ledger.listen(self._stop_lost)

    @asynccontextmanager
    async def turn(self, plan_id: PlanId) -> AsyncIterator[None]:
        """Serve one request on a plan at a time, in order of arrival. An adopted plan is reconciled first.

        Raises UnknownThing, OwnedElsewhere, PlanUnreadable, and StorageFailed if nothing can be written now.
        """
        await self._jobs.join(f"let-go:{plan_id}")
        async with self._lock(plan_id):
            await self._plan_store.ready()
            plan = self.claim(plan_id)
            if plan_id in self._unreconciled:
                # Few servers have something to reconcile.
                await clear_leftovers(self._session.view, plan)
                reconciled = await reconcile_intents(
                    self._plan_store, self._session.view, plan, trusted=self._session.trusted
                )
                self._unreconciled.discard(plan_id)
                drop_staged(self._plan_store, reconciled)
            yield

    def _lock(self, plan_id: PlanId) -> asyncio.Lock:
        return self._locks.setdefault(plan_id, asyncio.Lock())

    def add(self, plan_id: PlanId) -> None:
        """Add a plan that this process has created; its first event has claimed its lease."""
        self._owned.add(plan_id)

    def claim(self, plan_id: PlanId) -> Plan:
        """The plan, to be changed by this process, which adopts it from a crashed server.

        Raises UnknownThing, PlanUnreadable, StorageFailed, and OwnedElsewhere while another live server runs it.
        """
        if plan_id in self._owned:
            return self._plan_store.read(plan_id)
        self._plan_store.read(plan_id)
        other = self._ledger.claim(plan_id, self._plan_store.clock().isoformat())
        if other is not None:
            raise owned_elsewhere(other)
        plan = self._plan_store.plan(plan_id)
        self._owned.add(plan_id)
        has_intents = any(edit.state == "intended" for edit in plan.edits)
        has_intents = has_intents or any(step.is_doubtful for step in plan.steps)
        if has_intents:
            self._unreconciled.add(plan_id)
        try:
            plan = self._adopt(plan)
        except IllegalTransition as error:
            # A damaged plan can be readable and still inconsistent, for example wait for a step that it lacks.
            self._owned.discard(plan_id)
            self._unreconciled.discard(plan_id)
            self._plan_store.forget(plan_id)
            raise self._plan_store.mark_unreadable(
                PlanUnreadable(plan_id, f"its events are inconsistent ({error})")
            ) from error
        self._released.discard(plan_id)
        if has_intents:
            return plan
        return drop_staged(self._plan_store, plan)

    def _adopt(self, plan: Plan) -> Plan:
        """Pause a plan of a crashed server, or one that was released, so that the user can resume it.

        What it was waiting for is withdrawn, its background commands are ended. The draft of a new version fails: a
        message begins it again.
        """
        for step_id, command in running_in_background(plan):
            line = end_left_over(CommandProcess(pid=command.pid, stamp=command.process))
            ended = ev.BackgroundEnded(
                step_id=step_id, command_id=command.command_id, reason="crash", line=line
            )
            plan = self._plan_store.record(plan.plan_id, ended)
        stopped = plan.plan_id in self._released
        reason: PauseReason = "storage" if stopped else "restart"
        if plan.status == "draft":
            message = STOPPED if stopped else _DRAFTING
            if plan.before_draft is None:
                return self._plan_store.record(plan.plan_id, ev.PlanPaused(reason=reason, detail=message))
            error = PlanError(code="storage_failed" if stopped else "interrupted", message=message)
            return self._plan_store.record(
                plan.plan_id, ev.PlanFailed(summary=execution_summary(plan), error=error)
            )
        if plan.status not in ("approved", "executing", "paused"):
            return plan
        happened: list[ev.Event] = []
        if plan.status != "paused" or plan.pause_reason == "conflict":
            # The pause comes first, so that the time from the crash until now does not count as working time.
            happened.append(ev.PlanPaused(reason=reason, detail=STOPPED if stopped else _ENDED))
        happened += [
            ev.ApprovalResolved(approval_id=each.approval_id, decision="superseded", by="server")
            for each in plan.pending.approvals
        ]
        happened += [
            ev.ConflictResolved(step_id=each.step_id, edit_id=each.edit_id, files=(), by="server")
            for each in plan.pending.conflicts
        ]
        happened += [
            ev.StepUpdate(step_id=step.step_id, status="pending")
            for step in plan.steps
            if step.status == "running"
        ]
        return self._plan_store.record(plan.plan_id, *happened)

    def _stopped(self, plan_id: PlanId, error: PlanloomError) -> None:
        """Release a plan of which an event could not be written."""
        if isinstance(error, StorageFailed):
            self._released.add(plan_id)
            self._orphans.add(plan_id)
        self._jobs.start(f"let-go:{plan_id}", self._release(plan_id))

    def _stop_lost(self) -> None:
        """Stop all plans of a file that is lost, so that none of them does something that cannot be recorded."""
        problem = self._ledger.problem
        if problem is None or not self._ledger.is_lost:
            return
        for plan in self._plan_store.live():
            if plan.plan_id in self._owned and self._ledger.has_lost(plan.plan_id):
                self._plan_store.stop(plan.plan_id, StorageFailed(problem))

    async def _release(self, plan_id: PlanId) -> None:
        await self._stop_work(plan_id)
        # A request in progress ends first, so that it fails with the storage error and not with a missing plan.
        async with self._lock(plan_id):
            self._owned.discard(plan_id)
            self._unreconciled.discard(plan_id)
            self._plan_store.forget(plan_id)

    async def _stop_work(self, plan_id: PlanId) -> None:
        """Stop everything that runs of a plan, and drop what only this process knew of it."""
        for name in ("cancel-asked", "cancel", "draft", "end"):
            await self._jobs.stop(f"{name}:{plan_id}")
        await self._conductor.halt(plan_id)
        await self._jobs.stop(f"conduct:{plan_id}")
        await self._jobs.stop(background_jobs(plan_id))
        self._conductor.release(plan_id)

    def adopt_crashed(self) -> None:
        """Adopt the plans of this workspace whose server may have crashed in their middle: those that moved, and
        paused ones that still ask. Raises StorageFailed if they cannot be listed."""
        workspace = workspace_key(self._session.folders)
        moving = self._ledger.plans(workspace=workspace, statuses=("draft", "approved", "executing"))
        paused = self._ledger.left_open(workspace)
        self._unexamined = [plan_id for plan_id, known in paused.items() if not known]
        self._adopt_all((*moving, *(plan_id for plan_id, known in paused.items() if known)))

    async def adopt_unexamined(self) -> None:
        """Adopt paused plans that a crashed server of an older version left in their middle, which only their events
        tell. There may be many, so each is read in a turn of the event loop of its own."""
        while self._unexamined:
            plan_id = self._unexamined.pop(0)
            with suppress(PlanloomError):
                plan = self._plan_store.read(plan_id)
                if plan_id in self._owned or plan.status != "paused":
                    continue
                if has_open_work(plan):
                    self._adopt_all((plan_id,))
                else:
                    self._ledger.keep_state(plan)
            await asyncio.sleep(0)

    def _adopt_all(self, plan_ids: Iterable[PlanId]) -> None:
        """Adopt those of the plans whose server has crashed.

        Plans that cannot be adopted because the ledger fails are tried again when the leases are renewed.
        """
        for plan_id in tuple(plan_ids):
            self._orphans.add(plan_id)
            try:
                self.claim(plan_id)
            except OwnedElsewhere:
                self._orphans.discard(plan_id)
                self._elsewhere.add(plan_id)
            except (PlanUnreadable, UnknownThing):
                self._orphans.discard(plan_id)
            except StorageFailed:
                continue
            else:
                self._orphans.discard(plan_id)

    async def take_over(self, seconds: float = 1.0) -> None:
        """Adopt the plans that another server ran at the start, each as soon as that server has ended.

        An editor that is started again does not wait until its old server has ended.
        """
        while self._elsewhere:
            await asyncio.sleep(seconds)
            with suppress(StorageFailed):
                await self._ledger.ready()
                for plan_id in tuple(self._elsewhere):
                    if self._ledger.held_by_another(plan_id) is None:
                        self._elsewhere.discard(plan_id)
                        self._adopt_all((plan_id,))
                await self.reconcile_adopted()

    async def reconcile_adopted(self) -> None:
        """Adopt what is left of crashed plans, and reconcile those that have an edit without an outcome."""
        await self.adopt_unexamined()
        for plan_id in tuple(self._unreconciled):
            try:
                async with self.turn(plan_id):
                    continue
            except PlanloomError as error:
                log.warning("plan %s could not be reconciled: %s", plan_id, error.message)

    def _retire(self) -> None:
        """Let go of ended plans but the last few, so that memory does not grow with what was done.

        A request on such a plan claims it anew. Raises StorageFailed.
        """
        ended = [plan for plan in self._plan_store.live() if plan.status in ENDED]
        ended.sort(key=lambda plan: plan.updated_at or plan.created_at or self._plan_store.clock())
        busy = self._jobs.names()
        idle = [
            plan.plan_id
            for plan in ended[:-_KEPT]
            if not self._lock(plan.plan_id).locked() and not any(plan.plan_id in name for name in busy)
        ]
        if idle:
            self._ledger.give_back(idle)
        for plan_id in idle:
            self.forget(plan_id)

    async def give_back(self, plan_id: PlanId) -> None:
        """Let any server take up a plan that waits for a person, unless something of it is known here alone.

        Raises as `turn` does.
        """
        if plan_id not in self._owned:
            return
        async with self.turn(plan_id):
            plan = self._plan_store.plan(plan_id)
            rests = plan.status in ("pending_approval", "rejected", "paused")
            goes_on = do.is_answered(plan) or has_open_work(plan)
            staged = any(call.fates & _STAGED for step in plan.steps for call in step.tools_executed)
            if rests and not goes_on and not staged and not self._jobs.names(f"step:{plan_id}:"):
                await self._stop_work(plan_id)
                self._ledger.give_back([plan_id])
                self._owned.discard(plan_id)
                self._plan_store.forget(plan_id)

    def forget(self, plan_id: PlanId) -> None:
        """Remove a plan that was deleted or is let go of."""
        self._owned.discard(plan_id)
        self._locks.pop(plan_id, None)
        self._plan_store.forget(plan_id)

    async def keep_leases(self, seconds: float = LEASE_SECONDS / 3) -> None:
        """Renew the leases and adopt released plans every `seconds`, for as long as the process lives."""
        while True:
            await asyncio.sleep(seconds)
            await self.renew_leases()

    async def renew_leases(self) -> None:
        """Renew the leases once, and adopt released plans if the ledger can be written."""
        try:
            await self._ledger.ready()
            self._retire()
            self._ledger.renew(self._owned)
            self._ledger.probe()
        except StorageFailed as error:
            log.warning("the leases were not renewed: %s", error.message)
            return
        for plan_id in tuple(self._orphans):
            await self._jobs.join(f"let-go:{plan_id}")
        self._adopt_all(self._orphans)
        await self.reconcile_adopted()
