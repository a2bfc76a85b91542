"""After a crash: edits that were meant but never recorded as done are settled by looking at the files.

The order of a durable intent, the edit and a durable outcome leaves only these to look at, so that no approved
edit is lost and none is made twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from planloom.domain.changes import EditedFile, EditOutcome, EditRecord
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.domain.values import Uri
from planloom.execution.effects.journal import outcome_of
from planloom.execution.plan_store import EventStore, PlanStore
from planloom.workspace.edits.after_crash import outcomes_after_crash
from planloom.workspace.edits.batch import weakest
from planloom.workspace.edits.outcomes import JournalFile, Settlement
from planloom.workspace.paths.uris import display_name, is_below
from planloom.workspace.view import WorkspaceView


async def settle_intents(plan_store: PlanStore, view: WorkspaceView, plan: Plan) -> Plan:
    """Record what became of every open intent of the plan."""
    for edit in plan.edits:
        if edit.state == "intended":
            plan = await _settle(plan_store, view, plan, edit)
    return plan


async def _settle(plan_store: PlanStore, view: WorkspaceView, plan: Plan, edit: EditRecord) -> Plan:
    """Record the outcome per file. Files whose text does not show it become doubtful, so that a retry is asked."""
    findings = await outcomes_after_crash(view, journal_files((edit,), plan_store.store))
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
    settlement = Settlement(
        applied=tuple(made),
        rejected=tuple(missing),
        unexpected=tuple(doubtful),
        outcome=weakest(outcomes) if made else None,
        reason=_reason(made, missing, doubtful),
    )
    happened = list(outcome_of(edit.step_id, edit.edit_id, settlement))
    happened += _taken_back(plan, edit, made, (*missing, *doubtful))
    if doubtful or (made and missing):
        happened.append(ev.Log(level="warning", message=settlement.reason or "", task_id=edit.step_id))
    return plan_store.record(plan.plan_id, *happened)


def _reason(made: Sequence[EditedFile], missing: Sequence[EditedFile], doubtful: Sequence[EditedFile]) -> str:
    if not made and not doubtful:
        return "The server ended before the edit was made."
    told = [f"{_names(made)}: made"] if made else []
    told += [f"{_names(missing)}: not made"] if missing else []
    told += (
        [
            f"{_names(doubtful)}: neither the old text nor the new one, so that nobody can tell whether it was made"
        ]
        if doubtful
        else []
    )
    return f"The server ended while it changed files. {'; '.join(told)}."


def _names(files: Sequence[EditedFile]) -> str:
    return ", ".join(display_name(file.new_uri or file.uri) for file in files)


def _taken_back(
    plan: Plan, edit: EditRecord, made: Sequence[EditedFile], left: Sequence[EditedFile]
) -> list[ev.Event]:
    """The reverts that an interrupted undo had completed, as events of the edits it was reverting.

    A file of which something is `left` to be made still stands: an undo that is asked for again takes it back.
    """
    places = _places(made)
    waiting = _places(left)
    for moved in reversed(edit.files):
        if (new := moved.new_uri) is not None:
            # What is left to be made under the new name was changed by the plan under the old one.
            there = {uri for uri in waiting if uri == new or is_below(uri, new)}
            waiting |= {Uri(moved.uri + uri.removeprefix(new)) for uri in there}
    happened: list[ev.Event] = []
    for edit_id in edit.reverts:
        undone = plan.edits.find(edit_id)
        files = tuple(
            file
            for file in (undone.files if undone is not None and undone.state == "applied" else ())
            if _places([file]) & places and not _places([file]) & waiting
        )
        if undone is not None and files:
            happened.append(ev.EditReverted(task_id=undone.step_id, edit_id=edit_id, files=files))
    return happened


def _places(files: Sequence[EditedFile]) -> set[Uri]:
    return {uri for file in files for uri in (file.uri, file.new_uri) if uri is not None}


def journal_files(edits: tuple[EditRecord, ...], store: EventStore) -> tuple[JournalFile, ...]:
    """The files of edits with their texts, in the order in which they were changed."""
    return tuple(
        JournalFile(
            uri=file.uri,
            change=file.change,
            new_uri=file.new_uri,
            before=store.text(file.before_sha256) if file.before_sha256 else None,
            after=store.text(file.after_sha256) if file.after_sha256 else None,
            form=file.form,
        )
        for edit in edits
        for file in edit.files
    )
