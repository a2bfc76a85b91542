"""What every fold of an event needs: a value with some fields changed, a plan with one step changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from planloom.domain.changes import EditRecord
from planloom.domain.plans.indexed_tuple import IndexedTuple
from planloom.domain.plans.plan import Pending, Plan, Step, Usage
from planloom.domain.values import Instant, StepId


class IllegalTransition(Exception):
    """An event that cannot happen to a plan in this status; a defect of whoever appended it."""


V = TypeVar("V", Plan, Step, Pending, EditRecord)


def change(plan: Plan, step_id: StepId, allowed: set[str] | None, by: Callable[[Step], Step]) -> Plan:
    """Replace one step; `allowed` names the statuses it may be in, any if None."""
    place = plan.index_of(step_id)
    if place is None:
        raise IllegalTransition(f"the plan has no step {step_id}")
    step = plan.steps[place]
    if allowed is not None and step.status not in allowed:
        raise IllegalTransition(f"step {step_id} is {step.status}, not one of {sorted(allowed)}")
    return updated(plan, steps=plan.steps.replaced({place: by(step)}))


def again(plan: Plan, step_id: StepId) -> Plan:
    """The plan with a step that has ended to be run once more."""
    ended = {"status": "pending", "result": None, "completed_at": None, "progress": None, "staged": False}
    return change(plan, step_id, None, lambda step: updated(step, **ended))


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


def all_dated(steps: Iterable[Step], at: Instant) -> IndexedTuple[Step]:
    """The steps of a plan, those that are new with the time at which they came."""
    return IndexedTuple(dated(step, at) for step in steps)


def updated(value: V, **changes: Any) -> V:
    """The same value with some fields changed."""
    return value.model_copy(update=changes)
