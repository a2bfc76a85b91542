"""The rules of events of edits, and of decisions of the user: approvals, conflicts, answers, recoveries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from planloom.domain.changes import EditRecord
from planloom.domain.events import catalog as ev
from planloom.domain.events.fold_calls import (
    Reverted,
    close_run,
    fold_applied,
    fold_approval,
    fold_conflict,
    fold_rejected,
    fold_reverted,
)
from planloom.domain.events.folding import (
    ALIVE,
    ANY,
    DRAFT,
    UNDOABLE,
    change_step,
    folds,
    updated,
    with_usage,
    without_questions,
)
from planloom.domain.events.reverts import undone_after
from planloom.domain.plans.plan import AskedQuestion, Plan, Question, Recovery, Step
from planloom.domain.values import EditId, Instant, StepId, Uri


@folds(ev.EditStarted, when=ALIVE | UNDOABLE)
def edit_started(plan: Plan, event: ev.EditStarted, _at: Instant) -> Plan:
    """The plan with the intent of an edit."""
    record = EditRecord(
        edit_id=event.edit_id,
        step_id=event.step_id,
        files=event.files,
        state="intended",
        reverts=event.reverts,
        settles=event.settles,
    )
    return updated(plan, edits=plan.edits.appended(record))


@folds(ev.EditApplied, when=ALIVE | UNDOABLE)
def edit_applied(plan: Plan, event: ev.EditApplied, _at: Instant) -> Plan:
    """The plan with an edit applied, or redone by the user in the editor, and what that edit reverts reverted."""
    intent = plan.edits.find(event.edit_id)
    if intent is None:
        return plan
    redone = intent.state in ("applied", "reverted")
    plan = (
        fold_reverted(plan, [Reverted(intent, event.files, back=True)])
        if redone
        else fold_applied(plan, intent, event.files)
    )
    made = _edited(
        plan,
        event.edit_id,
        state="applied",
        files=event.files,
        merged=event.merged,
        outcome=event.outcome,
    )
    edit = made.edits.find(event.edit_id)
    if edit is None or not (edit.reverts or redone):
        return made
    return _with_undone(made, undone_after(made.edits.find, edit, event.files, back=True))


@folds(ev.EditRejected, when=ALIVE | UNDOABLE)
def edit_rejected(plan: Plan, event: ev.EditRejected, _at: Instant) -> Plan:
    """The plan with an edit rejected."""
    refused = plan.edits.find(event.edit_id)
    plan = fold_rejected(plan, refused, event) if refused else plan
    return _edited(plan, event.edit_id, state="rejected", reason=event.reason)


@folds(ev.EditReverted, when=UNDOABLE)
def edit_reverted(plan: Plan, event: ev.EditReverted, _at: Instant) -> Plan:
    """Fold the revert of an edit, by the user in the editor or by an undo or redo that is already applied."""
    target = plan.edits.find(event.edit_id)
    if target is None:
        return plan
    plan = fold_reverted(plan, [Reverted(target, event.files, back=False)])
    files = [file for file in event.files if file.uri not in target.undone]
    return _with_undone(plan, undone_after(plan.edits.find, target, files, back=False))


@folds(ev.CommandChanged, when=ANY)
def command_changed(plan: Plan, event: ev.CommandChanged, _at: Instant) -> Plan:
    """The plan with what a command has changed as one more edit."""
    record = EditRecord(
        edit_id=event.edit_id,
        step_id=event.step_id,
        files=event.files,
        state="applied",
        command=event.command,
        unknown=event.unknown,
        notes=event.notes,
    )
    index = plan.edits.index_of(event.edit_id)
    edits = plan.edits.appended(record) if index is None else plan.edits.replaced({index: record})
    return updated(plan, edits=edits)


@folds(ev.FilesRenamed, when=ANY)
def files_renamed(plan: Plan, event: ev.FilesRenamed, _at: Instant) -> Plan:
    """The plan with the user's rename among its edits, at its place in their order."""
    record = EditRecord(edit_id=event.edit_id, step_id=None, files=event.files, state="applied", by_user=True)
    return updated(plan, edits=plan.edits.appended(record))


