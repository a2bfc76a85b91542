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
from planloom.domain.text.positions import FileForm
from planloom.domain.values import Uri
from planloom.workspace.disk import ConfinedPath
from planloom.workspace.documents import Document
from planloom.workspace.editor import EditorCapabilities
from planloom.workspace.edits.outcomes import (
    ChangesetConflicted,
    ChangesetRefused,
    ChangesetSuperseded,
    JournalFile,
    recorded,
)
from planloom.workspace.edits.rebase import rebase
from planloom.workspace.edits.staging import named
from planloom.workspace.edits.touched_places import Look, Touches, look_at
from planloom.workspace.paths.names import quoted
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath
from planloom.workspace.paths.uris import after_rename, is_at_or_below, is_below, is_file, normalized, parent
from planloom.workspace.snapshots import BOM, Snapshot, of_document
from planloom.workspace.view import ResolvedSnapshot, WorkspaceView, confined_path


class Carried(NamedTuple):
    """A file with a newer buffer, and the text to write to disk before it is renamed there."""

    confined: ConfinedPath
    on_disk: str
    text: str


class PlannedEffect(NamedTuple):
    """One change that is ready. `live` is the state it was compared with, `document` the buffer if it was open.

    `source` is the current URI, before earlier renames of the same changeset; `requested` is the URI in the
    changeset. `dangers` say why the change always needs approval. `on_disk` is the text on disk of a file to delete
    whose buffer is newer. `carried` are the files to write before a rename.
    """

    change: FileChange
    live: Snapshot
    confined: ConfinedPath
    relative: str
    source: Uri
    requested: Uri
    document: Document | None = None
    new_confined: ConfinedPath | None = None
    dangers: tuple[str, ...] = ()
    executor: Literal["editor", "disk"] = "disk"
    on_disk: str | None = None
    carried: tuple[Carried, ...] = ()

    def recorded(self) -> JournalFile:
        """The journal record of the change, with the encoding that the file loses by it."""
        record = recorded(self.change)
        if _wanted_form(self.change) is None and (self.change.kind != "delete" or is_folder(self.change)):
            return record
        return record._replace(form=self.live.form)


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
            _same(view.buffer(effect.source), effect.document)
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
    targets, other = _as_renames_go(look.targets), look.is_wider
    effects: list[PlannedEffect] = []
    changes: list[FileChange] = []
    conflicts: list[ConflictFile] = []
    texts: list[str] = []
    merged = False
    for change, file, judgement in zip(changeset.changes, look.files, look.touched, strict=True):
        effect = await _planned_effect(view, change, file, targets)
        if isinstance(effect, ChangesetRefused):
            return effect
        if judgement.refused is not None:
            return ChangesetRefused(reason=judgement.refused, files=(change.uri,))
        target = targets[change].snapshot if change.kind == "rename" else None
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
    routed = await _before_moves(view, _routed(view, effects, capabilities))
    for effect in routed:
        if effect.executor == "disk" and not is_file(effect.source) and effect.change.kind != "createFolder":
            reason = (
                f"Only the editor reaches {named(effect.source)}, and LSP cannot ask it for this change: "
                "it names no encoding, and a new file may not have the name of an open or unanswered one."
            )
            return ChangesetRefused(reason=reason, files=(effect.change.uri,))
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
    live, source = file.snapshot, change.uri
    origin = _before_renames(change.uri, tuple(targets)) if change.kind in ("edit", "delete") else None
    if origin is not None:
        # Another file may still have this URI, until another rename moves it away.
        found = await view.snapshot(origin)
        if found.exists or not live.exists:
            live, source = found, origin
    if not live.exists and change.kind == "edit":
        renamed = view.renamed_to(change.uri)
        if renamed is not None:
            reason = f"{named(change.uri)} has been renamed to {named(renamed)}: read that file and change it there."
            return ChangesetRefused(reason=reason, files=(change.uri,))
    if live.exists and change.kind in ("create", "createFolder") and _is_freed(change.uri, targets):
        live = Snapshot(uri=change.uri, exists=False)
    document, form = view.buffer(source), _wanted_form(change)
    if document is not None and live.exists:
        # Take the text and the document at the same moment: the buffer may have changed since it was resolved.
        live = of_document(document)
        saved = await view.saved(source) if form is not None or change.kind == "delete" else None
        if saved is not None:
            live = live._replace(encoding=saved.encoding, bom=saved.bom)
    if form is not None and (form == live.form or await view.is_dirty(source)):
        # Only the editor writes unsaved text, in the encoding that it has.
        change = change.model_copy(update={"form": None})
    return PlannedEffect(
        change,
        live,
        confined_path(place),
        place.relative,
        source,
        requested,
        document,
        confined_path(new_place) if new_place is not None else None,
    )


