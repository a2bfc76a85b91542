"""After a crash: edits that were meant but never recorded as done are settled by looking at the files.

The order of a durable intent, the edit and a durable outcome leaves only these to look at, so that no approved
edit is lost and none is made twice.
"""

from __future__ import annotations

from planloom.domain import events as ev
from planloom.domain.changes import EditRecord
from planloom.domain.plan import Plan
from planloom.execution.book import Book, EventStore
from planloom.workspace.apply import settled_by_files
from planloom.workspace.outcomes import JournalFile
from planloom.workspace.verify import Finding
from planloom.workspace.view import WorkspaceView

_MADE: frozenset[Finding] = frozenset({"verified", "normalized", "unverified"})


async def settle_intents(book: Book, view: WorkspaceView, plan: Plan) -> Plan:
    """Record what became of every open intent of the plan."""
    for edit in plan.edits:
        if edit.state == "intended":
            plan = await _settle(book, view, plan, edit)
    return plan


async def _settle(book: Book, view: WorkspaceView, plan: Plan, edit: EditRecord) -> Plan:
    findings = await settled_by_files(view, journal_files((edit,), book.store))
    made = [finding in _MADE for finding in findings]
    if all(made):
        happened: list[ev.Event] = [
            ev.EditApplied(
                task_id=edit.step_id,
                edit_id=edit.edit_id,
                files=edit.files,
                merged=False,
                outcome="verified" if all(found == "verified" for found in findings) else "normalized",
            )
        ]
        return book.record(plan.plan_id, *happened)
    doubtful = [
        file.uri for file, finding in zip(edit.files, findings, strict=True) if finding == "unexpected"
    ]
    if doubtful or any(made):
        names = ", ".join(uri.rpartition("/")[2] for uri in doubtful or [file.uri for file in edit.files])
        reason = (
            f"The server ended while it changed {names}, which holds neither the old text nor the new one."
        )
    else:
        reason = "The server ended before the edit was made."
    happened = [ev.EditRejected(task_id=edit.step_id, edit_id=edit.edit_id, files=edit.files, reason=reason)]
    if doubtful or any(made):
        happened.append(ev.Log(level="warning", message=reason, task_id=edit.step_id))
    return book.record(plan.plan_id, *happened)


def journal_files(edits: tuple[EditRecord, ...], store: EventStore) -> tuple[JournalFile, ...]:
    """The files of edits with their texts, in the order in which they were changed."""
    return tuple(
        JournalFile(
            uri=file.uri,
            change=file.change,
            new_uri=file.new_uri,
            before=store.text(file.before_sha256) if file.before_sha256 else None,
            after=store.text(file.after_sha256) if file.after_sha256 else None,
        )
        for edit in edits
        for file in edit.files
    )
