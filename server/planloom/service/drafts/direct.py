"""Direct runs: turns a request into steps that run without review, and such a run into a plan under review."""

from __future__ import annotations

from collections.abc import Sequence

from planloom.domain.events import catalog as ev
from planloom.domain.plans.agents import allowed_effects
from planloom.domain.plans.outputs import unused_id
from planloom.domain.plans.plan import Plan, Step, StepResult
from planloom.domain.text.counted import counted
from planloom.domain.values import Instant, Json, StepId
from planloom.execution.plan_store import PlanStore
from planloom.execution.session import Session
from planloom.execution.step_rules import StepRules
from planloom.tools.registry import Registry
from planloom.tools.tool import shortened

_HEADLINE = 80


class DirectRuns:
    """Begins direct runs, and stops those whose model wants a plan."""

    def __init__(self, session: Session, plan_store: PlanStore, tools: Registry, rules: StepRules) -> None:
        self._session = session
        self._plan_store = plan_store
        self._tools = tools
        self._rules = rules

    def begin(self, plan: Plan) -> Plan:
        """Record the steps of the request; the caller then has them executed."""
        direct = direct_run(plan, self._tools, self._session)
        steps = self._rules.with_approvals(direct.steps, reviewed=False)
        return self._plan_store.record(plan.plan_id, direct.model_copy(update={"steps": steps}))

    def reroute(self, plan: Plan, running: Step, wanted: Sequence[Json]) -> None:
        """Put the plan that a step's model has proposed to review, in place of the run."""
        ready = put_to_review(plan, running, wanted, self._plan_store.clock())
        steps = self._rules.with_approvals(ready.steps)
        self._plan_store.record(
            plan.plan_id, ready.model_copy(update={"steps": steps}), ev.PlanApprovalRequest()
        )


def direct_run(plan: Plan, tools: Registry, session: Session) -> ev.PlanDirect:
    """The request as literal tool calls, if it consists of calls that are allowed; else as one step for the model."""

    def allowed(step: Step) -> bool:
        tool = tools.get(step.tool or "")
        if tool is None or (plan.only_asks and tool.effect != "read"):
            return False
        return tool.effect in allowed_effects(plan, step.agent)

    # Imported here, since a server without requests needs no rules, and they are long.
    from planloom.planning.rules.planner import plan_by_rules

    review = session.settings.execution.review
    steps = plan_by_rules(plan.request, tools, plan.attachments, session.view.has)
    if steps and all(map(allowed, steps)):
        return ev.PlanDirect(steps=steps, sequential=True, author="rules", review=review)
    whole = Step(
        step_id=StepId("step_1"),
        description=headline(plan.request),
        instruction=plan.request,
        active_form="Working on the request",
    )
    return ev.PlanDirect(steps=(whole,), sequential=True, author="user", review=review)


def put_to_review(plan: Plan, running: Step, wanted: Sequence[Json], at: Instant) -> ev.PlanReady:
    """The plan that a model has proposed during a direct run, which has settled its changes before.

    What was done so far, and only that, are completed steps: the request itself is not done.
    """
    now = plan.step(running.step_id) or running
    done = tuple(
        step for step in plan.steps if step.status == "completed" and step.step_id != running.step_id
    )
    done_calls = [call for call in now.tools_executed if call.has_effect or call.command == "ended"]
    if done_calls:
        summary = shortened("; ".join(call.summary for call in done_calls))
        so_far = {
            "description": shortened(f"Done before the plan: {summary}", _HEADLINE),
            "instruction": summary,
            "status": "completed",
            "result": StepResult(ok=True, summary=summary, duration_ms=0, timestamp=at),
            "completed_at": at,
            "progress": 100,
        }
        done = (*done, now.model_copy(update=so_far))
    used = {step.step_id for step in done}
    steps: list[Step] = []
    for each in wanted:
        if not isinstance(each, dict):
            continue
        description = each.get("description")
        instruction = each.get("instruction")
        if not isinstance(description, str) or not description.strip():
            continue
        step_id = unused_id(used, len(steps) + len(done) + 1)
        used.add(step_id)
        steps.append(
            Step(
                step_id=step_id,
                description=description.strip(),
                instruction=instruction if isinstance(instruction, str) else description,
                active_form=description.strip(),
            )
        )
    return ev.PlanReady(
        version=plan.version + 1,
        steps=(*done, *steps),
        summary=f"{counted(len(steps), 'step')}, proposed while working on the request.",
        sequential=True,
        author="model",
    )


def headline(text: str) -> str:
    """The first line of a request, short enough for a list."""
    line = text.strip().splitlines()[0].strip() if text.strip() else "Request"
    return line if len(line) <= _HEADLINE else line[: _HEADLINE - 1].rstrip() + "…"
