"""Serves one request on a plan at a time, and checks the plan's status again after every wait."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from planloom.domain.errors import StaleVersion, WrongState
from planloom.domain.plans.plan import Plan, PlanStatus
from planloom.domain.values import PlanId
from planloom.execution.conductor import Conductor
from planloom.execution.jobs import Jobs
from planloom.service.running.ownership import Ownership
from planloom.service.running.states import Action, require

log = logging.getLogger(__name__)


class Turns:
    """Serializes the requests that change a plan and checks each against the plan's status."""

    def __init__(self, ownership: Ownership, conductor: Conductor, jobs: Jobs) -> None:
        self.ownership = ownership
        self.conductor = conductor
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
        async with self.ownership.turn(plan_id):
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
            await self.conductor.halt(plan_id)
            plan = self.ownership.claim(plan_id)
            yield plan if plan.status == already else self._allowed(plan_id, action, version)
        finally:
            self.conductor.release(plan_id)

    def cancel(self, plan_id: PlanId, end: Callable[[Plan], Awaitable[None]]) -> Plan:
        """Refuse every other request from now on, stop the plan's jobs in the background, and then call `end` with it.

        Returns the plan at once. Raises WrongState, and what `Ownership.claim` raises.
        """
        plan = self.ownership.claim(plan_id)
        require(plan, "cancel")
        self._cancelling.add(plan_id)
        self._jobs.start(f"cancel:{plan_id}", self._cancel(plan_id, end))
        return plan

    async def _cancel(self, plan_id: PlanId, end: Callable[[Plan], Awaitable[None]]) -> None:
        try:
            async with self.turn(plan_id, "cancel", halted=True) as plan:
                await end(plan)
        except WrongState:
            log.info("plan %s had ended before it was cancelled", plan_id)
        finally:
            self._cancelling.discard(plan_id)

    def _allowed(self, plan_id: PlanId, action: Action | None, version: int | None) -> Plan:
        plan = self.ownership.claim(plan_id)
        if plan_id in self._cancelling and action != "cancel":
            raise WrongState("The plan is being cancelled.", status=plan.status, allowed=())
        if action is not None:
            require(plan, action)
        if version is not None and version != plan.version:
            raise StaleVersion(plan.version, status=plan.status)
        return plan
