"""What the editor tells of the workspace as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.lsp import wire_params as take

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection


async def trust(at: Connection, params: take.TrustParams) -> None:
    """`planloom/workspace/trust`."""
    at.trust(params.trusted)
