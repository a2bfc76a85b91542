"""Serves one request on a plan at a time, and checks the plan's status again after every wait."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from planloom.domain.errors import StaleVersion, WrongState
from planloom.domain.plans.plan import Plan, PlanStatus
from planloom.domain.values import PlanId
from planloom.execution.conductor import Conductor
from planloom.execution.jobs import Jobs
from planloom.service.running.ownership import Ownership
from planloom.service.running.states import Action, require


class Turns:
    """Serializes the requests that change a plan and checks each against the plan's status."""

    def __init__(self, ownership: Ownership, conductor: Conductor, jobs: Jobs) -> None:
        self._ownership = ownership
        self._conductor = conductor
        self._jobs = jobs
        self._cancelling: set[PlanId] = set()

    @asynccontextmanager
    async def turn(
        self,
        plan_id: PlanId,
        action: Action | None,
        *,
        version: int | None = None,
        halted: bool = False,
        already: PlanStatus | None = None,
    ) -> AsyncIterator[Plan]:
        """Wait for this request's turn, then yield the plan if its status allows the action and the version matches.

        With `halted` no job of the plan runs meanwhile; a plan that has reached the status `already` by then is
        yielded, too. Without an action the caller must call `require`. Raises WrongState, StaleVersion, and what
        `Ownership.turn` raises.
        """
        async with self._ownership.turn(plan_id):
            plan = self._allowed(plan_id, action, version)
            if not halted:
                yield plan
                return
            async with self.halted(plan_id, action, version=version, already=already) as plan:
                yield plan

    @asynccontextmanager
    async def halted(
        self,
        plan_id: PlanId,
        action: Action | None,
        *,
        version: int | None = None,
        already: PlanStatus | None = None,
    ) -> AsyncIterator[Plan]:
        """Within a turn, stop the plan's jobs, then check its status again and yield it."""
        try:
            await self._jobs.stop(f"draft:{plan_id}")
            await self._conductor.halt(plan_id)
            plan = self._ownership.claim(plan_id)
            yield plan if plan.status == already else self._allowed(plan_id, action, version)
        finally:
            self._conductor.release(plan_id)

    def begin_cancel(self, plan_id: PlanId) -> None:
        """Refuse every other request from now on: a cancel is answered before it is done."""
        self._cancelling.add(plan_id)

    def end_cancel(self, plan_id: PlanId) -> None:
        """Accept requests again, after the cancel is done or has failed."""
        self._cancelling.discard(plan_id)

    def _allowed(self, plan_id: PlanId, action: Action | None, version: int | None) -> Plan:
        plan = self._ownership.claim(plan_id)
        if plan_id in self._cancelling and action != "cancel":
            raise WrongState("The plan is being cancelled.", status=plan.status, allowed=())
        if action is not None:
            require(plan, action)
        if version is not None and version != plan.version:
            raise StaleVersion(plan.version, status=plan.status)
        return plan
