"""The rules of events that change the status of the whole plan."""

from __future__ import annotations

from planloom.domain.events import catalog as ev
from planloom.domain.events.fold_calls import close_run, settle_staged
from planloom.domain.events.folding import (
    ALIVE,
    ANY,
    DRAFT,
    NOT_PAUSED,
    OPEN,
    REVIEW,
    IllegalTransition,
    folds,
    logged,
    renew_budget,
    reset_step,
    updated,
)
from planloom.domain.plans.plan import NOTHING_PENDING, SETTLED, Fate, LogLine, Plan, PlanStatus
from planloom.domain.values import Instant


@folds(ev.PlanApprovalRequest, when=REVIEW)
def plan_approval_request(plan: Plan, _event: ev.PlanApprovalRequest, _at: Instant) -> Plan:
    """Nothing changes: `plan_ready` has put the plan to review."""
    return plan


@folds(ev.PlanApproved, when=REVIEW)
def plan_approved(plan: Plan, event: ev.PlanApproved, at: Instant) -> Plan:
    """The plan with its present version approved."""
    if event.version != plan.version:
        raise IllegalTransition(f"version {event.version} approved, but the plan is at {plan.version}")
    return updated(
        plan,
        status="approved",
        approved_version=event.version,
        covering_version=event.version if event.covers else None,
        review=event.review,
        approved_at=at,
        last_draft=None,
        revised=(),
        model_problem=None,
    )


@folds(ev.PlanRejected, when=REVIEW)
def plan_rejected(plan: Plan, event: ev.PlanRejected, at: Instant) -> Plan:
    """The plan, rejected."""
    return updated(plan, status="rejected", rejected_at=at, rejection_reason=event.reason)


@folds(ev.PlanExecuting, when={"approved"})
def plan_executing(plan: Plan, _event: ev.PlanExecuting, _at: Instant) -> Plan:
    """The approved plan, executing."""
    return updated(plan, status="executing")


@folds(ev.PlanPaused, when=OPEN)
def plan_paused(plan: Plan, event: ev.PlanPaused, at: Instant) -> Plan:
    """The plan, paused; a second pause replaces the reason. A draft is left as it is, to be drafted anew."""
    return updated(
        plan,
        status="paused",
        asking=(),
        paused_at=at,
        pause_reason=event.reason,
        pause_detail=event.detail,
        model_problem=event.model_problem,
    )


@folds(ev.PlanResumed, when={"paused"})
def plan_resumed(plan: Plan, _event: ev.PlanResumed, _at: Instant) -> Plan:
    """The plan, executing again, with a new budget if it had run out; in review again if it was never approved."""
    status: PlanStatus = "pending_approval" if plan.approved_version is None else "executing"
    return updated(renew_budget(plan), status=status, **NOT_PAUSED)


@folds(ev.PlanImported, when=ANY)
def plan_imported(plan: Plan, _event: ev.PlanImported, at: Instant) -> Plan:
    """The plan, all of whose edits so far were made elsewhere."""
    with_line = logged(
        plan, LogLine(level="info", message="The plan was imported from another machine.", at=at)
    )
    return updated(with_line, made_elsewhere=frozenset(edit.edit_id for edit in plan.edits))


@folds(ev.PlanCompleted, when={"executing"})
def plan_completed(plan: Plan, event: ev.PlanCompleted, at: Instant) -> Plan:
    """The plan, completed. Every step must be settled."""
    open_steps = [step.step_id for step in plan.steps if step.status not in SETTLED]
    if open_steps:
        raise IllegalTransition(f"completed with open steps {open_steps}")
    return _ended(plan, "completed", event, at)


@folds(ev.PlanFailed, when=DRAFT | ALIVE)
def plan_failed(plan: Plan, event: ev.PlanFailed, at: Instant) -> Plan:
    """The plan, failed."""
    plan = updated(plan, usage=plan.usage.plus(event.usage))
    return updated(_ended(plan, "failed", event, at), error=event.error)


@folds(ev.PlanCancelled, when=OPEN)
def plan_cancelled(plan: Plan, event: ev.PlanCancelled, at: Instant) -> Plan:
    """The plan, cancelled."""
    return _ended(plan, "cancelled", event, at)


def _ended(
    plan: Plan, status: PlanStatus, event: ev.PlanCompleted | ev.PlanFailed | ev.PlanCancelled, at: Instant
) -> Plan:
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
        execution_summary=event.summary,
        report=event.report,
        error=None,
        completed_at=at,
        pending=NOTHING_PENDING,
        open_calls=(),
        asking=(),
        **NOT_PAUSED,
    )
