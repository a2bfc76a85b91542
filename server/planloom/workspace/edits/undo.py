"""Computes the changes that undo applied edits, keeping everything typed since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from planloom.domain.changes import Changeset, ConflictFile, EditRecord
from planloom.domain.text.positions import FileForm, differ_only_in_eol
from planloom.domain.values import Uri
from planloom.workspace.edits.outcomes import JournalFile
from planloom.workspace.moves import Move
from planloom.workspace.paths.uris import after_rename, is_below
from planloom.workspace.snapshots import Snapshot
from planloom.workspace.staged.overlay import Overlay, StageRefused
from planloom.workspace.staged.rebase import conflict_of, three_way
from planloom.workspace.staged.staging import named
from planloom.workspace.view import WorkspaceView


class NotReverted(NamedTuple):
    """A change that is not undone, and why; `conflict` if the same lines were changed since."""

    uri: Uri
    reason: str
    conflict: ConflictFile | None = None


class Reversal(NamedTuple):
    """The changeset that undoes edits; it is applied and journalled like any other, and can be undone itself.

    `reverted` are the indices of the files that are undone, each with the name that it has now, `kept` those that are
    not. `staying` are folders that are not empty: they stay until an undo finds nothing in them, and do not keep their
    edit from being undone.
    """

    changeset: Changeset
    kept: tuple[NotReverted, ...] = ()
    reverted: Mapping[int, Uri] = MappingProxyType({})
    staying: tuple[Uri, ...] = ()


async def reverse(view: WorkspaceView, files: Sequence[JournalFile], folders: Sequence[Uri] = ()) -> Reversal:
    """The changes that undo `files`, which are in the order in which they were applied.

    They are undone one by one from the last, so that each has the name that it had when it was changed, but for what
    the user has renamed since: that stays, and what was changed before it is undone under the new name. A change that
    is already undone needs none, so an interrupted undo can be completed. Lines changed again since stay, and so do
    all older changes of that file. A created folder is deleted only if it is empty, a created file only if it is
    unchanged or empty. `folders` were made by edits that were undone earlier: they are deleted too if they are empty
    now.
    """
    overlay = Overlay(view)
    kept: list[NotReverted] = []
    left: set[Uri] = set()
    reverted: dict[int, Uri] = {}
    staying: list[Uri] = []
    moves: list[Move] = []
    our_texts = _texts(files)
    for index in reversed(range(len(files))):
        file = files[index]
        if file.by_user:
            moves.insert(0, Move(file.uri, file.new_uri or file.uri))
            left = {moves[0].undone(uri) for uri in left}
            continue
        if left.isdisjoint(file.uris):
            here = _under_new_names(file, moves)
            overlay.causes = file.causes
            if here.change == "createFolder" and (await overlay.list_folder(here.uri)).entries:
                staying.append(here.uri)
            if _is_renamed_since(file, here, moves):
                reason = f"You have renamed it to {named(here.new_uri or here.uri)} since."
                not_reverted: NotReverted | None = NotReverted(here.new_uri or here.uri, reason)
            else:
                not_reverted = await _reverse_file(overlay, here, our_texts.get(file.uri, frozenset()))
            if not_reverted is None:
                reverted[index] = here.uri
                if file.change != "edit":
                    moves = _moves_before(file, moves)
                if file.new_uri is not None:
                    left = {after_rename(uri, file.new_uri, file.uri) for uri in left}
                continue
            kept.append(not_reverted)
        left |= {*file.uris}
    overlay.causes = ()
    for uri in sorted(folders, key=len, reverse=True):
        await _reverse_folder(overlay, uri)
    changeset = _with_unneeded(overlay.changeset(), [files[index] for index in reverted])
    return Reversal(changeset, tuple(kept), reverted, tuple(staying))


def reverted_folders(edits: Iterable[EditRecord]) -> list[Uri]:
    """The folders that edits made which are reverted, by the names that they have now."""
    folders: list[Uri] = []
    for edit in edits:
        for file in edit.files:
            if edit.by_user:
                folders = [after_rename(uri, file.uri, file.new_uri or file.uri) for uri in folders]
            elif file.uri in edit.undone and not edit.reverts and file.change == "createFolder":
                folders.append(file.uri)
    return folders


def _with_unneeded(changeset: Changeset, reverted: Sequence[JournalFile]) -> Changeset:
    """The changes, the first of which reverts those files too that need no change, since that is seen only now."""
    needed = {cause for change in changeset.changes for cause in change.causes}
    causes = [cause for file in reverted for cause in file.causes if cause not in needed]
    if not causes or not changeset.changes:
        return changeset
    first, *rest = changeset.changes
    first = first.model_copy(update={"causes": (*first.causes, *causes)})
    return changeset.model_copy(update={"changes": (first, *rest)})


def _under_new_names(file: JournalFile, moves: Sequence[Move]) -> JournalFile:
    """A change with the names that its files have after the user's later `moves`; a name that it has freed changes with
    its folder alone.
    """
    for move in moves:
        if file.change in ("edit", "create", "createFolder") or is_below(file.uri, move.old):
            file = file._replace(uri=move.renamed(file.uri))
        if file.new_uri is not None:
            file = file._replace(new_uri=move.renamed(file.new_uri))
    return file


def _moves_before(file: JournalFile, moves: Sequence[Move]) -> list[Move]:
    """The user's `moves` after a change, in the names from before it: what has a name that it took is another file."""
    left = [move for move in moves if move.old != file.uri]
    if file.new_uri is None:
        return left
    rename = Move(file.uri, file.new_uri)
    return [Move(rename.undone(move.old), rename.undone(move.new)) for move in left]


