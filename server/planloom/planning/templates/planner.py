"""The planner that writes a plan from a template."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from planloom.domain.plans.plan import Step
from planloom.domain.plans.validation import errors, problems
from planloom.domain.text.counted import counted
from planloom.planning.estimates import estimated_duration, overall_risk
from planloom.planning.port import PlanDrafted, PlannerEvent, PlanningRequest, StepDrafted
from planloom.tools.registry import Registry


class TemplatePlanner:
    """Drafts the steps of an applied template."""

    def __init__(self, name: str, steps: Sequence[Step], tools: Registry, *, sequential: bool) -> None:
        self._name = name
        self._steps = tuple(steps)
        self._tools = tools
        self._sequential = sequential

    async def draft(self, request: PlanningRequest) -> AsyncGenerator[PlannerEvent, None]:
        """Yield every step, then the plan. A call that the tools refuse becomes an instruction."""
        rules = self._tools.rules()
        finished = {step.step_id for step in request.finished}
        found = problems(self._steps, rules, sequential=self._sequential)
        unusable = {p.step_id for p in errors(found) if p.field == "tool" or p.field.startswith("args")}
        steps = tuple(
            step.model_copy(update={"kind": "processing", "tool": None, "args": None})
            if step.step_id in unusable
            else step
            for step in self._steps
            if step.step_id not in finished
        )
        for step in steps:
            yield StepDrafted(step=step)
        yield PlanDrafted(
            steps=steps,
            summary=f"{self._name}: {counted(len(steps), 'step')}.",
            sequential=self._sequential,
            author="template",
            estimated_duration=estimated_duration(steps, rules, sequential=self._sequential),
            overall_risk=overall_risk(steps, rules, request.qualification),
            warnings=tuple(problem for problem in found if problem.severity == "warning"),
        )
