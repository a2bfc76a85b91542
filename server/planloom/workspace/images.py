"""Reads whole image files up to a size limit."""

from __future__ import annotations

import os
import stat

from planloom.workspace.disk import NO_FOLLOW, open_parent
from planloom.workspace.paths.resolver import ResolvedPath
from planloom.workspace.view import confined_path


def read_image(place: ResolvedPath, most_bytes: int) -> bytes | None:
    """The file's bytes; None if it is unreadable, not a regular file or larger than `most_bytes`.

    Never raises OSError. Touches the disk: call it from a thread.
    """
    try:
        with open_parent(confined_path(place)) as (name, folder):
            handle = os.open(name, os.O_RDONLY | NO_FOLLOW, dir_fd=folder)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            data = file.read(most_bytes + 1)
    except OSError:
        return None
    return data if len(data) <= most_bytes else None