def _as_renames_go(targets: Mapping[RenameFile, ResolvedSnapshot]) -> dict[RenameFile, ResolvedSnapshot]:
    """What is at the new name of each rename after the renames before it."""
    freed: set[Uri] = set()
    found: dict[RenameFile, ResolvedSnapshot] = {}
    for rename, file in targets.items():
        found[rename] = file
        if rename.new_uri in freed:
            found[rename] = file._replace(snapshot=Snapshot(uri=rename.new_uri, exists=False))
        if not found[rename].snapshot.exists:
            freed.discard(rename.new_uri)
            freed.add(rename.uri)
    return found


def _place(view: WorkspaceView, uri: Uri, file: ResolvedSnapshot) -> ResolvedPath | ChangesetRefused:
    """Check the path of a change again: since the approval somebody may have put a link into it."""
    place = file.place
    if isinstance(place, PathRefused):
        return ChangesetRefused(reason=place.reason, files=(uri,))
    if place.uri != uri and view.documents.get(uri) is None:
        reason = f"{quoted(uri)} now leads to {quoted(str(place.path))}, which was not approved."
        return ChangesetRefused(reason=reason, files=(uri,))
    return place


def _before_renames(uri: Uri, renames: Sequence[RenameFile]) -> Uri | None:
    place = uri
    for rename in reversed(renames):
        place = after_rename(place, rename.new_uri, rename.uri)
    return place if place != uri else None


def _is_freed(uri: Uri, targets: Mapping[RenameFile, ResolvedSnapshot]) -> bool:
    """Whether a pending rename of the same changeset moves away what is at the URI."""
    return any(
        is_at_or_below(uri, rename.uri) and not target.snapshot.exists for rename, target in targets.items()
    )


def _routed(
    view: WorkspaceView, effects: Sequence[PlannedEffect], capabilities: EditorCapabilities
) -> tuple[PlannedEffect, ...]:
    """Choose the editor for what it can do; all renames and deletions get one executor, since they depend on each
    other, and new files may depend on them.
    """
    able = {"rename": capabilities.rename_files, "delete": capabilities.delete_files}
    kinds = {effect.change.kind for effect in effects if not is_folder(effect.change)} & able.keys()
    names = capabilities.apply_edit and capabilities.document_changes and all(able[kind] for kind in kinds)
    return tuple(effect._replace(executor=_executor(view, effect, capabilities, names)) for effect in effects)


def _executor(
    view: WorkspaceView,
    effect: PlannedEffect,
    capabilities: EditorCapabilities,
    names: bool,
) -> Literal["editor", "disk"]:
    if is_folder(effect.change):
        return "disk" if is_file(effect.source) or effect.change.kind != "delete" else "editor"
    if effect.change.kind == "create":
        # An editor that has kept a buffer of a file that is gone would put the text into it, beside its own. One that
        # has not answered an edit that creates the file can no longer make it once the file is there.
        uri = effect.change.uri
        is_free = view.documents.get(uri) is None and not view.unanswered.over((uri,))
        able = (capabilities.create_files or not is_file(uri)) and names and is_free
        return "editor" if able and _is_plain_utf8(effect.change) else "disk"
    if effect.change.kind != "edit":
        return "editor" if names else "disk"
    # An editor guesses the encoding of a file that it opens, and reliably guesses only UTF-8. It offers no way to
    # set another one.
    sure = _wanted_form(effect.change) is None and (
        effect.document is not None or effect.live.encoding == "utf-8"
    )
    return "editor" if capabilities.apply_edit and sure and not view.is_stale(effect.source) else "disk"


