"""Has each new file of an edit whole on disk, whatever the editor has left of it, before the outcome is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from planloom.domain.text.positions import FileForm, encode
from planloom.domain.values import Uri
from planloom.workspace.disk import ConfinedPath, DiskRefused, fingerprint_at
from planloom.workspace.disk_changes import create_folders, write
from planloom.workspace.editor import Editor, EditorSilent
from planloom.workspace.edits.outcomes import JournalFile
from planloom.workspace.edits.prepare import PlannedEffect
from planloom.workspace.paths.names import quoted
from planloom.workspace.paths.resolver import PathRefused
from planloom.workspace.paths.uris import is_file
from planloom.workspace.snapshots import BOM
from planloom.workspace.view import WorkspaceView, confined_path


class NewFile(NamedTuple):
    """A file that an edit creates, with its approved text."""

    uri: Uri
    confined: ConfinedPath
    text: str


def of_effects(effects: Iterable[PlannedEffect]) -> tuple[NewFile, ...]:
    """The new files among planned changes."""
    return tuple(
        NewFile(effect.change.uri, effect.confined, effect.change.after)
        for effect in effects
        if effect.change.kind == "create" and is_file(effect.change.uri)
    )


async def complete(view: WorkspaceView, editor: Editor, files: Sequence[NewFile], *, is_made: bool) -> None:
    """Have new files on disk that the editor has left empty; where it says that the edit `is_made`, missing ones too.

    The editor is asked to save those in which nobody has typed. What is empty after that gets its text here: a file of
    0 bytes under an unsaved buffer would be all that is left after a crash.
    """
    if not files:
        return
    left = await asyncio.to_thread(_unfinished, files, is_made)
    can = editor.capabilities
    own = tuple(file.uri for file in left if _text(view, file) in (None, file.text))
    if own and can.save and not can.create_contents:
        with suppress(EditorSilent):
            await editor.save(own)
        left = await asyncio.to_thread(_unfinished, left, is_made)
    for file in left:
        if not _text(view, file):
            view.mark_stale(file.uri, None, file.text)
    if left:
        await asyncio.to_thread(_write_all, left)


async def complete_after_crash(view: WorkspaceView, files: Sequence[JournalFile]) -> None:
    """Give new files that an interrupted edit has left empty their text."""
    await asyncio.to_thread(lambda: _write_all(_unfinished(_of_journal(view, files), False)))


async def make_folder(view: WorkspaceView, editor: Editor, effect: PlannedEffect) -> DiskRefused | None:
    """Have the editor make an empty folder, unless it came with a file; on disk if the editor does not answer."""
    path = effect.confined.path
    if await asyncio.to_thread(path.is_dir):
        return None
    try:
        answer = await editor.create_folder(effect.change.uri)
    except EditorSilent as silent:
        if not is_file(effect.change.uri):
            return DiskRefused(cause="failed", reason=str(silent))
        made = await asyncio.to_thread(create_folders, effect.confined)
        return made if isinstance(made, DiskRefused) else None
    await view.refresh((effect.change.uri,))
    if await asyncio.to_thread(path.is_dir):
        return None
    why = answer.reason or ("it is not there" if answer.created else "it gave no reason")
    return DiskRefused(
        cause="failed", reason=f"The editor did not make the folder {quoted(str(path))}: {why}."
    )


def _of_journal(view: WorkspaceView, files: Sequence[JournalFile]) -> list[NewFile]:
    found = []
    for file in files:
        place = (
            view.locate(file.uri, "write")
            if file.change == "create" and file.after and is_file(file.uri)
            else None
        )
        if place is not None and not isinstance(place, PathRefused) and place.uri == file.uri:
            found.append(NewFile(file.uri, confined_path(place), file.after or ""))
    return found


def _unfinished(files: Sequence[NewFile], is_made: bool) -> tuple[NewFile, ...]:
    """Those that are empty but for their approved text, and missing ones if they should be there."""
    found = [(file, fingerprint_at(file.confined)) for file in files]
    return tuple(
        file for file, there in found if (is_made if there is None else there.size == 0 and file.text)
    )


def _text(view: WorkspaceView, file: NewFile) -> str | None:
    """The text of the open document, if there is one."""
    document = view.buffer(file.uri)
    return None if document is None else document.text.removeprefix(BOM)


def _write_all(files: Sequence[NewFile]) -> None:
    """Write the texts; a file that cannot be written stays as it is, and the comparison of the files finds it."""
    for file in files:
        there = fingerprint_at(file.confined)
        if there is None:
            create_folders(file.confined._replace(names=file.confined.names[:-1]))
        if there is None or there.size == 0:
            write(file.confined, encode(FileForm(), file.text), over=there)
