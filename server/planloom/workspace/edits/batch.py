"""Makes one edit: prepare it, record the intent, send it, verify the files, record the outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final, NamedTuple

from planloom.domain.changes import Changeset, CreateFile, CreateFolder, EditedFile, EditFile, EditOutcome
from planloom.domain.safety.approvals import Grant
from planloom.domain.values import EditId, Uri, Value
from planloom.shielded import uninterrupted
from planloom.workspace.disk import ConfinedPath, DiskRefused
from planloom.workspace.disk_changes import create_folders, delete_folder
from planloom.workspace.editor import (
    EditAnswer,
    Editor,
    EditorCapabilities,
    EditorEdit,
    EditorGone,
    EditorSilent,
    NewFiles,
    TextOperation,
)
from planloom.workspace.edits import new_files
from planloom.workspace.edits.effects import are_untouched, compared_on_disk, editor_edit, perform_all
from planloom.workspace.edits.late import GivenUp, over_unanswered, results_of, unanswered
from planloom.workspace.edits.misplaced import is_taken_back
from planloom.workspace.edits.outcomes import (
    ApplyOutcome,
    ChangesetApplied,
    ChangesetConflicted,
    ChangesetPartlyApplied,
    ChangesetRefused,
    ChangesetSuperseded,
    EditResult,
    Journal,
    recorded,
)
from planloom.workspace.edits.prepare import (
    ApplyPlan,
    IsJournaled,
    PlannedEffect,
    is_folder,
    nothing_journaled,
    prepare,
    unsaved,
)
from planloom.workspace.edits.touched_places import Look, Touches
from planloom.workspace.edits.verify import FileOutcome, ResultWatcher, is_awaited, verified, wait_for_buffers
from planloom.workspace.moves import Move
from planloom.workspace.snapshots import BOM
from planloom.workspace.view import WorkspaceView

_MOST_ATTEMPTS: Final = 20
"""How often an edit is prepared again because its files changed before it was sent."""

_TELL_SECONDS: Final = 10.0
"""How long to wait for the typing on account of which an editor has refused an edit."""
_CHANGED: Final = "The file changed before the edit was sent."
_UNSTABLE: Final = "The files keep changing while the edit is prepared: try again later."
_UNANSWERED: Final = "The editor did not answer in time, and may still make the change."
_WEAKEST_FIRST: Final[tuple[EditOutcome, ...]] = ("unverified", "normalized")


class _FilesChanged(Value):
    """The files changed before anything was sent."""


class _Rejected(NamedTuple):
    """The editor refused the edit, and nothing was changed."""

    reason: str


class _Disconnected(Value):
    """The connection closed before the editor answered. The outcome is left open, as after a crash."""


@dataclass(frozen=True)
class Edit:
    """The part that all batches of one changeset share: where it is made, by whose approval, and how it is recorded.

    A buffer whose unsaved text `is_journaled` does not block a change on disk, since that text cannot be lost.
    `approved` is what the changes touched when they were approved; None for an undo, which the user asks for.
    `patience` is how many seconds to wait until the editor reports the buffers that it says it has changed.
    `new_files` is who makes these, as the settings say.
    `may_repeat`: a person has allowed to send what an earlier edit, still unanswered, may change as well.
    """

    view: WorkspaceView
    editor: Editor
    grant: Grant
    label: str
    journal: Journal
    is_journaled: IsJournaled = nothing_journaled
    approved: Touches | None = None
    patience: float = 2.0
    may_repeat: bool = False
    new_files: NewFiles = "auto"

    async def prepared(
        self, changeset: Changeset, look: Look | None = None
    ) -> ApplyPlan | ChangesetRefused | ChangesetConflicted | ChangesetSuperseded:
        """Compare these changes with their files as they are now, or as `look` has just found them; nothing is
        changed."""
        return await prepare(self.view, changeset, self.can, self.is_journaled, self.approved, look)

    @property
    def can(self) -> EditorCapabilities:
        """The part of these changes that the editor makes."""
        return self.editor.capabilities.creating(self.new_files)


@dataclass
class _BatchResult:
    """The outcomes of the files of one batch so far."""

    applied: list[EditedFile] = field(default_factory=list)
    rejected: list[EditedFile] = field(default_factory=list)
    unexpected: list[EditedFile] = field(default_factory=list)
    outcomes: set[EditOutcome] = field(default_factory=set)
    made: list[PlannedEffect] = field(default_factory=list)
    open: list[PlannedEffect] = field(default_factory=list)
    reason: str | None = None
    is_taken_back: bool = False

    def record(self, effect: PlannedEffect, finding: FileOutcome) -> None:
        edited = effect.recorded().edited()
        if finding == "not_applied":
            self.rejected.append(edited)
        elif finding == "unexpected":
            self.unexpected.append(edited)
            self.open.append(effect)
        else:
            self.applied.append(edited)
            self.made.append(effect)
            self.outcomes.add(finding)

    def reject(self, effects: Iterable[PlannedEffect]) -> None:
        for effect in effects:
            self.record(effect, "not_applied")

    @property
    def stopped(self) -> bool:
        return bool(self.rejected or self.unexpected)

    @property
    def outcome(self) -> EditOutcome:
        return weakest(self.outcomes)


def weakest(outcomes: Iterable[EditOutcome]) -> EditOutcome:
    """The outcome that holds for all of several files."""
    present = set(outcomes)
    for outcome in _WEAKEST_FIRST:
        if outcome in present:
            return outcome
    return "verified"


async def apply_batch(edit: Edit, changeset: Changeset, first: ApplyPlan | None = None) -> ApplyOutcome:
    """Make the changes as one edit. Prepares again while files change, and retries once if the editor refuses.

    `first` is an `ApplyPlan` of these changes that the caller has just prepared.
    """
    rejected = False
    parents: dict[Uri, ConfinedPath] = {}
    made: tuple[ConfinedPath, ...] = ()
    outcome: ApplyOutcome = ChangesetRefused(reason=_UNSTABLE, files=changeset.uris())
    for _ in range(_MOST_ATTEMPTS):
        prepared = first or await edit.prepared(changeset)
        first = None
        if not isinstance(prepared, ApplyPlan):
            outcome = prepared
            break
        if not prepared.effects:
            return ChangesetApplied(files=())
        parents |= dict(prepared.parents)
        if rejected and not edit.view.roots.any_virtual:
            # Not every editor creates the parent folders of a new file.
            own = [each.confined for each in prepared.effects if each.change.kind == "createFolder"]
            made += await asyncio.to_thread(_make_folders, (*parents.values(), *own))
        barred = None if edit.may_repeat else over_unanswered(edit.view, edit.editor.capabilities, changeset)
        if barred is not None:
            outcome = ChangesetRefused(reason=barred, files=changeset.uris())
            break
        ended = await uninterrupted(_attempt(edit, prepared._replace(parents=tuple(parents.items()))))
        if isinstance(ended, _Disconnected):
            # The server ends, and cancels this job.
            await asyncio.Event().wait()
            continue
        if isinstance(ended, ChangesetApplied | ChangesetPartlyApplied):
            return ended
        if isinstance(ended, _Rejected) and await _is_told_more(edit, prepared, ended.reason):
            continue
        if isinstance(ended, _Rejected) and not rejected:
            rejected = True
        elif not isinstance(ended, _FilesChanged):
            outcome = ChangesetRefused(reason=ended.reason, files=changeset.uris())
            break
    for place in reversed(made):
        await asyncio.to_thread(delete_folder, place)
    return outcome


async def _is_told_more(edit: Edit, prepared: ApplyPlan, reason: str) -> bool:
    """Whether the editor tells of typing that made it refuse an edit of an older version of a document.

    eglot counts a version for each key and tells of them only after a pause.
    """
    if "version" not in reason:
        return False
    return await edit.view.documents.wait_until(lambda: not prepared.is_current(edit.view), _TELL_SECONDS)


async def _attempt(
    edit: Edit, prepared: ApplyPlan
) -> ChangesetApplied | ChangesetPartlyApplied | ChangesetRefused | _FilesChanged | _Rejected | _Disconnected:
    """Record the intent, make the changes, verify the files and record the outcome."""
    by_editor = tuple(effect for effect in prepared.effects if effect.executor == "editor")
    on_disk = tuple(effect for effect in prepared.effects if effect.executor == "disk")
    sent = EditorEdit(label=edit.label, operations=())
    if by_editor:
        sent = await asyncio.to_thread(editor_edit, edit.label, by_editor, edit.editor.capabilities)
    if not prepared.is_current(edit.view):
        return _FilesChanged()
    edit_id = await edit.journal.intend(edit.grant, prepared.journal())
    result = _BatchResult()
    closed = compared_on_disk(prepared.effects)
    untouched = not closed or await asyncio.to_thread(are_untouched, closed)
    if not (untouched and prepared.is_current(edit.view)):
        result.reject(prepared.effects)
        await edit.journal.record_result(
            edit_id, EditResult(rejected=tuple(result.rejected), reason=_CHANGED)
        )
        return _FilesChanged()
    answer: EditAnswer | EditorSilent | None = None
    if by_editor:
        # No await between the comparison and the send: the buffers are still as they were compared.
        watcher = ResultWatcher(edit.view, by_editor)
        renames = [Move(*effect.change.ends) for effect in by_editor if effect.change.kind == "rename"]
        edit.view.expect_renames(renames)
        try:
            answer = await _answer(edit.editor, sent)
            if isinstance(answer, EditorGone):
                return _Disconnected()
            await _record_findings(edit, by_editor, sent, answer, result, watcher)
            edit.view.forget_renames(Move(*file.uris) for file in result.rejected if file.new_uri)
        finally:
            watcher.stop()
    if result.stopped:
        result.reject(on_disk)
    else:
        await _on_disk(edit, on_disk, result)
    settled = await _settled(edit, edit_id, prepared, result, answer)
    _note_unanswered(edit, edit_id, sent, result, answer)
    return settled


async def _answer(editor: Editor, sent: EditorEdit) -> EditAnswer | EditorSilent:
    """The editor's answer, or why there is none."""
    try:
        return await editor.apply(sent)
    except EditorSilent as silent:
        return silent


