"""Writes the capabilities that the server announces, which it needs before it has loaded what has them."""

from __future__ import annotations

import asyncio
import json

from lsprotocol import types
from pygls.capabilities import ServerCapabilitiesBuilder

from planloom.lsp.commands import COMMANDS
from planloom.lsp.language_server import make_server
from planloom.lsp.methods import experimental

_FILES = types.FileOperationClientCapabilities(did_create=True, did_rename=True, did_delete=True)
_CLIENT = types.ClientCapabilities(workspace=types.WorkspaceClientCapabilities(file_operations=_FILES))
"""pygls announces these to nobody who does not know them."""


def text() -> str:
    """The whole file."""
    return json.dumps(asyncio.run(_capabilities()), indent=1) + "\n"


async def _capabilities() -> object:
    server = make_server()
    protocol = server.messages
    protocol.client_params = types.InitializeParams(capabilities=_CLIENT)
    await server.connection.close()
    built = ServerCapabilitiesBuilder(
        _CLIENT,
        {*protocol.fm.features, *protocol.fm.builtin_features},
        protocol.fm.feature_options,
        [],
        types.TextDocumentSyncKind.Incremental,
        None,
    ).build()  # type: ignore[no-untyped-call]
    built.execute_command_provider = types.ExecuteCommandOptions([command.name for command in COMMANDS])
    built.experimental = experimental()
    return protocol.converter.unstructure(built)
