"""Folds what happens to a plan as a whole: approved, running, paused, ended."""

from __future__ import annotations

from typing import assert_never

from planloom.domain.events import catalog as ev
from planloom.domain.events.fold_calls import closed, staged_became
from planloom.domain.events.folding import IllegalTransition, again, granted, updated
from planloom.domain.plans.plan import SETTLED, Fate, Pending, Plan, PlanError, PlanStatus
from planloom.domain.values import Instant

Status = (
    ev.PlanApproved
    | ev.PlanRejected
    | ev.PlanExecuting
    | ev.PlanPaused
    | ev.PlanResumed
    | ev.PlanCompleted
    | ev.PlanFailed
    | ev.PlanCancelled
)


def fold_status(plan: Plan, event: Status, at: Instant) -> Plan:
    """The plan after an event that moves it as a whole. Raises IllegalTransition."""
    match event:
        case ev.PlanApproved():
            if event.version != plan.version:
                raise IllegalTransition(
                    f"version {event.version} approved, but the plan is at {plan.version}"
                )
            return updated(
                plan, status="approved", approved_version=event.version, review=event.review, approved_at=at
            )
        case ev.PlanRejected():
            return updated(plan, status="rejected", rejected_at=at, rejection_reason=event.reason)
        case ev.PlanExecuting():
            return updated(plan, status="executing")
        case ev.PlanPaused():
            return updated(plan, status="paused", pause_reason=event.reason, pause_detail=event.detail)
        case ev.PlanResumed():
            return updated(granted(plan), status="executing", pause_reason=None, pause_detail=None)
        case ev.PlanCompleted():
            open_steps = [step.step_id for step in plan.steps if step.status not in SETTLED]
            if open_steps:
                raise IllegalTransition(f"completed with open steps {open_steps}")
            return _ended(plan, "completed", event.summary, None, at)
        case ev.PlanFailed():
            plan = updated(plan, usage=plan.usage.plus(event.usage))
            return _ended(plan, "failed", event.summary, event.error, at)
        case ev.PlanCancelled():
            return _ended(plan, "cancelled", event.summary, None, at)
        case _:
            assert_never(event)


def _ended(plan: Plan, status: PlanStatus, summary: str, error: PlanError | None, at: Instant) -> Plan:
    # What was only staged when the plan ended otherwise will never be made.
    for step in tuple(plan.steps):
        if step.status == "running" or step.waits:
            fate: Fate = "made" if status == "completed" else "lost"
            plan = staged_became(closed(plan, step.step_id), step.step_id, fate)
            plan = again(plan, step.step_id) if step.staged and status != "completed" else plan
    stopped = {
        place: updated(step, status="pending")
        for place, step in enumerate(plan.steps)
        if step.status in ("running", "needs_clarification")
    }
    return updated(
        plan,
        status=status,
        steps=plan.steps.replaced(stopped),
        execution_summary=summary,
        error=error,
        completed_at=at,
        pending=Pending(),
        open_calls=(),
        pause_reason=None,
        pause_detail=None,
    )
