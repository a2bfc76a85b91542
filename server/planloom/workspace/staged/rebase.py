"""Rebases a change that was computed on one text onto the current text."""

from __future__ import annotations

from typing import Literal, NamedTuple, assert_never

from planloom.domain.changes import (
    ConflictFile,
    ConflictHunk,
    CreateFile,
    CreateFolder,
    DeleteFile,
    EditFile,
    FileChange,
    RenameFile,
)
from planloom.domain.text import merge
from planloom.domain.text.lines import changed_blocks, split_lines
from planloom.domain.text.positions import FileForm, differ_only_in_eol, dominant_eol, with_eol
from planloom.domain.values import Uri
from planloom.workspace.snapshots import Snapshot
from planloom.workspace.staged.staging import named


class Ready(NamedTuple):
    """A change against the current file; `merged` if the file had changed but the change is still the same."""

    change: FileChange
    merged: bool = False
    kind: Literal["ready"] = "ready"


class AlreadyDone(NamedTuple):
    """The file already is as the change would leave it."""

    kind: Literal["already_done"] = "already_done"


class Overlap(NamedTuple):
    """The user has changed the same lines."""

    conflict: ConflictFile
    kind: Literal["overlap"] = "overlap"


class Different(NamedTuple):
    """Against the current file the change is a different one, which needs a new approval."""

    change: FileChange
    kind: Literal["different"] = "different"


class Impossible(NamedTuple):
    """The change cannot be made."""

    reason: str
    kind: Literal["impossible"] = "impossible"


Rebased = Ready | AlreadyDone | Overlap | Different | Impossible


def three_way(base: str, mine: str, theirs: str) -> merge.Merged | merge.Conflicted:
    """Merge, ignoring changes of line ends alone: an editor makes them uniform when it opens a file."""
    eol = dominant_eol(mine)
    if eol is None or base == mine or with_eol(mine, eol) != mine or with_eol(base, eol) == base:
        return merge.merge(base, mine, theirs)
    return merge.merge(with_eol(base, eol), mine, with_eol(theirs, eol))


def conflict_of(uri: Uri, conflicted: merge.Conflicted) -> ConflictFile:
    """The conflict of a failed merge; `mine` is the user's side."""
    return ConflictFile(
        uri=uri,
        hunks=tuple(
            ConflictHunk(range=hunk.range, base=hunk.base, mine=hunk.mine, theirs=hunk.theirs)
            for hunk in conflicted.hunks
        ),
    )


def rebase(
    change: FileChange, live: Snapshot, target: Snapshot | None = None, *, renamed: bool = False
) -> Rebased:
    """Rebase a change onto the `live` file; `target` is the file at the new name of a rename.

    `renamed`: the rename is known to have been made already, even if the text has changed since.
    """
    match change.kind:
        case "edit":
            return _edit(change, live)
        case "create":
            return _create(change, live)
        case "delete":
            return _delete(change, live)
        case "rename":
            return _rename(change, live, target, renamed=renamed)
        case "createFolder":
            return _folder(change, live)
        case _:
            assert_never(change)


def _edit(change: EditFile, live: Snapshot) -> Rebased:
    if live.problem is not None:
        return _unreadable(live)
    if live.text is None:
        form = change.form or FileForm()
        anew = CreateFile(uri=change.uri, after=change.after, form=form, causes=change.causes)
        return Different(change=anew)
    if live.text == change.after and change.form is None:
        return AlreadyDone()
    if live.text == change.before:
        return Ready(change=change)
    merged = three_way(change.before, live.text, change.after)
    if merged.kind == "conflicted":
        return Overlap(conflict=conflict_of(change.uri, merged))
    if merged.text == live.text and change.form is None:
        return AlreadyDone()
    moved = change.model_copy(update={"before": live.text, "after": merged.text})
    if differ_only_in_eol(change.before, live.text):
        return Ready(change=moved)
    # Who approves is who types. What else has changed the file on disk has nobody's word, in whatever lines.
    if live.source != "disk" and hunks(change.before, change.after) == hunks(live.text, merged.text):
        return Ready(change=moved, merged=True)
    return Different(change=moved)


def _create(change: CreateFile, live: Snapshot) -> Rebased:
    if not live.exists and live.problem is None:
        return Ready(change=change)
    if live.text is None:
        return _unreadable(live)
    if differ_only_in_eol(live.text, change.after):
        return AlreadyDone()
    merged = merge.merge("", live.text, change.after)
    if merged.kind == "conflicted":
        return Overlap(conflict=conflict_of(change.uri, merged))
    change_of_it = EditFile(uri=change.uri, before=live.text, after=merged.text, causes=change.causes)
    return Different(change=change_of_it)


def _delete(change: DeleteFile, live: Snapshot) -> Rebased:
    if not live.exists and live.problem is None:
        return AlreadyDone()
    if change.before is None:
        folder = live.problem == "folder"
        return (
            Ready(change=change)
            if folder
            else Impossible(reason=f"{named(live.uri)} is not a folder any more.")
        )
    if live.text is None:
        return _unreadable(live)
    now = change.model_copy(update={"before": live.text})
    return Ready(change=now) if differ_only_in_eol(live.text, change.before) else Different(change=now)


def _rename(change: RenameFile, live: Snapshot, target: Snapshot | None, *, renamed: bool) -> Rebased:
    occupied = target is not None and target.exists
    if not live.exists:
        if occupied and target is not None and (renamed or target.text == change.before):
            return AlreadyDone()
        return Impossible(reason=f"{named(change.uri)} does not exist any more, so it cannot be renamed.")
    same_file = target is not None and target.fingerprint == live.fingerprint is not None
    if occupied and not (same_file and change.uri.casefold() == change.new_uri.casefold()):
        return Impossible(reason=f"{named(change.new_uri)} exists already, and nothing is overwritten.")
    return Ready(change=change.model_copy(update={"before": live.text}))


def _folder(change: CreateFolder, live: Snapshot) -> Rebased:
    if live.problem == "folder":
        return AlreadyDone()
    if live.exists:
        return Impossible(reason=f"{named(change.uri)} is a file, so it cannot be a folder.")
    return Ready(change=change) if live.problem is None else _unreadable(live)


def _unreadable(live: Snapshot) -> Impossible:
    why = live.detail or f"it is {(live.problem or 'unreadable').replace('_', ' ')} now"
    return Impossible(reason=f"{named(live.uri)} cannot be changed: {why}.")


def hunks(before: str, after: str) -> list[tuple[list[str], list[str]]]:
    """The removed and inserted lines of each hunk, without positions."""
    old, new = split_lines(with_eol(before, "\n")), split_lines(with_eol(after, "\n"))
    return [
        (old[block.before_start : block.before_end], new[block.after_start : block.after_end])
        for block in changed_blocks(old, new)
    ]
