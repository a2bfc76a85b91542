"""Requests about the rules by which the user allows commands in a workspace folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.domain.values import Uri
from planloom.lsp.wire.base import NoParams
from planloom.lsp.wire.methods import rules as wire

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection


async def list_rules(connection: Connection, params: NoParams) -> wire.RulesResult:  # noqa: ARG001
    """The rules of the open folders."""
    return wire.RulesResult(rules=tuple(map(wire.CommandRule.of, await connection.app.rules.list_rules())))


async def revoke(connection: Connection, params: wire.RevokeRulesParams) -> wire.RevokedResult:
    """Take back one rule of an open folder, or all of its rules; running commands go on."""
    return wire.RevokedResult(revoked=await connection.app.rules.revoke(Uri(params.folder), params.text))
