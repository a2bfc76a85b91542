"""Taking applied edits back: the reverse changes against what is there now, all that was typed since kept."""

from __future__ import annotations

from collections.abc import Sequence

from planloom.domain.changes import Changeset, ConflictFile
from planloom.domain.text import with_eol
from planloom.domain.values import Uri, Value
from planloom.workspace.outcomes import JournalFile
from planloom.workspace.overlay import Overlay, StageRefused
from planloom.workspace.rebase import conflict_of, three_way
from planloom.workspace.staging import named
from planloom.workspace.view import WorkspaceView


class Kept(Value):
    """A change that is not taken back, and why; `conflict` if the same lines were changed since."""

    uri: Uri
    reason: str
    conflict: ConflictFile | None = None


class Reversal(Value):
    """What takes edits back. Applied and journalled like any other changeset, it can be taken back itself.

    `taken` are the places, among the files that were to be taken back, of those that are.
    """

    changeset: Changeset
    kept: tuple[Kept, ...] = ()
    taken: frozenset[int] = frozenset()


async def reverse(view: WorkspaceView, files: Sequence[JournalFile]) -> Reversal:
    """The changes that take back `files`, which are given in the order in which they were applied.

    Lines that were changed again since stay as they are, and so does everything older in that file. A created
    folder goes only if it is empty, a created file only if nothing was added to it.
    """
    overlay = Overlay(view)
    kept: dict[Uri, Kept] = {}
    taken: set[int] = set()
    for place in reversed(range(len(files))):
        file = files[place]
        if file.uri not in kept and file.new_uri not in kept:
            stays = await _back(overlay, file)
            if stays is None:
                taken.add(place)
            else:
                kept[stays.uri] = stays
    return Reversal(changeset=overlay.changeset(), kept=tuple(kept.values()), taken=frozenset(taken))


async def _back(overlay: Overlay, file: JournalFile) -> Kept | None:
    match file.change:
        case "edit":
            return await _edit_back(overlay, file.uri, file.before or "", file.after or "")
        case "create":
            return await _create_back(overlay, file.uri, file.after or "")
        case "delete":
            return await _delete_back(overlay, file.uri, file.before)
        case "rename":
            new_uri = file.new_uri
            assert new_uri is not None
            return _told(new_uri, await overlay.stage_rename(new_uri, file.uri))
        case "createFolder":
            listing = await overlay.list_folder(file.uri)
            if listing.problem is None and not listing.entries:
                return _told(file.uri, await overlay.stage_delete(file.uri))
            return None


async def _edit_back(overlay: Overlay, uri: Uri, before: str, after: str) -> Kept | None:
    live = await overlay.read(uri)
    if live.text is None:
        return Kept(uri=uri, reason=f"{named(uri)} is not there any more as a text.")
    merged = three_way(after, live.text, before)
    if merged.kind == "conflicted":
        reason = f"The same lines of {named(uri)} have been changed since."
        return Kept(uri=uri, reason=reason, conflict=conflict_of(uri, merged))
    return _told(uri, await overlay.stage_write(uri, merged.text, exact=True))


async def _create_back(overlay: Overlay, uri: Uri, after: str) -> Kept | None:
    live = await overlay.read(uri)
    if not live.exists:
        return None
    if live.text is not None and with_eol(live.text, "\n") == with_eol(after, "\n"):
        return _told(uri, await overlay.stage_delete(uri))
    return await _edit_back(overlay, uri, "", after)


async def _delete_back(overlay: Overlay, uri: Uri, before: str | None) -> Kept | None:
    live = await overlay.read(uri)
    if before is None:
        return _told(uri, await overlay.stage_create_folder(uri))
    if not live.exists:
        return _told(uri, await overlay.stage_write(uri, before, exact=True))
    if live.text == before:
        return None
    return Kept(uri=uri, reason=f"Another {named(uri)} is there now.")


def _told(uri: Uri, refused: StageRefused | None) -> Kept | None:
    return None if refused is None else Kept(uri=uri, reason=refused.reason)