def _note_unanswered(
    edit: Edit,
    edit_id: EditId,
    sent: EditorEdit,
    result: _BatchResult,
    answer: EditAnswer | EditorSilent | None,
) -> None:
    """Note the changes that the editor may still make, and that a change has been made which it was sent before."""
    edit.view.unanswered.made_anew(results_of(result.made))
    if result.open and isinstance(answer, EditorSilent) and answer.late is not None:
        given_up = GivenUp(edit_id, sent, tuple(result.open), tuple(result.applied))
        late = unanswered(edit.view, edit.editor, edit.journal, given_up, answer.late, answer.seconds)
        edit.view.unanswered.add(late)


async def _record_findings(
    edit: Edit,
    effects: Sequence[PlannedEffect],
    sent: EditorEdit,
    answer: EditAnswer | EditorSilent,
    result: _BatchResult,
    watcher: ResultWatcher,
) -> None:
    """Record what the files show, which may differ from the editor's answer."""
    given = None if isinstance(answer, EditorSilent) else answer
    acknowledged = given is not None and given.applied
    refused = given is not None and not given.applied
    may_come = isinstance(answer, EditorSilent) and answer.late is not None
    arrived = acknowledged and await wait_for_buffers(edit.view, effects, edit.patience)
    if not may_come:
        created = new_files.of_effects(effects)
        await new_files.complete(edit.view, edit.editor, created, is_made=acknowledged)
    findings = await verified(edit.view, effects, acknowledged=acknowledged)
    if arrived and any(is_awaited(edit.view, effect) for effect in effects):
        # The editor may have opened a file during the check, and report its change only now.
        await wait_for_buffers(edit.view, effects, edit.patience)
        findings = await verified(edit.view, effects, acknowledged=acknowledged)
    taken_back: set[Uri] = set()
    if acknowledged:
        taken_back = await _take_back_misplaced(edit, sent, watcher)
        result.is_taken_back = bool(taken_back)
    for effect, finding in zip(effects, findings, strict=True):
        if effect.change.uri in taken_back:
            result.record(effect, "not_applied")
            continue
        made = finding in ("verified", "normalized", "unverified") or (
            not refused and watcher.observed(effect.change.uri)
        )
        if made and finding in ("not_applied", "unexpected"):
            result.record(effect, "verified")
        else:
            result.record(effect, "unexpected" if may_come and not made else finding)
    if may_come:
        # The editor may still put the text into the others.
        await new_files.complete(edit.view, edit.editor, new_files.of_effects(result.made), is_made=False)
    if not result.stopped:
        return
    if given is None:
        result.reason = _UNANSWERED if may_come else "The editor gave no answer that can be read."
    elif given.applied:
        result.reason = "The editor says that it applied the edit, but not every file is as expected."
    else:
        result.reason = f"The editor refused the edit: {given.reason or 'it gave no reason'}."


