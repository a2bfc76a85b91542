"""An approved changeset against the files as they are now: what must be done to each, and by whom."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from planloom.domain.changes import Changeset, ConflictFile, CreateFolder, FileChange, RenameFile
from planloom.domain.values import Uri
from planloom.workspace.disk import Spot
from planloom.workspace.documents import Document
from planloom.workspace.editor import EditorCapabilities
from planloom.workspace.names import shown
from planloom.workspace.outcomes import Conflicted, JournalFile, Refused, Superseded, recorded
from planloom.workspace.paths import PathRefused, ResolvedPath
from planloom.workspace.rebase import rebase
from planloom.workspace.snapshots import Snapshot, of_document
from planloom.workspace.staging import named
from planloom.workspace.uris import is_below, parent
from planloom.workspace.view import Look, WorkspaceView, spot


@dataclass(frozen=True)
class Work:
    """One change that is ready. `live` is what it was compared with, `document` the buffer if it was open.

    `source` is where that text lies until an earlier rename of the same changeset has happened, `asked` the
    place as the changeset has it.
    """

    change: FileChange
    live: Snapshot
    spot: Spot
    relative: str
    source: Uri
    asked: Uri
    document: Document | None = None
    new_spot: Spot | None = None
    way: Literal["editor", "disk"] = "disk"


@dataclass(frozen=True)
class Prepared:
    """Everything that must be done, in order; `parents` are the folders that files to come still lack."""

    works: tuple[Work, ...]
    merged: bool = False
    parents: tuple[tuple[Uri, Spot], ...] = ()

    def journal(self) -> tuple[JournalFile, ...]:
        """The records of all changes, and of the folders that come with them."""
        folders = tuple(JournalFile(uri=uri, change="createFolder") for uri, _ in self.parents)
        return (*folders, *(recorded(work.change) for work in self.works))

    def is_current(self, view: WorkspaceView) -> bool:
        """Whether every buffer is still as it was compared and every closed file closed; without waiting."""
        return all(
            _same(view.documents.get(work.source), work.document)
            for work in self.works
            if work.change.kind != "createFolder"
        )


async def prepare(
    view: WorkspaceView, changeset: Changeset, capabilities: EditorCapabilities
) -> Prepared | Refused | Conflicted | Superseded:
    """Compare every change with the file it is for, before anything is sent anywhere."""
    renames = tuple(change for change in changeset.changes if change.kind == "rename")
    targets = dict(zip(renames, await view.look([r.new_uri for r in renames], for_="write"), strict=True))
    looks = await view.look([change.uri for change in changeset.changes], for_="write")
    works: list[Work] = []
    changes: list[FileChange] = []
    conflicts: list[ConflictFile] = []
    merged = other = False
    for change, look in zip(changeset.changes, looks, strict=True):
        work = await _work(view, change, look, targets)
        if isinstance(work, Refused):
            return work
        target = targets[change].snapshot if change.kind == "rename" else None
        rebased = rebase(work.change, work.live, target)
        match rebased.kind:
            case "impossible":
                return Refused(reason=rebased.reason, files=(change.uri,))
            case "overlapping":
                conflicts.append(rebased.conflict)
            case "other":
                other = True
                changes.append(rebased.change)
            case "ready":
                merged = merged or rebased.merged
                changes.append(rebased.change)
                works.append(replace(work, change=rebased.change))
            case "already":
                pass
    if conflicts:
        return Conflicted(files=tuple(conflicts))
    if other:
        return Superseded(changeset=Changeset(changes=tuple(changes)))
    routed = _routed(works, capabilities)
    refused = await _unsaved(view, routed)
    if refused is not None:
        return refused
    return Prepared(routed, merged, await asyncio.to_thread(_parents, routed))


async def _work(
    view: WorkspaceView, change: FileChange, look: Look, targets: Mapping[RenameFile, Look]
) -> Work | Refused:
    place = _place(view, change.uri, look)
    new_place = _place(view, change.new_uri, targets[change]) if change.kind == "rename" else None
    if isinstance(place, Refused):
        return place
    if isinstance(new_place, Refused):
        return new_place
    asked = change.uri
    if change.kind == "edit" and look.snapshot.source == "buffer" and look.snapshot.uri != asked:
        # The file has been opened under another name: that buffer is what is edited.
        change = change.model_copy(update={"uri": look.snapshot.uri})
    live, source = look.snapshot, change.uri
    if not live.exists and change.kind in ("edit", "delete"):
        origin = _before_renames(change.uri, tuple(targets))
        if origin is not None:
            live, source = await view.snapshot(origin), origin
    if not live.exists and change.kind == "edit":
        renamed = view.renamed_to(change.uri)
        if renamed is not None:
            reason = f"{named(change.uri)} has been renamed to {named(renamed)}: read that file and change it there."
            return Refused(reason=reason, files=(change.uri,))
    if live.exists and change.kind in ("create", "createFolder") and _is_freed(change.uri, targets):
        live = Snapshot(uri=change.uri, exists=False)
    document = view.documents.get(source)
    if document is not None and live.exists:
        # Both are taken at one moment: the buffer may have moved since the look.
        live = of_document(document)
    return Work(
        change,
        live,
        spot(place),
        place.relative,
        source,
        asked,
        document,
        spot(new_place) if new_place is not None else None,
    )


def _place(view: WorkspaceView, uri: Uri, look: Look) -> ResolvedPath | Refused:
    """The place of a change, resolved once more: since the approval a link may have been put in its way."""
    place = look.place
    if isinstance(place, PathRefused):
        return Refused(reason=place.reason, files=(uri,))
    if place.uri != uri and view.documents.get(uri) is None:
        reason = f"{shown(uri)} leads to {shown(str(place.path))} now, which is not what was approved."
        return Refused(reason=reason, files=(uri,))
    return place


def _before_renames(uri: Uri, renames: Sequence[RenameFile]) -> Uri | None:
    for rename in reversed(renames):
        if uri == rename.new_uri or is_below(uri, rename.new_uri):
            return Uri(rename.uri + uri.removeprefix(rename.new_uri))
    return None


def _is_freed(uri: Uri, targets: Mapping[RenameFile, Look]) -> bool:
    """Whether an earlier rename of the same changeset, not done yet, takes away what is at a place."""
    return any(
        (uri == rename.uri or is_below(uri, rename.uri)) and not target.snapshot.exists
        for rename, target in targets.items()
    )


def _routed(works: Sequence[Work], capabilities: EditorCapabilities) -> tuple[Work, ...]:
    """Let the editor do what it can; changes of names go one way together, since they build on each other."""
    able = {
        "create": capabilities.create_files,
        "rename": capabilities.rename_files,
        "delete": capabilities.delete_files,
    }
    kinds = {work.change.kind for work in works if not _is_folder(work.change)} & able.keys()
    names = capabilities.apply_edit and capabilities.document_changes and all(able[kind] for kind in kinds)
    return tuple(replace(work, way=_way(work, capabilities, names)) for work in works)


def _way(work: Work, capabilities: EditorCapabilities, names: bool) -> Literal["editor", "disk"]:
    if _is_folder(work.change):
        return "disk"
    if work.change.kind != "edit":
        return "editor" if names else "disk"
    # An editor guesses the encoding of a file that it opens; only UTF-8 is sure to be guessed right.
    sure = work.document is not None or work.live.encoding == "utf-8"
    return "editor" if capabilities.apply_edit and sure else "disk"


def _is_folder(change: FileChange) -> bool:
    return isinstance(change, CreateFolder) or (change.kind == "delete" and change.before is None)


async def _unsaved(view: WorkspaceView, works: Sequence[Work]) -> Refused | None:
    """Nothing is done on disk under a buffer that holds unsaved text, unless the editor takes that away first."""
    gone = {work.source for work in works if work.way == "editor" and work.change.kind == "delete"}
    for work in works:
        if work.way == "editor" or work.change.kind in ("create", "createFolder"):
            continue
        for document in view.documents.all():
            if document.uri in gone or (
                document.uri != work.source and not is_below(document.uri, work.source)
            ):
                continue
            if await view.is_dirty(document.uri):
                return Refused(
                    reason=f"{shown(work.relative)} has unsaved changes in the editor, which cannot take"
                    " the edit itself: save it, then try again.",
                    files=(work.change.uri,),
                )
    return None


def _parents(works: Sequence[Work]) -> tuple[tuple[Uri, Spot], ...]:
    """The folders that are missing above files to come, unless they are changes of their own."""
    own = {work.change.uri for work in works if work.change.kind == "createFolder"}
    places = {work.change.new_uri for work in works if work.change.kind == "rename"}
    found: dict[Uri, Spot] = {}
    for work in works:
        change = work.change
        if change.kind == "rename" and work.new_spot is not None:
            uri, here = change.new_uri, work.new_spot
        elif change.kind in ("create", "createFolder"):
            uri, here = change.uri, work.spot
        else:
            continue
        while len(here.names) > 1:
            uri, here = parent(uri), Spot(here.root, here.names[:-1])
            if here.path.is_dir() or any(uri == place or is_below(uri, place) for place in places):
                break
            if uri not in own:
                found[uri] = here
    return tuple(sorted(found.items(), key=lambda item: len(item[1].names)))


def _same(now: Document | None, then: Document | None) -> bool:
    if now is None or then is None:
        return now is then
    return now.version == then.version and now.text == then.text
