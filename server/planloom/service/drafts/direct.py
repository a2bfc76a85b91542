"""Direct runs: turns a request into steps that run without review."""

from __future__ import annotations

from planloom.domain.events import catalog as ev
from planloom.domain.plans.agents import allowed_effects
from planloom.domain.plans.plan import Plan, Step
from planloom.domain.values import StepId
from planloom.execution.session import Session
from planloom.execution.step_rules import StepRules
from planloom.planning.rules.planner import plan_by_rules
from planloom.tools.registry import Registry

HEADLINE = 80
"""Most characters of a description that is made of a longer text."""


def direct_run(session: Session, tools: Registry, rules: StepRules, plan: Plan) -> ev.PlanDirect:
    """The request as literal tool calls, if it consists of calls that are allowed; else as one step for the model."""

    # "Could you delete a.txt?" is an order, but its words alone do not suffice to delete.
    may_ask = plan.only_asks or (plan.detection is not None and plan.detection.rule == "question")

    def allowed(step: Step) -> bool:
        tool = tools.get(step.tool or "")
        if tool is None or (may_ask and tool.effect != "read"):
            return False
        return tool.effect in allowed_effects(plan, step.agent)

    review = session.settings.execution.review
    steps = plan_by_rules(plan.request, tools, plan.attachments, session.view.has)
    if steps and all(map(allowed, steps)):
        return ev.PlanDirect(
            steps=rules.with_approvals(steps), sequential=True, author="rules", review=review
        )
    whole = Step(
        step_id=StepId("step_1"),
        description=headline(plan.request),
        instruction=plan.request,
        active_form="Working on the request",
    )
    return ev.PlanDirect(steps=(whole,), sequential=True, author="user", review=review)


def headline(text: str) -> str:
    """The first line of a request, short enough for a list."""
    line = text.strip().splitlines()[0].strip() if text.strip() else "Request"
    return line if len(line) <= HEADLINE else line[: HEADLINE - 1].rstrip() + "…"
