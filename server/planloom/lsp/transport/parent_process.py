"""Tells when the editor's own process is gone, for the case that its pipes do not."""

from __future__ import annotations

import asyncio
import os

LOOK_SECONDS = 3.0


async def gone(process: int, every: float = LOOK_SECONDS) -> bool:
    """Wait until a process that lives now does so no more; False at once if it cannot be seen from here.

    The editor may run in another container, and on Windows there is no harmless way to look.
    """
    if os.name != "posix" or not alive(process):
        return False
    while alive(process):  # noqa: ASYNC110
        await asyncio.sleep(every)
    return True


def alive(process: int) -> bool:
    """Whether a process of this id lives in our world."""
    if process <= 0:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
