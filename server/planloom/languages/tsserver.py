"""Asks TypeScript's own server for the problems of a text, through typescript-language-server.

That publishes in parts, without a version, and not at all what has not changed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from lsprotocol import types

from planloom.domain.values import Uri

_COMMAND: Final = "typescript.tsserverRequest"
"""The command by which typescript-language-server passes a question on."""
_CATEGORIES: Final = {"error": 1, "warning": 2, "suggestion": 4, "message": 3}


def can_be_asked(capabilities: Mapping[str, Any]) -> bool:
    """Whether a server with these capabilities passes questions on."""
    commands = capabilities.get("executeCommandProvider")
    return isinstance(commands, dict) and _COMMAND in (commands.get("commands") or ())


async def diagnostics(ask: Callable[[str, Any], Awaitable[Any]], uri: Uri) -> list[Any]:
    """The diagnostics of an open text, in the form of LSP."""
    found: list[Any] = []
    for question in ("syntacticDiagnosticsSync", "semanticDiagnosticsSync"):
        params = {"command": _COMMAND, "arguments": [question, {"file": uri}]}
        answer = await ask(types.WORKSPACE_EXECUTE_COMMAND, params)
        body = answer.get("body") if isinstance(answer, dict) else None
        found += map(_diagnostic, body if isinstance(body, list) else ())
    return found


def _diagnostic(raw: Any) -> Any:
    """A diagnostic of tsserver, whose lines and columns count from 1, in the form of LSP."""
    if not isinstance(raw, dict):
        return None
    start, end = (_from_one(raw.get(name)) for name in ("start", "end"))
    return {
        "range": {"start": start, "end": end},
        "severity": _CATEGORIES.get(str(raw.get("category")), 1),
        "code": raw.get("code"),
        "source": "typescript",
        "message": raw.get("text"),
    }


def _from_one(raw: Any) -> Any:
    line, offset = (raw.get(name) if isinstance(raw, dict) else None for name in ("line", "offset"))
    if not isinstance(line, int) or not isinstance(offset, int):
        return None
    return {"line": line - 1, "character": offset - 1}
