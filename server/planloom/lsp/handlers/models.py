"""Which models could answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.lsp import wire_params as take
from planloom.lsp import wire_results as give

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection


async def list_models(at: Connection, params: take.NoParams) -> give.ModelsResult:  # noqa: ARG001
    """Every model that could answer, and the one that does."""
    return give.ModelsResult.of(await at.app.models.list())
