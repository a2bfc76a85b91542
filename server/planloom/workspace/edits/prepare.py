"""Compares an approved changeset with the current files, and plans which change the editor makes and which the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from planloom.domain.changes import (
    Changeset,
    ConflictFile,
    CreateFile,
    CreateFolder,
    FileChange,
    RenameFile,
    sha256,
)
from planloom.domain.text.positions import FileForm, FileProtection
from planloom.domain.values import Uri
from planloom.workspace.disk import ConfinedPath
from planloom.workspace.disk_changes import protection_of
from planloom.workspace.documents import Document
from planloom.workspace.editor import EditorCapabilities
from planloom.workspace.edits.outcomes import (
    ChangesetConflicted,
    ChangesetRefused,
    ChangesetSuperseded,
    JournalFile,
    recorded,
)
from planloom.workspace.edits.touched_places import Look, Touches, look_at
from planloom.workspace.paths.names import quoted
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath
from planloom.workspace.paths.uris import is_at_or_below, is_below, is_file, normalized, parent
from planloom.workspace.snapshots import BOM, Snapshot, of_document
from planloom.workspace.staged.rebase import rebase
from planloom.workspace.staged.staging import named
from planloom.workspace.view import ResolvedSnapshot, WorkspaceView, confined_path


class Carried(NamedTuple):
    """A file with a newer buffer, and the text to write to disk before it is renamed there."""

    confined: ConfinedPath
    on_disk: str
    text: str


class PlannedEffect(NamedTuple):
    """One change that is ready. `live` is the state it was compared with, `document` the buffer if it was open.

    `requested` is the URI in the changeset, where the file is open under another one. `dangers` say why the change
    always needs approval. `on_disk` is the text on disk of a file to delete whose buffer is newer. `carried` are the
    files to write before a rename.
    """

    change: FileChange
    live: Snapshot
    confined: ConfinedPath
    relative: str
    requested: Uri
    document: Document | None = None
    new_confined: ConfinedPath | None = None
    dangers: tuple[str, ...] = ()
    executor: Literal["editor", "disk"] = "disk"
    on_disk: str | None = None
    carried: tuple[Carried, ...] = ()
    protection: FileProtection | None = None

    def recorded(self) -> JournalFile:
        """The journal record of the change, with the encoding and protection that the file loses by it."""
        record = recorded(self.change)
        if _wanted_form(self.change) is None and (self.change.kind != "delete" or is_folder(self.change)):
            return record
        return record._replace(form=self.live.form.model_copy(update={"protection": self.protection}))


IsJournaled = Callable[[str], bool]
"""Whether the journal has a text, so that it cannot be lost with a buffer or a file."""


def nothing_journaled(_: str) -> bool:
    """The default: treats every unsaved text as the user's."""
    return False


class ApplyPlan(NamedTuple):
    """All effects, in order; `parents` are missing parent folders of new files, outermost first."""

    effects: tuple[PlannedEffect, ...]
    merged: bool = False
    parents: tuple[tuple[Uri, ConfinedPath], ...] = ()

    def journal(self) -> tuple[JournalFile, ...]:
        """The journal records of all effects, each after those of the parent folders that come with it."""
        folders = [uri for uri, _ in self.parents]
        records: list[JournalFile] = []
        for effect in self.effects:
            change = effect.change
            place = change.new_uri if change.kind == "rename" else change.uri
            above = [uri for uri in folders if is_below(place, uri)]
            folders = [uri for uri in folders if uri not in above]
            records += [JournalFile(uri=uri, change="createFolder") for uri in above]
            records.append(effect.recorded())
        return (*(JournalFile(uri=uri, change="createFolder") for uri in folders), *records)

    def is_current(self, view: WorkspaceView) -> bool:
        """Whether every buffer is still as it was compared, and every closed file still closed; never awaits."""
        return all(
            _same(view.buffer(effect.change.uri), effect.document)
            for effect in self.effects
            if effect.change.kind != "createFolder"
        )


