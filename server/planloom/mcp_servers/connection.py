"""The connection to one MCP server by the protocol library, over a process or HTTP, within bounds.

Only this module imports the library, and it is imported when the first server starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    ElicitRequestFormParams,
    ElicitResult,
    Implementation,
    ListRootsResult,
    Root,
    ToolListChangedNotification,
    jsonrpc_message_adapter,
)

from planloom.mcp_servers.entries import Entry
from planloom.mcp_servers.limits import MOST_AT_ONCE, MOST_MESSAGE
from planloom.tools.processes.server_process import ServerProcess
from planloom.version import VERSION

_HTTP_SECONDS: Final = 30.0


class Hooks(NamedTuple):
    """What the owner of a connection does when the server sends something by itself.

    `ended` gets how the server has ended. `asked` gets a question to the user and the schema of the answer, and returns
    the answer; None declines it. For a question that is an address to open, the schema has no fields, and the answer
    says that it was. `folders` are the URIs of what it is told of the workspace; None tells nothing.
    """

    ended: Callable[[str], None]
    changed: Callable[[], None]
    asked: Callable[[str, dict[str, Any]], dict[str, Any] | None]
    folders: Callable[[], Sequence[str]] | None


@asynccontextmanager
async def connected(
    entry: Entry, launch: Callable[[], Awaitable[ServerProcess]], hooks: Hooks
) -> AsyncIterator[Client]:
    """The client of a server that has answered the handshake. To be left in the task that has entered it."""

    async def on_message(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            hooks.changed()

    async def on_question(context: ClientRequestContext, params: Any) -> ElicitResult:  # noqa: ARG001
        if isinstance(params, ElicitRequestFormParams):
            answer = hooks.asked(params.message, dict(params.requested_schema))
        else:
            answer = hooks.asked(f"{params.message} ({params.url})", {})
        if answer is None:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content=answer or None)

    async def on_roots(context: ClientRequestContext) -> ListRootsResult:  # noqa: ARG001
        assert hooks.folders is not None
        return ListRootsResult(roots=[Root(uri=uri) for uri in hooks.folders()])

    streams = _over_http(entry) if entry.url else _over_process(launch, hooks.ended)
    client = Client(
        streams,
        client_info=Implementation(name="planloom", version=VERSION),
        message_handler=on_message,
        elicitation_callback=on_question,
        list_roots_callback=None if hooks.folders is None else on_roots,
        cache=None,
    )
    async with client:
        # A result is data for a model. A schema of the server could have a pattern that takes for ever to match.
        client.session.validate_tool_result = _not_validated  # type: ignore[assignment, method-assign]
        listening = asyncio.create_task(_listen(client, hooks.changed))
        try:
            yield client
        finally:
            listening.cancel()
            await asyncio.wait({listening})


async def _listen(client: Client, changed: Callable[[], None]) -> None:
    """Hear of changes of the tools from a server of the protocol of 2026-07-28, which tells only who listens."""
    with suppress(ListenNotSupportedError, MCPError, SubscriptionLost, TimeoutError):
        async with client.listen(tools_list_changed=True) as changes:
            async for _ in changes:
                changed()


async def _not_validated(*_: Any) -> None:
    """Nothing is looked at."""


@asynccontextmanager
async def _over_process(
    launch: Callable[[], Awaitable[ServerProcess]], ended: Callable[[str], None]
) -> AsyncIterator[Any]:
    process = await launch()
    received, receiving = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sending, sent = anyio.create_memory_object_stream[SessionMessage](0)
    taken = 0

    async def read() -> None:
        nonlocal taken
        how = ""
        try:
            async with received:
                while line := await process.stdout.readline():
                    taken += len(line)
                    if taken > MOST_AT_ONCE:
                        how = "has sent more than can be read"
                        break
                    # What is no message, such as a line of a log, is passed over.
                    with suppress(ValueError):
                        await received.send(
                            SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
                        )
        except ValueError:
            how = "has sent more than can be read"
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            how = "cannot be read from"
        words = "" if how else await process.last_words()
        ended(how or f"has ended{f': {words}' if words else ''}")

    async def write() -> None:
        nonlocal taken
        with suppress(OSError, anyio.ClosedResourceError):
            async for message in sent:
                taken = 0
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(f"{text}\n".encode())
                await process.stdin.drain()

    tasks = [asyncio.create_task(read()), asyncio.create_task(write())]
    try:
        yield receiving, sending
    finally:
        process.stdin.close()
        await process.end()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for stream in (received, receiving, sending, sent):
            stream.close()


@asynccontextmanager
async def _over_http(entry: Entry) -> AsyncIterator[Any]:
    async def bounded(response: httpx2.Response) -> None:
        response.stream = _Counted(response.stream)

    timeout = httpx2.Timeout(_HTTP_SECONDS, read=None)
    async with (
        httpx2.AsyncClient(
            headers=dict(entry.given), timeout=timeout, event_hooks={"response": [bounded]}
        ) as http,
        streamable_http_client(entry.url, http_client=http, max_sse_event_size=MOST_MESSAGE) as streams,
    ):
        yield streams


class _Counted(httpx2.AsyncByteStream):
    """The body of an answer, of which no more is read than anybody would."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        taken = 0
        async for part in self._inner:
            taken += len(part)
            if taken > MOST_AT_ONCE:
                raise httpx2.ReadError("has sent more than can be read")
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()
