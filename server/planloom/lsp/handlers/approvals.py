"""Requests on permissions that are asked for: the look before, and the word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.domain.values import ApprovalId, Uri
from planloom.lsp import wire_params as take
from planloom.lsp import wire_results as give
from planloom.lsp.wire_base import Empty

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection


async def respond(at: Connection, params: take.RespondParams) -> Empty:
    """Allow or deny what a step wants to do; `files` narrows an allow, `cancel` ends the plan."""
    files = None if params.files is None else tuple(Uri(uri) for uri in params.files)
    await at.app.approvals.respond(ApprovalId(params.approval_id), params.decision, params.reason, files)
    return Empty()


async def diff(at: Connection, params: take.DiffParams) -> give.DiffResult:
    """Both texts of one file of a pending approval; null stands for no file."""
    found = await at.app.approvals.diff(ApprovalId(params.approval_id), Uri(params.uri))
    return give.DiffResult.of(found)
