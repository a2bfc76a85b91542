"""Computes the changes that undo applied edits, keeping everything typed since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from planloom.domain.changes import Changeset, ConflictFile
from planloom.domain.text.positions import FileForm, differ_only_in_eol
from planloom.domain.values import Uri
from planloom.workspace.edits.outcomes import JournalFile
from planloom.workspace.edits.overlay import Overlay, StageRefused
from planloom.workspace.edits.rebase import conflict_of, three_way
from planloom.workspace.edits.staging import named
from planloom.workspace.paths.uris import after_rename
from planloom.workspace.snapshots import Snapshot
from planloom.workspace.view import WorkspaceView


class NotReverted(NamedTuple):
    """A change that is not undone, and why; `conflict` if the same lines were changed since."""

    uri: Uri
    reason: str
    conflict: ConflictFile | None = None


class Reversal(NamedTuple):
    """The changeset that undoes edits; it is applied and journalled like any other, and can be undone itself.

    `reverted` are the indices of the files that are undone, `kept` those that are not. `staying` are folders that are
    not empty: they stay until an undo finds nothing in them, and do not keep their edit from being undone.
    """

    changeset: Changeset
    kept: tuple[NotReverted, ...] = ()
    reverted: frozenset[int] = frozenset()
    staying: tuple[Uri, ...] = ()


async def reverse(view: WorkspaceView, files: Sequence[JournalFile], folders: Sequence[Uri] = ()) -> Reversal:
    """The changes that undo `files`, which are in the order in which they were applied.

    They are undone one by one from the last, so that each has the name that it had when it was changed. One that is
    already undone needs no change, so an interrupted undo can be completed. Lines changed again since stay, and so do
    all older changes of that file. A created folder is deleted only if it is empty, a created file only if it is
    unchanged or empty. `folders` were made by edits that were undone earlier: they are deleted too if they are empty
    now.
    """
    overlay = Overlay(view)
    kept: list[NotReverted] = []
    left: set[Uri] = set()
    reverted: set[int] = set()
    staying: list[Uri] = []
    our_texts = _texts(files)
    for index in reversed(range(len(files))):
        file = files[index]
        if left.isdisjoint(file.uris):
            overlay.causes = file.causes
            if file.change == "createFolder" and (await overlay.list_folder(file.uri)).entries:
                staying.append(file.uri)
            not_reverted = await _reverse_file(overlay, file, our_texts)
            if not_reverted is None:
                reverted.add(index)
                if file.new_uri is not None:
                    left = {after_rename(uri, file.new_uri, file.uri) for uri in left}
                continue
            kept.append(not_reverted)
        left |= {*file.uris}
    overlay.causes = ()
    for uri in sorted(folders, key=len, reverse=True):
        await _reverse_folder(overlay, uri)
    return Reversal(overlay.changeset(), tuple(kept), frozenset(reverted), tuple(staying))


_Texts = Mapping[Uri, frozenset[str]]


def _texts(files: Sequence[JournalFile]) -> _Texts:
    """The texts that the edits gave each created file; an undo may delete the file only with one of these."""
    created = {file.uri for file in files if file.change == "create"}
    return {
        uri: frozenset(
            text for f in files if f.uri == uri for text in (f.before, f.after) if text is not None
        )
        for uri in created
    }


async def _reverse_file(overlay: Overlay, file: JournalFile, our_texts: _Texts) -> NotReverted | None:
    match file.change:
        case "edit":
            return await _reverse_edit(
                overlay, file.uri, file.before or "", file.after or "", our_texts, file.form
            )
        case "create":
            return await _reverse_create(overlay, file.uri, file.after or "", our_texts)
        case "delete":
            return await _reverse_delete(overlay, file.uri, file.before, file.form)
        case "rename":
            new_uri = file.new_uri
            assert new_uri is not None
            if (await overlay.peek(file.uri)).exists and not (await overlay.peek(new_uri)).exists:
                return None
            return _not_reverted(new_uri, await overlay.stage_rename(new_uri, file.uri))
        case "createFolder":
            return await _reverse_folder(overlay, file.uri)


async def _reverse_folder(overlay: Overlay, uri: Uri) -> NotReverted | None:
    listing = await overlay.list_folder(uri)
    if listing.problem is None and not listing.entries:
        return _not_reverted(uri, await overlay.stage_delete(uri))
    return None


async def _reverse_edit(
    overlay: Overlay, uri: Uri, before: str, after: str, our_texts: _Texts, form: FileForm | None = None
) -> NotReverted | None:
    live = await overlay.read(uri)
    if live.text is None:
        return NotReverted(uri=uri, reason=f"{named(uri)} does not exist as a text file any more.")
    if await _is_emptied(overlay, live, our_texts):
        return None
    merged = three_way(after, live.text, before)
    if merged.kind == "conflicted":
        reason = f"The same lines of {named(uri)} have been changed since."
        return NotReverted(uri=uri, reason=reason, conflict=conflict_of(uri, merged))
    return _not_reverted(uri, await overlay.stage_write(uri, merged.text, exact=True, form=form))


async def _reverse_create(overlay: Overlay, uri: Uri, after: str, our_texts: _Texts) -> NotReverted | None:
    live = await overlay.read(uri)
    if not live.exists:
        return None
    same = live.text is not None and differ_only_in_eol(live.text, after)
    if same or await _is_emptied(overlay, live, our_texts):
        return _not_reverted(uri, await overlay.stage_delete(uri))
    return await _reverse_edit(overlay, uri, "", after, {})


async def _is_emptied(overlay: Overlay, live: Snapshot, our_texts: _Texts) -> bool:
    """Whether the user has emptied a file that the edits created, and never saved another text in it."""
    if live.text != "" or live.uri not in our_texts:
        return False
    saved = await overlay.saved_text(live.uri)
    return not saved or saved in our_texts[live.uri]


async def _reverse_delete(
    overlay: Overlay, uri: Uri, before: str | None, form: FileForm | None
) -> NotReverted | None:
    live = await overlay.read(uri)
    if before is None:
        return _not_reverted(uri, await overlay.stage_create_folder(uri))
    if not live.exists:
        return _not_reverted(uri, await overlay.stage_write(uri, before, exact=True, form=form))
    if live.text == before:
        return None
    return NotReverted(uri=uri, reason=f"Another {named(uri)} is there now.")


def _not_reverted(uri: Uri, refused: StageRefused | None) -> NotReverted | None:
    return None if refused is None else NotReverted(uri=uri, reason=refused.reason)
