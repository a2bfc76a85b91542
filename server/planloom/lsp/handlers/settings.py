"""What the user sets from the editor: values of user scope, and keys of model providers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.lsp import wire_params as take
from planloom.lsp.wire_base import Empty

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection


async def set_secret(at: Connection, params: take.SecretParams) -> Empty:
    """Keep a key in memory, or forget it; it is never logged or stored."""
    await at.app.set_secret(params.provider, params.value)
    return Empty()


async def take_user(at: Connection, params: take.UserSettingsParams) -> Empty:
    """Take values of user scope, read by an extension where only the user can set them."""
    at.configuration.add("user", params.values)
    at.configure()
    return Empty()
