"""The one place where an approved changeset becomes effects: in order, and told as it went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from planloom.domain.changes import Changeset
from planloom.domain.safety.approvals import Grant
from planloom.workspace.editor import Editor
from planloom.workspace.edits.batch import Edit, apply_batch, weakest
from planloom.workspace.edits.outcomes import (
    ApplyOutcome,
    ChangesetApplied,
    ChangesetPartlyApplied,
    Journal,
    JournalFile,
    recorded,
)
from planloom.workspace.edits.prepare import ApplyPlan, Known, nothing_known, prepare
from planloom.workspace.edits.verify import FileOutcome, after_crash
from planloom.workspace.view import WorkspaceView

BATCH: Final = 100
"""Changes that go to the editor as one edit, and so as one undo step; a cancel takes effect between them."""

PATIENCE: Final = 2.0
"""Seconds that an editor gets to tell of a change that it says it has made."""


async def apply_changeset(
    view: WorkspaceView,
    editor: Editor,
    changeset: Changeset,
    grant: Grant,
    label: str,
    journal: Journal,
    *,
    patience: float = PATIENCE,
    known: Known = nothing_known,
) -> ApplyOutcome:
    """Make the approved changes, or say why not; nothing is sent unless all of them can be.

    Texts that are `known` are kept elsewhere: a buffer that holds one unsaved does not stand in the way.

    Waits for its turn at every file. Cancelled while the editor works, it waits for the answer and records it
    first; between batches it stops at once. What the journal raises passes through.
    """
    async with view.locks.lock(changeset.uris()):
        prepared = await prepare(view, changeset, editor.capabilities, known)
        if not isinstance(prepared, ApplyPlan):
            return prepared
        wanted = {work.asked for work in prepared.works}
        changes = [change for change in changeset.changes if change.uri in wanted]
        edit = Edit(view, editor, grant, label, journal, patience, known)
        whole: ApplyOutcome = ChangesetApplied(files=())
        for start in range(0, len(changes), BATCH):
            if not isinstance(whole, ChangesetApplied):
                break
            part = Changeset(changes=tuple(changes[start : start + BATCH]))
            outcome = await apply_batch(edit, part, prepared if len(changes) <= BATCH else None)
            whole = _joined(whole, outcome, Changeset(changes=tuple(changes[start:])))
        return whole


async def settled_by_files(view: WorkspaceView, files: Sequence[JournalFile]) -> tuple[FileOutcome, ...]:
    """How an edit ended whose outcome was never recorded: each file compared with both of its texts."""
    return await after_crash(view, files)


def _joined(whole: ChangesetApplied, outcome: ApplyOutcome, waiting: Changeset) -> ApplyOutcome:
    """What all batches so far came to; `waiting` are the changes from this batch on."""
    if isinstance(outcome, ChangesetApplied):
        return ChangesetApplied(
            files=whole.files + outcome.files,
            merged=whole.merged or outcome.merged,
            outcome=weakest((whole.outcome, outcome.outcome)),
            edit_ids=whole.edit_ids + outcome.edit_ids,
        )
    if not isinstance(outcome, ChangesetPartlyApplied) and not whole.files:
        return outcome
    partly = outcome if isinstance(outcome, ChangesetPartlyApplied) else None
    applied = partly.applied if partly is not None else ()
    unexpected = partly.unexpected if partly is not None else ()
    known = {file.uri for file in applied + unexpected}
    match outcome.kind:
        case "refused" | "partly_applied":
            reason = outcome.reason
        case "conflicted":
            reason = "The rest overlaps with what has been typed meanwhile."
        case "superseded":
            reason = "The rest has changed with the files and must be approved anew."
        case _:
            assert_never(outcome)
    return ChangesetPartlyApplied(
        applied=whole.files + applied,
        not_applied=tuple(recorded(change).edited() for change in waiting.changes if change.uri not in known),
        unexpected=unexpected,
        reason=reason,
        merged=whole.merged,
        edit_ids=whole.edit_ids + (partly.edit_ids if partly is not None else ()),
    )
