"""Requests on what earlier plans of the workspace found and did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.domain.values import PlanId
from planloom.lsp.wire.methods import memory as wire

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection

_LISTED = 20


async def search(connection: Connection, params: wire.SearchMemoryParams) -> wire.MemoryResult:
    """What earlier plans of this workspace found and did, by words or the newest."""
    found = connection.app.memory.search(params.words or "", params.limit or _LISTED)
    return wire.MemoryResult(entries=tuple(map(wire.MemoryEntry.of, found)))


async def forget(connection: Connection, params: wire.ForgetMemoryParams) -> wire.ForgottenResult:
    """Delete what is kept of a plan for later ones, or of all plans of this workspace; the plans stay."""
    plan_id = None if params.plan_id is None else PlanId(params.plan_id)
    return wire.ForgottenResult(forgotten=connection.app.memory.forget(plan_id))
