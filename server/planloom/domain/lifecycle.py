"""The one place where a status changes: folds an event into a plan, or says that it cannot happen now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, assert_never

from planloom.domain import events as ev
from planloom.domain.changes import EditRecord
from planloom.domain.plan import (
    ENDED,
    SETTLED,
    Draft,
    ExecutedTool,
    OpenCall,
    Pending,
    Plan,
    PlanError,
    PlanStatus,
    Question,
    Recovery,
    Step,
    StepResult,
    Usage,
)
from planloom.domain.values import EditId, Instant, StepId

E = TypeVar("E")


class IllegalTransition(Exception):
    """An event that cannot happen to a plan in this status; a defect of whoever appended it."""


_DRAFT: frozenset[PlanStatus] = frozenset({"draft"})
_ALIVE: frozenset[PlanStatus] = frozenset({"executing", "paused"})
_ANY: frozenset[PlanStatus] = frozenset(
    {
        "draft",
        "pending_approval",
        "approved",
        "rejected",
        "executing",
        "paused",
        "completed",
        "failed",
        "cancelled",
    }
)
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
    ev.TaskUpdate: _ALIVE,
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
"""In which statuses of the plan each event can happen. `plan_start` is the first and happens to no plan."""


def apply(plan: Plan | None, recorded: ev.Recorded) -> Plan:
    """Fold one event into the plan it happened to; `plan` is None before `plan_start`.

    Raises IllegalTransition if the event cannot happen now or its `seq` is not the next one.
    """
    event = recorded.event
    if isinstance(event, ev.PlanStart):
        return _started(plan, recorded, event)
    if plan is None or recorded.plan_id != plan.plan_id:
        raise IllegalTransition(f"{event.type} happened to no plan")
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
        created_at=recorded.at,
        updated_at=recorded.at,
    )


def _fold(plan: Plan, event: ev.Event, at: Instant) -> Plan:
    """Dispatch by what the event speaks of: the draft, the plan, a step, an effect, a person's decision."""
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
            return _fold_draft(plan, event, at)
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
            return _fold_status(plan, event, at)
        case ev.TaskStarted() | ev.TaskUpdate() | ev.TaskCompleted() | ev.TaskFailed() | ev.TaskSkipped():
            return _fold_step(plan, event, at)
        case ev.ToolStarted() | ev.ToolCompleted() | ev.CheckCompleted():
            return _fold_call(plan, event)
        case ev.EditStarted() | ev.EditApplied() | ev.EditRejected() | ev.EditReverted() | ev.EditConflict():
            return _fold_edit(plan, event)
        case (
            ev.ApprovalRequested()
            | ev.ApprovalResolved()
            | ev.ConflictResolved()
            | ev.ClarificationRequest()
            | ev.ClarificationProvided()
            | ev.RecoveryRequest()
            | ev.RecoveryChosen()
        ):
            return _fold_decision(plan, event)
        case ev.ContextCompacted():
            return plan.model_copy(update={"context_summary": event.summary})
        case ev.PlanStart() | ev.PlanApprovalRequest() | ev.TasksList() | ev.Answer() | ev.Log():
            return plan
        case _:
            assert_never(event)


_Drafting = (
    ev.PlanRouted
    | ev.PlanDrafting
    | ev.PlanDirect
    | ev.PerspectiveStart
    | ev.PerspectiveComplete
    | ev.TaskCreated
    | ev.PlanReady
    | ev.PlanEdited
)


