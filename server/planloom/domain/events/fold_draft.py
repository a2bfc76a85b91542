"""Folds the events of drafting and review."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, assert_never

from planloom.domain.events import catalog as ev
from planloom.domain.events.fold_calls import close_run, with_staged
from planloom.domain.events.folding import as_plan_steps, renew_budget, updated, with_creation_time
from planloom.domain.plans.indexed_tuple import IndexedTuple
from planloom.domain.plans.plan import Pending, Plan, Step
from planloom.domain.values import Instant

DraftEvent = (
    ev.PlanRouted
    | ev.PlanDrafting
    | ev.PlanDirect
    | ev.PerspectiveStart
    | ev.PerspectiveComplete
    | ev.TaskCreated
    | ev.PlanReady
    | ev.PlanEdited
)


def fold_draft(plan: Plan, event: DraftEvent, at: Instant) -> Plan:
    """The plan after an event of drafting or editing."""
    match event:
        case ev.PlanRouted():
            return updated(
                plan, detection=event.detection, qualification=event.qualification, route=event.route
            )
        case ev.PlanDrafting():
            return _drafting(plan)
        case ev.PlanDirect():
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
                pending=Pending(),
            )
        case ev.PerspectiveStart():
            return plan
        case ev.PerspectiveComplete():
            if event.perspective is None:
                return plan
            others = tuple(each for each in plan.perspectives if each.agent != event.agent)
            return updated(plan, perspectives=(*others, event.perspective))
        case ev.TaskCreated():
            return updated(plan, steps=plan.steps.appended(with_creation_time(event.task, at)))
        case ev.PlanReady() if event.restored and plan.before_draft is not None:
            return _restored(plan.before_draft, plan, event)
        case ev.PlanReady():
            for step in plan.steps:
                plan = close_run(plan, step.step_id) if step.status == "running" else plan
            return _to_review(
                plan,
                version=event.version,
                steps=as_plan_steps(with_calls(plan, event.steps), at),
                summary=event.summary,
                sequential=event.sequential,
                author=event.author,
                estimated_duration=event.estimated_duration,
                overall_risk=event.overall_risk,
                usage=plan.usage.plus(event.usage),
                before_draft=None,
            )
        case ev.PlanEdited():
            return updated(
                renew_budget(updated(plan, steps=as_plan_steps(with_calls(plan, event.steps), at))),
                status="pending_approval",
                version=event.version,
                overall_risk=event.overall_risk or plan.overall_risk,
                approved_version=None,
                pause_reason=None,
                pause_detail=None,
                pending=Pending(),
            )
        case _:
            assert_never(event)


def with_calls(plan: Plan, steps: Iterable[Step]) -> Iterator[Step]:
    """The steps with the calls of the present plan, which plan edits of older ledgers lack."""
    for step in steps:
        current = plan.step(step.step_id)
        if current is not None and len(current.tools_executed) >= len(step.tools_executed):
            facts = {"tools_executed": current.tools_executed, "calls_closed": current.calls_closed}
            yield with_staged(updated(step, **facts))
        else:
            yield with_staged(step)


def _drafting(plan: Plan) -> Plan:
    """Begin a draft. A plan that has a version is kept in `before_draft`, and its completed steps stay."""
    if plan.version == 0:
        return updated(
            plan, status="draft", steps=IndexedTuple(), error=None, completed_at=None, execution_summary=None
        )
    return updated(
        renew_budget(plan),
        status="draft",
        before_draft=updated(plan, before_draft=None),
        approved_version=None,
        steps=IndexedTuple(step for step in plan.steps if step.status == "completed"),
        pending=Pending(),
        pause_reason=None,
        pause_detail=None,
    )


def _restored(before: Plan, draft: Plan, event: ev.PlanReady) -> Plan:
    """The plan before a regeneration, back in review; the usage of the regeneration stays counted."""
    return _to_review(before, usage=draft.usage.plus(event.usage), budget_base=draft.budget_base)


def _to_review(plan: Plan, **changes: Any) -> Plan:
    """The plan with these changes, waiting for review; the results of earlier reviews and runs are cleared."""
    return updated(
        plan,
        status="pending_approval",
        route="plan" if plan.route in ("direct", "undecided") else plan.route,
        approved_version=None,
        pause_reason=None,
        pause_detail=None,
        pending=Pending(),
        open_calls=(),
        rejected_at=None,
        rejection_reason=None,
        error=None,
        completed_at=None,
        execution_summary=None,
        **changes,
    )
