"""What the user sets from the editor: values of user scope, and keys of model providers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.lsp.wire import params as wire_params
from planloom.lsp.wire.base import Empty

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection


async def set_secret(connection: Connection, params: wire_params.SecretParams) -> Empty:
    """Keep a key in memory, or forget it; it is never logged or stored."""
    await connection.app.set_secret(params.provider, params.value)
    return Empty()


async def take_user(connection: Connection, params: wire_params.UserSettingsParams) -> Empty:
    """Take values of user scope, read by an extension where only the user can set them."""
    connection.configuration.add("user", params.values)
    connection.configure()
    return Empty()
