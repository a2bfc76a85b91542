"""A person's word on effects: allow, deny, and the look at before and after that goes before either."""

from __future__ import annotations

import mimetypes
from typing import Literal

from planloom.domain.errors import UnknownThing
from planloom.domain.values import ApprovalId, EditId, Uri
from planloom.execution.gate import Gate
from planloom.execution.proposals import sides
from planloom.execution.questions import Response
from planloom.service.requests import ApprovalDiff

_LANGUAGES = {
    "py": "python",
    "ts": "typescript",
    "tsx": "typescriptreact",
    "js": "javascript",
    "jsx": "javascriptreact",
    "md": "markdown",
    "rs": "rust",
    "cs": "csharp",
    "yml": "yaml",
    "sh": "shellscript",
}


class Approvals:
    """Pending approvals."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def respond(
        self,
        approval_id: ApprovalId,
        decision: Literal["allow", "allowForPlan", "deny", "cancel"],
        reason: str | None,
        files: tuple[Uri, ...] | None,
    ) -> None:
        """Take a person's word; it is durable when this returns. Raises UnknownThing, WrongState."""
        self._gate.questions.respond(approval_id, Response(decision, reason, files))

    async def both_sides(self, edit_id: EditId, uri: Uri) -> str | None:
        """A conflicted file with both sides between markers, for an editor that can show only one text."""
        return await self._gate.conflicts.both_sides(edit_id, uri)

    async def diff(self, approval_id: ApprovalId, uri: Uri) -> ApprovalDiff:
        """One file of a pending approval, before and after. Raises UnknownThing."""
        _, changeset = self._gate.questions.asked(approval_id)
        for change in changeset.changes:
            if change.uri == uri:
                before, after = sides(change)
                return ApprovalDiff(uri=uri, before=before, after=after, language_id=language_id(uri))
        raise UnknownThing("approval", f"{approval_id} for {uri}")


def language_id(uri: str) -> str | None:
    """The LSP language id that a file name suggests."""
    ending = uri.rpartition("/")[2].rpartition(".")[2].lower()
    if ending in _LANGUAGES:
        return _LANGUAGES[ending]
    kind = mimetypes.guess_type(f"a.{ending}")[0] or ""
    name = kind.rpartition("/")[2].removeprefix("x-")
    return name if kind.startswith(("text/", "application/json")) and name.isalpha() else None
