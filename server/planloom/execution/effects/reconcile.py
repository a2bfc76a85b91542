"""Reconciles edits after a crash: determines the outcome of each unfinished intent from the files' texts.

A durable intent precedes each edit and a durable outcome follows it, so only intents without an outcome are in
question, and no approved edit is lost or made twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from planloom.domain.changes import EditedFile, EditOutcome, EditRecord, taken_back
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.domain.values import StepId
from planloom.execution.effects.journal import outcome_of
from planloom.execution.plan_store import EventStore, PlanStore
from planloom.workspace.edits.after_crash import outcomes_after_crash, remove_empty_folders
from planloom.workspace.edits.batch import weakest
from planloom.workspace.edits.new_files import complete_after_crash
from planloom.workspace.edits.outcomes import EditResult, JournalFile
from planloom.workspace.edits.undo import reverted_folders
from planloom.workspace.edits.verify import FileOutcome
from planloom.workspace.paths.names import listed
from planloom.workspace.paths.uris import display_names
from planloom.workspace.view import WorkspaceView

_NAMED = 5


async def reconcile_intents(
    plan_store: PlanStore, view: WorkspaceView, plan: Plan, *, trusted: bool = True
) -> Plan:
    """Record the outcome of every intent of the plan that has none, and of doubtful files that show it by now.

    In a `trusted` workspace what the editor has begun is completed: a new file that it has left empty gets its approved
    text first, unless the plan was imported, and an undo that was cut off removes the folders that are empty now.
    """
    for known in plan.edits:
        edit = known if known.state == "intended" else _in_doubt(plan, known)
        if edit.files and edit.state in ("intended", "rejected"):
            files = journal_files((edit,), plan_store.store)
            if trusted and edit.edit_id not in plan.made_elsewhere:
                await complete_after_crash(view, files)
            plan = _reconciled(plan_store, plan, edit, await outcomes_after_crash(view, files))
            if trusted and edit.reverts:
                await remove_empty_folders(view, reverted_folders(plan.edits))
    return plan


def drop_staged(plan_store: PlanStore, plan: Plan) -> Plan:
    """Record that changes that were only staged are lost, after a crash and once every intent is reconciled.

    Steps that had only staged changes run again. A step whose changes were all denied is skipped.
    """
    if plan.status not in ("executing", "paused", "pending_approval"):
        return plan
    happened: list[ev.Event] = []
    again: list[str] = []
    others: list[StepId] = []
    for step in plan.steps:
        if step.was_turned_down and plan.status != "pending_approval":
            happened.append(ev.StepSkipped(step_id=step.step_id, reason="approval_denied"))
        elif step.status == "completed" and (step.waits or step.is_doubtful):
            again += [step.description] if step.waits else []
            happened.append(ev.StepUpdate(step_id=step.step_id, status="pending"))
        elif step.waits:
            others.append(step.step_id)
    if others:
        happened.append(ev.StepsList(settled=tuple(others)))
    if again:
        message = (
            "The server ended before it asked for these changes, so their steps run again: "
            f"{listed(again, _NAMED, '; ')}."
        )
        happened.append(ev.Log(level="warning", message=message))
    return plan_store.record(plan.plan_id, *happened)


def _in_doubt(plan: Plan, edit: EditRecord) -> EditRecord:
    """The edit with those of its files alone that are in doubt."""
    steps = [step for step_id in edit.references if (step := plan.step(step_id)) is not None]
    doubtful = {uri for step in steps for uri in step.in_doubt}
    return edit.model_copy(
        update={"files": tuple(file for file in edit.files if doubtful.intersection(file.uris))}
    )


def _reconciled(plan_store: PlanStore, plan: Plan, edit: EditRecord, findings: Sequence[FileOutcome]) -> Plan:
    """Record the outcome of each file. One whose text does not show it is doubtful: its retry must be approved."""
    if edit.state == "rejected" and set(findings) == {"unexpected"}:
        return plan
    made: list[EditedFile] = []
    missing: list[EditedFile] = []
    doubtful: list[EditedFile] = []
    outcomes: list[EditOutcome] = []
    for file, finding in zip(edit.files, findings, strict=True):
        if finding == "not_applied":
            missing.append(file)
        elif finding == "unexpected":
            doubtful.append(file)
        else:
            made.append(file)
            outcomes.append(finding)
    result = EditResult(
        applied=tuple(made),
        rejected=tuple(missing),
        unexpected=tuple(doubtful),
        outcome=weakest(outcomes) if made else None,
        reason=_reason(made, missing, doubtful),
    )
    happened = list(outcome_of(edit.step_id, edit.edit_id, result))
    if doubtful or (made and missing):
        happened.append(ev.Log(level="warning", message=result.reason or "", step_id=edit.step_id))
    return plan_store.record(plan.plan_id, *happened)


def _reason(made: Sequence[EditedFile], missing: Sequence[EditedFile], doubtful: Sequence[EditedFile]) -> str:
    if not made and not doubtful:
        return "The server ended before the edit was made."
    outcomes = [f"{_names(made)}: made"] if made else []
    outcomes += [f"{_names(missing)}: not made"] if missing else []
    if doubtful:
        outcomes.append(
            f"{_names(doubtful)}: unknown, since the text is neither the one before nor the one after the change"
        )
    return f"The server ended while it changed files. {'; '.join(outcomes)}."


def _names(files: Sequence[EditedFile]) -> str:
    return display_names(file.new_uri or file.uri for file in files)


def journal_files(edits: tuple[EditRecord, ...], store: EventStore) -> tuple[JournalFile, ...]:
    """The files of edits with their texts from before and after, in the order in which they were changed; the causes
    are those of a change that reverts them.
    """
    return tuple(
        JournalFile(
            uri=file.uri,
            change=file.change,
            new_uri=file.new_uri,
            before=store.text(file.before_sha256) if file.before_sha256 else None,
            after=store.text(file.after_sha256) if file.after_sha256 else None,
            form=file.form,
            causes=(taken_back(edit.edit_id, file.uri),),
            by_user=edit.by_user,
        )
        for edit in edits
        for file in edit.files
    )
