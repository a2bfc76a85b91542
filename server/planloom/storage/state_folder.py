"""Keeps the folder of the ledger, the log and the decisions for its owner alone."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def keep_private(folder: Path) -> None:
    """Take the rights of others from an own folder and from the files in it, which an older version may have left."""
    if not hasattr(os, "getuid"):
        # On Windows a folder of the user has the rights of the user's profile.
        return
    with suppress(OSError):
        for path in (folder, *folder.iterdir()):
            found = path.lstat()
            is_own = found.st_uid == os.getuid() and (
                stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)
            )
            if is_own and found.st_mode & _OTHERS:
                path.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)
