"""Builds the pygls server from our protocol, the catalogue of methods and one connection."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from planloom.lsp import methods
from planloom.lsp.announced import COMMAND_NAMES
from planloom.lsp.connection import Connection, ServerOptions
from planloom.lsp.handlers import completion, documents, files, plan_documents
from planloom.lsp.routing import route
from planloom.lsp.transport.codec import PlanloomProtocol, wire_converter
from planloom.version import VERSION

__all__ = ["PlanloomServer", "ServerOptions", "make_server"]

if TYPE_CHECKING:
    from planloom.lsp.client_options import MakeApplication

NAME = "planloom"


class PlanloomServer(LanguageServer):
    """The pygls server with our protocol; `connection` is the state of its only client."""

    connection: Connection

    @property
    def messages(self) -> PlanloomProtocol:
        """The protocol, with its own type."""
        assert isinstance(self.protocol, PlanloomProtocol)
        return self.protocol

    def report_server_error(self, error: Exception, source: Any) -> None:  # noqa: ARG002
        """Log an internal error instead of showing it: its text would mean nothing to the user."""
        logging.getLogger(__name__).error("An internal error: %s", error, exc_info=error)


def make_server(make_application: MakeApplication, options: ServerOptions | None = None) -> PlanloomServer:
    """A server for one client, not yet connected to a transport."""
    server = PlanloomServer(
        NAME,
        VERSION,
        text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
        protocol_cls=PlanloomProtocol,
        converter_factory=wire_converter,
    )
    protocol = server.messages
    connection = server.connection = Connection(protocol, make_application, options or ServerOptions())
    protocol.experimental = methods.experimental()
    protocol.commands = list(COMMAND_NAMES)
    route(protocol, connection, methods.CLIENT_REQUESTS, methods.CLIENT_NOTIFICATIONS)
    documents.register(server, connection)
    files.register(server, connection)
    completion.register(server, connection)
    plan_documents.register(server, connection)
    _register_lifecycle(server, connection)

    async def execute(params: Any) -> Any:
        from planloom.lsp import commands

        await connection.application()
        return await commands.execute(connection, params)

    protocol.endpoints[types.WORKSPACE_EXECUTE_COMMAND] = execute
    return server


def _register_lifecycle(server: LanguageServer, connection: Connection) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        connection.initialize(params)

    @server.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:  # noqa: ARG001
        connection.initialized()

    @server.feature(types.SHUTDOWN)
    async def shutdown(params: Any = None) -> None:  # noqa: ARG001
        await connection.close()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configuration_changed(params: types.DidChangeConfigurationParams) -> None:
        connection.configuration_changed(params)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders_changed(params: types.DidChangeWorkspaceFoldersParams) -> None:
        connection.folders_changed(params.event)

    @server.feature(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def progress_cancelled(params: types.WorkDoneProgressCancelParams) -> None:
        # lsprotocol accepts any JSON as a token.
        if connection.progress is not None and isinstance(params.token, str | int):
            connection.progress.cancelled(params.token)