def _fold_draft(plan: Plan, event: _Drafting, at: Instant) -> Plan:
    match event:
        case ev.PlanRouted():
            return _with(
                plan, detection=event.detection, qualification=event.qualification, route=event.route
            )
        case ev.PlanDrafting():
            return _drafting(plan)
        case ev.PlanDirect():
            return _with(
                plan,
                status="executing",
                route="direct",
                steps=_dated(event.steps, at),
                sequential=event.sequential,
                author=event.author,
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
            return _with(plan, perspectives=(*others, event.perspective))
        case ev.TaskCreated():
            return _with(plan, steps=(*plan.steps, *_dated((event.task,), at)))
        case ev.PlanReady():
            return _with(
                plan,
                status="pending_approval",
                route="plan" if plan.route in ("direct", "undecided") else plan.route,
                version=event.version,
                steps=_dated(event.steps, at),
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
            return _with(
                plan,
                status="pending_approval",
                version=event.version,
                steps=_dated(event.steps, at),
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
        return plan
    before = Draft(
        version=plan.version,
        steps=plan.steps,
        summary=plan.summary,
        author=plan.author,
        sequential=plan.sequential,
    )
    return _with(
        plan,
        status="draft",
        before_draft=before,
        approved_version=None,
        steps=tuple(step for step in plan.steps if step.status == "completed"),
        pending=Pending(),
        pause_reason=None,
        pause_detail=None,
    )


_Status = (
    ev.PlanApproved
    | ev.PlanRejected
    | ev.PlanExecuting
    | ev.PlanPaused
    | ev.PlanResumed
    | ev.PlanCompleted
    | ev.PlanFailed
    | ev.PlanCancelled
)


def _fold_status(plan: Plan, event: _Status, at: Instant) -> Plan:
    match event:
        case ev.PlanApproved():
            if event.version != plan.version:
                raise IllegalTransition(
                    f"version {event.version} approved, but the plan is at {plan.version}"
                )
            return _with(
                plan, status="approved", approved_version=event.version, review=event.review, approved_at=at
            )
        case ev.PlanRejected():
            return _with(plan, status="rejected", rejected_at=at, rejection_reason=event.reason)
        case ev.PlanExecuting():
            return _with(plan, status="executing")
        case ev.PlanPaused():
            return _with(plan, status="paused", pause_reason=event.reason, pause_detail=event.detail)
        case ev.PlanResumed():
            return _with(plan, status="executing", pause_reason=None, pause_detail=None)
        case ev.PlanCompleted():
            open_steps = [step.step_id for step in plan.steps if step.status not in SETTLED]
            if open_steps:
                raise IllegalTransition(f"completed with open steps {open_steps}")
            return _ended(plan, "completed", event.summary, None, at)
        case ev.PlanFailed():
            return _ended(plan, "failed", event.summary, event.error, at)
        case ev.PlanCancelled():
            return _ended(plan, "cancelled", event.summary, None, at)
        case _:
            assert_never(event)


def _ended(plan: Plan, status: PlanStatus, summary: str, error: PlanError | None, at: Instant) -> Plan:
    running = tuple(
        _with(step, status="pending") if step.status in ("running", "needs_clarification") else step
        for step in plan.steps
    )
    return _with(
        plan,
        status=status,
        steps=running,
        execution_summary=summary,
        error=error,
        completed_at=at,
        pending=Pending(),
        open_calls=(),
        pause_reason=None,
        pause_detail=None,
    )


_Stepping = ev.TaskStarted | ev.TaskUpdate | ev.TaskCompleted | ev.TaskFailed | ev.TaskSkipped


def _fold_step(plan: Plan, event: _Stepping, at: Instant) -> Plan:
    match event:
        case ev.TaskStarted():
            if plan.approved_version != plan.version:
                raise IllegalTransition(f"{event.task_id} started without approval of version {plan.version}")
            return _change(
                plan,
                event.task_id,
                {"pending"},
                lambda step: _with(
                    step,
                    status="running",
                    attempts=step.attempts + 1,
                    started_at=step.started_at or at,
                    progress=None,
                ),
            )
        case ev.TaskUpdate():
            changed = _change(
                plan,
                event.task_id,
                {"running", "needs_clarification"},
                lambda step: _with(
                    step,
                    status=event.status,
                    progress=step.progress if event.progress is None else event.progress,
                    active_form=event.active_form or step.active_form,
                ),
            )
            if event.status == "pending":
                changed = _without_calls(changed, event.task_id)
            return _spent(changed, event.usage)
        case ev.TaskCompleted():
            done = _change(
                plan,
                event.task_id,
                {"running", "needs_clarification", "pending"},
                lambda step: _with(
                    step, status="completed", result=event.result, completed_at=at, progress=100
                ),
            )
            return _spent(_without_calls(done, event.task_id), event.usage)
        case ev.TaskFailed():
            result = StepResult(ok=False, error=event.error, duration_ms=event.duration_ms, timestamp=at)
            status = "pending" if event.will_retry else "failed"
            fallen = _change(
                plan,
                event.task_id,
                {"running", "pending"},
                lambda step: _with(step, status=status, result=result, completed_at=at),
            )
            return _spent(_without_calls(fallen, event.task_id), event.usage)
        case ev.TaskSkipped():
            left = _change(
                plan,
                event.task_id,
                {"pending", "failed", "running", "needs_clarification"},
                lambda step: _with(step, status="skipped", completed_at=at),
            )
            return _without_questions(_without_calls(left, event.task_id), event.task_id)
        case _:
            assert_never(event)


def _fold_call(plan: Plan, event: ev.ToolStarted | ev.ToolCompleted | ev.CheckCompleted) -> Plan:
    match event:
        case ev.ToolStarted():
            call = OpenCall(call_id=event.call_id, step_id=event.task_id, tool=event.tool, args=event.args)
            return _with(plan, open_calls=(*plan.open_calls, call))
        case ev.ToolCompleted():
            return _settled_call(plan, event)
        case ev.CheckCompleted():
            key = (event.check.kind, event.check.path, event.check.text, event.check.command)

            def with_check(step: Step) -> Step:
                same = [
                    event.check if (each.kind, each.path, each.text, each.command) == key else each
                    for each in step.checks
                ]
                known = any(each is event.check for each in same)
                return _with(step, checks=tuple(same) if known else (*step.checks, event.check))

            return _change(plan, event.task_id, None, with_check)
        case _:
            assert_never(event)


def _settled_call(plan: Plan, event: ev.ToolCompleted) -> Plan:
    call = next((each for each in plan.open_calls if each.call_id == event.call_id), None)
    if call is None:
        raise IllegalTransition(f"call {event.call_id} settled but never started")
    executed = ExecutedTool(
        tool=call.tool,
        args=call.args,
        ok=event.ok,
        deduplicated=event.deduplicated,
        summary=event.summary,
        duration_ms=event.duration_ms,
    )
    open_calls = tuple(each for each in plan.open_calls if each.call_id != event.call_id)
    closed = _with(plan, open_calls=open_calls)
    if closed.step(call.step_id) is None:
        return closed
    return _change(
        closed,
        call.step_id,
        None,
        lambda step: _with(step, tools_executed=(*step.tools_executed, executed)),
    )


_Editing = ev.EditStarted | ev.EditApplied | ev.EditRejected | ev.EditReverted | ev.EditConflict


def _fold_edit(plan: Plan, event: _Editing) -> Plan:
    match event:
        case ev.EditStarted():
            record = EditRecord(
                edit_id=event.edit_id, step_id=event.task_id, files=event.files, state="intended"
            )
            return _with(plan, edits=(*plan.edits, record))
        case ev.EditApplied():
            return _edited(
                plan,
                event.edit_id,
                state="applied",
                files=event.files,
                merged=event.merged,
                outcome=event.outcome,
            )
        case ev.EditRejected():
            return _edited(plan, event.edit_id, state="rejected")
        case ev.EditReverted():
            return _reverted(plan, event)
        case ev.EditConflict():
            conflicts = (*plan.pending.conflicts, event.conflict)
            paused = _with(plan, pending=_with(plan.pending, conflicts=conflicts))
            known = any(edit.edit_id == event.conflict.edit_id for edit in plan.edits)
            return _edited(paused, event.conflict.edit_id, state="conflict") if known else paused
        case _:
            assert_never(event)


def _edited(plan: Plan, edit_id: EditId, **changes: Any) -> Plan:
    return _with(
        plan,
        edits=tuple(_with(edit, **changes) if edit.edit_id == edit_id else edit for edit in plan.edits),
    )


def _reverted(plan: Plan, event: ev.EditReverted) -> Plan:
    gone = {file.uri for file in event.files}
    edits = []
    for edit in plan.edits:
        if edit.edit_id == event.edit_id and all(file.uri in gone for file in edit.files):
            edits.append(_with(edit, state="reverted"))
        else:
            edits.append(edit)
    changed = _with(plan, edits=tuple(edits))
    if event.task_id is None or changed.step(event.task_id) is None:
        return changed
    left = any(e.step_id == event.task_id and e.state == "applied" for e in edits)
    return _change(
        changed, event.task_id, None, lambda step: _with(step, reverted="part" if left else "whole")
    )


_Deciding = (
    ev.ApprovalRequested
    | ev.ApprovalResolved
    | ev.ConflictResolved
    | ev.ClarificationRequest
    | ev.ClarificationProvided
    | ev.RecoveryRequest
    | ev.RecoveryChosen
)


def _fold_decision(plan: Plan, event: _Deciding) -> Plan:
    pending = plan.pending
    match event:
        case ev.ApprovalRequested():
            return _with(plan, pending=_with(pending, approvals=(*pending.approvals, event.approval)))
        case ev.ApprovalResolved():
            left = tuple(each for each in pending.approvals if each.approval_id != event.approval_id)
            return _with(plan, pending=_with(pending, approvals=left))
        case ev.ConflictResolved():
            conflicts = tuple(each for each in pending.conflicts if each.edit_id != event.edit_id)
            return _with(plan, pending=_with(pending, conflicts=conflicts))
        case ev.ClarificationRequest():
            question = Question(step_id=event.task_id, question=event.question, options=event.options)
            waiting = _change(
                plan,
                event.task_id,
                {"pending", "running"},
                lambda step: _with(step, status="needs_clarification", question=event.question),
            )
            return _with(waiting, pending=_with(pending, questions=(*pending.questions, question)))
        case ev.ClarificationProvided():
            return _answered(plan, event)
        case ev.RecoveryRequest():
            recovery = Recovery(
                step_id=event.task_id,
                error=event.error,
                code=event.code,
                options=event.options,
                proposal=event.proposal,
            )
            others = tuple(each for each in pending.recoveries if each.step_id != event.task_id)
            return _with(plan, pending=_with(pending, recoveries=(*others, recovery)))
        case ev.RecoveryChosen():
            return _recovered(plan, event)
        case _:
            assert_never(event)


def _answered(plan: Plan, event: ev.ClarificationProvided) -> Plan:
    step = plan.step(event.task_id)
    asked = step.question if step else None
    note = f"{asked}\nAnswer: {event.answer}" if asked else f"Answer: {event.answer}"
    answered = _change(
        plan,
        event.task_id,
        {"needs_clarification"},
        lambda step: _with(step, status="pending", instruction=f"{step.instruction}\n\n{note}".strip()),
    )
    return _without_questions(answered, event.task_id)


def _recovered(plan: Plan, event: ev.RecoveryChosen) -> Plan:
    if event.action == "model":
        return plan
    left = tuple(each for each in plan.pending.recoveries if each.step_id != event.task_id)
    decided = _with(plan, pending=_with(plan.pending, recoveries=left))
    if event.version is not None:
        decided = _with(decided, version=event.version, approved_version=event.version)
    if event.action != "retry":
        return decided
    return _change(
        decided,
        event.task_id,
        {"failed"},
        lambda step: _with(
            step,
            status="pending",
            args=event.args if event.args is not None else step.args,
            result=None,
            completed_at=None,
        ),
    )


def _change(plan: Plan, step_id: StepId, allowed: set[str] | None, change: Callable[[Step], Step]) -> Plan:
    """Replace one step; `allowed` names the statuses it may be in, any if None."""
    found = False
    steps = []
    for step in plan.steps:
        if step.step_id == step_id:
            found = True
            if allowed is not None and step.status not in allowed:
                raise IllegalTransition(f"step {step_id} is {step.status}, not one of {sorted(allowed)}")
            steps.append(change(step))
        else:
            steps.append(step)
    if not found:
        raise IllegalTransition(f"the plan has no step {step_id}")
    return _with(plan, steps=tuple(steps))


def _without_calls(plan: Plan, step_id: StepId) -> Plan:
    calls = tuple(call for call in plan.open_calls if call.step_id != step_id)
    return plan if len(calls) == len(plan.open_calls) else _with(plan, open_calls=calls)


def _without_questions(plan: Plan, step_id: StepId) -> Plan:
    questions = tuple(each for each in plan.pending.questions if each.step_id != step_id)
    recoveries = tuple(each for each in plan.pending.recoveries if each.step_id != step_id)
    return _with(plan, pending=_with(plan.pending, questions=questions, recoveries=recoveries))


def _spent(plan: Plan, usage: Usage | None) -> Plan:
    return plan if usage is None else _with(plan, usage=plan.usage.plus(usage))


def _dated(steps: tuple[Step, ...], at: Instant) -> tuple[Step, ...]:
    return tuple(step if step.created_at else _with(step, created_at=at) for step in steps)


V = TypeVar("V", Plan, Step, Pending, EditRecord)


def _with(value: V, **changes: Any) -> V:
    return value.model_copy(update=changes)
