"""The longest stall of an event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

_TICK = 0.001


@dataclass
class Stall:
    """The longest in seconds so far: by how much a tick of a millisecond came late, and what its thread computed.

    Other load on the machine makes the first longer, and not the second.
    """

    seconds: float = 0.0
    processor: float = 0.0


@asynccontextmanager
async def longest_stall() -> AsyncIterator[Stall]:
    """Watch the running loop until the block ends."""
    found = Stall()
    watching = asyncio.create_task(_watch(found))
    try:
        yield found
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


async def _watch(found: Stall) -> None:
    while True:
        before, computed = time.perf_counter(), time.thread_time()
        await asyncio.sleep(_TICK)
        found.seconds = max(found.seconds, time.perf_counter() - before - _TICK)
        found.processor = max(found.processor, time.thread_time() - computed)
