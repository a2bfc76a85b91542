"""Declares the rule of an event: when it can happen, and how it changes the plan; and helpers for these rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import Any, Final, NamedTuple, TypeVar, get_args

from planloom.domain.changes import EditRecord
from planloom.domain.indexed_tuple import IndexedTuple
from planloom.domain.plans.plan import (
    ENDED,
    AskedQuestion,
    DraftOutcome,
    LogLine,
    ModelUse,
    Pending,
    Plan,
    PlanStatus,
    Step,
    Usage,
    UserMessage,
)
from planloom.domain.values import Instant, StepId


class IllegalTransition(Exception):
    """An event that cannot happen to a plan in this status; the code that recorded it has a defect."""


V = TypeVar("V", Plan, Step, Pending, EditRecord, UserMessage, AskedQuestion, DraftOutcome)
E = TypeVar("E")
Fold = Callable[[Plan, E, Instant], Plan]

DRAFT: Final[frozenset[PlanStatus]] = frozenset({"draft"})
REVIEW: Final[frozenset[PlanStatus]] = frozenset({"pending_approval"})
ALIVE: Final[frozenset[PlanStatus]] = frozenset({"executing", "paused"})
ANY: Final[frozenset[PlanStatus]] = frozenset(get_args(PlanStatus))
LOG_KEPT: Final = 200
UNDOABLE: Final[frozenset[PlanStatus]] = frozenset({"paused", "completed", "failed", "cancelled"})
OPEN: Final[frozenset[PlanStatus]] = ANY - ENDED - {"rejected"}
NOT_PAUSED: Final[dict[str, None]] = {
    "paused_at": None,
    "pause_reason": None,
    "pause_detail": None,
    "model_problem": None,
}
"""The fields of a plan that say why it is paused, for one that is not."""


class Rule(NamedTuple):
    """The statuses of a plan in which an event can happen, and the plan after it.

    `fold` gets the plan, the event and its time. It raises IllegalTransition if the event cannot happen after all.
    """

    when: frozenset[PlanStatus]
    fold: Fold[Any]


RULES: Final[dict[type[Any], Rule]] = {}
"""The rule of every event but `plan_start`, by its class; filled by `folds`."""


def folds(event: type[E], when: Set[PlanStatus]) -> Callable[[Fold[E]], Fold[E]]:
    """Declares the decorated function as the rule of an event."""

    def declare(fold: Fold[E]) -> Fold[E]:
        assert event not in RULES, f"{event.__name__} has two rules"
        RULES[event] = Rule(frozenset(when), fold)
        return fold

    return declare


def change_step(plan: Plan, step_id: StepId, allowed: set[str] | None, by: Callable[[Step], Step]) -> Plan:
    """Replace one step by `by(step)`. Raises IllegalTransition unless its status is in `allowed`; None allows any."""
    index = plan.index_of(step_id)
    if index is None:
        raise IllegalTransition(f"the plan has no step {step_id}")
    step = plan.steps[index]
    if allowed is not None and step.status not in allowed:
        raise IllegalTransition(f"step {step_id} is {step.status}, not one of {sorted(allowed)}")
    return updated(plan, steps=plan.steps.replaced({index: by(step)}))


def reset_step(plan: Plan, step_id: StepId) -> Plan:
    """The plan with a settled step pending again."""
    ended = {"status": "pending", "result": None, "completed_at": None, "progress": None, "staged": False}
    return change_step(plan, step_id, None, lambda step: updated(step, **ended))


def renew_budget(plan: Plan) -> Plan:
    """If the plan is paused because its budget ran out, reset the budget of the plan and of its steps."""
    if plan.pause_reason != "budget":
        return plan
    called = {
        index: updated(step, calls_before=len(step.tools_executed))
        for index, step in enumerate(plan.steps)
        if step.tools_executed
    }
    return updated(plan, steps=plan.steps.replaced(called), budget_base=plan.usage)


def without_questions(plan: Plan, step_id: StepId) -> Plan:
    """The plan without pending questions and recoveries of the step."""
    questions = tuple(each for each in plan.pending.questions if each.step_id != step_id)
    recoveries = tuple(each for each in plan.pending.recoveries if each.step_id != step_id)
    return updated(plan, pending=updated(plan.pending, questions=questions, recoveries=recoveries))


def with_usage(plan: Plan, usage: Usage | None, model: str | None = None, seconds: float = 0) -> Plan:
    """The plan with the usage of a model added, and the seconds for which a step has waited for it."""
    if usage is None:
        return plan
    return updated(
        plan,
        usage=plan.usage.plus(usage),
        last_request=usage if usage.requests == 1 else plan.last_request,
        models=used_models(plan, usage, model, seconds),
    )


def used_models(plan: Plan, usage: Usage, model: str | None, seconds: float = 0) -> tuple[ModelUse, ...]:
    """The plan's use of each model with more of one; None is a model that nobody has named."""
    if model is None or (not usage.requests and not seconds):
        return plan.models
    uses = {use.model: use for use in plan.models}
    uses[model] = uses.get(model, ModelUse(model=model)).plus(usage, seconds)
    return tuple(uses.values())


def with_waits(before: Plan, after: Plan, at: Instant) -> Plan:
    """The plan with the clocks of its steps stopped while they wait for the user."""
    if after.pending is before.pending:
        return after
    waiting = _waiting(after.pending)
    changed: dict[int, Step] = {}
    for step_id in waiting ^ _waiting(before.pending):
        index = after.index_of(step_id)
        if index is None:
            continue
        step = after.steps[index]
        if step_id in waiting:
            changed[index] = updated(step, waits_since=at)
        elif step.waits_since is not None:
            waited = max(0, round((at - step.waits_since).total_seconds() * 1000))
            changed[index] = updated(step, waits_since=None, waited_ms=step.waited_ms + waited)
    return updated(after, steps=after.steps.replaced(changed)) if changed else after


def _waiting(pending: Pending) -> Set[StepId]:
    """The steps whose work stands still until the user decides."""
    approvals = {each.step_id for each in pending.approvals if each.step_id is not None}
    conflicts = {each.step_id for each in pending.conflicts}
    return approvals | conflicts | {each.step_id for each in pending.questions}


def logged(plan: Plan, line: LogLine) -> Plan:
    """The plan with one more message for the user, of which the last ones are kept."""
    return updated(plan, log=(*plan.log, line)[-LOG_KEPT:])


def with_creation_time(step: Step, at: Instant) -> Step:
    """The step; a new one gets `at` as the time of its creation."""
    return step if step.created_at else updated(step, created_at=at)


def as_plan_steps(steps: Iterable[Step], at: Instant) -> IndexedTuple[Step]:
    """The steps as those of a plan; new ones get `at` as the time of their creation."""
    return IndexedTuple(with_creation_time(step, at) for step in steps)


def updated(value: V, **changes: Any) -> V:
    """A copy of the value with some fields changed."""
    return value.model_copy(update=changes)
