"""Connects a protocol to stdin and stdout, without ever blocking the event loop on a pipe."""

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

if TYPE_CHECKING:
    from typing import Any, Protocol

    class Reader(Protocol):
        """Splits incoming bytes into messages."""

        def feed(self, data: bytes) -> None: ...

    class Writer(Protocol):
        """Writes the bytes of outgoing messages."""

        @property
        def congested(self) -> bool: ...

        def write(self, data: bytes) -> None: ...

        async def drain(self, timeout: float) -> None: ...

        def close(self) -> None: ...

    class Receiver(Protocol):
        """Handles incoming messages."""

        on_exit: Callable[[int], None]

        def receive(self, body: bytes) -> None: ...

        def refuse(self, ident: None, code: int, problem: str) -> None: ...

        def set_writer(self, writer: Any) -> None: ...

        def disconnect(self) -> None: ...


logger = logging.getLogger(__name__)

CONGESTED = 1024 * 1024
"""Unsent bytes above which droppable messages are dropped."""
PAUSE_READING = 16 * 1024 * 1024
"""Unsent bytes above which no more requests are read until the client reads again."""
GIVE_UP = 256 * 1024 * 1024
"""Unsent bytes above which the client counts as gone."""


class PipeWriter:
    """Writes to a pipe without blocking; unsent bytes are kept in memory.

    `on_backlog(True)` is called when more than PAUSE_READING bytes are unsent, `on_backlog(False)` when half of them
    are sent; `on_lost()` when the reader is gone, or so slow that it counts as gone.
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
        self._unsent: deque[bytes] = deque()
        self._size = 0
        self._backlogged = False
        self._lost = False
        self._empty = asyncio.Event()
        self._empty.set()
        # Windows has this only since Python 3.12, and pipes are written by a thread there.
        if sys.platform == "win32":
            raise AssertionError("pipes are written by a thread there")
        os.set_blocking(fd, False)

    @property
    def congested(self) -> bool:
        """Whether so many bytes are unsent that droppable messages should be dropped."""
        return self._size > CONGESTED

    def write(self, data: bytes) -> None:
        """Send as much as the pipe accepts now, and the rest later."""
        if self._lost:
            return
        if not self._unsent:
            data = data[self._sent(data) :]
            if not data or self._lost:
                return
            self._empty.clear()
            self._loop.add_writer(self._fd, self._resume)
        self._unsent.append(data)
        self._size += len(data)
        if self._size > GIVE_UP:
            logger.error("The client stopped reading and counts as gone: %d bytes are unsent", self._size)
            self._lose()
        elif self._size > PAUSE_READING and not self._backlogged:
            self._backlogged = True
            self._on_backlog(True)

    async def drain(self, timeout: float) -> None:
        """Wait until everything is sent, for at most `timeout` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._empty.wait()

    def close(self) -> None:
        """Send nothing more, and make the pipe blocking again."""
        if self._unsent:
            self._loop.remove_writer(self._fd)
        self._discard()
        if sys.platform == "win32":
            raise AssertionError("pipes are written by a thread there")
        with contextlib.suppress(OSError):
            os.set_blocking(self._fd, True)

    def _sent(self, data: bytes) -> int:
        try:
            return os.write(self._fd, data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError as error:
            logger.info("Writing to the client failed: %s", error)
            self._lose()
            return 0

    def _resume(self) -> None:
        while self._unsent:
            head = self._unsent[0]
            sent = self._sent(head)
            if self._lost:
                return
            self._size -= sent
            if sent < len(head):
                self._unsent[0] = head[sent:]
                break
            self._unsent.popleft()
        if self._backlogged and self._size < PAUSE_READING // 2:
            self._backlogged = False
            self._on_backlog(False)
        if not self._unsent:
            self._loop.remove_writer(self._fd)
            self._empty.set()

    def _lose(self) -> None:
        if self._unsent:
            self._loop.remove_writer(self._fd)
        self._discard()
        # Deferred, so that the connection does not end inside of the caller's write().
        self._loop.call_soon(self._on_lost)

    def _discard(self) -> None:
        self._lost = True
        self._unsent.clear()
        self._size = 0
        self._empty.set()


class BlockingWriter:
    """Writes to stdout where a pipe cannot be written without blocking (Windows), or where it is no pipe."""

    congested = False

    def __init__(self, stdout: BinaryIO, on_lost: Callable[[], None]) -> None:
        self._stdout = stdout
        self._on_lost = on_lost

    def write(self, data: bytes) -> None:
        """Send the data and wait until it is written."""
        try:
            self._stdout.write(data)
            self._stdout.flush()
        except (OSError, ValueError):
            self._on_lost()

    async def drain(self, timeout: float) -> None:
        """Do nothing: every write has finished."""

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


class _Input(asyncio.Protocol):
    """Passes the bytes that the loop reads to the frame reader, and calls `on_end` at the end of the input."""

    def __init__(self, frames: Reader, on_end: Callable[[], None]) -> None:
        self._frames = frames
        self._on_end = on_end

    def data_received(self, data: bytes) -> None:
        self._frames.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._on_end()


async def converse(
    protocol: Receiver,
    reader: Callable[[Callable[[bytes], None], Callable[[str], None]], Reader],
    stdin: BinaryIO | None = None,
    stdout: BinaryIO | None = None,
) -> int:
    """Serve one client until it sends `exit` or closes a pipe; returns the exit code.

    `reader` makes what splits the input: it calls the first function with each message, the second with a sentence on
    what is none.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()
    transports: list[asyncio.ReadTransport] = []

    def end(code: int) -> None:
        if not ended.done():
            ended.set_result(code)

    def pause_reading(behind: bool) -> None:
        for transport in transports:
            transport.pause_reading() if behind else transport.resume_reading()

    def receive(body: bytes) -> None:
        # Messages that arrive together with `exit`, but behind it, are ignored.
        if not ended.done():
            protocol.receive(body)

    writer = _writer(stdout or sys.stdout.buffer, loop, pause_reading, lambda: end(1))
    protocol.set_writer(writer)
    protocol.on_exit = end
    frames = reader(receive, lambda problem: protocol.refuse(None, -32700, problem))
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
    stdout: BinaryIO,
    loop: asyncio.AbstractEventLoop,
    on_backlog: Callable[[bool], None],
    on_lost: Callable[[], None],
) -> Writer:
    if os.name == "posix":
        with contextlib.suppress(OSError, ValueError):
            return PipeWriter(stdout.fileno(), loop, on_backlog, on_lost)
    return BlockingWriter(stdout, on_lost)


async def _start_reading(
    stdin: BinaryIO, frames: Reader, on_end: Callable[[], None], transports: list[asyncio.ReadTransport]
) -> asyncio.Task[None] | None:
    """Read stdin by the event loop; by a thread, whose task is returned, where it cannot: Windows, files, /dev/null."""
    loop = asyncio.get_running_loop()
    if os.name == "posix":
        try:
            # Raises where the loop cannot watch it, which `connect_read_pipe` would only log.
            loop.add_reader(stdin, on_end)
            loop.remove_reader(stdin)
            transport, _ = await loop.connect_read_pipe(lambda: _Input(frames, on_end), stdin)
        except (ValueError, OSError) as error:
            logger.info("The event loop cannot read stdin: %s", error)
        else:
            transports.append(transport)
            return None
    return asyncio.create_task(_read_in_thread(stdin, frames, on_end), name="stdin")


async def _read_in_thread(stdin: BinaryIO, frames: Reader, on_end: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    # A thread of its own: work that fills the default pool must not delay the reading of a cancel.
    pool = ThreadPoolExecutor(1, thread_name_prefix="stdin")
    read = getattr(stdin, "read1", stdin.read)
    try:
        while data := await loop.run_in_executor(pool, read, 65536):
            frames.feed(data)
    except (OSError, ValueError) as error:
        logger.info("Reading from the client failed: %s", error)
    finally:
        pool.shutdown(wait=False)
        on_end()
