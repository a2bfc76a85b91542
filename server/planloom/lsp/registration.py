"""Registers every method with the protocol: the catalogue, what LSP has for documents and files, and its lifecycle."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from planloom.lsp import commands, methods
from planloom.lsp.connection import Connection
from planloom.lsp.editor.capabilities import client_of
from planloom.lsp.handlers import completion, files, plan_documents, text_sync
from planloom.lsp.language_server import PlanloomServer
from planloom.lsp.routing import route
from planloom.serving.opening import open_application


def connect(server: PlanloomServer) -> Connection:
    """The connection to the client of a server that has answered `initialize`, with every method registered."""
    protocol = server.messages
    assert protocol.client_params is not None, "the client has said `initialize`"
    client = client_of(protocol.client_params)
    make_application = server.make_application or open_application
    connection = Connection(protocol, client, make_application, server.options)
    route(protocol, connection, methods.CLIENT_REQUESTS, methods.CLIENT_NOTIFICATIONS)
    text_sync.register(server, connection)
    files.register(server, connection)
    completion.register(server, connection)
    plan_documents.register(server, connection)
    _register_lifecycle(server, connection)

    async def execute(params: Any) -> Any:
        await connection.application()
        return await commands.execute(connection, params)

    protocol.endpoints[types.WORKSPACE_EXECUTE_COMMAND] = execute
    return connection


def _register_lifecycle(server: PlanloomServer, connection: Connection) -> None:
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
