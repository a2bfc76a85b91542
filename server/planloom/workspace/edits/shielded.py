"""Work that must not be half done: a cancellation waits for its end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def uninterrupted(work: Coroutine[Any, Any, T]) -> T:
    """Let `work` finish, with its own limits of time, before a cancellation takes effect."""
    job = asyncio.create_task(work)
    try:
        return await asyncio.shield(job)
    except asyncio.CancelledError as cancelled:
        while not job.done():
            try:
                await asyncio.wait({job})
            except asyncio.CancelledError:
                continue
        if job.cancelled():
            raise
        raise cancelled from job.exception()
