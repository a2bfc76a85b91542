"""Checks the steps of plans against the tools, and marks those whose effect will be asked for."""

from __future__ import annotations

from collections.abc import Sequence

from planloom.domain.plans.plan import Plan, Step
from planloom.domain.plans.sub_plans import TemplateOf
from planloom.domain.plans.validation import Problem, errors, problems
from planloom.execution.session import Session
from planloom.tools.registry import Registry


class StepRules:
    """The rules for steps that follow from the tools of this version, the templates that there are, and the approval
    policy of the settings.

    The mark of a step is for the person who reviews the plan; the gate decides anew when the effect is due.
    """

    def __init__(self, session: Session, tools: Registry, template_of: TemplateOf) -> None:
        self._session = session
        self._tools = tools
        self._template_of = template_of

    def problems(self, plan: Plan, steps: Sequence[Step]) -> tuple[Problem, ...]:
        """The errors and warnings of steps that are to replace those of the plan."""
        return self._problems(steps, sequential=plan.sequential)

    def errors(self, plan: Plan, steps: Sequence[Step]) -> tuple[Problem, ...]:
        """Only the problems that prevent approval."""
        return errors(self.problems(plan, steps))

    def errors_of_new(self, steps: Sequence[Step]) -> tuple[Problem, ...]:
        """The problems that prevent approval of steps which are to become a new plan."""
        return errors(self._problems(steps, sequential=False))

    def _problems(self, steps: Sequence[Step], *, sequential: bool) -> tuple[Problem, ...]:
        return problems(steps, self._tools.rules(), sequential=sequential, template_of=self._template_of)

    def with_approvals(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """The steps, each with whether the policy asks before its tool's effect."""
        policy = self._session.settings.approvals.policy()
        marked: list[Step] = []
        for step in steps:
            tool = self._tools.get(step.tool or "")
            asks = tool is not None and policy.verdict(tool.effect) == "ask"
            if step.requires_approval == asks:
                marked.append(step)
            else:
                marked.append(step.model_copy(update={"requires_approval": asks}))
        return tuple(marked)