def _is_plain_utf8(new: CreateFile) -> bool:
    """Whether an editor can make a file with exactly these bytes: LSP names no encoding, and an editor replaces half of
    a surrogate pair."""
    try:
        new.after.encode()
    except UnicodeEncodeError:
        return False
    return new.form == FileForm()


async def _before_moves(view: WorkspaceView, effects: Sequence[PlannedEffect]) -> tuple[PlannedEffect, ...]:
    """Put edits of buffers before disk renames of their files, since the editor knows the files by their old names.

    A file without unsaved text is edited on disk as well, since the editor would open it under the old name.
    """
    moves = [
        effect.source for effect in effects if effect.change.kind == "rename" and effect.executor == "disk"
    ]
    first: list[PlannedEffect] = []
    others: list[PlannedEffect] = []
    for effect in effects:
        moved = effect.change.kind == "edit" and effect.source != effect.change.uri
        if not moved or not any(is_at_or_below(effect.source, place) for place in moves):
            others.append(effect)
        elif effect.document is None or not await view.is_dirty(effect.source):
            others.append(effect._replace(executor="disk"))
        else:
            change = effect.change.model_copy(update={"uri": effect.source})
            first.append(effect._replace(change=change))
    return (*first, *others)


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
        effect.source for effect in effects if effect.executor == "editor" and effect.change.kind != "edit"
    ]
    of_their_own = [
        effect.source
        for effect in effects
        if effect.executor == "disk" and effect.change.kind in ("rename", "delete")
    ]
    after = {effect.source: effect.change.after for effect in effects if effect.change.kind == "edit"}
    safe: list[PlannedEffect] = []
    for effect in effects:
        on_disk: str | None = None
        carried: list[Carried] = []
        for document in view.documents.all() if _is_under_buffers(effect) else ():
            here = document.uri
            elsewhere = [place for place in of_their_own if is_below(place, effect.source)]
            if not is_at_or_below(here, effect.source) or any(
                is_at_or_below(here, place) for place in (*by_editor, *elsewhere)
            ):
                continue
            if not await view.is_dirty(here):
                continue
            text, saved = document.text.removeprefix(BOM), await view.saved_text(here)
            place = await asyncio.to_thread(view.locate, here, "write")
            ours = is_journaled(text) and saved is not None and is_journaled(saved)
            if not ours or saved is None or isinstance(place, PathRefused) or effect.change.kind == "edit":
                return ChangesetRefused(reason=unsaved(effect), files=(effect.change.uri,), unsaved=True)
            on_disk = saved
            carried.append(Carried(confined_path(place), saved, after.get(here, text)))
        moved = tuple(carried) if effect.change.kind == "rename" else ()
        safe.append(effect._replace(carried=moved, on_disk=None if moved else on_disk))
    return tuple(safe)


def unsaved(effect: PlannedEffect) -> str:
    """The refusal of a disk change under an unsaved buffer."""
    return (
        f"{quoted(effect.relative)} has unsaved changes in the editor, which cannot take"
        " the edit itself: save it, then try again."
    )


def _is_under_buffers(effect: PlannedEffect) -> bool:
    return effect.executor == "disk" and effect.change.kind not in ("create", "createFolder")


def _parents(effects: Sequence[PlannedEffect]) -> tuple[tuple[Uri, ConfinedPath], ...]:
    """The missing parent folders of new files that the changeset does not create itself."""
    own = {effect.change.uri for effect in effects if effect.change.kind == "createFolder"}
    places = {effect.change.new_uri for effect in effects if effect.change.kind == "rename"}
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
            if len(here.names) <= there or any(is_at_or_below(uri, place) for place in places):
                break
            if uri not in own:
                found[uri] = here
    return tuple(sorted(found.items(), key=lambda item: len(item[1].names)))


def _same(now: Document | None, then: Document | None) -> bool:
    if now is None or then is None:
        return now is then
    return now.version == then.version and now.text == then.text
