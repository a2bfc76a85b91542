"""The pygls server, which answers `initialize` with what is announced; everything else is imported after that."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from planloom.lsp.transport.codec import PlanloomProtocol, wire_converter
from planloom.version import VERSION

if TYPE_CHECKING:
    from types import ModuleType

    from planloom.lsp.connection import Connection
    from planloom.serving.opening import MakeApplication

NAME = "planloom"


class ServerOptions(NamedTuple):
    """The options of the command line: settings as `name=value`, and paths.

    `open_log` opens the log file after the start-up and returns its path. `on_loaded` is called when everything is
    imported and the application is open. `state` returns the user's state folder, where decisions are kept; without
    one nothing is asked. `options_are_users`: whoever started the server vouches for `initializationOptions`.
    """

    settings: tuple[str, ...] = ()
    open_log: Callable[[], Path | None] = lambda: None
    on_loaded: Callable[[], None] = lambda: None
    storage: Path | None = None
    record: Path | None = None
    state: Callable[[], Path | None] = lambda: None
    options_are_users: bool = False


class PlanloomServer(LanguageServer):
    """The pygls server with our protocol, for one client."""

    def __init__(self, make_application: MakeApplication | None, options: ServerOptions) -> None:
        super().__init__(
            NAME,
            VERSION,
            text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
            protocol_cls=PlanloomProtocol,
            converter_factory=wire_converter,
        )
        self.options = options
        self.make_application = make_application
        self.messages.on_initialized = lambda: self.connection

    @property
    def messages(self) -> PlanloomProtocol:
        """The protocol, with its own type."""
        assert isinstance(self.protocol, PlanloomProtocol)
        return self.protocol

    @cached_property
    def connection(self) -> Connection:
        """The state of the client, which has said `initialize`."""
        connection: Connection = load().connect(self)
        return connection

    async def close(self) -> None:
        """End all work of the connection, if there was one."""
        if "connection" in vars(self):
            await self.connection.close()

    def report_server_error(self, error: Exception, source: Any) -> None:  # noqa: ARG002
        """Log an internal error instead of showing it: its text would mean nothing to the user."""
        logging.getLogger(__name__).error("An internal error: %s", error, exc_info=error)


def load() -> ModuleType:
    """Import everything that the answer to `initialize` does not need."""
    from planloom.lsp import registration

    return registration


def make_server(
    make_application: MakeApplication | None = None, options: ServerOptions | None = None
) -> PlanloomServer:
    """A server for one client, not yet connected to a transport; without `make_application` it opens the real one."""
    return PlanloomServer(make_application, options or ServerOptions())
