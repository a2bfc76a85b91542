"""Which models could answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.lsp import wire_params as take
from planloom.lsp import wire_results as give

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection


async def list_models(at: Connection, params: take.NoParams) -> give.ModelsResult:  # noqa: ARG001
    """Every model that could answer, and the one that does."""
    found = await at.app.models.list()
    active = found.active
    return give.ModelsResult(
        models=tuple(
            give.ModelEntry(
                provider=model.provider,
                name=model.name,
                context_tokens=model.context_tokens,
                reachable=model.reachable,
                reason=model.reason,
            )
            for model in found.models
        ),
        active=active and give.ActiveModel(provider=active.provider, name=active.name, reason=active.reason),
    )