@folds(ev.EditConflict, when=ALIVE)
def edit_conflict(plan: Plan, event: ev.EditConflict, _at: Instant) -> Plan:
    """The plan with an edit that waits for the user to resolve a conflict."""
    conflicts = (*plan.pending.conflicts, event.conflict)
    paused = updated(plan, pending=updated(plan.pending, conflicts=conflicts))
    return _edited(paused, event.conflict.edit_id, state="conflict")


def _edited(plan: Plan, edit_id: EditId, **changes: Any) -> Plan:
    """The plan with an edit changed, if it has that edit."""
    index = plan.edits.index_of(edit_id)
    if index is None:
        return plan
    return updated(plan, edits=plan.edits.replaced({index: updated(plan.edits[index], **changes)}))


def _with_undone(plan: Plan, undone: Mapping[EditId, frozenset[Uri]]) -> Plan:
    """The plan with the files in which these edits are reverted, and its steps and calls updated to match."""
    changed: dict[int, EditRecord] = {}
    reverted: list[Reverted] = []
    for edit_id, uris in undone.items():
        index = plan.edits.index_of(edit_id)
        if index is not None:
            edit = plan.edits[index]
            for back, those in ((True, edit.undone - uris), (False, uris - edit.undone)):
                reverted.append(Reverted(edit, [file for file in edit.files if file.uri in those], back))
            whole = all(file.uri in uris for file in edit.files)
            changed[index] = updated(edit, undone=uris, state="reverted" if whole else "applied")
    plan = fold_reverted(plan, reverted)
    now = updated(plan, edits=plan.edits.replaced(changed))
    steps: dict[int, Step] = {}
    for edit in changed.values():
        for step_id in edit.references:
            found = plan.index_of(step_id)
            if found is not None:
                steps[found] = updated(plan.steps[found], reverted=_how_much(now, step_id))
    return updated(now, steps=plan.steps.replaced(steps))


def _how_much(plan: Plan, step_id: StepId) -> Literal["whole", "part"] | None:
    """How much of a step's changes to files has been reverted."""
    of_step = [each for each in plan.edits_of(step_id) if each.has_changes and not each.reverts]
    if not any(each.undone for each in of_step):
        return None
    return "part" if any(each.state == "applied" for each in of_step) else "whole"


@folds(ev.ApprovalRequested, when=DRAFT | ALIVE)
def approval_requested(plan: Plan, event: ev.ApprovalRequested, _at: Instant) -> Plan:
    """The plan with one more pending approval."""
    approvals = (*plan.pending.approvals, event.approval)
    return updated(plan, pending=updated(plan.pending, approvals=approvals))


@folds(ev.ApprovalResolved, when=DRAFT | ALIVE)
def approval_resolved(plan: Plan, event: ev.ApprovalResolved, _at: Instant) -> Plan:
    """The plan without a pending approval, and with the files that were denied."""
    left = tuple(each for each in plan.pending.approvals if each.approval_id != event.approval_id)
    resolved = updated(fold_approval(plan, event), pending=updated(plan.pending, approvals=left))
    return updated(resolved, left_out=_left_out(plan, event))


@folds(ev.ApprovalJudged, when=DRAFT | ALIVE)
def approval_judged(plan: Plan, event: ev.ApprovalJudged, _at: Instant) -> Plan:
    """The plan with what is known now of the changes that a pending approval is about."""
    approvals = tuple(
        each.model_copy(update={"judged": event.judged}) if each.approval_id == event.approval_id else each
        for each in plan.pending.approvals
    )
    return updated(plan, pending=updated(plan.pending, approvals=approvals))


