"""Folds what happens while a plan is written and reviewed."""

from __future__ import annotations

from typing import assert_never

from planloom.domain import events as ev
from planloom.domain.folding import all_dated, dated, granted, updated
from planloom.domain.plan import Draft, Pending, Plan
from planloom.domain.series import Series
from planloom.domain.values import Instant

Drafting = (
    ev.PlanRouted
    | ev.PlanDrafting
    | ev.PlanDirect
    | ev.PerspectiveStart
    | ev.PerspectiveComplete
    | ev.TaskCreated
    | ev.PlanReady
    | ev.PlanEdited
)


def fold_draft(plan: Plan, event: Drafting, at: Instant) -> Plan:
    """The plan after an event of its being written or changed by hand. Raises IllegalTransition."""
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
                steps=all_dated(event.steps, at),
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
            return updated(plan, steps=plan.steps.added(dated(event.task, at)))
        case ev.PlanReady():
            return updated(
                plan,
                status="pending_approval",
                route="plan" if plan.route in ("direct", "undecided") else plan.route,
                version=event.version,
                steps=all_dated(event.steps, at),
                summary=event.summary,
                sequential=event.sequential,
                author=event.author,
                estimated_duration=event.estimated_duration,
                overall_risk=event.overall_risk,
                usage=plan.usage.plus(event.usage),
                approved_version=None,
                before_draft=None,
                pause_reason=None,
                pause_detail=None,
                pending=Pending(),
                open_calls=(),
                rejected_at=None,
                rejection_reason=None,
                error=None,
                completed_at=None,
                execution_summary=None,
            )
        case ev.PlanEdited():
            return updated(
                granted(updated(plan, steps=all_dated(event.steps, at))),
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


def _drafting(plan: Plan) -> Plan:
    """Open a draft. A plan that had a version keeps it aside, with its finished steps in place."""
    if plan.version == 0:
        return updated(
            plan, status="draft", steps=Series(), error=None, completed_at=None, execution_summary=None
        )
    before = Draft(
        version=plan.version,
        steps=plan.steps,
        summary=plan.summary,
        author=plan.author,
        sequential=plan.sequential,
    )
    return updated(
        granted(plan),
        status="draft",
        before_draft=before,
        approved_version=None,
        steps=Series(step for step in plan.steps if step.status == "completed"),
        pending=Pending(),
        pause_reason=None,
        pause_detail=None,
    )
