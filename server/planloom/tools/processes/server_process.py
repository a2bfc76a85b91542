"""A process that serves us over its standard streams until it is ended, with all that it has started."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Any, Final

from planloom.tools.confinement.confined_command import MOST_PROCESSES, Prepared
from planloom.tools.confinement.windows import Job

MOST_MEMORY: Final = 2 << 30
"""The most bytes of memory of such a process, with all that it has started."""
SECONDS_TO_END: Final = 2.0
"""How long a server may take to end by itself."""
_FORCE: Final[signal.Signals] = getattr(signal, "SIGKILL", signal.SIGTERM)
_KEPT: Final = 2_000
_DEFAULT_LIMIT: Final = 1 << 16


class ServerProcess:
    """A started process; `stdin` and `stdout` are its streams. The end of what it prints as errors is kept."""

    def __init__(self, process: asyncio.subprocess.Process, ready: Prepared) -> None:
        assert process.stdin and process.stdout and process.stderr
        self.stdin, self.stdout = process.stdin, process.stdout
        self.process_id = process.pid
        self._process = process
        self._ready = ready
        self._stderr = b""
        self._job = Job(MOST_MEMORY, MOST_PROCESSES)
        self._job.add(process.pid)
        self._draining = asyncio.create_task(self._drain(process.stderr))

    @classmethod
    async def start(cls, ready: Prepared, folder: str, limit: int = _DEFAULT_LIMIT) -> ServerProcess:
        """Start it; `limit` is the longest line that is read of it. Raises OSError."""
        try:
            process = await asyncio.create_subprocess_exec(
                *ready.argv,
                cwd=folder,
                env=ready.environment,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=ready.inherited,
                limit=limit,
                **_own_group(),
            )
        except BaseException:
            await asyncio.to_thread(ready.ended)
            raise
        finally:
            ready.started()
        return cls(process, ready)

    async def last_words(self) -> str:
        """The last line of its errors, once it has ended or the time for that is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SECONDS_TO_END):
                await self._process.wait()
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:200] if lines else ""

    async def end(self) -> None:
        """End the process and all that it has started."""
        _signal(self._process, signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(SECONDS_TO_END):
                await self._process.wait()
        _signal(self._process, _FORCE)
        self._draining.cancel()
        await asyncio.gather(self._draining, return_exceptions=True)
        await self._process.wait()
        self._job.close()
        await asyncio.to_thread(self._ready.ended)

    async def _drain(self, stream: asyncio.StreamReader) -> None:
        """Keep the end of what it prints, so that it never waits for a reader."""
        while data := await stream.read(1 << 16):
            self._stderr = (self._stderr + data)[-_KEPT:]


def _own_group() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, number)
