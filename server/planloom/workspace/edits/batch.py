"""One edit from its intent in the journal to its outcome: prepared, sent, looked at, settled."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from planloom.domain.changes import Changeset, CreateFolder, EditedFile, EditOutcome
from planloom.domain.safety.approvals import Grant
from planloom.domain.values import EditId, Uri, Value
from planloom.workspace.disk import ConfinedPath, DiskRefused
from planloom.workspace.disk_changes import create_folders, delete_folder
from planloom.workspace.editor import Editor, EditorAnswer, EditorEdit, EditorSilent
from planloom.workspace.edits.effects import editor_edit, is_untouched, perform
from planloom.workspace.edits.outcomes import (
    ApplyOutcome,
    ChangesetApplied,
    ChangesetPartlyApplied,
    ChangesetRefused,
    Journal,
    Settlement,
    recorded,
)
from planloom.workspace.edits.prepare import ApplyPlan, Known, PlannedEffect, is_folder, prepare, unsaved
from planloom.workspace.edits.shielded import uninterrupted
from planloom.workspace.edits.verify import FileOutcome, ResultWatcher, arrived, is_awaited, verified
from planloom.workspace.paths.uris import is_below
from planloom.workspace.snapshots import BOM
from planloom.workspace.view import WorkspaceView

_MOVES: Final = 20
"""How often an edit is computed anew because its files moved before it was sent."""

_MOVED: Final = "The file changed before the edit was sent."
_RESTLESS: Final = "The files keep changing while the edit is prepared: try again later."
_WEAKEST_FIRST: Final[tuple[EditOutcome, ...]] = ("unverified", "normalized")


class _Moved(Value):
    """The files moved before anything was sent."""


class _Rejected(Value):
    """The editor said no, and nothing is done."""

    reason: str


@dataclass(frozen=True)
class Edit:
    """What every batch of one changeset shares; `patience` in seconds."""

    view: WorkspaceView
    editor: Editor
    grant: Grant
    label: str
    journal: Journal
    patience: float
    known: Known


@dataclass
class _Tally:
    """What is known of the files of one batch, as it happens."""

    applied: list[EditedFile] = field(default_factory=list)
    rejected: list[EditedFile] = field(default_factory=list)
    unexpected: list[EditedFile] = field(default_factory=list)
    outcomes: set[EditOutcome] = field(default_factory=set)
    reason: str | None = None

    def take(self, work: PlannedEffect, finding: FileOutcome) -> None:
        edited = work.recorded().edited()
        if finding == "not_applied":
            self.rejected.append(edited)
        elif finding == "unexpected":
            self.unexpected.append(edited)
        else:
            self.applied.append(edited)
            self.outcomes.add(finding)

    def leave(self, works: Iterable[PlannedEffect]) -> None:
        for work in works:
            self.take(work, "not_applied")

    @property
    def stopped(self) -> bool:
        return bool(self.rejected or self.unexpected)

    @property
    def outcome(self) -> EditOutcome:
        return weakest(self.outcomes)


def weakest(outcomes: Iterable[EditOutcome]) -> EditOutcome:
    """What can be said of several files together."""
    known = set(outcomes)
    for outcome in _WEAKEST_FIRST:
        if outcome in known:
            return outcome
    return "verified"


async def apply_batch(edit: Edit, changeset: Changeset, first: ApplyPlan | None = None) -> ApplyOutcome:
    """Make the changes as one edit: anew while files move, and once more after a first refusal.

    `first` is what the caller has prepared just before, if it is the same.
    """
    rejected = False
    parents: dict[Uri, ConfinedPath] = {}
    made: tuple[ConfinedPath, ...] = ()
    outcome: ApplyOutcome = ChangesetRefused(reason=_RESTLESS, files=changeset.uris())
    for _ in range(_MOVES):
        prepared = first or await prepare(edit.view, changeset, edit.editor.capabilities, edit.known)
        first = None
        if not isinstance(prepared, ApplyPlan):
            outcome = prepared
            break
        if not prepared.works:
            return ChangesetApplied(files=())
        parents |= dict(prepared.parents)
        if rejected:
            # Not every editor makes the folders of a new file by itself.
            made += await asyncio.to_thread(_make_folders, tuple(parents.values()))
        ended = await uninterrupted(_attempt(edit, replace(prepared, parents=tuple(parents.items()))))
        if isinstance(ended, ChangesetApplied | ChangesetPartlyApplied):
            return ended
        if isinstance(ended, _Rejected) and not rejected:
            rejected = True
        elif not isinstance(ended, _Moved):
            outcome = ChangesetRefused(reason=ended.reason, files=changeset.uris())
            break
    for place in reversed(made):
        await asyncio.to_thread(delete_folder, place)
    return outcome


async def _attempt(
    edit: Edit, prepared: ApplyPlan
) -> ChangesetApplied | ChangesetPartlyApplied | ChangesetRefused | _Moved | _Rejected:
    """Write down what is intended, do it, look at the files, and write down what became of it."""
    by_editor = tuple(work for work in prepared.works if work.way == "editor")
    first, last = _disk_order(prepared.works)
    sent = await asyncio.to_thread(editor_edit, edit.label, by_editor, edit.editor.capabilities)
    if not prepared.is_current(edit.view):
        return _Moved()
    edit_id = await edit.journal.intend(edit.grant, prepared.journal())
    tally = _Tally()
    untouched = await asyncio.to_thread(is_untouched, prepared.works)
    if untouched:
        await _on_disk(edit.view, first, tally)
    if not tally.applied and not (untouched and prepared.is_current(edit.view)):
        tally.leave(prepared.works)
        await edit.journal.settle(edit_id, Settlement(rejected=tuple(tally.rejected), reason=_MOVED))
        return _Moved()
    answer: EditorAnswer | None = None
    if tally.stopped or not prepared.is_current(edit.view):
        tally.reason = tally.reason or _MOVED
        tally.leave(by_editor)
    elif by_editor:
        # Nothing is awaited between the comparison and this call, so the edit meets what was compared.
        watcher = ResultWatcher(edit.view, by_editor)
        try:
            answer = await _answer(edit.editor, sent)
            await _look(edit, by_editor, answer, tally, watcher)
        finally:
            watcher.leave()
    if tally.stopped:
        tally.leave(last)
    else:
        await _on_disk(edit.view, last, tally)
    return await _settled(edit, edit_id, prepared, tally, answer)


async def _answer(editor: Editor, sent: EditorEdit) -> EditorAnswer | None:
    """What the editor says; None if it says nothing."""
    try:
        return await editor.apply(sent)
    except EditorSilent:
        return None


async def _look(
    edit: Edit,
    works: Sequence[PlannedEffect],
    answer: EditorAnswer | None,
    tally: _Tally,
    watcher: ResultWatcher,
) -> None:
    """Take down what the files show, which may not be what the editor said."""
    told = answer is not None and answer.applied
    refused = answer is not None and not answer.applied
    came = told and await arrived(edit.view, works, edit.patience)
    findings = await verified(edit.view, works, told=told)
    if came and any(is_awaited(edit.view, work) for work in works):
        # One may have been opened while the files were looked at, and be told of only now.
        await arrived(edit.view, works, edit.patience)
        findings = await verified(edit.view, works, told=told)
    for work, finding in zip(works, findings, strict=True):
        made = finding in ("verified", "normalized", "unverified") or (
            not refused and watcher.saw(work.change.uri)
        )
        tally.take(work, "verified" if made and finding in ("not_applied", "unexpected") else finding)
    if not tally.stopped:
        return
    if answer is None:
        tally.reason = "The editor did not answer in time."
    elif answer.applied:
        tally.reason = "The editor says that it applied the edit, but not every file is as expected."
    else:
        tally.reason = f"The editor refused the edit: {answer.reason or 'it gave no reason'}."


async def _on_disk(view: WorkspaceView, works: Sequence[PlannedEffect], tally: _Tally) -> None:
    """Make changes on disk one after the other, up to the first that fails."""
    if not works:
        # Nothing is awaited here, since the comparison with the buffers must still hold afterwards.
        return
    for done, work in enumerate(works):
        refused = await _performed(view, work)
        if refused is not None:
            tally.reason = refused.reason
            tally.leave(works[done:])
            return
        tally.take(work, "verified")


async def _performed(view: WorkspaceView, work: PlannedEffect) -> DiskRefused | None:
    """Make one change on disk, unless the user has begun to type in the file while others were written."""
    if _is_typed_in(view, work):
        return DiskRefused(cause="changed", reason=unsaved(work))
    # Before the change, since an editor may reload the file before this hears that it is made.
    stale = () if is_folder(work.change) else view.mark_stale(work.source)
    refused = await asyncio.to_thread(perform, work)
    if refused is not None:
        for uri in stale:
            view.forget(uri)
    return refused


def _is_typed_in(view: WorkspaceView, work: PlannedEffect) -> bool:
    """Whether a buffer tells another text than the one that the change was made for."""
    if work.change.kind not in ("edit", "delete") or work.source != work.change.uri:
        return False
    now = view.buffer(work.source)
    return now is not None and now.text.removeprefix(BOM) != work.live.text


async def _settled(
    edit: Edit, edit_id: EditId, prepared: ApplyPlan, tally: _Tally, answer: EditorAnswer | None
) -> ChangesetApplied | ChangesetPartlyApplied | ChangesetRefused | _Rejected:
    """Record how the batch ended, and say it."""
    done = bool(tally.applied or tally.unexpected)
    folders = [
        recorded(CreateFolder(uri=uri)).edited()
        for uri, place in prepared.parents
        if done and await asyncio.to_thread(place.path.is_dir)
    ]
    # They were made first: what is taken back in the reverse order leaves them empty.
    tally.applied[:0] = folders
    tally.outcomes.update({"verified"} if folders else ())
    for file in tally.applied:
        if file.new_uri is not None:
            edit.view.did_rename(file.uri, file.new_uri)
    settlement = Settlement(
        applied=tuple(tally.applied),
        rejected=tuple(tally.rejected),
        unexpected=tuple(tally.unexpected),
        merged=prepared.merged,
        outcome=tally.outcome if tally.applied else None,
        reason=tally.reason,
    )
    await edit.journal.settle(edit_id, settlement)
    reason = tally.reason or "The edit was not applied."
    if not tally.stopped:
        return ChangesetApplied(
            files=settlement.applied, merged=prepared.merged, outcome=tally.outcome, edit_ids=(edit_id,)
        )
    if not done:
        refused = answer is not None and not answer.applied
        return _Rejected(reason=reason) if refused else ChangesetRefused(reason=reason)
    return ChangesetPartlyApplied(
        applied=settlement.applied,
        not_applied=settlement.rejected,
        unexpected=settlement.unexpected,
        reason=reason,
        merged=prepared.merged,
        edit_ids=(edit_id,),
    )


def _disk_order(
    works: Sequence[PlannedEffect],
) -> tuple[tuple[PlannedEffect, ...], tuple[PlannedEffect, ...]]:
    """What must be on disk before the editor's part, which is renames that its edits build on; and the rest.

    All else comes after it, so that nothing has happened yet if the editor refuses.
    """
    disk = [work for work in works if work.way == "disk"]
    places = [work.change.uri for work in works if work.way == "editor"]
    first = tuple(
        work
        for work in disk
        if work.change.kind == "rename"
        and any(place == work.change.new_uri or is_below(place, work.change.new_uri) for place in places)
    )
    return first, tuple(work for work in disk if work not in first)


def _make_folders(places: Sequence[ConfinedPath]) -> tuple[ConfinedPath, ...]:
    made: list[ConfinedPath] = []
    for place in places:
        found = create_folders(place)
        if isinstance(found, tuple):
            made += found
    return tuple(made)