async def _take_back_misplaced(edit: Edit, sent: EditorEdit, watcher: ResultWatcher) -> set[Uri]:
    """Take back what the editor made in a newer text than it was sent for; the URIs of those documents."""
    documents, history = edit.view.documents, watcher.history
    return {
        operation.uri
        for operation in sent.operations
        if isinstance(operation, TextOperation)
        and await is_taken_back(documents, edit.editor, operation, history, patience=edit.patience)
    }


async def _on_disk(edit: Edit, effects: Sequence[PlannedEffect], result: _BatchResult) -> None:
    """Make changes on disk in order, up to the first that fails."""
    if not effects:
        # No await here: the comparison with the buffers must still hold afterwards.
        return
    waiting = list(effects)
    while waiting:
        # New files have no buffer that could change meanwhile, so they are made together.
        new = list(takewhile(_is_new, waiting))
        together = new or waiting[:1]
        made, refused = await _performed(edit, together)
        for effect in together[:made]:
            result.record(effect, "verified")
        del waiting[:made]
        if refused is not None:
            result.reason = refused.reason
            result.reject(waiting)
            return


def _is_new(effect: PlannedEffect) -> bool:
    return effect.change.kind in ("create", "createFolder")


async def _performed(edit: Edit, effects: Sequence[PlannedEffect]) -> tuple[int, DiskRefused | None]:
    """Make changes on disk in order, unless the user has typed in a file since it was compared.

    Returns how many were made, and why the next one was not. A folder that the editor makes is made alone.
    """
    view = edit.view
    if edit.can.create_folders and effects[0].change.kind == "createFolder":
        refused = await new_files.make_folder(edit.view, edit.editor, effects[0])
        return (0 if refused else 1), refused
    typed_in = next((effect for effect in effects if _is_typed_in(view, effect)), None)
    if typed_in is not None:
        return 0, DiskRefused(cause="changed", reason=unsaved(typed_in))
    # Before the change, since the editor may reload the file before the thread returns.
    stale = [{} if is_folder(effect.change) else _mark_stale(view, effect) for effect in effects]
    made, refused = await asyncio.to_thread(perform_all, effects)
    for known in reversed(stale[made:]):
        view.unmark_stale(known)
    return made, refused


