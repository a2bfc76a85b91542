"""Finishes a piece of work before a cancellation takes effect, so that no change is left half made."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def uninterrupted(work: Coroutine[Any, Any, T]) -> T:
    """Await `work`. However often the caller is cancelled, `work` runs to its end; then the cancellation is raised.

    `work` must limit its own time. Its task needs no supervisor, since it never outlives this call. If it fails after
    a cancellation, its exception is the cause of the CancelledError.
    """
    return await _to_its_end(work, passes_on=False)


async def interrupted_once(work: Coroutine[Any, Any, T]) -> T:
    """Await `work`. It gets the first cancellation of the caller, and then ends in its own way: further ones wait.

    For libraries that clean up after a cancellation, but not after another one in the middle of that.
    """
    return await _to_its_end(work, passes_on=True)


async def _to_its_end(work: Coroutine[Any, Any, T], *, passes_on: bool) -> T:
    job = asyncio.create_task(work)
    try:
        return await asyncio.shield(job)
    except asyncio.CancelledError as cancelled:
        if passes_on:
            job.cancel()
        while not job.done():
            try:
                await asyncio.wait({job})
            except asyncio.CancelledError:
                continue
        if job.cancelled():
            raise
        raise cancelled from job.exception()
