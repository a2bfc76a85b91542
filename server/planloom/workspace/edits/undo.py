"""Taking applied edits back: the reverse changes against what is there now, all that was typed since kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planloom.domain.changes import Changeset, ConflictFile
from planloom.domain.text.positions import FileForm, with_eol
from planloom.domain.values import Uri, Value
from planloom.workspace.edits.outcomes import JournalFile
from planloom.workspace.edits.overlay import Overlay, StageRefused
from planloom.workspace.edits.rebase import conflict_of, three_way
from planloom.workspace.edits.staging import named
from planloom.workspace.paths.uris import is_below
from planloom.workspace.snapshots import Snapshot
from planloom.workspace.view import WorkspaceView


class NotReverted(Value):
    """A change that is not taken back, and why; `conflict` if the same lines were changed since."""

    uri: Uri
    reason: str
    conflict: ConflictFile | None = None


class Reversal(Value):
    """What takes edits back. Applied and journalled like any other changeset, it can be taken back itself.

    `taken` are the places, among the files that were to be taken back, of those that are.
    """

    changeset: Changeset
    kept: tuple[NotReverted, ...] = ()
    taken: frozenset[int] = frozenset()


async def reverse(view: WorkspaceView, files: Sequence[JournalFile], folders: Sequence[Uri] = ()) -> Reversal:
    """The changes that take back `files`, which are given in the order in which they were applied.

    What is back already needs no change, so that a part which was cut off can be completed. Lines that were
    changed again since stay as they are, and so does everything older in that file. A created folder goes only
    if it is empty, a created file only if it is as it was made, or empty. `folders` were made by edits that were
    taken back earlier: they go too if nothing is in them any more.
    """
    overlay = Overlay(view)
    kept: dict[Uri, NotReverted] = {}
    taken: set[int] = set()
    ours = _texts(files)
    for place in reversed(range(len(files))):
        file = files[place]
        if file.uri not in kept and file.new_uri not in kept:
            here = await _whereabouts(overlay, files[:place], file.uri)
            stays = await _back(overlay, file.model_copy(update={"uri": here}), ours)
            if stays is None:
                taken.add(place)
            else:
                kept[stays.uri] = stays
    for uri in sorted(folders, key=len, reverse=True):
        await _folder_back(overlay, uri)
    return Reversal(changeset=overlay.changeset(), kept=tuple(kept.values()), taken=frozenset(taken))


async def _whereabouts(overlay: Overlay, earlier: Sequence[JournalFile], uri: Uri) -> Uri:
    """Where a file is: by its older name, if the rename that gave it this one has been taken back already."""
    place = uri
    newer: set[Uri] = set()
    for file in reversed(earlier):
        if file.change != "rename":
            newer.add(file.uri)
            continue
        assert file.new_uri is not None
        newer.add(file.new_uri)
        if place != file.new_uri and not is_below(place, file.new_uri):
            continue
        if (await overlay.peek(place)).exists:
            return place
        place = Uri(file.uri + place.removeprefix(file.new_uri))
        if place in newer:
            # What is there now was put there later.
            return uri
    return place if place == uri or (await overlay.peek(place)).exists else uri


_Texts = Mapping[Uri, frozenset[str]]


def _texts(files: Sequence[JournalFile]) -> _Texts:
    """All that the edits have made of each created file; nothing else of it may be lost with the file."""
    created = {file.uri for file in files if file.change == "create"}
    return {
        uri: frozenset(
            text for f in files if f.uri == uri for text in (f.before, f.after) if text is not None
        )
        for uri in created
    }


async def _back(overlay: Overlay, file: JournalFile, ours: _Texts) -> NotReverted | None:
    match file.change:
        case "edit":
            return await _edit_back(overlay, file.uri, file.before or "", file.after or "", ours, file.form)
        case "create":
            return await _create_back(overlay, file.uri, file.after or "", ours)
        case "delete":
            return await _delete_back(overlay, file.uri, file.before, file.form)
        case "rename":
            new_uri = file.new_uri
            assert new_uri is not None
            if (await overlay.peek(file.uri)).exists and not (await overlay.peek(new_uri)).exists:
                return None
            return _told(new_uri, await overlay.stage_rename(new_uri, file.uri))
        case "createFolder":
            return await _folder_back(overlay, file.uri)


async def _folder_back(overlay: Overlay, uri: Uri) -> NotReverted | None:
    listing = await overlay.list_folder(uri)
    if listing.problem is None and not listing.entries:
        return _told(uri, await overlay.stage_delete(uri))
    return None


async def _edit_back(
    overlay: Overlay, uri: Uri, before: str, after: str, ours: _Texts, form: FileForm | None = None
) -> NotReverted | None:
    live = await overlay.read(uri)
    if live.text is None:
        return NotReverted(uri=uri, reason=f"{named(uri)} is not there any more as a text.")
    if await _is_emptied(overlay, live, ours):
        return None
    merged = three_way(after, live.text, before)
    if merged.kind == "conflicted":
        reason = f"The same lines of {named(uri)} have been changed since."
        return NotReverted(uri=uri, reason=reason, conflict=conflict_of(uri, merged))
    return _told(uri, await overlay.stage_write(uri, merged.text, exact=True, form=form))


async def _create_back(overlay: Overlay, uri: Uri, after: str, ours: _Texts) -> NotReverted | None:
    live = await overlay.read(uri)
    if not live.exists:
        return None
    same = live.text is not None and with_eol(live.text, "\n") == with_eol(after, "\n")
    if same or await _is_emptied(overlay, live, ours):
        return _told(uri, await overlay.stage_delete(uri))
    return await _edit_back(overlay, uri, "", after, {})


async def _is_emptied(overlay: Overlay, live: Snapshot, ours: _Texts) -> bool:
    """Whether the user has emptied a file that the edits made, and never saved anything else in it."""
    if live.text != "" or live.uri not in ours:
        return False
    saved = await overlay.saved_text(live.uri)
    return not saved or saved in ours[live.uri]


async def _delete_back(
    overlay: Overlay, uri: Uri, before: str | None, form: FileForm | None
) -> NotReverted | None:
    live = await overlay.read(uri)
    if before is None:
        return _told(uri, await overlay.stage_create_folder(uri))
    if not live.exists:
        return _told(uri, await overlay.stage_write(uri, before, exact=True, form=form))
    if live.text == before:
        return None
    return NotReverted(uri=uri, reason=f"Another {named(uri)} is there now.")


def _told(uri: Uri, refused: StageRefused | None) -> NotReverted | None:
    return None if refused is None else NotReverted(uri=uri, reason=refused.reason)
