"""The author that needs no model: what a request spells out literally becomes its plan."""

from __future__ import annotations

from collections.abc import AsyncIterator

from planloom.domain.errors import ModelFailed
from planloom.domain.plan import Risk
from planloom.domain.validation import problems
from planloom.planning.port import PlanDrafted, PlannerEvent, PlanningRequest, StepDrafted
from planloom.planning.rules import plan_by_rules
from planloom.tools.registry import Registry


class RulesPlanner:
    """Drafts by rules alone."""

    def __init__(self, tools: Registry) -> None:
        self._tools = tools

    async def draft(self, request: PlanningRequest) -> AsyncIterator[PlannerEvent]:
        """Say every step, then the plan. Raises ModelFailed if the text holds no word to plan by."""
        attached = tuple(each.attachment for each in request.attachments)
        steps = plan_by_rules(request.text, self._tools.names(), attached)
        if not steps:
            raise ModelFailed("model_output_invalid", "The request holds nothing that could become a step.")
        for step in steps:
            yield StepDrafted(step=step)
        literal = sum(step.kind == "tool_call" for step in steps)
        found = problems(steps, self._tools.rules(), sequential=True, request=request.text)
        risk: Risk = "low"
        for step in steps:
            tool = self._tools.get(step.tool or "")
            if tool is not None and tool.effect in ("destroy", "execute"):
                risk = "medium"
        yield PlanDrafted(
            steps=steps,
            summary=f"{len(steps)} steps, {literal} of them literal tool calls.",
            sequential=True,
            author="rules",
            overall_risk=risk,
            warnings=tuple(each for each in found if each.severity == "warning"),
        )
