"""Reads what a client declares in `initialize`, and lists the notifications to register for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from urllib.parse import unquote

from lsprotocol import types
from pygls.capabilities import ServerCapabilitiesBuilder, get_capability

from planloom.lsp.client_options import ClientExtensions, declared
from planloom.serving.configuration import SECTION

if TYPE_CHECKING:
    from planloom.domain.text.positions import Encoding

SCHEME: Final = "planloom"
"""The scheme of addresses whose texts the server serves (`served_texts`)."""


class Client(NamedTuple):
    """The client's declarations in `initialize`.

    `folders` maps URI to name, `options` is `initializationOptions`, `name` the editor's name for itself or "",
    `locale` the language of its user.
    """

    capabilities: types.ClientCapabilities
    declared: ClientExtensions
    encoding: Encoding
    folders: dict[str, str]
    options: Any
    process: int | None
    name: str = ""
    locale: str = "en"


def client_of(params: types.InitializeParams) -> Client:
    """The client as its `initialize` describes it."""
    encoding = ServerCapabilitiesBuilder.choose_position_encoding(params.capabilities)
    return Client(
        capabilities=params.capabilities,
        declared=declared(params.initialization_options),
        encoding=cast("Encoding", str(getattr(encoding, "value", encoding))),
        folders=folders(params),
        options=params.initialization_options,
        process=params.process_id,
        name=params.client_info.name if params.client_info is not None else "",
        locale=params.locale or "en",
    )


def can_serve(client: types.ClientCapabilities) -> bool:
    """Whether the client asks a server for the texts of a scheme that it registers."""
    return bool(get_capability(client, "workspace.text_document_content.dynamic_registration", False))


def registrations(client: types.ClientCapabilities) -> list[dict[str, Any]]:
    """The dynamic registrations as far as the client supports them: changed settings and files, and served texts."""
    wanted: list[dict[str, Any]] = []
    if get_capability(client, "workspace.did_change_configuration.dynamic_registration", False):
        options: dict[str, Any] = {"section": SECTION}
        wanted.append(_registration(types.WORKSPACE_DID_CHANGE_CONFIGURATION, options))
    if get_capability(client, "workspace.did_change_watched_files.dynamic_registration", False):
        options = {"watchers": [{"globPattern": "**/*"}]}
        wanted.append(_registration(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options))
    if can_serve(client):
        options = {"schemes": [SCHEME]}
        wanted.append(_registration(types.WORKSPACE_TEXT_DOCUMENT_CONTENT, options))
    return wanted


def _registration(method: str, options: dict[str, Any]) -> dict[str, Any]:
    return {"id": f"planloom:{method}", "method": method, "registerOptions": options}


def folders(params: types.InitializeParams) -> dict[str, str]:
    """The workspace folders by URI; `rootUri` and `rootPath` are how older clients name one."""
    if params.workspace_folders:
        return {folder.uri: folder.name for folder in params.workspace_folders}
    if params.workspace_folders is None and params.root_uri:
        return {params.root_uri: _last_name(params.root_uri)}
    if params.workspace_folders is None and params.root_path:
        uri = Path(params.root_path).absolute().as_uri()
        return {uri: _last_name(uri)}
    return {}


def _last_name(uri: str) -> str:
    return unquote(uri.rstrip("/").rpartition("/")[2])
