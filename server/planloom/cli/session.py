"""A server made ready: started, initialized as by an editor, and asked for its status."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from planloom.cli.connection import SERVER_COMMAND, Connection, connected
from planloom.cli.editor import HeadlessEditor, Level
from planloom.cli.wire import Json


class Session(NamedTuple):
    """A connection with what came of its start; `events` receives `planloom/event` in order."""

    connection: Connection
    editor: HeadlessEditor
    events: asyncio.Queue[Json]
    status: Json


@contextlib.asynccontextmanager
async def session(
    folders: Sequence[Path],
    say: Callable[[Level, str], None],
    command: Sequence[str] = SERVER_COMMAND,
) -> AsyncIterator[Session]:
    """Raises ServerLost if the server does not start, ServerError if it refuses to be initialized."""
    events: asyncio.Queue[Json] = asyncio.Queue()
    editor = HeadlessEditor(folders, say)
    handlers = editor.handlers() | {"planloom/event": events.put_nowait, "planloom/stream": _unread}
    async with connected(handlers, command=command) as connection:
        editor.initialized(
            await connection.request("initialize", editor.initialize_params(metadata.version("planloom")))
        )
        connection.notify("initialized")
        status = await connection.request("planloom/status")
        yield Session(connection, editor, events, status)


def _unread(_: Any) -> None:
    """Running text of a model: the whole of it comes as an event when it is complete."""
