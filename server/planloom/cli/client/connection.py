"""Speaks JSON-RPC with a started server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Mapping
from typing import Any

from planloom.cli.client.rpc import Handler, Peer, RpcError
from planloom.cli.client.server_process import Server
from planloom.cli.remedies import advice

SHUTDOWN_SECONDS = 5.0
STDERR_LINES, STDERR_BYTES = 12, 8192


class ServerError(Exception):
    """The server answered with an error; `code` is its `data.code` in docs/protocol.md.

    `words` are for the person, `hint` is what can be done about it.
    """

    def __init__(
        self, message: str, *, code: str, hint: str | None = None, details: Any = None, words: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.words = words or message
        self.code = code
        self.hint = hint
        self.details = details


class ServerLost(Exception):
    """The server process ended or sent what is no message; `tail` is the end of its stderr."""

    def __init__(self, tail: str, reason: str = "The server ended unexpectedly.") -> None:
        super().__init__(reason)
        self.tail = tail


class Connection:
    """Requests and notifications to one running server; `ended` is set when its process has ended."""

    def __init__(self, server: Server, peer: Peer, ended: asyncio.Event) -> None:
        self._started_server = server
        self._peer = peer
        self._ended = ended
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
        stderr = self._started_server.stderr
        end = stderr.seek(0, os.SEEK_END)
        stderr.seek(max(end - STDERR_BYTES, 0))
        lines = stderr.read().decode("utf-8", "replace").splitlines()
        return "\n".join(lines[-STDERR_LINES:])

    async def close(self) -> None:
        """End the server by `shutdown` and `exit`, or by force if it does not end in time."""
        with contextlib.suppress(ServerError, ServerLost, TimeoutError):
            async with asyncio.timeout(SHUTDOWN_SECONDS):
                await self.request("shutdown")
                self.notify("exit")
                await self._ended.wait()
        for end in (self._started_server.process.terminate, self._started_server.process.kill):
            if self._ended.is_set():
                break
            end()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SHUTDOWN_SECONDS):
                    await self._ended.wait()
        if not self._reading.done():
            self._reading.cancel()
        await asyncio.wait({self._reading})


@contextlib.asynccontextmanager
async def connected(server: Server, handlers: Mapping[str, Handler]) -> AsyncIterator[Connection]:
    """Connect to a started server, and shut it down when the block is left."""
    reader, ended = asyncio.StreamReader(), asyncio.Event()
    watching = (server, reader, ended, asyncio.get_running_loop())
    threading.Thread(target=_watch, args=watching, name="server", daemon=True).start()
    connection = Connection(server, Peer(reader, server.send, handlers), ended)
    try:
        yield connection
    finally:
        await asyncio.shield(asyncio.ensure_future(connection.close()))


def _watch(
    server: Server, reader: asyncio.StreamReader, ended: asyncio.Event, loop: asyncio.AbstractEventLoop
) -> None:
    """Pass on what the server writes, then wait for its end; for a thread: no loop on Windows reads such pipes."""
    # Nobody waits for a server whose loop is closed.
    with contextlib.suppress(RuntimeError):
        while data := server.receive():
            loop.call_soon_threadsafe(reader.feed_data, data)
        loop.call_soon_threadsafe(reader.feed_eof)
        server.process.wait()
        loop.call_soon_threadsafe(ended.set)


def _retrieve(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()


def _server_error(error: RpcError) -> ServerError:
    fields = error.data if isinstance(error.data, Mapping) else {}
    explained, details = fields.get("explained") or {}, fields.get("details")
    problem = details if isinstance(details, Mapping) and "cause" in details else {}
    return ServerError(
        str(fields.get("message") or error.message),
        code=str(fields.get("code") or error.code or "internal"),
        hint=advice(explained, problem, fields.get("hint")) or None,
        details=details,
        words=str(explained.get("words") or "") if problem else "",
    )
