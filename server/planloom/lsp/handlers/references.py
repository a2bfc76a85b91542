"""Requests on what a text says: its references, their completion, and whether it wants a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.lsp import from_wire, to_wire, to_wire_review
from planloom.lsp import wire_params as take
from planloom.lsp import wire_results as give
from planloom.lsp.wire_plan import Detection

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection

DEFAULT_LIMIT = 50


async def resolve(at: Connection, params: take.ResolveParams) -> give.ResolveResult:
    """What the references of a text name."""
    found = await at.app.references.resolve(params.text, from_wire.context(params.context))
    return give.ResolveResult(
        attachments=tuple(to_wire_review.attachment(each.attachment) for each in found.attachments),
        unresolved=tuple(to_wire_review.unresolved(each) for each in found.unresolved),
    )


async def complete(at: Connection, params: take.CompleteParams) -> give.CompleteResult:
    """What could stand for the reference at `offset`, which counts UTF-16 units."""
    found = await at.app.references.complete(
        params.text, params.offset, params.limit or DEFAULT_LIMIT, from_wire.context(params.context)
    )
    return give.CompleteResult(
        items=tuple(
            give.ReferenceItem(
                label=item.label,
                insert_text=item.insert_text,
                detail=item.detail,
                kind=item.kind,
                replace=item.replace,
            )
            for item in found.items
        ),
        is_incomplete=found.is_incomplete,
    )


async def detect(at: Connection, params: take.DetectParams) -> Detection:
    """Whether the rules say that a text wants a plan."""
    return to_wire.detection(at.app.detect(params.text))
