"""Requests on permissions that are asked for: the look before, and the word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.domain.values import ApprovalId, Uri
from planloom.lsp.wire import params as wire_params
from planloom.lsp.wire import results as wire_results
from planloom.lsp.wire.base import Empty

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection


async def respond(connection: Connection, params: wire_params.RespondParams) -> Empty:
    """Allow or deny what a step wants to do; `files` narrows an allow, `cancel` ends the plan."""
    files = None if params.files is None else tuple(Uri(uri) for uri in params.files)
    await connection.app.approvals.respond(
        ApprovalId(params.approval_id), params.decision, params.reason, files
    )
    return Empty()


async def diff(connection: Connection, params: wire_params.DiffParams) -> wire_results.DiffResult:
    """Both texts of one file of a pending approval; null stands for no file."""
    found = await connection.app.approvals.diff(ApprovalId(params.approval_id), Uri(params.uri))
    return wire_results.DiffResult.of(found)
