"""What the server is, and how it fares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.lsp import wire_params as take
from planloom.lsp import wire_results as give
from planloom.lsp.methods import PROTOCOL_VERSION

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection


async def status(at: Connection, params: take.NoParams) -> give.StatusResult:  # noqa: ARG001
    """How the server is, and which plans run or wait to be resumed."""
    now = at.app.status(str(at.log_path or ""))
    return give.StatusResult.of(
        now,
        protocol_version=PROTOCOL_VERSION,
        model=give.ActiveModel(provider=now.model_provider, name=now.model_name, reason=now.model_reason),
        plans=give.StatusPlans(active=now.active, resumable=now.resumable),
    )
