"""Image files, read whole and only if they are not too large."""

from __future__ import annotations

import os
import stat

from planloom.workspace.disk import NO_FOLLOW, holding
from planloom.workspace.paths.resolver import ResolvedPath
from planloom.workspace.view import spot


def read_image(place: ResolvedPath, most_bytes: int) -> bytes | None:
    """The file's bytes; None if it cannot be read, is no plain file or has more than `most_bytes`.

    Never raises OSError. Touches the disk, so call it from a thread.
    """
    try:
        with holding(spot(place)) as (name, folder):
            handle = os.open(name, os.O_RDONLY | NO_FOLLOW, dir_fd=folder)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            data = file.read(most_bytes + 1)
    except OSError:
        return None
    return data if len(data) <= most_bytes else None
