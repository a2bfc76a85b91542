"""Shields a coroutine from cancellation until it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def uninterrupted(work: Coroutine[Any, Any, T]) -> T:
    """Await `work`; a cancellation takes effect only after it ends, so `work` must limit its own time."""
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
