"""Notices that the editor's process has ended even if its pipes stay open."""

from __future__ import annotations

import asyncio
import os

from planloom.running_process import is_running

POLL_SECONDS = 3.0


async def wait_until_ended(process: int, every: float = POLL_SECONDS) -> bool:
    """Wait until a running process ends; return False at once if it cannot be watched.

    The editor may run in another container. On Windows no process can be asked.
    """
    if os.name != "posix" or not is_running(process):
        return False
    while is_running(process):  # noqa: ASYNC110
        await asyncio.sleep(every)
    return True
