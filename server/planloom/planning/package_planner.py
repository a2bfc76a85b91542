"""Runs the planner of a package: what it writes is validated as every plan is, what it raises fails the draft."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import NamedTuple, get_args

from planloom.domain.errors import PlanloomError, PlannerFailed
from planloom.domain.plans.validation import errors, problems
from planloom.domain.text.counted import counted
from planloom.models.port import Model
from planloom.planning.estimates import estimated_duration, overall_risk
from planloom.planning.port import PlanDrafted, Planner, PlannerEvent, PlanningRequest
from planloom.tools.registry import Registry


class PlannerParts(NamedTuple):
    """What a planner can plan with: the tools that steps can call, and the model, if one can be used."""

    tools: Registry
    model: Model | None = None


MakePlanner = Callable[[PlannerParts], Planner]
"""What a package brings: makes a planner, for one draft."""


class PackagePlanner:
    """The planner of this name, which is that of a package."""

    def __init__(self, name: str, make: MakePlanner, parts: PlannerParts) -> None:
        self._name = name
        self._make = make
        self._parts = parts

    async def draft(self, request: PlanningRequest) -> AsyncGenerator[PlannerEvent, None]:
        """The events of the package's planner. Raises PlannerFailed if it fails, or its plan has errors."""
        try:
            async with aclosing(self._make(self._parts).draft(request)) as events:
                async for event in events:
                    if not isinstance(event, get_args(PlannerEvent)):
                        raise TypeError(f"{event!r} is no event of a planner")
                    yield self._judged(event, request) if isinstance(event, PlanDrafted) else event
        except PlanloomError:
            raise
        except Exception as error:
            what = f"{type(error).__name__}: {error}".splitlines()[0]
            raise PlannerFailed(f"The planner {self._name} has failed: {what}") from error

    def _judged(self, plan: PlanDrafted, request: PlanningRequest) -> PlanDrafted:
        """The plan with time and risk as we see them. Raises PlannerFailed if it has errors."""
        rules = self._parts.tools.rules()
        finished = {step.step_id for step in request.finished}
        steps = tuple(step for step in plan.steps if step.step_id not in finished)
        found = problems((*request.finished, *steps), rules, sequential=plan.sequential)
        if wrong := errors(found):
            raise PlannerFailed(f"The plan of {self._name} has an error: {wrong[0].sentence}")
        return plan._replace(
            steps=steps,
            summary=plan.summary or f"{counted(len(steps), 'step')}.",
            author="package",
            estimated_duration=estimated_duration(steps, rules, sequential=plan.sequential),
            overall_risk=overall_risk(steps, rules, request.qualification, stated=(plan.overall_risk,)),
            warnings=tuple(each for each in found if each.severity == "warning"),
        )
