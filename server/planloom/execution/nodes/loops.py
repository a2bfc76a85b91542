"""Unrolls a loop that is due into steps, and ends it with their results.

The new steps are recorded as an event, so that after a crash no step is repeated and no list is evaluated again.
"""

from __future__ import annotations

from planloom.domain.events import catalog as ev
from planloom.domain.expressions import (
    EVERYWHERE,
    Malformed,
    Name,
    Unanswerable,
    evaluated,
    holds,
    read,
)
from planloom.domain.plans.outputs import NoOutput, OutputReference, resolved
from planloom.domain.plans.plan import Step
from planloom.domain.plans.unrolling import MOST_ITEMS, for_items, for_round, most_rounds, written_out
from planloom.domain.text.counted import counted
from planloom.domain.values import Json
from planloom.execution.nodes.conditions import facts, outcome_of
from planloom.execution.step_outcomes import Done, Failed, Outcome, Rerouted
from planloom.execution.step_run import StepRun
from planloom.tools.context import ToolContext
from planloom.tools.registry import Registry

_ITEM: frozenset[Name] = frozenset({"item", "index"})


async def loop(run: StepRun, context: ToolContext, tools: Registry) -> Outcome | None:
    """The outcome of a loop: it is unrolled, or its steps have ended and it is done; None for any other step."""
    step = run.now
    try:
        if step.for_each is not None:
            return await _for_each(run, step, context, tools)
        if step.repeat_until is not None:
            return await _repeat(run, step, context, tools)
    except (Malformed, Unanswerable) as error:
        return Failed(error=f"The loop cannot be evaluated: {error}", code="invalid_plan")
    return None


async def _for_each(run: StepRun, step: Step, context: ToolContext, tools: Registry) -> Outcome:
    if step.children:
        children = children_of(run, step)
        return Done(
            summary=f"Done for {counted(len(children), 'item')}", value=[_result(each) for each in children]
        )
    found = await _items(run, step, context, tools)
    if not isinstance(found, list):
        raise Unanswerable(f"“{step.for_each}” is no list.")
    if len(found) > MOST_ITEMS:
        raise Unanswerable(
            f"the list has {len(found)} items; a step is made for each of at most {MOST_ITEMS}."
        )
    items = await _wanted(run, step, found, context, tools)
    if not items:
        return Done(summary="There is no item", value=[])
    taken = [each.step_id for each in run.plan.steps]
    return _unrolled(run, for_items(step, items, taken))


async def _repeat(run: StepRun, step: Step, context: ToolContext, tools: Registry) -> Outcome:
    assert step.repeat_until is not None
    rounds = children_of(run, step)
    if rounds:
        expression = read(step.repeat_until, EVERYWHERE | {"last", "index"})
        last: dict[str, Json] = {"last": outcome_of(rounds[-1]), "index": len(rounds) - 1}
        known = await facts(run.plan, expression, context, tools)
        if holds(expression, known.with_values(last)):
            return Done(summary=f"Done after {counted(len(rounds), 'round')}", value=_result(rounds[-1]))
    if len(step.children) >= most_rounds(step):
        error = f"After {counted(len(rounds), 'round')} this does not hold: {step.repeat_until}"
        return Failed(error=error, code="check_failed")
    return _unrolled(run, (for_round(step, [each.step_id for each in run.plan.steps]),))


def _unrolled(run: StepRun, steps: tuple[Step, ...]) -> Outcome:
    run.record(ev.StepsUnrolled(step_id=run.step_id, steps=steps))
    return Rerouted()


def children_of(run: StepRun, step: Step) -> list[Step]:
    """The steps that a loop or a sub-plan was unrolled into, without those that a person has removed since."""
    found = (run.plan.step(step_id) for step_id in step.children)
    return [each for each in found if each is not None]


def _result(step: Step) -> Json:
    if step.result is None or not step.result.ok:
        return None
    return step.result.summary if step.result.value is None else step.result.value


async def _items(run: StepRun, step: Step, context: ToolContext, tools: Registry) -> Json:
    """The list of a loop: written out in JSON, the result of a step, or the value of an expression."""
    text = step.for_each or ""
    listed = written_out(text)
    if isinstance(listed, OutputReference):
        found = resolved(run.plan, {"forEach": text.strip()})
        if isinstance(found, NoOutput):
            raise Unanswerable(f"{found.problem}.")
        return found["forEach"]
    if listed is not None:
        return listed
    expression = read(text)
    return evaluated(expression, await facts(run.plan, expression, context, tools))


async def _wanted(
    run: StepRun, step: Step, found: list[Json], context: ToolContext, tools: Registry
) -> list[tuple[int, Json]]:
    """The items, with their indices, for which the condition holds; one that does not use the item has been evaluated
    before."""
    items = [*enumerate(found)]
    if step.when is None or step.condition_held is True or not items:
        return items
    expression = read(step.when, EVERYWHERE | _ITEM)
    # The workspace is asked once, so that all items are judged by the same state of it.
    known = await facts(run.plan, expression, context, tools)
    return [
        (index, item)
        for index, item in items
        if holds(expression, known.with_values({"index": index, "item": item}))
    ]
