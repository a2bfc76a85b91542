"""Hours in minutes: a server process whose clocks a test sets forward, so that all its timers run as over a day.

The clocks are `time.monotonic`, by which timers and leases go, and the time of day of the session. They go on as the
machine's do, plus an offset in shared memory. A leap makes due what falls into it when the server's loop next wakes.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import signal
import struct
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType

_FORMAT = struct.Struct("dq")
"""The offset in seconds; how many tasks there were when that was last asked, -1 while it is not answered."""


class CompressedTime:
    """The offset of one server's clocks, in a file that it shares with the test."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(mmap.PAGESIZE))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    @property
    def offset(self) -> float:
        """How many seconds the server's clocks are ahead of the machine's."""
        return float(self._fields()[0])

    def leap(self, seconds: float) -> None:
        """Set the clocks forward. The caller then sends something, which wakes the loop."""
        _FORMAT.pack_into(self._memory, 0, self.offset + seconds, self._fields()[1])

    async def tasks(self, pid: int) -> int:
        """How many asyncio tasks the server has."""
        _FORMAT.pack_into(self._memory, 0, self.offset, -1)
        os.kill(pid, signal.SIGUSR2)
        async with asyncio.timeout(60):
            while self._fields()[1] < 0:
                await asyncio.sleep(0.001)
        return int(self._fields()[1])

    def install(self) -> None:
        """Let this process, a server that has not begun, go by the offset."""
        from planloom.execution.session import Session

        machine = time.monotonic
        time.monotonic = lambda: machine() + self.offset
        Session.__init__.__kwdefaults__["clock"] = lambda: (  # type: ignore[misc]
            datetime.now(UTC) + timedelta(seconds=self.offset)
        )
        signal.signal(signal.SIGUSR2, self._count)

    def _count(self, *_: int | FrameType | None) -> None:
        _FORMAT.pack_into(self._memory, 0, self.offset, len(asyncio.all_tasks()))

    def _fields(self) -> tuple[float, int]:
        offset, tasks = _FORMAT.unpack_from(self._memory)
        return offset, tasks
