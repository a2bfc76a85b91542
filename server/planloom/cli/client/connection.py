"""Starts the server as a child process and speaks JSON-RPC with it."""

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

from planloom.private_process import forget_variables, make_private
from planloom.providers import KEY_VARIABLES, OWN_VARIABLE

if TYPE_CHECKING:
    from pygls.client import JsonRPCClient

Handler = Callable[[Any], Any]
"""Gets the params of a message as plain JSON; its result, awaited if need be, is the answer."""

SHUTDOWN_SECONDS = 5.0
STDERR_LINES, STDERR_BYTES = 12, 8192

SERVER_COMMAND = (sys.executable, "-I", "-m", "planloom", "serve", "--stdio")
"""`-I`, and a working folder outside of the workspace, keep the server from importing modules of the workspace."""


class ServerError(Exception):
    """The server answered with an error; `code` is its `data.code` in docs/protocol.md."""

    def __init__(self, message: str, *, code: str, hint: str | None = None, details: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = hint
        self.details = details


class ServerLost(Exception):
    """The server process ended or never answered; `tail` is the end of its stderr."""

    def __init__(self, tail: str) -> None:
        super().__init__("The server ended unexpectedly.")
        self.tail = tail


class Server(NamedTuple):
    """A running server process, and the file with its stderr."""

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
        """A task that is done as soon as nothing more can arrive from the server."""
        return self._reading

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request and await its answer. Raises ServerError, or ServerLost if no answer can arrive.

        A cancellation ends only this wait: if it cancelled the future, pygls would raise on the late answer.
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
        """Send a notification, if the server is still there."""
        if not self._reading.done():
            self._client.protocol.notify(method, {} if params is None else params)

    def stderr_tail(self) -> str:
        """The last lines that the server wrote to stderr."""
        end = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(end - STDERR_BYTES, 0))
        lines = self._stderr.read().decode("utf-8", "replace").splitlines()
        return "\n".join(lines[-STDERR_LINES:])

    async def close(self) -> None:
        """End the server by `shutdown` and `exit`, or by force if it does not end in time."""
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


def _with_keys() -> dict[str, str]:
    """The environment for the server. The keys in it are taken out of this process's own, which commands are below."""
    environment = dict(os.environ)
    forget_variables((OWN_VARIABLE, *KEY_VARIABLES))
    return environment


@contextlib.asynccontextmanager
async def started(command: Sequence[str]) -> AsyncIterator[Server]:
    """Start a server process, and kill it when the block is left if it still runs.

    The process gets a session of its own, so that Ctrl-C reaches only the command line, which then cancels the plan.
    """
    # The command line's environment has the user's keys too, and is a parent of the commands that the server runs.
    make_private()
    environment = _with_keys()
    with tempfile.TemporaryFile(prefix="planloom-") as stderr:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            cwd=Path(sys.executable).anchor or os.sep,
            start_new_session=True,
            env=environment,
        )
        try:
            yield Server(process, stderr)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


@contextlib.asynccontextmanager
async def connected(server: Server, handlers: Mapping[str, Handler]) -> AsyncIterator[Connection]:
    """Connect to a started server, and shut it down when the block is left."""
    # Importing pygls takes a good part of a second; here it overlaps with the server's start.
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
    # A stream that breaks off within a message counts as ended.
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        await messages


def _retrieve(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()


def _server_error(error: BaseException) -> ServerError:
    data = getattr(error, "data", None)
    fields = data if isinstance(data, Mapping) else {}
    message = fields.get("message") or getattr(error, "message", None) or str(error)
    return ServerError(
        str(message),
        code=str(fields.get("code") or getattr(error, "code", "internal")),
        hint=fields.get("hint"),
        details=fields.get("details"),
    )