async def prepare(
    view: WorkspaceView,
    changeset: Changeset,
    capabilities: EditorCapabilities,
    is_journaled: IsJournaled = nothing_journaled,
    approved: Touches | None = None,
    look: Look | None = None,
) -> ApplyPlan | ChangesetRefused | ChangesetConflicted | ChangesetSuperseded:
    """Compare every change with its file, and plan the effects; changes nothing.

    Changes that touch more than what was `approved` of them are superseded. `look` is what the caller has just found
    of these very changes.
    """
    look = look or await look_at(view, changeset.changes, approved)
    other = look.is_wider
    effects: list[PlannedEffect] = []
    changes: list[FileChange] = []
    conflicts: list[ConflictFile] = []
    texts: list[str] = []
    merged = False
    for change, file, judgement in zip(changeset.changes, look.files, look.touched, strict=True):
        effect = await _planned_effect(view, change, file, look.targets)
        if isinstance(effect, ChangesetRefused):
            return effect
        if judgement.refused is not None:
            return ChangesetRefused(reason=judgement.refused, files=(change.uri,))
        target = look.targets[change].snapshot if change.kind == "rename" else None
        renamed = change.kind == "rename" and view.renamed_to(change.uri) == normalized(change.new_uri)
        rebased = rebase(effect.change, effect.live, target, renamed=renamed)
        match rebased.kind:
            case "impossible":
                return ChangesetRefused(reason=rebased.reason, files=(change.uri,))
            case "overlap":
                text = effect.live.text or ""
                # Uses the URI of the changeset, so that the user's answer can be matched to the change.
                identity = {"uri": change.uri, "sha256": sha256(text)}
                conflicts.append(rebased.conflict.model_copy(update=identity))
                texts.append(text)
            case "different":
                other = True
                changes.append(rebased.change)
            case "ready":
                merged = merged or rebased.merged
                changes.append(rebased.change)
                effects.append(effect._replace(change=rebased.change, dangers=judgement.dangers))
            case "already_done":
                pass
    if conflicts:
        return ChangesetConflicted(files=tuple(conflicts), texts=tuple(texts))
    if other:
        return ChangesetSuperseded(changeset=Changeset(changes=tuple(changes)))
    routed = await _routed(view, effects, changeset.later, capabilities, is_journaled)
    for effect in routed:
        uri = effect.change.uri
        if effect.executor == "disk" and not is_file(uri) and effect.change.kind != "createFolder":
            reason = (
                f"Only the editor reaches {named(uri)}, and LSP cannot ask it for this change: "
                "it names no encoding, and a new file may not have the name of an open or unanswered one."
            )
            return ChangesetRefused(reason=reason, files=(uri,))
    safe = await _protect_unsaved(view, routed, is_journaled)
    if isinstance(safe, ChangesetRefused):
        return safe
    return ApplyPlan(safe, merged, _parents(safe))


