"""An approved changeset against the files as they are now: what must be done to each, and by whom."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from planloom.domain.changes import (
    Changeset,
    ConflictFile,
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
from planloom.workspace.edits.touched_places import TouchedPlace, judged
from planloom.workspace.paths.names import shown
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath
from planloom.workspace.paths.uris import is_below, normalized, parent
from planloom.workspace.snapshots import BOM, Snapshot, of_document
from planloom.workspace.view import ResolvedSnapshot, WorkspaceView, confined_path


class Carried(NamedTuple):
    """A file whose buffer is newer than the disk, and the text with which it is to be renamed on disk."""

    confined: ConfinedPath
    on_disk: str
    text: str


@dataclass(frozen=True)
class PlannedEffect:
    """One change that is ready. `live` is what it was compared with, `document` the buffer if it was open.

    `source` is where that text lies until an earlier rename of the same changeset has happened, `asked` the
    place as the changeset has it. `dangers` say why it is always asked. `on_disk` is what a file to be deleted holds
    on disk, if its buffer is newer; `carried` are files that must hold a text on disk before they are renamed there,
    each with what it holds now.
    """

    change: FileChange
    live: Snapshot
    confined: ConfinedPath
    relative: str
    source: Uri
    asked: Uri
    document: Document | None = None
    new_confined: ConfinedPath | None = None
    dangers: tuple[str, ...] = ()
    way: Literal["editor", "disk"] = "disk"
    on_disk: str | None = None
    carried: tuple[Carried, ...] = ()

    def recorded(self) -> JournalFile:
        """The record of the change, with the form that the file loses by it."""
        record = recorded(self.change)
        if _wanted_form(self.change) is None and (self.change.kind != "delete" or is_folder(self.change)):
            return record
        return record.model_copy(update={"form": self.live.form})


Known = Callable[[str], bool]
"""Whether a text is kept in the journal, so that it cannot be lost with a buffer or a file."""


def nothing_known(_: str) -> bool:
    """For changes before which every text that is not saved is a person's."""
    return False


@dataclass(frozen=True)
class ApplyPlan:
    """Everything that must be done, in order; `parents` are the folders that files to come still lack."""

    works: tuple[PlannedEffect, ...]
    merged: bool = False
    parents: tuple[tuple[Uri, ConfinedPath], ...] = ()

    def journal(self) -> tuple[JournalFile, ...]:
        """The records of all changes, and of the folders that come with them."""
        folders = tuple(JournalFile(uri=uri, change="createFolder") for uri, _ in self.parents)
        return (*folders, *(work.recorded() for work in self.works))

    def is_current(self, view: WorkspaceView) -> bool:
        """Whether every buffer is still as it was compared and every closed file closed; without waiting."""
        return all(
            _same(view.buffer(work.source), work.document)
            for work in self.works
            if work.change.kind != "createFolder"
        )


async def prepare(
    view: WorkspaceView,
    changeset: Changeset,
    capabilities: EditorCapabilities,
    known: Known = nothing_known,
) -> ApplyPlan | ChangesetRefused | ChangesetConflicted | ChangesetSuperseded:
    """Compare every change with the file it is for, before anything is sent anywhere."""
    renames = tuple(change for change in changeset.changes if change.kind == "rename")
    looks = await view.resolve_all([rename.new_uri for rename in renames], for_="write")
    targets = _as_renames_go(dict(zip(renames, looks, strict=True)))
    looks = await view.resolve_all([change.uri for change in changeset.changes], for_="write")
    marks = await _judged(view, changeset, looks, targets)
    works: list[PlannedEffect] = []
    changes: list[FileChange] = []
    conflicts: list[ConflictFile] = []
    texts: list[str] = []
    merged = other = False
    for change, look, mark in zip(changeset.changes, looks, marks, strict=True):
        work = await _work(view, change, look, targets)
        if isinstance(work, ChangesetRefused):
            return work
        if mark.refused is not None:
            return ChangesetRefused(reason=mark.refused, files=(change.uri,))
        target = targets[change].snapshot if change.kind == "rename" else None
        renamed = change.kind == "rename" and view.renamed_to(change.uri) == normalized(change.new_uri)
        rebased = rebase(work.change, work.live, target, renamed=renamed)
        match rebased.kind:
            case "impossible":
                return ChangesetRefused(reason=rebased.reason, files=(change.uri,))
            case "overlapping":
                text = work.live.text or ""
                # Named as the changeset has it, so that the answer finds the change again.
                met = {"uri": change.uri, "sha256": sha256(text)}
                conflicts.append(rebased.conflict.model_copy(update=met))
                texts.append(text)
            case "other":
                other = True
                changes.append(rebased.change)
            case "ready":
                merged = merged or rebased.merged
                changes.append(rebased.change)
                works.append(replace(work, change=rebased.change, dangers=mark.dangers))
            case "already":
                pass
    if conflicts:
        return ChangesetConflicted(files=tuple(conflicts), texts=tuple(texts))
    if other:
        return ChangesetSuperseded(changeset=Changeset(changes=tuple(changes)))
    routed = await _before_moves(view, _routed(view, works, capabilities))
    safe = await _unsaved(view, routed, known)
    if isinstance(safe, ChangesetRefused):
        return safe
    routed = safe
    return ApplyPlan(routed, merged, await asyncio.to_thread(_parents, routed))


