"""Starts the server as a child process and speaks JSON-RPC with it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from planloom.cli.client.rpc import Handler, Peer, RpcError
from planloom.private_process import forget_variables, make_private
from planloom.providers import SECRET_VARIABLES

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
    """The server process ended or sent what is no message; `tail` is the end of its stderr."""

    def __init__(self, tail: str, reason: str = "The server ended unexpectedly.") -> None:
        super().__init__(reason)
        self.tail = tail


class Server(NamedTuple):
    """A running server process, and the file with its stderr."""

    process: asyncio.subprocess.Process
    stderr: IO[bytes]


class Connection:
    """Requests and notifications to one running server."""

    def __init__(self, server: Server, peer: Peer) -> None:
        self._process, self._stderr = server
        self._peer = peer
        self._reading = asyncio.create_task(peer.read(), name="server messages")
        self._reading.add_done_callback(_retrieve)

    @property
    def lost(self) -> asyncio.Task[None]:
        """A task that is done as soon as nothing more can arrive from the server."""
        return self._reading

    def loss(self) -> ServerLost:
        """Why nothing more can arrive, once `lost` is done."""
        broken = None if self._reading.cancelled() else self._reading.exception()
        if broken is None:
            return ServerLost(self.stderr_tail())
        return ServerLost(self.stderr_tail(), f"The server sent a message that cannot be read: {broken}.")

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request and await its answer. Raises ServerError, or ServerLost if no answer can arrive.

        A cancellation ends only this wait; the server goes on with what was asked.
        """
        if self._reading.done():
            raise self.loss()
        answer = self._peer.request(method, {} if params is None else params)
        answer.add_done_callback(_retrieve)
        await asyncio.wait({answer, self._reading}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise self.loss()
        try:
            return answer.result()
        except RpcError as error:
            raise _server_error(error) from error

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification, if the server is still there."""
        if not self._reading.done():
            self._peer.notify(method, {} if params is None else params)

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
    forget_variables(SECRET_VARIABLES)
    return environment


def with_server(command: Sequence[str], work: Callable[[Server], Awaitable[int]]) -> int:
    """Start the server, then do the work; returns its exit code. The imports of the work overlap with the start."""

    async def both() -> int:
        async with started(command) as server:
            return await work(server)

    return asyncio.run(both())


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
    if server.process.stdin is None or server.process.stdout is None:
        raise RuntimeError("the server was started without pipes")
    connection = Connection(server, Peer(server.process.stdout, server.process.stdin, handlers))
    try:
        yield connection
    finally:
        await asyncio.shield(asyncio.ensure_future(connection.close()))


def _retrieve(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()


def _server_error(error: RpcError) -> ServerError:
    fields = error.data if isinstance(error.data, Mapping) else {}
    return ServerError(
        str(fields.get("message") or error.message),
        code=str(fields.get("code") or error.code or "internal"),
        hint=fields.get("hint"),
        details=fields.get("details"),
    )
