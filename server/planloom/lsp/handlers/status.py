"""What the server is, and how it fares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.lsp.methods import PROTOCOL_VERSION
from planloom.lsp.wire import params as wire_params
from planloom.lsp.wire import results as wire_results

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection


async def status(connection: Connection, params: wire_params.NoParams) -> wire_results.StatusResult:  # noqa: ARG001
    """How the server is, and which plans run or wait to be resumed."""
    now = connection.app.status(str(connection.log_path or ""))
    return wire_results.StatusResult.of(
        now,
        protocol_version=PROTOCOL_VERSION,
        model=wire_results.ActiveModel(
            provider=now.model_provider, name=now.model_name, reason=now.model_reason
        ),
        plans=wire_results.StatusPlans(active=now.active, resumable=now.resumable),
    )