def _is_renamed_since(file: JournalFile, here: JournalFile, moves: Sequence[Move]) -> bool:
    """Whether the user has given another name to what was renamed, rather than moved it with its folder."""
    name = file.new_uri
    if name is None or here.new_uri in (name, here.uri):
        return False
    for move in moves:
        if name == move.old:
            return True
        name = move.renamed(name)
    return False


def _texts(files: Sequence[JournalFile]) -> Mapping[Uri, frozenset[str]]:
    """The texts that the edits gave each created file; an undo may delete the file only with one of these."""
    created = {file.uri for file in files if file.change == "create"}
    return {
        uri: frozenset(
            text for f in files if f.uri == uri for text in (f.before, f.after) if text is not None
        )
        for uri in created
    }


async def _reverse_file(overlay: Overlay, file: JournalFile, ours: frozenset[str]) -> NotReverted | None:
    match file.change:
        case "edit":
            return await _reverse_edit(
                overlay, file.uri, file.before or "", file.after or "", ours, file.form
            )
        case "create":
            return await _reverse_create(overlay, file.uri, file.after or "", ours)
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
    overlay: Overlay, uri: Uri, before: str, after: str, ours: frozenset[str], form: FileForm | None = None
) -> NotReverted | None:
    live = await overlay.read(uri)
    if live.text is None:
        return NotReverted(uri=uri, reason=f"{named(uri)} does not exist as a text file any more.")
    if await _is_emptied(overlay, live, ours):
        return None
    merged = three_way(after, live.text, before)
    if merged.kind == "conflicted":
        reason = f"The same lines of {named(uri)} have been changed since."
        return NotReverted(uri=uri, reason=reason, conflict=conflict_of(uri, merged))
    return _not_reverted(uri, await overlay.stage_write(uri, merged.text, exact=True, form=form))


async def _reverse_create(overlay: Overlay, uri: Uri, after: str, ours: frozenset[str]) -> NotReverted | None:
    live = await overlay.read(uri)
    if not live.exists:
        return None
    same = live.text is not None and differ_only_in_eol(live.text, after)
    if same or await _is_emptied(overlay, live, ours):
        return _not_reverted(uri, await overlay.stage_delete(uri))
    return await _reverse_edit(overlay, uri, "", after, frozenset())


async def _is_emptied(overlay: Overlay, live: Snapshot, ours: frozenset[str]) -> bool:
    """Whether the user has emptied a file that the edits created, and never saved another text in it."""
    if live.text != "" or not ours:
        return False
    saved = await overlay.saved_text(live.uri)
    return not saved or saved in ours


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
