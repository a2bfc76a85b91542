"""Runs the follow-ups of every applied edit (index, saving) as background jobs; a step can wait for them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from planloom.domain.changes import EditRecord
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.domain.values import PlanId
from planloom.execution.jobs import Jobs

EditListener = Callable[[Plan, EditRecord], Coroutine[Any, Any, None]]


class AppliedEdits:
    """Runs every listener in a background job for each `edit_applied`, whether of a step, an undo or a reconcile."""

    def __init__(self, jobs: Jobs, listeners: Sequence[EditListener]) -> None:
        """Each listener gets every applied edit, and the plan after it."""
        self._jobs = jobs
        self._listeners = listeners
        self._numbers = itertools.count(1)

    async def followed_up(self, plan_id: PlanId) -> None:
        """Wait until every listener has finished with the plan's edits so far."""
        await self._jobs.join(f"edit-applied:{plan_id}:")

    def on_event(self, recorded: ev.Recorded, plan: Plan) -> None:
        """Start the listeners for an applied edit."""
        assert isinstance(recorded.event, ev.EditApplied), "it hears no other"
        edit = plan.edits.find(recorded.event.edit_id)
        if edit is None:
            return
        for listener in self._listeners:
            self._jobs.start(f"edit-applied:{plan.plan_id}:{next(self._numbers)}", listener(plan, edit))
