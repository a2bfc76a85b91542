"""Files that Planloom puts beside the user's, to be looked at: in `.planloom/`, which git does not see."""

from __future__ import annotations

from typing import Final

from planloom.domain.values import Uri
from planloom.workspace.disk import ConfinedPath, DiskRefused, read, stamp_at
from planloom.workspace.disk_changes import create_folders, write
from planloom.workspace.paths.roots import Root
from planloom.workspace.paths.uris import from_path, to_path

FOLDER: Final = ".planloom"


def write_side_file(root: Root, name: str, text: str) -> Uri | None:
    """Write a text for the user to look at, over an earlier one; its place, or None. For a thread.

    No link is followed, so that nothing outside of the folder is ever written.
    """
    folder = ConfinedPath(root.path, (FOLDER,))
    if isinstance(create_folders(folder), DiskRefused):
        return None
    ignore = ConfinedPath(root.path, (FOLDER, ".gitignore"))
    if stamp_at(ignore) is None and write(ignore, b"*\n", over=None) is not None:
        return None
    spot = ConfinedPath(root.path, (FOLDER, name))
    refused = write(spot, text.encode("utf-8", "surrogatepass"), over=stamp_at(spot))
    return None if refused is not None else from_path(spot.path)


def read_side_file(uri: Uri) -> str | None:
    """The text of such a file as it is on disk; None for any other place, or one that cannot be read. For a thread."""
    path = to_path(uri)
    if path is None or path.parent.name != FOLDER:
        return None
    found = read(ConfinedPath(path.parent.parent, (FOLDER, path.name)))
    return None if found.decoded is None else found.decoded.text