async def _judged(
    view: WorkspaceView,
    changeset: Changeset,
    looks: Sequence[ResolvedSnapshot],
    targets: Mapping[RenameFile, ResolvedSnapshot],
) -> tuple[TouchedPlace, ...]:
    places = [look.place for look in looks]
    ends = [targets[change].place if change.kind == "rename" else None for change in changeset.changes]
    known = tuple(document.uri for document in view.documents.all()) + view.acknowledged()
    return await asyncio.to_thread(judged, changeset.changes, places, ends, known)


async def _work(
    view: WorkspaceView,
    change: FileChange,
    look: ResolvedSnapshot,
    targets: Mapping[RenameFile, ResolvedSnapshot],
) -> PlannedEffect | ChangesetRefused:
    place = _place(view, change.uri, look)
    new_place = _place(view, change.new_uri, targets[change]) if change.kind == "rename" else None
    if isinstance(place, ChangesetRefused):
        return place
    if isinstance(new_place, ChangesetRefused):
        return new_place
    asked = change.uri
    if change.kind == "edit" and look.snapshot.source == "buffer" and look.snapshot.uri != asked:
        # The file has been opened under another name: that buffer is what is edited.
        change = change.model_copy(update={"uri": look.snapshot.uri})
    live, source = look.snapshot, change.uri
    origin = _before_renames(change.uri, tuple(targets)) if change.kind in ("edit", "delete") else None
    if origin is not None:
        # Something else may still be at that place, which another rename takes away.
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
        # Both are taken at one moment: the buffer may have moved since the look.
        live = of_document(document)
        saved = await view.saved(source) if form is not None or change.kind == "delete" else None
        if saved is not None:
            live = live.model_copy(update={"encoding": saved.encoding, "bom": saved.bom})
    if form is not None and (form == live.form or await view.is_dirty(source)):
        # What is not saved is written by the editor alone, in the form that it knows.
        change = change.model_copy(update={"form": None})
    return PlannedEffect(
        change,
        live,
        confined_path(place),
        place.relative,
        source,
        asked,
        document,
        confined_path(new_place) if new_place is not None else None,
    )


def _as_renames_go(targets: Mapping[RenameFile, ResolvedSnapshot]) -> dict[RenameFile, ResolvedSnapshot]:
    """What is at the new name of each rename once those before it have happened."""
    freed: set[Uri] = set()
    found: dict[RenameFile, ResolvedSnapshot] = {}
    for rename, look in targets.items():
        found[rename] = look
        if rename.new_uri in freed:
            found[rename] = look._replace(snapshot=Snapshot(uri=rename.new_uri, exists=False))
        if not found[rename].snapshot.exists:
            freed.discard(rename.new_uri)
            freed.add(rename.uri)
    return found


def _place(view: WorkspaceView, uri: Uri, look: ResolvedSnapshot) -> ResolvedPath | ChangesetRefused:
    """The place of a change, resolved once more: since the approval a link may have been put in its way."""
    place = look.place
    if isinstance(place, PathRefused):
        return ChangesetRefused(reason=place.reason, files=(uri,))
    if place.uri != uri and view.documents.get(uri) is None:
        reason = f"{shown(uri)} leads to {shown(str(place.path))} now, which is not what was approved."
        return ChangesetRefused(reason=reason, files=(uri,))
    return place


def _before_renames(uri: Uri, renames: Sequence[RenameFile]) -> Uri | None:
    place = uri
    for rename in reversed(renames):
        if _is_at(place, rename.new_uri):
            place = Uri(rename.uri + place.removeprefix(rename.new_uri))
    return place if place != uri else None


def _is_freed(uri: Uri, targets: Mapping[RenameFile, ResolvedSnapshot]) -> bool:
    """Whether an earlier rename of the same changeset, not done yet, takes away what is at a place."""
    return any(
        (uri == rename.uri or is_below(uri, rename.uri)) and not target.snapshot.exists
        for rename, target in targets.items()
    )


def _routed(
    view: WorkspaceView, works: Sequence[PlannedEffect], capabilities: EditorCapabilities
) -> tuple[PlannedEffect, ...]:
    """Let the editor do what it can; changes of names go one way together, since they build on each other.

    New files are made on disk: an editor makes them empty and puts the text into a buffer that nobody has saved.
    """
    able = {"rename": capabilities.rename_files, "delete": capabilities.delete_files}
    kinds = {work.change.kind for work in works if not is_folder(work.change)} & able.keys()
    names = capabilities.apply_edit and capabilities.document_changes and all(able[kind] for kind in kinds)
    return tuple(replace(work, way=_way(view, work, capabilities, names)) for work in works)


