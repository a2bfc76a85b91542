"""Notices that the editor's process has ended even if its pipes stay open."""

from __future__ import annotations

import asyncio
import os

POLL_SECONDS = 3.0


async def wait_until_ended(process: int, every: float = POLL_SECONDS) -> bool:
    """Wait until a running process ends; return False at once if it cannot be watched.

    The editor may run in another container. On Windows `os.kill(process, 0)` would end the process.
    """
    if os.name != "posix" or not alive(process):
        return False
    while alive(process):  # noqa: ASYNC110
        await asyncio.sleep(every)
    return True


def alive(process: int) -> bool:
    """Whether a process of this id runs on this machine, in this container."""
    if process <= 0:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
