"""Folds the events that change the status of the whole plan."""

from __future__ import annotations

from typing import assert_never

from planloom.domain.events import catalog as ev
from planloom.domain.events.fold_calls import close_run, settle_staged
from planloom.domain.events.folding import IllegalTransition, renew_budget, reset_step, updated
from planloom.domain.plans.plan import SETTLED, Fate, Pending, Plan, PlanError, PlanStatus
from planloom.domain.values import Instant

PlanEvent = (
    ev.PlanApproved
    | ev.PlanRejected
    | ev.PlanExecuting
    | ev.PlanPaused
    | ev.PlanResumed
    | ev.PlanCompleted
    | ev.PlanFailed
    | ev.PlanCancelled
)


def fold_status(plan: Plan, event: PlanEvent, at: Instant) -> Plan:
    """The plan after an event that changes its status. Raises IllegalTransition."""
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
            return updated(renew_budget(plan), status="executing", pause_reason=None, pause_detail=None)
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
    # Changes that are still staged when the plan does not complete are never applied.
    for step in tuple(plan.steps):
        if step.status == "running" or step.waits:
            fate: Fate = "made" if status == "completed" else "lost"
            plan = settle_staged(close_run(plan, step.step_id), step.step_id, fate)
            plan = reset_step(plan, step.step_id) if step.staged and status != "completed" else plan
    interrupted = {
        index: updated(step, status="pending")
        for index, step in enumerate(plan.steps)
        if step.status in ("running", "needs_clarification")
    }
    return updated(
        plan,
        status=status,
        steps=plan.steps.replaced(interrupted),
        execution_summary=summary,
        error=error,
        completed_at=at,
        pending=Pending(),
        open_calls=(),
        pause_reason=None,
        pause_detail=None,
    )