async def _planned_effect(
    view: WorkspaceView,
    change: FileChange,
    file: ResolvedSnapshot,
    targets: Mapping[RenameFile, ResolvedSnapshot],
) -> PlannedEffect | ChangesetRefused:
    place = _place(view, change.uri, file)
    new_place = _place(view, change.new_uri, targets[change]) if change.kind == "rename" else None
    if isinstance(place, ChangesetRefused):
        return place
    if isinstance(new_place, ChangesetRefused):
        return new_place
    requested = change.uri
    if change.kind == "edit" and file.snapshot.source == "buffer" and file.snapshot.uri != requested:
        # The file is open under another name: edit that buffer.
        change = change.model_copy(update={"uri": file.snapshot.uri})
    live = file.snapshot
    if not live.exists and change.kind == "edit":
        renamed = view.renamed_to(change.uri)
        if renamed is not None:
            reason = f"{named(change.uri)} has been renamed to {named(renamed)}: read that file and change it there."
            return ChangesetRefused(reason=reason, files=(change.uri,))
    document, form = view.buffer(change.uri), _wanted_form(change)
    if document is not None and live.exists:
        # Take the text and the document at the same moment: the buffer may have changed since it was resolved.
        live = of_document(document)
        saved = await view.saved(change.uri) if form is not None or change.kind == "delete" else None
        if saved is not None:
            live = live._replace(encoding=saved.encoding, bom=saved.bom)
    if form is not None and (form == live.form or await view.is_dirty(change.uri)):
        # Only the editor writes unsaved text, in the encoding that it has.
        change = change.model_copy(update={"form": None})
    is_deleted = change.kind == "delete" and is_file(change.uri) and not is_folder(change)
    return PlannedEffect(
        change,
        live,
        confined_path(place),
        place.relative,
        requested,
        document,
        confined_path(new_place) if new_place is not None else None,
        protection=await asyncio.to_thread(protection_of, confined_path(place)) if is_deleted else None,
    )


def _place(view: WorkspaceView, uri: Uri, file: ResolvedSnapshot) -> ResolvedPath | ChangesetRefused:
    """Check the path of a change again: since the approval somebody may have put a link into it."""
    place = file.place
    if isinstance(place, PathRefused):
        return ChangesetRefused(reason=place.reason, files=(uri,))
    if place.uri != uri and view.documents.get(uri) is None:
        reason = f"{quoted(uri)} now leads to {quoted(str(place.path))}, which was not approved."
        return ChangesetRefused(reason=reason, files=(uri,))
    return place


async def _routed(
    view: WorkspaceView,
    effects: Sequence[PlannedEffect],
    later: Sequence[FileChange],
    can: EditorCapabilities,
    is_journaled: IsJournaled,
) -> list[PlannedEffect]:
    """Choose the editor for what it can do.

    All renames and deletions get one executor. If that is the disk, new files are made there too, and so is the change
    of a file that is taken away later: an editor would keep its buffer under a name that is gone or another file's.
    Unsaved text of the journal stays with the editor, and comes along.
    """
    whole = [change for change in (*(effect.change for effect in effects), *later) if not is_folder(change)]
    able = {"rename": can.rename_files, "delete": can.delete_files}
    names = can.apply_edit and can.document_changes and all(able.get(each.kind, True) for each in whole)
    gone = () if names else [each.uri for each in later if each.kind in able]
    routed = []
    for effect in effects:
        uri, document = effect.change.uri, effect.document
        is_left = effect.change.kind == "edit" and any(is_at_or_below(uri, each) for each in gone)
        if is_left and document is not None and is_journaled(document.text.removeprefix(BOM)):
            is_left = not await view.is_dirty(uri)
        executor = "disk" if is_left else _executor(view, effect, can, names)
        routed.append(effect._replace(executor=executor))
    return routed


def _executor(
    view: WorkspaceView, effect: PlannedEffect, can: EditorCapabilities, names: bool
) -> Literal["editor", "disk"]:
    """Who makes a change; `names`: the editor makes all renames and deletions."""
    change, uri = effect.change, effect.change.uri
    if is_folder(change):
        return "disk" if is_file(uri) or change.kind != "delete" else "editor"
    able = names
    if change.kind == "create":
        # An editor that has kept a buffer of a file that is gone would put the text into it, beside its own. One that
        # has not answered an edit that creates the file can no longer make it once the file is there.
        is_free = view.documents.get(uri) is None and not view.unanswered.over((uri,))
        able = names and (can.create_files or not is_file(uri)) and is_free and _is_plain_utf8(change)
    if change.kind == "edit":
        # An editor guesses the encoding of a file that it opens, and reliably guesses only UTF-8. It offers no way to
        # set another one.
        sure = effect.document is not None or effect.live.encoding == "utf-8"
        able = can.apply_edit and sure and _wanted_form(change) is None and not view.is_stale(uri)
    return "editor" if able else "disk"