@folds(ev.ConflictResolved, when=ALIVE)
def conflict_resolved(plan: Plan, event: ev.ConflictResolved, _at: Instant) -> Plan:
    """The plan without a pending conflict."""
    conflicts = tuple(each for each in plan.pending.conflicts if each.edit_id != event.edit_id)
    return updated(fold_conflict(plan, event), pending=updated(plan.pending, conflicts=conflicts))


@folds(ev.ClarificationRequest, when=ALIVE)
def clarification_request(plan: Plan, event: ev.ClarificationRequest, _at: Instant) -> Plan:
    """The plan with a step that waits for an answer."""
    question = Question(step_id=event.step_id, question=event.question, options=event.options)
    waiting = change_step(
        close_run(plan, event.step_id),
        event.step_id,
        {"pending", "running"},
        lambda step: updated(step, status="needs_clarification", question=event.question),
    )
    return updated(
        waiting,
        pending=updated(plan.pending, questions=(*plan.pending.questions, question)),
        asked=(*plan.asked, AskedQuestion(step_id=event.step_id, question=event.question)),
    )


@folds(ev.ClarificationProvided, when=ALIVE)
def clarification_provided(plan: Plan, event: ev.ClarificationProvided, _at: Instant) -> Plan:
    """The plan with the answer to the question, and the step pending again."""
    answered = change_step(
        plan, event.step_id, {"needs_clarification"}, lambda step: updated(step, status="pending")
    )
    asked = tuple(
        updated(each, answer=event.answer) if each.step_id == event.step_id and each.answer is None else each
        for each in plan.asked
    )
    return updated(without_questions(answered, event.step_id), asked=asked)


@folds(ev.RecoveryRequest, when=ALIVE)
def recovery_request(plan: Plan, event: ev.RecoveryRequest, _at: Instant) -> Plan:
    """The plan with the question of what to do about a failed step."""
    recovery = Recovery(
        step_id=event.step_id,
        error=event.error,
        code=event.code,
        options=event.options,
        proposal=event.proposal,
    )
    others = tuple(each for each in plan.pending.recoveries if each.step_id != event.step_id)
    waiting = updated(plan, pending=updated(plan.pending, recoveries=(*others, recovery)))
    return with_usage(waiting, event.usage)


@folds(ev.RecoveryChosen, when=ALIVE)
def recovery_chosen(plan: Plan, event: ev.RecoveryChosen, _at: Instant) -> Plan:
    """The plan without the question; a failed step that is retried is pending again.

    A step that the user goes on without is skipped by the next event, and frees its dependents then.
    """
    if event.action == "model":
        return plan
    left = tuple(each for each in plan.pending.recoveries if each.step_id != event.step_id)
    recovered = updated(plan, pending=updated(plan.pending, recoveries=left))
    if event.version is not None:
        recovered = updated(recovered, version=event.version, approved_version=event.version)
    if event.action == "go_on":
        return change_step(recovered, event.step_id, {"failed"}, lambda step: updated(step, passed_over=True))
    if event.action != "retry":
        return recovered
    return change_step(
        recovered,
        event.step_id,
        {"failed"},
        lambda step: updated(
            step,
            status="pending",
            args=event.args if event.args is not None else step.args,
            result=None,
            completed_at=None,
            failures=0,
        ),
    )


def _left_out(plan: Plan, event: ev.ApprovalResolved) -> tuple[Uri, ...]:
    """The files whose changes the user does not allow, after one more decision."""
    approval = next((each for each in plan.pending.approvals if each.approval_id == event.approval_id), None)
    if approval is None or event.decision in ("cancel", "superseded"):
        return plan.left_out
    files = {file.uri for file in approval.files}
    allowed = set() if event.decision == "deny" else files if event.files is None else files & {*event.files}
    before = tuple(uri for uri in plan.left_out if uri not in allowed)
    return (*before, *(f.uri for f in approval.files if f.uri not in allowed and f.uri not in before))
