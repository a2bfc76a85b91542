"""Which plans this process runs: a plan belongs to one server at a time, and outlives the one that crashed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from planloom.domain import events as ev
from planloom.domain.errors import OwnedElsewhere, UnknownThing
from planloom.domain.plan import Plan, PlanError
from planloom.domain.values import PlanId
from planloom.execution.book import Book
from planloom.execution.settling import settle_intents
from planloom.execution.staging_area import forget_staged
from planloom.execution.summary import execution_summary
from planloom.storage.ledger import LEASE_SECONDS, Ledger
from planloom.workspace.view import WorkspaceView


class Ownership:
    """The plans of this process, and the order in which requests on one plan are taken."""

    def __init__(self, book: Book, ledger: Ledger, view: WorkspaceView) -> None:
        self._book = book
        self._view = view
        self._unsettled: set[PlanId] = set()
        self._ledger = ledger
        self._ours: set[PlanId] = set()
        self._locks: dict[PlanId, asyncio.Lock] = {}

    @asynccontextmanager
    async def turn(self, plan_id: PlanId) -> AsyncIterator[None]:
        """One request on a plan at a time, in order of arrival. A plan of a dead server is settled first."""
        async with self._locks.setdefault(plan_id, asyncio.Lock()):
            if plan_id not in self._ours:
                self.take(plan_id)
            plan = self.see(plan_id)
            if plan_id in self._unsettled:
                self._unsettled.discard(plan_id)
                forget_staged(self._book, await settle_intents(self._book, self._view, plan))
            yield

    def add(self, plan_id: PlanId) -> None:
        """A plan that this process has begun."""
        self._ours.add(plan_id)
        self._ledger.claim(plan_id, self._book.clock().isoformat())

    def see(self, plan_id: PlanId) -> Plan:
        """The plan, to be read. Raises UnknownThing."""
        plan = self._book.find(plan_id)
        if plan is None:
            raise UnknownThing("plan", plan_id)
        return plan

    def take(self, plan_id: PlanId) -> Plan:
        """The plan, to be changed by this process.

        Raises UnknownThing, or OwnedElsewhere while another living server runs it.
        """
        if plan_id in self._ours:
            return self.see(plan_id)
        self.see(plan_id)
        other = self._ledger.claim(plan_id, self._book.clock().isoformat())
        if other is not None:
            raise OwnedElsewhere(
                f"Another Planloom server (process {other.pid}) runs this plan. Use that editor window.",
                details={"pid": other.pid, "since": other.since},
            )
        plan = self._book.plan(plan_id)
        self._ours.add(plan_id)
        if any(edit.state == "intended" for edit in plan.edits):
            self._unsettled.add(plan_id)
            return self._adopt(plan)
        return forget_staged(self._book, self._adopt(plan))

    def _adopt(self, plan: Plan) -> Plan:
        """Bring a plan whose server has died to a state from which a person can go on. Nothing runs by itself."""
        if plan.status == "draft":
            error = PlanError(
                code="interrupted", message="The server ended while the plan was being drafted."
            )
            return self._book.record(
                plan.plan_id, ev.PlanFailed(summary=execution_summary(plan), error=error)
            )
        if plan.status not in ("approved", "executing", "paused"):
            return plan
        happened: list[ev.Event] = [
            ev.ApprovalResolved(approval_id=each.approval_id, decision="superseded", by="server")
            for each in plan.pending.approvals
            if plan.status != "approved"
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
        if plan.status != "paused" or plan.pause_reason == "conflict":
            happened.append(ev.PlanPaused(reason="restart", detail="The server ended while the plan ran."))
        return self._book.record(plan.plan_id, *happened)

    def take_orphans(self, plan_ids: tuple[PlanId, ...]) -> None:
        """Adopt those of the plans whose server has died; the others are left to theirs."""
        for plan_id in plan_ids:
            try:
                self.take(plan_id)
            except OwnedElsewhere:
                continue

    async def settle(self) -> None:
        """Look at the files of every adopted plan whose last edit is in doubt."""
        for plan_id in tuple(self._unsettled):
            async with self.turn(plan_id):
                continue

    def forget(self, plan_id: PlanId) -> None:
        """A plan that was deleted."""
        self._ours.discard(plan_id)
        self._locks.pop(plan_id, None)
        self._book.forget(plan_id)

    async def keep_leases(self) -> None:
        """Renew the leases for as long as the process lives."""
        while True:
            await asyncio.sleep(LEASE_SECONDS / 3)
            self._ledger.renew(self._ours)
