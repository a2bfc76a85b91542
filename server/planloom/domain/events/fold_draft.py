"""The rules of events of drafting and review, and of what the user says to a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from planloom.domain.events import catalog as ev
from planloom.domain.events.fold_calls import close_run, with_staged
from planloom.domain.events.folding import (
    ALIVE,
    DRAFT,
    NOT_PAUSED,
    OPEN,
    REVIEW,
    IllegalTransition,
    as_plan_steps,
    folds,
    renew_budget,
    updated,
    used_models,
    with_creation_time,
)
from planloom.domain.indexed_tuple import IndexedTuple
from planloom.domain.plans.editing import MoveStep
from planloom.domain.plans.plan import NOTHING_PENDING, DraftOutcome, Plan, Step, UserMessage
from planloom.domain.plans.revision import is_to_come, plan_changes, widening
from planloom.domain.values import Instant, StepId


@folds(ev.PlanRouted, when=DRAFT)
def plan_routed(plan: Plan, event: ev.PlanRouted, _at: Instant) -> Plan:
    """The plan with the model's verdict on its route."""
    return updated(plan, detection=event.detection, qualification=event.qualification, route=event.route)


@folds(ev.PlanDrafting, when=DRAFT | REVIEW | {"rejected", "paused", "failed", "cancelled"})
def plan_drafting(plan: Plan, event: ev.PlanDrafting, _at: Instant) -> Plan:
    """Begin a draft. A plan that has a version is kept in `before_draft`, and its completed steps stay.

    A draft that begins again, also after a crash, keeps what was there before the first of them.
    """
    outcome = DraftOutcome(version=event.version, feedback=event.feedback)
    plan = updated(plan, last_draft=outcome, asking=(), no_report={})
    if plan.version == 0:
        return updated(
            plan,
            status="draft",
            steps=IndexedTuple(),
            **NOT_PAUSED,
            pending=NOTHING_PENDING,
            error=None,
            completed_at=None,
            execution_summary=None,
            report=None,
        )
    return updated(
        renew_budget(plan),
        status="draft",
        before_draft=plan.before_draft or plan,
        approved_version=None,
        steps=IndexedTuple(step for step in plan.steps if step.status == "completed"),
        pending=NOTHING_PENDING,
        **NOT_PAUSED,
    )


@folds(ev.PlanDirect, when=DRAFT | REVIEW)
def plan_direct(plan: Plan, event: ev.PlanDirect, at: Instant) -> Plan:
    """The plan as a direct run, executing without a review."""
    return updated(
        plan,
        status="executing",
        route="direct",
        steps=as_plan_steps(event.steps, at),
        sequential=event.sequential,
        author=event.author,
        review=event.review or plan.review,
        version=plan.version + 1,
        approved_version=plan.version + 1,
        approved_at=at,
        pending=NOTHING_PENDING,
    )


@folds(ev.PerspectiveStart, when=DRAFT)
def perspective_start(plan: Plan, event: ev.PerspectiveStart, _at: Instant) -> Plan:
    """The plan with one more agent at work on its report."""
    return updated(plan, asking=(*plan.asking, event.agent))


@folds(ev.PerspectiveComplete, when=DRAFT)
def perspective_complete(plan: Plan, event: ev.PerspectiveComplete, _at: Instant) -> Plan:
    """The plan with an agent's report, if there is one."""
    plan = updated(plan, asking=tuple(each for each in plan.asking if each != event.agent))
    if event.error is not None:
        plan = updated(plan, no_report={**plan.no_report, event.agent: event.error})
    if event.perspective is None:
        return plan
    others = tuple(each for each in plan.perspectives if each.agent != event.agent)
    return updated(plan, perspectives=(*others, event.perspective))


@folds(ev.StepCreated, when=DRAFT)
def task_created(plan: Plan, event: ev.StepCreated, at: Instant) -> Plan:
    """The plan with one more step."""
    return updated(plan, steps=plan.steps.appended(with_creation_time(event.step, at)))


@folds(ev.PlanReady, when=DRAFT | ALIVE)
def plan_ready(plan: Plan, event: ev.PlanReady, at: Instant) -> Plan:
    """The drafted plan in review, or the one before a regeneration that came to nothing."""
    if event.restored and plan.before_draft is not None:
        return _restored(plan.before_draft, plan, event)
    for step in plan.steps:
        plan = close_run(plan, step.step_id) if step.status == "running" else plan
    if plan.status == "draft":
        plan = with_read(plan)
    return _to_review(
        plan,
        version=event.version,
        steps=as_plan_steps(_with_calls(plan, event.steps), at),
        edited=_still_edited(plan.before_draft, event.steps),
        summary=event.summary,
        files_read=event.files_read,
        commands_run=event.commands_run,
        sequential=event.sequential,
        author=event.author,
        estimated_duration=event.estimated_duration,
        overall_risk=event.overall_risk,
        stated_duration=event.stated_duration,
        usage=plan.usage.plus(event.usage),
        models=used_models(plan, event.usage, event.model),
        forecast=event.forecast,
        revised=() if plan.before_draft is None else plan_changes(plan.before_draft.steps, event.steps, ()),
        model_problem=event.model_problem,
        before_draft=None,
    )


