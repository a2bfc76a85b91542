"""Initializes a started server and fetches its status."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from planloom.cli.client.connection import Connection, connected
from planloom.cli.client.headless_editor import HeadlessEditor, Level
from planloom.cli.client.messages import Json
from planloom.cli.client.server_process import Server
from planloom.version import VERSION


class Session(NamedTuple):
    """An initialized connection; `events` receives `planloom/event` in order, `status` is its first status."""

    connection: Connection
    editor: HeadlessEditor
    events: asyncio.Queue[Json]
    status: Json


def _unread(_: Json) -> None:
    """Ignore a notification: streamed text comes again, complete, as an event."""


@contextlib.asynccontextmanager
async def session(
    server: Server,
    folders: Sequence[Path],
    *,
    say: Callable[[Level, str], None],
    stream: Callable[[Json], None] = _unread,
    spent: Callable[[Json], None] = _unread,
    trusted: bool = False,
) -> AsyncIterator[Session]:
    """Initialize a started server. `say` gets its messages for the user, `stream` the text that a model streams,
    `spent` what a plan has used of models.

    Unless `trusted`, it only reads, and starts no programs.

    Raises ServerLost if the server does not start, ServerError if it refuses to be initialized.
    """
    events: asyncio.Queue[Json] = asyncio.Queue()
    editor = HeadlessEditor(folders, say, trusted=trusted)
    handlers = editor.handlers() | {
        "planloom/event": events.put_nowait,
        "planloom/stream": stream,
        "planloom/spent": spent,
    }
    async with connected(server, handlers) as connection:
        editor.initialized(await connection.request("initialize", editor.initialize_params(VERSION)))
        connection.notify("initialized")
        status = await connection.request("planloom/status")
        yield Session(connection, editor, events, status)