def _way(
    view: WorkspaceView, work: PlannedEffect, capabilities: EditorCapabilities, names: bool
) -> Literal["editor", "disk"]:
    if is_folder(work.change) or work.change.kind == "create":
        return "disk"
    if work.change.kind != "edit":
        return "editor" if names else "disk"
    # An editor guesses the encoding of a file that it opens; only UTF-8 is sure to be guessed right. It cannot be
    # asked to write another one.
    sure = _wanted_form(work.change) is None and (work.document is not None or work.live.encoding == "utf-8")
    return "editor" if capabilities.apply_edit and sure and not view.is_stale(work.source) else "disk"


async def _before_moves(view: WorkspaceView, works: Sequence[PlannedEffect]) -> tuple[PlannedEffect, ...]:
    """Let texts change before their files are renamed on disk, where the editor still knows them by their old names.

    A file without unsaved text is changed on disk as well, since the editor would open it under the old name.
    """
    moves = [work.source for work in works if work.change.kind == "rename" and work.way == "disk"]
    first: list[PlannedEffect] = []
    others: list[PlannedEffect] = []
    for work in works:
        moved = work.change.kind == "edit" and work.source != work.change.uri
        if not moved or not any(_is_at(work.source, place) for place in moves):
            others.append(work)
        elif work.document is None or not await view.is_dirty(work.source):
            others.append(replace(work, way="disk"))
        else:
            change = work.change.model_copy(update={"uri": work.source})
            first.append(replace(work, change=change))
    return (*first, *others)


def _wanted_form(change: FileChange) -> FileForm | None:
    """The form that a file which is there gets, if it does not keep its own."""
    return change.form if change.kind == "edit" else None


def is_folder(change: FileChange) -> bool:
    """Whether a change makes or removes nothing but a folder."""
    return isinstance(change, CreateFolder) or (change.kind == "delete" and change.before is None)


async def _unsaved(
    view: WorkspaceView, works: Sequence[PlannedEffect], known: Known
) -> tuple[PlannedEffect, ...] | ChangesetRefused:
    """Nothing is done on disk under a buffer that holds unsaved text of a person.

    What the editor itself takes away or moves away first is no matter of the disk, and texts that are `known`
    are in the journal, whatever becomes of the buffer.
    """
    by_editor = [work.source for work in works if work.way == "editor" and work.change.kind != "edit"]
    of_their_own = [
        work.source for work in works if work.way == "disk" and work.change.kind in ("rename", "delete")
    ]
    after = {work.source: work.change.after for work in works if work.change.kind == "edit"}
    safe: list[PlannedEffect] = []
    for work in works:
        on_disk: str | None = None
        carried: list[Carried] = []
        for document in view.documents.all() if _is_under_buffers(work) else ():
            here = document.uri
            elsewhere = [place for place in of_their_own if is_below(place, work.source)]
            if not _is_at(here, work.source) or any(
                _is_at(here, place) for place in (*by_editor, *elsewhere)
            ):
                continue
            if not await view.is_dirty(here):
                continue
            text, saved = document.text.removeprefix(BOM), await view.saved_text(here)
            place = await asyncio.to_thread(view.locate, here, "write")
            ours = known(text) and saved is not None and known(saved)
            if not ours or saved is None or isinstance(place, PathRefused) or work.change.kind == "edit":
                return ChangesetRefused(reason=unsaved(work), files=(work.change.uri,))
            on_disk = saved
            carried.append(Carried(confined_path(place), saved, after.get(here, text)))
        moved = tuple(carried) if work.change.kind == "rename" else ()
        safe.append(replace(work, carried=moved, on_disk=None if moved else on_disk))
    return tuple(safe)


def unsaved(work: PlannedEffect) -> str:
    """Why a change is not made on disk under a buffer of the user."""
    return (
        f"{shown(work.relative)} has unsaved changes in the editor, which cannot take"
        " the edit itself: save it, then try again."
    )


def _is_under_buffers(work: PlannedEffect) -> bool:
    return work.way == "disk" and work.change.kind not in ("create", "createFolder")


def _is_at(key: Uri, place: Uri) -> bool:
    return key == place or is_below(key, place)


def _parents(works: Sequence[PlannedEffect]) -> tuple[tuple[Uri, ConfinedPath], ...]:
    """The folders that are missing above files to come, unless they are changes of their own."""
    own = {work.change.uri for work in works if work.change.kind == "createFolder"}
    places = {work.change.new_uri for work in works if work.change.kind == "rename"}
    found: dict[Uri, ConfinedPath] = {}
    for work in works:
        change = work.change
        if change.kind == "rename" and work.new_confined is not None:
            uri, here = change.new_uri, work.new_confined
        elif change.kind in ("create", "createFolder"):
            uri, here = change.uri, work.confined
        else:
            continue
        while len(here.names) > 1:
            uri, here = parent(uri), ConfinedPath(here.root, here.names[:-1])
            if here.path.is_dir() or any(uri == place or is_below(uri, place) for place in places):
                break
            if uri not in own:
                found[uri] = here
    return tuple(sorted(found.items(), key=lambda item: len(item[1].names)))


def _same(now: Document | None, then: Document | None) -> bool:
    if now is None or then is None:
        return now is then
    return now.version == then.version and now.text == then.text