def _mark_stale(view: WorkspaceView, effect: PlannedEffect) -> Mapping[Uri, frozenset[str]]:
    change = effect.change
    after = change.after if isinstance(change, EditFile | CreateFile) else None
    return view.mark_stale(change.uri, effect.live.text, after)


def _is_typed_in(view: WorkspaceView, effect: PlannedEffect) -> bool:
    """Whether the buffer differs from the text that the change was prepared for."""
    if effect.change.kind not in ("edit", "delete"):
        return False
    now = view.buffer(effect.change.uri)
    return now is not None and now.text.removeprefix(BOM) != effect.live.text


async def _settled(
    edit: Edit,
    edit_id: EditId,
    prepared: ApplyPlan,
    result: _BatchResult,
    answer: EditAnswer | EditorSilent | None,
) -> ChangesetApplied | ChangesetPartlyApplied | ChangesetRefused | _FilesChanged | _Rejected:
    """Record the outcome of the batch, and return it."""
    done = bool(result.applied or result.unexpected)
    folders: list[EditedFile] = []
    if done and prepared.parents:
        # Where all changes were made, so were the folders above them.
        parents = prepared.parents
        if result.stopped:
            parents = await asyncio.to_thread(_made_folders, parents)
        folders = [recorded(CreateFolder(uri=uri)).edited() for uri, _ in parents]
    # In the order of the journal, so that an undo in reverse order empties a folder before it removes it.
    place = {(file.uri, file.change): n for n, file in enumerate(prepared.journal())}
    result.applied = sorted((*folders, *result.applied), key=lambda file: place[file.uri, file.change])
    result.outcomes.update({"verified"} if folders else ())
    for file in result.applied:
        if file.new_uri is not None:
            edit.view.did_rename(file.uri, file.new_uri)
    edit_result = EditResult(
        applied=tuple(result.applied),
        rejected=tuple(result.rejected),
        unexpected=tuple(result.unexpected),
        merged=prepared.merged,
        outcome=result.outcome if result.applied else None,
        reason=result.reason,
    )
    await edit.journal.record_result(edit_id, edit_result)
    reason = result.reason or "The edit was not applied."
    if not result.stopped:
        return ChangesetApplied(
            files=edit_result.applied, merged=prepared.merged, outcome=result.outcome, edit_ids=(edit_id,)
        )
    if not done and result.is_taken_back:
        return _FilesChanged()
    if not done:
        refused = isinstance(answer, EditAnswer) and not answer.applied
        return _Rejected(reason=reason) if refused else ChangesetRefused(reason=reason)
    return ChangesetPartlyApplied(
        applied=edit_result.applied,
        not_applied=edit_result.rejected,
        unexpected=edit_result.unexpected,
        reason=reason,
        merged=prepared.merged,
        edit_ids=(edit_id,),
    )


def _made_folders(parents: Sequence[tuple[Uri, ConfinedPath]]) -> tuple[tuple[Uri, ConfinedPath], ...]:
    """Those of the folders that are there."""
    return tuple(parent for parent in parents if parent[1].path.is_dir())


def _make_folders(places: Sequence[ConfinedPath]) -> tuple[ConfinedPath, ...]:
    made: list[ConfinedPath] = []
    for place in places:
        found = create_folders(place)
        if not isinstance(found, DiskRefused):
            made += found
    return tuple(made)
