"""The author that needs no model: what a request spells out literally becomes its plan."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from planloom.domain.errors import ModelFailed
from planloom.domain.plans.plan import Step
from planloom.domain.plans.validation import Problem, problems
from planloom.domain.values import Args, StepId
from planloom.planning.estimates import estimated_duration, overall_risk
from planloom.planning.port import PlanDrafted, PlannerEvent, PlanningRequest, StepDrafted
from planloom.planning.rules.parser import plan_by_rules
from planloom.tools.registry import Registry


class RulesPlanner:
    """Drafts by rules alone. `note` is told to the person who reviews the plan."""

    def __init__(self, tools: Registry, *, note: str = "") -> None:
        self._tools = tools
        self._note = note

    async def draft(self, request: PlanningRequest) -> AsyncGenerator[PlannerEvent, None]:
        """Say every step, then the plan. Raises ModelFailed if the text holds no word to plan by."""
        rules = self._tools.rules()
        steps = _besides(self._written(request), request.finished)
        if not steps:
            raise ModelFailed("model_output_invalid", "The request holds nothing that could become a step.")
        for step in steps:
            yield StepDrafted(step=step)
        literal = sum(step.kind == "tool_call" for step in steps)
        found = problems(steps, rules, sequential=True, request=request.text)
        yield PlanDrafted(
            steps=steps,
            summary=_summary(len(steps), literal),
            sequential=True,
            author="rules",
            estimated_duration=estimated_duration(steps, rules, sequential=True),
            overall_risk=overall_risk(steps, rules, request.qualification),
            warnings=(*self._noted(), *(each for each in found if each.severity == "warning")),
        )

    def _noted(self) -> tuple[Problem, ...]:
        note = Problem(step_id=None, field="", problem=self._note, severity="warning")
        return (note,) if self._note else ()

    def _written(self, request: PlanningRequest) -> tuple[Step, ...]:
        rules = self._tools.rules()

        def takes(tool: str, args: Args) -> bool:
            return tool in rules and not rules[tool].check(args)

        attached = tuple(each.attachment for each in request.attachments)
        return plan_by_rules(request.text, self._tools.names(), attached, takes=takes)


def _besides(steps: tuple[Step, ...], finished: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps without those that are finished already, their ids apart from the finished ones'."""
    if not finished:
        return steps
    done = [(step.instruction, step.tool, step.args) for step in finished]
    taken = {step.step_id for step in finished}
    left: list[Step] = []
    number = 1
    for step in steps:
        key = (step.instruction, step.tool, step.args)
        if key in done:
            done.remove(key)
            continue
        while f"step_{number}" in taken:
            number += 1
        left.append(step.model_copy(update={"step_id": StepId(f"step_{number}")}))
        number += 1
    return tuple(left)


def _summary(steps: int, literal: int) -> str:
    """How many steps there are, and how many of them need no model."""
    what = "1 step" if steps == 1 else f"{steps} steps"
    return (
        f"{what}, {literal} of them literal." if literal < steps else f"{what}, nothing that needs a model."
    )
