"""Files that Planloom writes for the user to look at, in the `.planloom/` folder, which git ignores."""

from __future__ import annotations

import threading
from typing import Final

from planloom.domain.values import Uri
from planloom.workspace.disk import ConfinedPath, DiskRefused, fingerprint_at, read
from planloom.workspace.disk_changes import create_folders, delete_file, remove_leftovers, write
from planloom.workspace.paths.roots import Root, root_at
from planloom.workspace.paths.uris import from_path, to_path

FOLDER: Final = ".planloom"
_writing = threading.Lock()
"""Held from the look at what is there until the write over it."""


def write_scratch_file(root: Root, name: str, content: str | bytes) -> Uri | None:
    """Write or replace a file in `.planloom/`; its URI, or None on failure. Call it from a thread.

    Follows no link, so nothing outside the folder is ever written. What a killed server was writing there is removed.
    """
    folder = ConfinedPath(root.path, (FOLDER,))
    if isinstance(create_folders(folder), DiskRefused):
        return None
    clear_scratch_folder(root)
    ignore = ConfinedPath(root.path, (FOLDER, ".gitignore"))
    confined = ConfinedPath(root.path, (FOLDER, name))
    with _writing:
        if fingerprint_at(ignore) is None and write(ignore, b"*\n", over=None) is not None:
            return None
        data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
        refused = write(confined, data, over=fingerprint_at(confined))
    return None if refused is not None else from_path(confined.path)


def rewrite_scratch_file(uri: Uri, content: str) -> bool:
    """Replace the text of a file in `.planloom/`. False for any other file, or on failure. Call it from a thread."""
    path = to_path(uri)
    if path is None or path.parent.name != FOLDER:
        return False
    return write_scratch_file(root_at(path.parent.parent), path.name, content) is not None


def remove_scratch_file(uri: Uri) -> None:
    """Remove a file in `.planloom/`, if it is there. Call it from a thread."""
    path = to_path(uri)
    if path is not None and path.parent.name == FOLDER:
        confined = ConfinedPath(path.parent.parent, (FOLDER, path.name))
        if (was := fingerprint_at(confined)) is not None:
            delete_file(confined, was=was)


def clear_scratch_folder(root: Root) -> None:
    """Remove what a killed server was writing in `.planloom/`. Call it from a thread."""
    remove_leftovers(ConfinedPath(root.path, (FOLDER,)))


def scratch_files(root: Root, part: str) -> tuple[Uri, ...]:
    """The files in `.planloom/` whose names hold this, in the order of their names. Call it from a thread."""
    try:
        found = sorted(path for path in (root.path / FOLDER).iterdir() if part in path.name)
    except OSError:
        return ()
    return tuple(from_path(path) for path in found)


def read_scratch_file(uri: Uri) -> str | None:
    """The text of a file in `.planloom/`; None for any other file, or if unreadable. Call it from a thread."""
    path = to_path(uri)
    if path is None or path.parent.name != FOLDER:
        return None
    found = read(ConfinedPath(path.parent.parent, (FOLDER, path.name)))
    return None if found.decoded is None else found.decoded.text
