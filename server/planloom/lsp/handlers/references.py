"""Requests on what a text says: its references, their completion, and whether it wants a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.lsp import from_wire
from planloom.lsp import wire_params as take
from planloom.lsp import wire_results as give
from planloom.lsp.wire_plan import Detection

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection

DEFAULT_LIMIT = 50


async def resolve(at: Connection, params: take.ResolveParams) -> give.ResolveResult:
    """What the references of a text name."""
    found = await at.app.references.resolve(params.text, from_wire.context(params.context))
    return give.ResolveResult.of(found, attachments=tuple(each.attachment for each in found.attachments))


async def complete(at: Connection, params: take.CompleteParams) -> give.CompleteResult:
    """What could stand for the reference at `offset`, which counts UTF-16 units."""
    found = await at.app.references.complete(
        params.text, params.offset, params.limit or DEFAULT_LIMIT, from_wire.context(params.context)
    )
    return give.CompleteResult.of(found)


async def detect(at: Connection, params: take.DetectParams) -> Detection:
    """Whether the rules say that a text wants a plan."""
    return Detection.of(at.app.detect(params.text))
