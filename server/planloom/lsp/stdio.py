"""The way in and out: frames from stdin read by the event loop, and a stdout that can never stop it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, BinaryIO

from planloom.lsp.transport.frames import FrameReader

if TYPE_CHECKING:
    from typing import Any, Protocol

    class Writer(Protocol):
        """Where answers and notifications go."""

        @property
        def congested(self) -> bool: ...

        def write(self, data: bytes) -> None: ...

        async def drain(self, timeout: float) -> None: ...

        def close(self) -> None: ...

    class Receiver(Protocol):
        """What takes messages: the protocol of `codec`."""

        on_exit: Callable[[int], None]

        def receive(self, body: bytes) -> None: ...

        def refuse(self, ident: None, code: int, problem: str) -> None: ...

        def set_writer(self, writer: Any) -> None: ...

        def disconnect(self) -> None: ...


logger = logging.getLogger(__name__)

CONGESTED = 1024 * 1024
"""Bytes waiting for the client beyond which what may be dropped is dropped."""
PAUSE_READING = 16 * 1024 * 1024
"""Bytes waiting for the client beyond which we take no more of its requests until it reads again."""
GIVE_UP = 256 * 1024 * 1024
"""Bytes waiting for the client beyond which it counts as gone."""


class PipeWriter:
    """Writes to a pipe without ever waiting for its reader; what does not fit waits in memory.

    `on_backlog` is told when more than PAUSE_READING bytes wait, and when they no longer do; `on_lost` when the
    reader is gone, or so far behind that it counts as gone.
    """

    def __init__(
        self,
        fd: int,
        loop: asyncio.AbstractEventLoop,
        on_backlog: Callable[[bool], None],
        on_lost: Callable[[], None],
    ) -> None:
        self._fd = fd
        self._loop = loop
        self._on_backlog = on_backlog
        self._on_lost = on_lost
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._held = False
        self._lost = False
        self._empty = asyncio.Event()
        self._empty.set()
        os.set_blocking(fd, False)

    @property
    def congested(self) -> bool:
        """Whether the client reads so slowly that what may be dropped should be."""
        return self._size > CONGESTED

    def write(self, data: bytes) -> None:
        """Send now what the pipe takes, and the rest when it takes more."""
        if self._lost:
            return
        if not self._waiting:
            data = data[self._sent(data) :]
            if not data or self._lost:
                return
            self._empty.clear()
            self._loop.add_writer(self._fd, self._resume)
        self._waiting.append(data)
        self._size += len(data)
        if self._size > GIVE_UP:
            logger.error("The client has not read for so long that it counts as gone")
            self._lose()
        elif self._size > PAUSE_READING and not self._held:
            self._held = True
            self._on_backlog(True)

    async def drain(self, timeout: float) -> None:
        """Wait until all is sent, at most `timeout` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._empty.wait()

    def close(self) -> None:
        """Send no more, and leave the pipe as it was found."""
        if self._waiting:
            self._loop.remove_writer(self._fd)
        self._forget()
        with contextlib.suppress(OSError):
            os.set_blocking(self._fd, True)

    def _sent(self, data: bytes) -> int:
        try:
            return os.write(self._fd, data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError as error:
            logger.info("The client can no longer be written to: %s", error)
            self._lose()
            return 0

    def _resume(self) -> None:
        while self._waiting:
            head = self._waiting[0]
            sent = self._sent(head)
            if self._lost:
                return
            self._size -= sent
            if sent < len(head):
                self._waiting[0] = head[sent:]
                break
            self._waiting.popleft()
        if self._held and self._size < PAUSE_READING // 2:
            self._held = False
            self._on_backlog(False)
        if not self._waiting:
            self._loop.remove_writer(self._fd)
            self._empty.set()

    def _lose(self) -> None:
        if self._waiting:
            self._loop.remove_writer(self._fd)
        self._forget()
        # Whoever is writing now must not see the connection end under its hands.
        self._loop.call_soon(self._on_lost)

    def _forget(self) -> None:
        self._lost = True
        self._waiting.clear()
        self._size = 0
        self._empty.set()


class BlockingWriter:
    """Writes to whatever stdout is where pipes cannot be written without waiting (Windows)."""

    congested = False

    def __init__(self, stdout: BinaryIO, on_lost: Callable[[], None]) -> None:
        self._stdout = stdout
        self._on_lost = on_lost

    def write(self, data: bytes) -> None:
        """Send it and wait until it is gone."""
        try:
            self._stdout.write(data)
            self._stdout.flush()
        except (OSError, ValueError):
            self._on_lost()

    async def drain(self, timeout: float) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        """Nothing is held here."""


class _Input(asyncio.Protocol):
    """Passes what the loop reads on to the frames, and tells the end."""

    def __init__(self, frames: FrameReader, on_end: Callable[[], None]) -> None:
        self._frames = frames
        self._on_end = on_end

    def data_received(self, data: bytes) -> None:
        self._frames.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._on_end()


async def converse(protocol: Receiver, stdin: BinaryIO | None = None, stdout: BinaryIO | None = None) -> int:
    """Serve one client until it says `exit` or its end of a pipe closes; the exit code."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()
    transports: list[asyncio.ReadTransport] = []

    def end(code: int) -> None:
        if not ended.done():
            ended.set_result(code)

    def hold(behind: bool) -> None:
        for transport in transports:
            transport.pause_reading() if behind else transport.resume_reading()

    def receive(body: bytes) -> None:
        # After `exit` nothing is taken, even if it came in the same breath.
        if not ended.done():
            protocol.receive(body)

    writer = _writer(stdout or sys.stdout.buffer, loop, hold, lambda: end(1))
    protocol.set_writer(writer)
    protocol.on_exit = end
    frames = FrameReader(receive, lambda problem: protocol.refuse(None, -32700, problem))
    reading = await _start_reading(stdin or sys.stdin.buffer, frames, lambda: end(1), transports)
    try:
        return await ended
    finally:
        if reading is not None:
            reading.cancel()
        await writer.drain(1.0)
        protocol.disconnect()
        writer.close()
        for transport in transports:
            transport.close()


def _writer(
    stdout: BinaryIO, loop: asyncio.AbstractEventLoop, hold: Callable[[bool], None], lost: Callable[[], None]
) -> Writer:
    if os.name == "posix":
        with contextlib.suppress(OSError, ValueError):
            return PipeWriter(stdout.fileno(), loop, hold, lost)
    return BlockingWriter(stdout, lost)


async def _start_reading(
    stdin: BinaryIO, frames: FrameReader, on_end: Callable[[], None], transports: list[asyncio.ReadTransport]
) -> asyncio.Task[None] | None:
    """Let the loop read stdin; where it cannot (Windows, a plain file), a thread of its own reads it."""
    loop = asyncio.get_running_loop()
    if os.name == "posix":
        try:
            transport, _ = await loop.connect_read_pipe(lambda: _Input(frames, on_end), stdin)
        except (ValueError, OSError) as error:
            logger.info("The event loop cannot read stdin: %s", error)
        else:
            transports.append(transport)
            return None
    return asyncio.create_task(_read_in_thread(stdin, frames, on_end), name="lsp:stdin")


async def _read_in_thread(stdin: BinaryIO, frames: FrameReader, on_end: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    # A pool of its own, so that nothing else that blocks can keep a cancel from being read.
    pool = ThreadPoolExecutor(1, thread_name_prefix="stdin")
    read = getattr(stdin, "read1", stdin.read)
    try:
        while data := await loop.run_in_executor(pool, read, 65536):
            frames.feed(data)
    except (OSError, ValueError) as error:
        logger.info("The client can no longer be read: %s", error)
    finally:
        pool.shutdown(wait=False)
        on_end()
