"""What the editor tells of the workspace as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.lsp.wire import params as wire_params

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection


async def trust(connection: Connection, params: wire_params.TrustParams) -> None:
    """The user has said whether the workspace is trusted; without trust nothing in it is changed."""
    connection.trust(params.trusted)
