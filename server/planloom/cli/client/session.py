"""Initializes a started server as a client without documents, and fetches its status.

It takes no edits, so the server writes the files itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from planloom.cli.client.connection import Connection, connected
from planloom.cli.client.messages import Json
from planloom.cli.client.rpc import Handler
from planloom.cli.client.server_process import Server
from planloom.version import VERSION

Level = Literal["error", "warning", "info", "log"]
_LEVELS: dict[int, Level] = {1: "error", 2: "warning", 3: "info"}


class Session(NamedTuple):
    """An initialized connection; `events` receives `planloom/event` in order, `status` is its first status."""

    connection: Connection
    events: asyncio.Queue[Json]
    status: Json

    async def request(self, method: str, params: Json | None = None) -> Any:
        """The answer to a request. Raises as `Connection.request` does."""
        return await self.connection.request(method, params)


def _unread(*_: Any) -> None:
    """Ignore a notification: streamed text comes again, complete, as an event."""


@contextlib.asynccontextmanager
async def session(
    server: Server,
    folders: Sequence[Path],
    *,
    say: Callable[[Level, str], None] = _unread,
    stream: Callable[[Json], None] = _unread,
    spent: Callable[[Json], None] = _unread,
    trusted: bool = False,
) -> AsyncIterator[Session]:
    """Initialize a started server. `say` gets its messages for the user, `stream` the text that a model streams,
    `spent` what a plan has used of models.

    Unless `trusted`, it only reads, and starts no programs.

    Raises ServerLost if the server does not start, ServerError if it refuses to be initialized.
    """

    def show_message(params: Json) -> None:
        say(_LEVELS.get(params.get("type", 3), "log"), str(params.get("message", "")))

    events: asyncio.Queue[Json] = asyncio.Queue()
    handlers: dict[str, Handler] = {
        "planloom/event": events.put_nowait,
        "planloom/stream": stream,
        "planloom/spent": spent,
        "window/showMessage": show_message,
        "window/showMessageRequest": show_message,
    }
    async with connected(server, handlers) as connection:
        await connection.request("initialize", _initialize_params(folders, trusted=trusted))
        connection.notify("initialized")
        yield Session(connection, events, await connection.request("planloom/status"))


def _initialize_params(folders: Sequence[Path], *, trusted: bool) -> Json:
    shown = ("events", "approvals", "clarifications", "recovery", "conflicts")
    return {
        "processId": os.getpid(),
        "clientInfo": {"name": "planloom run", "version": VERSION},
        "rootUri": folders[0].as_uri() if folders else None,
        "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name} for folder in folders],
        "capabilities": {
            # Events go to programs too (`--json`), which count in characters.
            "general": {"positionEncodings": ["utf-32", "utf-16"]},
            "window": {"showMessage": {}},
            "workspace": {"workspaceFolders": True},
        },
        "initializationOptions": {"planloomClient": {**dict.fromkeys(shown, True), "trusted": trusted}},
    }
