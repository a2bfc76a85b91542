"""Direct runs: what a request becomes when nobody wants to see a plan first, and how such a run turns into one."""

from __future__ import annotations

from collections.abc import Sequence

from planloom.domain import events as ev
from planloom.domain.plan import Plan, Review, Step, StepResult
from planloom.domain.values import Args, Instant, Json, StepId
from planloom.execution.earlier import earlier_calls, written_paths
from planloom.planning.rules import plan_by_rules
from planloom.tools.registry import Registry, argument_problems
from planloom.tools.tool import shortened

_HEADLINE = 80


def direct_run(plan: Plan, tools: Registry, review: Review) -> ev.PlanDirect:
    """Literal tool calls if the rules find nothing else in the request, else the request as one step."""

    def takes(name: str, args: Args) -> bool:
        tool = tools.get(name)
        return tool is not None and not argument_problems(tool, args)

    steps = plan_by_rules(plan.request, tools.names(), plan.attachments, takes=takes)
    if steps and all(step.kind == "tool_call" for step in steps):
        return ev.PlanDirect(steps=steps, sequential=True, author="rules", review=review)
    whole = Step(
        step_id=StepId("step_1"),
        description=headline(plan.request),
        instruction=plan.request,
        active_form="Working on the request",
    )
    return ev.PlanDirect(steps=(whole,), sequential=True, author="user", review=review)


def put_to_review(
    plan: Plan, running: Step, wanted: Sequence[Json], at: Instant, tools: Registry
) -> ev.PlanReady:
    """The plan that a model would rather have than a direct run; what it has done so far is a completed step.

    Writes that were only staged are not among it: the run ends before they are made.
    """
    done: tuple[Step, ...] = ()
    now = plan.step(running.step_id) or running
    earlier = earlier_calls(plan, running, tools)
    if earlier.done:
        summary = shortened("; ".join(call.summary for call in earlier.done))
        result = StepResult(ok=True, summary=summary, duration_ms=0, timestamp=at)
        done = (
            now.model_copy(
                update={"status": "completed", "result": result, "completed_at": at, "progress": 100}
            ),
        )
    taken = {step.step_id for step in done}
    steps: list[Step] = []
    for each in wanted:
        if not isinstance(each, dict):
            continue
        description = each.get("description")
        instruction = each.get("instruction")
        if not isinstance(description, str) or not description.strip():
            continue
        ident = _free(taken, len(steps) + len(done) + 1)
        taken.add(ident)
        steps.append(
            Step(
                step_id=ident,
                description=description.strip(),
                instruction=instruction if isinstance(instruction, str) else description,
                active_form=description.strip(),
            )
        )
    paths = dict.fromkeys(path for call in earlier.lost for path in written_paths(call, tools))
    lost = [f"Not made any more: the changes of {', '.join(paths)}."] if paths else []
    return ev.PlanReady(
        version=plan.version + 1,
        steps=(*done, *steps),
        summary=" ".join([f"{len(steps)} steps, proposed while working on the request.", *lost]),
        sequential=True,
        author="model",
    )


def headline(text: str) -> str:
    """The first line of a request, short enough for a list."""
    line = text.strip().splitlines()[0].strip() if text.strip() else "Request"
    return line if len(line) <= _HEADLINE else line[: _HEADLINE - 1].rstrip() + "…"


def _free(taken: set[StepId], number: int) -> StepId:
    while StepId(f"step_{number}") in taken:
        number += 1
    return StepId(f"step_{number}")
