"""What the editor tells of the workspace as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.lsp import wire_params as take

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection


async def trust(at: Connection, params: take.TrustParams) -> None:
    """The user has said whether the workspace is trusted; without trust nothing in it is changed."""
    at.trust(params.trusted)