@folds(ev.PlanEdited, when=REVIEW | {"paused", "executing"})
def plan_edited(plan: Plan, event: ev.PlanEdited, at: Instant) -> Plan:
    """The plan with its edited steps: in review as a new version, or running on if a step has changed the rest."""
    if event.step_id is not None:
        return _revised(plan, event, event.step_id, at)
    if plan.status == "executing":
        raise IllegalTransition("the steps of a running plan were edited")
    by_hand = _changed(plan, event.steps) if event.by == "user" else frozenset()
    return updated(
        renew_budget(updated(plan, steps=as_plan_steps(event.steps, at))),
        status="pending_approval",
        edited=plan.edited | by_hand,
        revised=plan_changes(plan.steps, event.steps, _moved(event)),
        request=plan.request if event.request is None else event.request,
        summary=plan.summary if event.summary is None else event.summary,
        attachments=(*plan.attachments, *event.attachments),
        version=event.version,
        overall_risk=event.overall_risk or plan.overall_risk,
        approved_version=None,
        **NOT_PAUSED,
        pending=NOTHING_PENDING,
    )


def _moved(event: ev.PlanEdited) -> frozenset[StepId]:
    return frozenset(edit.step_id for edit in event.edits if isinstance(edit, MoveStep))


def _changed(plan: Plan, steps: Iterable[Step]) -> frozenset[StepId]:
    """The steps that the plan lacks, or that are written in another way there."""
    return frozenset(
        step.step_id
        for step in steps
        if (before := plan.step(step.step_id)) is None or before.as_written() != step.as_written()
    )


def _still_edited(before: Plan | None, steps: Iterable[Step]) -> frozenset[StepId]:
    """The steps that the user had edited before the draft, and that the draft has kept as they were."""
    if before is None:
        return frozenset()
    steps = tuple(steps)
    return before.edited & {step.step_id for step in steps} - _changed(before, steps)


def _revised(plan: Plan, event: ev.PlanEdited, step_id: StepId, at: Instant) -> Plan:
    """The plan with the rest as a running step wants it. Steps that are not still to come must stay as they are."""
    step = plan.step(step_id)
    if plan.status not in ALIVE or step is None or step.status != "running":
        raise IllegalTransition(f"{step_id} changed the rest of the plan but does not run")
    if event.approval_id is None and (
        widened := widening(plan.steps, event.steps, sequential=plan.sequential)
    ):
        raise IllegalTransition(f"{step_id} widened the plan without approval: {' '.join(widened)}")
    after = {each.step_id: each for each in event.steps}
    own = updated(step, checks=after.get(step_id, step).checks)
    stay = {each.step_id: each for each in plan.steps if not is_to_come(each)} | {step_id: own}
    if any(after.get(step_id) != each for step_id, each in stay.items()):
        raise IllegalTransition(f"{step_id} changed a step that is not still to come")
    if own != step:
        after[step_id] = updated(own, checks_changed=True)
    steps = as_plan_steps(after.values(), at)
    covering = plan.covering_version
    if event.approval_id is None and covering == plan.version:
        # What only narrows a plan leaves each call as it was approved.
        covering = event.version
    return updated(
        plan,
        steps=steps,
        version=event.version,
        approved_version=event.version,
        covering_version=covering,
    )


def _with_calls(plan: Plan, steps: Iterable[Step]) -> Iterator[Step]:
    """The steps with the calls of the plan: those of running steps were closed after the steps had been written."""
    for step in steps:
        current = plan.step(step.step_id)
        calls = step.tools_executed if current is None else current.tools_executed
        yield with_staged(updated(step, tools_executed=calls))


def _restored(before: Plan, draft: Plan, event: ev.PlanReady) -> Plan:
    """The plan before a regeneration, back in review; the usage of the regeneration stays counted."""
    return _to_review(
        with_dropped(before, draft),
        usage=draft.usage.plus(event.usage),
        models=draft.models,
        budget_base=draft.budget_base,
        log=draft.log,
        model_problem=before.model_problem,
        last_draft=draft.last_draft and updated(draft.last_draft, failed=True),
    )


def _to_review(plan: Plan, **changes: Any) -> Plan:
    """The plan with these changes, waiting for review; the results of earlier reviews and runs are cleared."""
    return updated(
        updated(plan, **NOT_PAUSED),
        status="pending_approval",
        route="plan" if plan.route in ("direct", "undecided") else plan.route,
        approved_version=None,
        pending=NOTHING_PENDING,
        open_calls=(),
        rejected_at=None,
        rejection_reason=None,
        error=None,
        completed_at=None,
        execution_summary=None,
        report=None,
        answer=None,
        asking=(),
        **changes,
    )


@folds(ev.PlanMessage, when=OPEN)
def plan_message(plan: Plan, event: ev.PlanMessage, at: Instant) -> Plan:
    """The plan with one more message, which nobody has read yet, and what it attaches."""
    said = (*plan.messages, UserMessage(text=event.text, at=at))
    return updated(plan, messages=said, attachments=(*plan.attachments, *event.attachments))


@folds(ev.MessagesRead, when=ALIVE)
def messages_read(plan: Plan, event: ev.MessagesRead, _at: Instant) -> Plan:
    """The plan with its first messages read by a step."""
    return with_read(plan, event.count)


def with_read(plan: Plan, count: int | None = None) -> Plan:
    """The plan with its first `count` messages read; None means all."""
    first, rest = plan.messages[:count], () if count is None else plan.messages[count:]
    return updated(plan, messages=(*map(_read, first), *rest))


def with_dropped(plan: Plan, draft: Plan) -> Plan:
    """The plan before a draft that came to nothing, with the messages that came for the draft, which are dropped."""
    later = draft.messages[len(plan.messages) :]
    return updated(plan, messages=(*plan.messages, *(updated(each, state="dropped") for each in later)))


def _read(message: UserMessage) -> UserMessage:
    return updated(message, state="read") if message.state == "open" else message
