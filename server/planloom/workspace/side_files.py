"""Files that Planloom puts beside the user's, to be looked at: in `.planloom/`, which git does not see."""

from __future__ import annotations

from typing import Final

from planloom.domain.values import Uri
from planloom.workspace.disk import Spot, stamp_at
from planloom.workspace.disk_changes import DiskRefused, create_folders, write
from planloom.workspace.roots import Root
from planloom.workspace.uris import from_path

FOLDER: Final = ".planloom"


def write_side_file(root: Root, name: str, text: str) -> Uri | None:
    """Write a text for the user to look at, over an earlier one; its place, or None. For a thread.

    No link is followed, so that nothing outside of the folder is ever written.
    """
    folder = Spot(root.path, (FOLDER,))
    if isinstance(create_folders(folder), DiskRefused):
        return None
    ignore = Spot(root.path, (FOLDER, ".gitignore"))
    if stamp_at(ignore) is None and write(ignore, b"*\n", over=None) is not None:
        return None
    spot = Spot(root.path, (FOLDER, name))
    refused = write(spot, text.encode("utf-8", "surrogatepass"), over=stamp_at(spot))
    return None if refused is not None else from_path(spot.path)
