"""Turns a recorded event into what stands on the wire, with what the plan after it adds."""

from __future__ import annotations

from typing import Any, assert_never

from planloom.domain import events as ev
from planloom.domain.editing import AddStep, StepChanges, StepEdit, UpdateStep
from planloom.domain.plan import Plan
from planloom.domain.values import Value
from planloom.lsp import to_wire as to
from planloom.lsp import to_wire_review as review
from planloom.lsp import wire_edits as wire
from planloom.lsp import wire_events as out
from planloom.lsp.wire_base import Wire
from planloom.lsp.wire_task_events import ResolvedFile


def event(recorded: ev.Recorded, after: Plan) -> dict[str, Any]:
    """One event as plain JSON; `after` is the plan with this event folded in."""
    payload = _payload(recorded.event, after)
    place: dict[str, Any] = {
        "seq": recorded.seq,
        "plan_id": recorded.plan_id,
        "session_id": recorded.session_id,
        "at": recorded.at,
    }
    whole = _MODELS[recorded.event.type].model_validate({**place, **payload})
    return whole.json_value()


_MODELS: dict[str, type[Wire]] = {
    model.model_fields["type"].default: model
    for model in vars(out).values()
    if isinstance(model, type) and issubclass(model, Wire) and "type" in model.model_fields
}


def _payload(happened: ev.Event, after: Plan) -> dict[str, Any]:
    """The fields of the wire's model of this event, by their Python names."""
    match happened:
        case ev.PlanStart() | ev.PlanRouted():
            return _begun(happened)
        case ev.PlanDirect() | ev.PlanReady() | ev.PlanApprovalRequest():
            return {"plan": to.plan(after)}
        case ev.PlanEdited():
            edits = tuple(step_edit(edit) for edit in happened.edits)
            return {
                "version": happened.version,
                "edits": edits,
                "plan": to.plan(after),
                "by": happened.by,
            }
        case ev.PlanCompleted() | ev.PlanCancelled() | ev.PlanFailed():
            return _ended(happened, after)
        case ev.TasksList():
            return {"tasks": to.steps(after)}
        case ev.TaskCreated():
            return {"task": to.step(after, after.step(happened.task.step_id) or happened.task)}
        case ev.PerspectiveComplete():
            view = happened.perspective
            return {
                "agent": happened.agent,
                "perspective": view and review.perspective(view),
                "error": happened.error,
            }
        case (
            ev.PlanDrafting()
            | ev.PerspectiveStart()
            | ev.PlanApproved()
            | ev.PlanRejected()
            | ev.PlanExecuting()
            | ev.PlanPaused()
            | ev.PlanResumed()
            | ev.Log()
            | ev.TaskStarted()
            | ev.TaskFailed()
            | ev.TaskSkipped()
            | ev.ToolStarted()
            | ev.ToolCompleted()
            | ev.ApprovalResolved()
            | ev.ClarificationProvided()
            | ev.RecoveryChosen()
            | ev.Answer()
        ):
            return _plain(happened)
        case ev.ContextCompacted():
            return _plain(happened, without="summary")
        case ev.TaskUpdate():
            return _plain(happened, without="usage")
        case ev.TaskCompleted():
            return {
                "task_id": happened.task_id,
                "result": to.result(happened.result),
                "usage": happened.usage and to.usage(happened.usage),
            }
        case ev.ApprovalRequested():
            return {"approval": review.approval(happened.approval)}
        case ev.EditStarted() | ev.EditApplied() | ev.EditRejected() | ev.EditReverted():
            return {**_plain(happened), "files": review.edited_files(happened.files)}
        case ev.EditConflict():
            return {"task_id": happened.task_id, "conflict": review.conflict(happened.conflict)}
        case ev.ConflictResolved():
            files = tuple(ResolvedFile(uri=file.uri, choice=file.choice) for file in happened.files)
            return {**_plain(happened), "files": files}
        case ev.CheckCompleted():
            return {"task_id": happened.task_id, "check": to.check(happened.check)}
        case ev.ClarificationRequest():
            return {**_plain(happened), "options": happened.options or None}
        case ev.RecoveryRequest():
            made = happened.proposal
            return {**_plain(happened), "proposal": made and to.proposal(after, made)}
        case _:
            assert_never(happened)


def _plain(happened: Value, *, without: str = "type") -> dict[str, Any]:
    """The fields that are the same on both sides: texts, numbers, names and arguments."""
    return {
        name: getattr(happened, name) for name in type(happened).model_fields if name not in ("type", without)
    }


def _begun(happened: ev.PlanStart | ev.PlanRouted) -> dict[str, Any]:
    fields = {
        **_plain(happened),
        "detection": to.detection(happened.detection),
        "qualification": happened.qualification and to.qualification(happened.qualification),
    }
    if isinstance(happened, ev.PlanStart):
        fields["attachments"] = tuple(review.attachment(each) for each in happened.attachments)
        fields["unresolved"] = tuple(review.unresolved(each) for each in happened.unresolved)
    return fields


def _ended(happened: ev.PlanCompleted | ev.PlanCancelled | ev.PlanFailed, after: Plan) -> dict[str, Any]:
    fields = {
        "summary": happened.summary,
        "progress": to.progress(after),
        "usage": to.usage(after.usage),
    }
    if isinstance(happened, ev.PlanFailed):
        fields["error"] = to.plan_error(happened.error)
    return fields


def step_edit(edit: StepEdit) -> wire.StepEdit:
    """What a person did to the steps; only what was given is written."""
    if isinstance(edit, UpdateStep):
        return wire.UpdateStep(step_id=edit.step_id, set=wire.StepFields.model_validate(_given(edit.set)))
    if isinstance(edit, AddStep):
        named = {} if edit.step_id is None else {"step_id": edit.step_id}
        step = wire.NewStep.model_validate({**_given(edit.step), **named})
        return wire.AddStep(step=step) if edit.place == "last" else wire.AddStep(after=edit.after, step=step)
    if edit.op == "move":
        return wire.MoveStep(step_id=edit.step_id, after=edit.after)
    if edit.op == "remove":
        return wire.RemoveStep(step_id=edit.step_id)
    if edit.op == "skip":
        return wire.SkipStep(step_id=edit.step_id)
    return wire.UnskipStep(step_id=edit.step_id)


def _given(changes: StepChanges) -> dict[str, Any]:
    given = {name: value for name, value in changes if value is not None and name != "cleared"}
    if changes.checks is not None:
        given["checks"] = tuple(to.check(check) for check in changes.checks)
    return {**given, **dict.fromkeys(changes.cleared)}
