"""Which plans this process runs: a plan belongs to one server at a time, and outlives the one that crashed."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

from planloom.domain import events as ev
from planloom.domain.errors import OwnedElsewhere, UnknownThing
from planloom.domain.plan import Plan, PlanError
from planloom.domain.values import PlanId
from planloom.execution.book import Book
from planloom.execution.summary import execution_summary
from planloom.storage.ledger import LEASE_SECONDS, Ledger


class Ownership:
    """The plans of this process, and the order in which requests on one plan are taken."""

    def __init__(self, book: Book, ledger: Ledger) -> None:
        self._book = book
        self._ledger = ledger
        self._ours: set[PlanId] = set()
        self._locks: dict[PlanId, asyncio.Lock] = {}

    def turn(self, plan_id: PlanId) -> AbstractAsyncContextManager[None]:
        """One request on a plan at a time, in order of arrival."""
        return self._locks.setdefault(plan_id, asyncio.Lock())

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
        plan = self._book.load(plan_id)
        assert plan is not None
        self._ours.add(plan_id)
        return self._adopt(plan)

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
            ev.TaskUpdate(task_id=step.step_id, status="pending")
            for step in plan.steps
            if step.status == "running"
        ]
        if plan.status != "paused":
            happened.append(ev.PlanPaused(reason="restart", detail="The server ended while the plan ran."))
        return self._book.record(plan.plan_id, *happened)

    def take_orphans(self, plan_ids: tuple[PlanId, ...]) -> None:
        """Adopt those of the plans whose server has died; the others are left to theirs."""
        for plan_id in plan_ids:
            try:
                self.take(plan_id)
            except OwnedElsewhere:
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
