"""Folds an event into a plan, and refuses an event that the plan's status does not allow."""

from __future__ import annotations

from functools import reduce
from typing import Any, assert_never, get_args

from planloom.domain.events import catalog as ev
from planloom.domain.events.fold_calls import settle_staged
from planloom.domain.events.fold_draft import fold_draft
from planloom.domain.events.fold_effects import fold_decision, fold_edit
from planloom.domain.events.fold_status import fold_status
from planloom.domain.events.fold_steps import fold_call, fold_step
from planloom.domain.events.folding import IllegalTransition
from planloom.domain.plans.plan import (
    ENDED,
    Plan,
    PlanStatus,
)
from planloom.domain.values import Instant

_DRAFT: frozenset[PlanStatus] = frozenset({"draft"})
_ALIVE: frozenset[PlanStatus] = frozenset({"executing", "paused"})
_ANY: frozenset[PlanStatus] = frozenset(get_args(PlanStatus))
_UNDOABLE: frozenset[PlanStatus] = frozenset({"paused", "completed", "failed", "cancelled"})
_OPEN = _ANY - ENDED - {"rejected"}

LEGAL: dict[type[Any], frozenset[PlanStatus]] = {
    ev.PlanStart: frozenset(),
    ev.PlanRouted: frozenset({"draft"}),
    ev.PlanDrafting: frozenset({"draft", "pending_approval", "rejected", "paused", "failed", "cancelled"}),
    ev.PlanDirect: frozenset({"draft", "pending_approval"}),
    ev.PerspectiveStart: frozenset({"draft"}),
    ev.PerspectiveComplete: frozenset({"draft"}),
    ev.TaskCreated: frozenset({"draft"}),
    ev.PlanReady: _DRAFT | _ALIVE,
    ev.PlanApprovalRequest: frozenset({"pending_approval"}),
    ev.PlanEdited: frozenset({"pending_approval", "paused"}),
    ev.PlanApproved: frozenset({"pending_approval"}),
    ev.PlanRejected: frozenset({"pending_approval"}),
    ev.PlanExecuting: frozenset({"approved"}),
    ev.TaskStarted: frozenset({"executing"}),
    ev.TaskUpdate: _ALIVE | {"pending_approval"},
    ev.TaskCompleted: _ALIVE,
    ev.TaskFailed: _ALIVE,
    ev.TaskSkipped: _ALIVE,
    ev.ToolStarted: _ALIVE | _DRAFT,
    ev.ToolCompleted: _ALIVE | _DRAFT,
    ev.ApprovalRequested: _ALIVE,
    ev.ApprovalResolved: _ALIVE,
    ev.EditStarted: _ALIVE | _UNDOABLE,
    ev.EditApplied: _ALIVE | _UNDOABLE,
    ev.EditRejected: _ALIVE | _UNDOABLE,
    ev.EditReverted: _UNDOABLE,
    ev.EditConflict: _ALIVE,
    ev.ConflictResolved: _ALIVE,
    ev.CheckCompleted: _ALIVE,
    ev.ClarificationRequest: _ALIVE,
    ev.ClarificationProvided: _ALIVE,
    ev.RecoveryRequest: _ALIVE,
    ev.RecoveryChosen: _ALIVE,
    ev.ContextCompacted: _ALIVE,
    ev.TasksList: _ANY,
    ev.PlanPaused: frozenset({"approved", "executing", "paused"}),
    ev.PlanResumed: frozenset({"paused"}),
    ev.Answer: _ALIVE,
    ev.PlanCompleted: frozenset({"executing"}),
    ev.PlanFailed: _DRAFT | _ALIVE,
    ev.PlanCancelled: _OPEN,
    ev.Log: _ANY,
}
"""The plan statuses in which each event can happen. `plan_start` comes first, before there is a plan."""


def apply(plan: Plan | None, recorded: ev.Recorded) -> Plan:
    """The plan after one event; `plan` is None before `plan_start`.

    Raises IllegalTransition if the event cannot happen now or its `seq` is not the next one.
    """
    event = recorded.event
    if isinstance(event, ev.PlanStart):
        return _started(plan, recorded, event)
    if plan is None or recorded.plan_id != plan.plan_id:
        raise IllegalTransition(f"{event.type} happened to an unknown plan")
    if recorded.seq != plan.seq + 1:
        raise IllegalTransition(f"{event.type} is number {recorded.seq} after {plan.seq}")
    if plan.status not in LEGAL[type(event)]:
        raise IllegalTransition(f"{event.type} cannot happen to a plan that is {plan.status}")
    folded = _fold(plan, event, recorded.at)
    return folded.model_copy(update={"seq": recorded.seq, "updated_at": recorded.at})


def _started(plan: Plan | None, recorded: ev.Recorded, event: ev.PlanStart) -> Plan:
    if plan is not None or recorded.seq != 1:
        raise IllegalTransition("plan_start happens once, first")
    return Plan(
        plan_id=recorded.plan_id,
        session_id=recorded.session_id,
        seq=1,
        workspace_folders=event.workspace_folders,
        request=event.request,
        attachments=event.attachments,
        detection=event.detection,
        qualification=event.qualification,
        route=event.route,
        template_id=event.template_id,
        template_parameters=event.template_parameters,
        created_at=recorded.at,
        updated_at=recorded.at,
    )


def _fold(plan: Plan, event: ev.Event, at: Instant) -> Plan:
    """Dispatch by the subject of the event: the draft, the plan, a step, a call, an edit, a decision."""
    match event:
        case (
            ev.PlanRouted()
            | ev.PlanDrafting()
            | ev.PlanDirect()
            | ev.PerspectiveStart()
            | ev.PerspectiveComplete()
            | ev.TaskCreated()
            | ev.PlanReady()
            | ev.PlanEdited()
        ):
            return fold_draft(plan, event, at)
        case (
            ev.PlanApproved()
            | ev.PlanRejected()
            | ev.PlanExecuting()
            | ev.PlanPaused()
            | ev.PlanResumed()
            | ev.PlanCompleted()
            | ev.PlanFailed()
            | ev.PlanCancelled()
        ):
            return fold_status(plan, event, at)
        case ev.TaskStarted() | ev.TaskUpdate() | ev.TaskCompleted() | ev.TaskFailed() | ev.TaskSkipped():
            return fold_step(plan, event, at)
        case ev.ToolStarted() | ev.ToolCompleted() | ev.CheckCompleted():
            return fold_call(plan, event)
        case ev.EditStarted() | ev.EditApplied() | ev.EditRejected() | ev.EditReverted() | ev.EditConflict():
            return fold_edit(plan, event)
        case (
            ev.ApprovalRequested()
            | ev.ApprovalResolved()
            | ev.ConflictResolved()
            | ev.ClarificationRequest()
            | ev.ClarificationProvided()
            | ev.RecoveryRequest()
            | ev.RecoveryChosen()
        ):
            return fold_decision(plan, event)
        case ev.ContextCompacted():
            summarized = plan.summarized.union(event.steps)
            return plan.model_copy(update={"context_summary": event.summary, "summarized": summarized})
        case ev.TasksList():
            fate = event.staged
            return reduce(lambda now, step_id: settle_staged(now, step_id, fate), event.settled, plan)
        case ev.PlanStart() | ev.PlanApprovalRequest() | ev.Answer() | ev.Log():
            return plan
        case _:
            assert_never(event)
