"""Which models could answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.lsp.wire import params as wire_params
from planloom.lsp.wire import results as wire_results

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection


async def list_models(connection: Connection, params: wire_params.NoParams) -> wire_results.ModelsResult:  # noqa: ARG001
    """Every model that could answer, and the one that does."""
    return wire_results.ModelsResult.of(await connection.app.models.list())
