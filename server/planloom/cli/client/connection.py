"""The server as a child process, and JSON-RPC with it: all that the command line knows of plans comes from here."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pygls.client import JsonRPCClient

Handler = Callable[[Any], Any]
"""Takes the params of a message as plain JSON; what it returns (or resolves to) is the answer."""

SHUTDOWN_SECONDS = 5.0
STDERR_LINES, STDERR_BYTES = 12, 8192

SERVER_COMMAND = (sys.executable, "-I", "-m", "planloom", "serve", "--stdio")
"""`-I` and a working folder elsewhere keep modules that lie in a workspace out of the server."""


class ServerError(Exception):
    """The server answered with an error; `code` is the word that docs/protocol.md has for it."""

    def __init__(self, message: str, *, code: str, hint: str | None = None, details: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = hint
        self.details = details


class ServerLost(Exception):
    """The server process ended, or never spoke; `tail` is the end of what it wrote to stderr."""

    def __init__(self, tail: str) -> None:
        super().__init__("The server ended unexpectedly.")
        self.tail = tail


class Server(NamedTuple):
    """A running server process, and what it writes to stderr."""

    process: asyncio.subprocess.Process
    stderr: IO[bytes]


class Connection:
    """Requests and notifications to one running server."""

    def __init__(self, server: Server, client: JsonRPCClient, reading: asyncio.Task[None]) -> None:
        self._process, self._stderr = server
        self._client = client
        self._reading = reading

    @property
    def lost(self) -> asyncio.Task[None]:
        """Done as soon as nothing more can come from the server."""
        return self._reading

    async def request(self, method: str, params: Any = None) -> Any:
        """Ask and wait for the answer. Raises ServerError, or ServerLost when no answer can come.

        A cancelled wait leaves the answer to be dropped when it comes: cancelling the future itself
        would make the protocol library raise on the late reply.
        """
        if self._reading.done():
            raise ServerLost(self.stderr_tail())
        answer = asyncio.wrap_future(
            self._client.protocol.send_request(method, {} if params is None else params)
        )
        answer.add_done_callback(_retrieve)
        await asyncio.wait({answer, self._reading}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise ServerLost(self.stderr_tail())
        error = answer.exception()
        if error is not None:
            raise _server_error(error) from error
        return answer.result()

    def notify(self, method: str, params: Any = None) -> None:
        """Tell the server something, if it is still there."""
        if not self._reading.done():
            self._client.protocol.notify(method, {} if params is None else params)

    def stderr_tail(self) -> str:
        """The last lines that the server wrote to stderr."""
        end = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(end - STDERR_BYTES, 0))
        lines = self._stderr.read().decode("utf-8", "replace").splitlines()
        return "\n".join(lines[-STDERR_LINES:])

    async def close(self) -> None:
        """End the server in the order LSP asks for; one that does not obey is ended by force."""
        with contextlib.suppress(ServerError, ServerLost, TimeoutError):
            async with asyncio.timeout(SHUTDOWN_SECONDS):
                await self.request("shutdown")
                self.notify("exit")
                await self._process.wait()
        for end in (self._process.terminate, self._process.kill):
            if self._process.returncode is not None:
                break
            with contextlib.suppress(ProcessLookupError, TimeoutError):
                end()
                async with asyncio.timeout(SHUTDOWN_SECONDS):
                    await self._process.wait()
        if not self._reading.done():
            self._reading.cancel()
        await asyncio.wait({self._reading})


@contextlib.asynccontextmanager
async def started(command: Sequence[str]) -> AsyncIterator[Server]:
    """Start a server process, which is ended when the block is left, by force if nothing else has ended it.

    It gets a session of its own: Ctrl-C is for the command line, which then cancels in good order.
    """
    with tempfile.TemporaryFile(prefix="planloom-") as stderr:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            cwd=Path(sys.executable).anchor or os.sep,
            start_new_session=True,
        )
        try:
            yield Server(process, stderr)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


@contextlib.asynccontextmanager
async def connected(server: Server, handlers: Mapping[str, Handler]) -> AsyncIterator[Connection]:
    """Speak with a server that was started, and shut it down when the block is left."""
    # Importing the protocol library takes a good part of a second, which the server's own start hides.
    from threading import Event

    from pygls.io_ import run_async

    from planloom.cli.client.rpc import raw_client

    if server.process.stdin is None or server.process.stdout is None:
        raise RuntimeError("the server was started without pipes")
    client = raw_client(handlers)
    client.protocol.set_writer(server.process.stdin)
    messages = run_async(
        stop_event=Event(),
        reader=server.process.stdout,
        protocol=client.protocol,
        logger=logging.getLogger("pygls"),
    )
    connection = Connection(server, client, asyncio.create_task(_read(messages), name="server messages"))
    try:
        yield connection
    finally:
        await asyncio.shield(asyncio.ensure_future(connection.close()))


async def _read(messages: Awaitable[None]) -> None:
    # A stream that breaks off in the middle of a message is the same to us as one that ends.
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        await messages


def _retrieve(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()


def _server_error(error: BaseException) -> ServerError:
    data = getattr(error, "data", None)
    told = data if isinstance(data, Mapping) else {}
    message = told.get("message") or getattr(error, "message", None) or str(error)
    return ServerError(
        str(message),
        code=str(told.get("code") or getattr(error, "code", "internal")),
        hint=told.get("hint"),
        details=told.get("details"),
    )
