"""Finds out how edits ended whose outcome a crash kept from being recorded, and removes what they have left."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from planloom.domain.plans.plan import Plan
from planloom.domain.values import Uri
from planloom.workspace.disk_changes import delete_folder, remove_leftovers
from planloom.workspace.edits.outcomes import JournalFile
from planloom.workspace.edits.verify import FileOutcome, compare
from planloom.workspace.paths.resolver import PathRefused
from planloom.workspace.paths.uris import parent
from planloom.workspace.scratch_files import clear_scratch_folder
from planloom.workspace.staged.rebase import hunks, three_way
from planloom.workspace.view import WorkspaceView, confined_path


async def outcomes_after_crash(view: WorkspaceView, files: Sequence[JournalFile]) -> tuple[FileOutcome, ...]:
    """The outcome of each file of an edit, found by comparing the file with its texts before and after.

    If a text matches neither, contains none of the edit's changes and could take all of them, the user has typed
    in it and the edit was never made.
    """
    outcomes = await compare(view, files)
    resolved = await view.resolve_all([file.uri for file in files])
    return tuple(
        "not_applied" if outcome == "unexpected" and _lacks(found.snapshot.text, file) else outcome
        for file, outcome, found in zip(files, outcomes, resolved, strict=True)
    )


async def remove_empty_folders(view: WorkspaceView, folders: Iterable[Uri]) -> None:
    """Delete those of the folders that are empty, the deepest first."""
    await asyncio.to_thread(_delete_empty, view, sorted(folders, key=len, reverse=True))


async def clear_leftovers(view: WorkspaceView, plan: Plan) -> None:
    """Remove temporary files from the folders of the plan's edits without a recorded outcome, and from `.planloom/`."""
    files = (file for edit in plan.edits if edit.state == "intended" for file in edit.files)
    folders = {parent(uri) for file in files for uri in file.uris}
    await asyncio.to_thread(_clear, view, folders)


def _lacks(text: str | None, file: JournalFile) -> bool:
    """Whether every change of an edit could still be made to a text, each in its place."""
    if file.change != "edit" or None in (text, file.before, file.after):
        return False
    before, after, live = file.before or "", file.after or "", text or ""
    merged = three_way(before, live, after)
    return merged.kind == "merged" and hunks(live, merged.text) == hunks(before, after)


def _delete_empty(view: WorkspaceView, folders: Sequence[Uri]) -> None:
    for uri in folders:
        place = view.locate(uri, "write")
        if not isinstance(place, PathRefused):
            delete_folder(confined_path(place))


def _clear(view: WorkspaceView, folders: set[Uri]) -> None:
    for root in view.roots.folders:
        clear_scratch_folder(root)
    for uri in folders:
        # The workspace folder itself may be read, but is no place that a change names.
        folder = view.locate(uri, "read")
        if not isinstance(folder, PathRefused):
            remove_leftovers(confined_path(folder))
