"""Applies an approved changeset in batches; the only place where approved changes take effect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from planloom.domain.changes import Changeset, FileChange
from planloom.workspace.edits.batch import Edit, apply_batch, weakest
from planloom.workspace.edits.outcomes import (
    ApplyOutcome,
    ChangesetApplied,
    ChangesetPartlyApplied,
    recorded,
)
from planloom.workspace.edits.prepare import ApplyPlan
from planloom.workspace.edits.touched_places import Look

BATCH: Final = 100
"""Most changes in one edit, which is one undo step in the editor; a cancel takes effect between batches."""


async def apply_changeset(edit: Edit, changeset: Changeset, look: Look | None = None) -> ApplyOutcome:
    """Apply approved changes, one set of `in_order`; sends nothing unless all of them can be made.

    Waits for a lock on every file. If cancelled while the editor applies a batch, it first waits for the answer
    and records it; between batches it stops at once. Exceptions of the journal are not caught.

    `look` is what the caller has just found of these very changes; once another edit was waited for, it is outdated.
    """
    async with edit.view.locks.lock(changeset.uris()) as waited:
        prepared = await edit.prepared(changeset, None if waited else look)
        if not isinstance(prepared, ApplyPlan):
            return prepared
        wanted = {effect.requested for effect in prepared.effects}
        changes = [change for change in changeset.changes if change.uri in wanted]
        whole: ApplyOutcome = ChangesetApplied(files=())
        for start in range(0, len(changes), BATCH):
            if not isinstance(whole, ChangesetApplied):
                break
            part = Changeset(changes=tuple(changes[start : start + BATCH]), later=changeset.later)
            outcome = await apply_batch(edit, part, prepared if len(changes) <= BATCH else None)
            whole = _joined(whole, outcome, changes[start:])
        return whole


def _joined(whole: ChangesetApplied, outcome: ApplyOutcome, waiting: Sequence[FileChange]) -> ApplyOutcome:
    """Combine the outcome of the batches so far with the next; `waiting` are the changes from this batch on."""
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
    reported = {file.uri for file in applied + unexpected}
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
        not_applied=tuple(recorded(change).edited() for change in waiting if change.uri not in reported),
        unexpected=unexpected,
        reason=reason,
        merged=whole.merged,
        edit_ids=whole.edit_ids + (partly.edit_ids if partly is not None else ()),
    )