def _is_plain_utf8(new: CreateFile) -> bool:
    """Whether an editor can make a file with exactly these bytes: LSP names no encoding, and an editor replaces half of
    a surrogate pair."""
    try:
        new.after.encode()
    except UnicodeEncodeError:
        return False
    return new.form == FileForm()


def _wanted_form(change: FileChange) -> FileForm | None:
    """The encoding that an edit sets; None if the file keeps its own."""
    return change.form if change.kind == "edit" else None


def is_folder(change: FileChange) -> bool:
    """Whether a change creates or deletes a folder."""
    return isinstance(change, CreateFolder) or (change.kind == "delete" and change.before is None)


async def _protect_unsaved(
    view: WorkspaceView, effects: Sequence[PlannedEffect], is_journaled: IsJournaled
) -> tuple[PlannedEffect, ...] | ChangesetRefused:
    """Refuse to change a file on disk under a buffer with unsaved text of the user.

    Files that the editor itself deletes or renames first are exempt, and so are texts that the journal has.
    """
    by_editor = [
        effect.change.uri
        for effect in effects
        if effect.executor == "editor" and effect.change.kind != "edit"
    ]
    on_their_own = [
        effect.change.uri
        for effect in effects
        if effect.executor == "disk" and effect.change.kind == "delete"
    ]
    safe: list[PlannedEffect] = []
    for effect in effects:
        uri, kind = effect.change.uri, effect.change.kind
        carried: list[Carried] = []
        may_hit = effect.executor != "editor" and kind not in ("create", "createFolder")
        for document in view.documents.all() if may_hit else ():
            here = document.uri
            if not is_at_or_below(here, uri):
                continue
            elsewhere = [*by_editor, *(place for place in on_their_own if is_below(place, uri))]
            if any(is_at_or_below(here, place) for place in elsewhere) or not await view.is_dirty(here):
                continue
            text, saved = document.text.removeprefix(BOM), await view.saved_text(here)
            place = await asyncio.to_thread(view.locate, here, "write")
            ours = is_journaled(text) and saved is not None and is_journaled(saved)
            if not ours or saved is None or isinstance(place, PathRefused) or kind == "edit":
                return ChangesetRefused(reason=unsaved(effect), files=(uri,), unsaved=True)
            carried.append(Carried(confined_path(place), saved, text))
        is_moved = kind == "rename"
        on_disk = carried[-1].on_disk if carried and not is_moved else None
        safe.append(effect._replace(carried=tuple(carried) if is_moved else (), on_disk=on_disk))
    return tuple(safe)


def unsaved(effect: PlannedEffect) -> str:
    """The refusal of a disk change under an unsaved buffer."""
    return (
        f"{quoted(effect.relative)} has unsaved changes in the editor, which cannot take"
        " the edit itself: save it, then try again."
    )


def _parents(effects: Sequence[PlannedEffect]) -> tuple[tuple[Uri, ConfinedPath], ...]:
    """The missing parent folders of new files that the changeset does not create itself."""
    own = {effect.change.uri for effect in effects if effect.change.kind == "createFolder"}
    found: dict[Uri, ConfinedPath] = {}
    for effect in effects:
        change = effect.change
        if change.kind == "rename" and effect.new_confined is not None:
            uri, here = change.new_uri, effect.new_confined
        elif change.kind in ("create", "createFolder"):
            uri, here = change.uri, effect.confined
        else:
            continue
        there = here.held.depth if here.held is not None else len(here.names)
        while len(here.names) > 1:
            uri, here = parent(uri), here._replace(names=here.names[:-1])
            if len(here.names) <= there:
                break
            if uri not in own:
                found[uri] = here
    return tuple(sorted(found.items(), key=lambda item: len(item[1].names)))


def _same(now: Document | None, then: Document | None) -> bool:
    if now is None or then is None:
        return now is then
    return now.version == then.version and now.text == then.text
