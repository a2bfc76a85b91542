"""What every fold of an event needs: a value with some fields changed, a plan with one step changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from planloom.domain.changes import EditRecord
from planloom.domain.plan import Pending, Plan, Step, Usage
from planloom.domain.series import Series
from planloom.domain.values import Instant, StepId


class IllegalTransition(Exception):
    """An event that cannot happen to a plan in this status; a defect of whoever appended it."""


V = TypeVar("V", Plan, Step, Pending, EditRecord)


def change(plan: Plan, step_id: StepId, allowed: set[str] | None, by: Callable[[Step], Step]) -> Plan:
    """Replace one step; `allowed` names the statuses it may be in, any if None."""
    place = plan.place(step_id)
    if place is None:
        raise IllegalTransition(f"the plan has no step {step_id}")
    step = plan.steps[place]
    if allowed is not None and step.status not in allowed:
        raise IllegalTransition(f"step {step_id} is {step.status}, not one of {sorted(allowed)}")
    return updated(plan, steps=plan.steps.replaced({place: by(step)}))


def is_staged(plan: Plan, step_id: StepId) -> bool:
    """Whether the step is done but its changes wait for the approval of the whole plan."""
    step = plan.step(step_id)
    return step is not None and step.staged


def settled(plan: Plan, step_ids: Iterable[StepId], *, lost: bool = False) -> Plan:
    """The plan with the staged changes of these steps made, or `lost`, so that the steps must run again."""
    again = {"status": "pending", "result": None, "completed_at": None, "progress": None} if lost else {}
    made: dict[int, Step] = {}
    for step_id in step_ids:
        place = plan.place(step_id)
        if place is not None and plan.steps[place].staged:
            made[place] = updated(plan.steps[place], staged=False, **again)
    return updated(plan, steps=plan.steps.replaced(made)) if made else plan


def granted(plan: Plan) -> Plan:
    """The plan with its budget granted anew, and its steps' too, if it is paused since that was used up."""
    if plan.pause_reason != "budget":
        return plan
    begun = {
        place: updated(step, calls_before=len(step.tools_executed))
        for place, step in enumerate(plan.steps)
        if step.tools_executed
    }
    return updated(plan, steps=plan.steps.replaced(begun), budget_base=plan.usage)


def without_calls(plan: Plan, step_id: StepId) -> Plan:
    """The plan with no call of the step open."""
    calls = tuple(call for call in plan.open_calls if call.step_id != step_id)
    return plan if len(calls) == len(plan.open_calls) else updated(plan, open_calls=calls)


def without_questions(plan: Plan, step_id: StepId) -> Plan:
    """The plan with nothing asked about the step."""
    questions = tuple(each for each in plan.pending.questions if each.step_id != step_id)
    recoveries = tuple(each for each in plan.pending.recoveries if each.step_id != step_id)
    return updated(plan, pending=updated(plan.pending, questions=questions, recoveries=recoveries))


def spent(plan: Plan, usage: Usage | None) -> Plan:
    """The plan with a model's usage added."""
    return plan if usage is None else updated(plan, usage=plan.usage.plus(usage))


def dated(step: Step, at: Instant) -> Step:
    """The step, with the time at which it came if it is new."""
    return step if step.created_at else updated(step, created_at=at)


def all_dated(steps: Iterable[Step], at: Instant) -> Series[Step]:
    """The steps of a plan, those that are new with the time at which they came."""
    return Series(dated(step, at) for step in steps)


def updated(value: V, **changes: Any) -> V:
    """The same value with some fields changed."""
    return value.model_copy(update=changes)
