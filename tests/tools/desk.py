"""A test workspace with the context of a step, for the tests of tools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planloom.domain.changes import Changeset
from planloom.tools.context import ToolContext
from planloom.tools.registry import builtin
from planloom.tools.tool import ToolResult
from planloom.workspace.staged.overlay import Overlay
from tests.workspace.room import Room


class Desk(Room):
    """A `Room` with an overlay and a tool context."""

    def __init__(self, folder: Path, files: Mapping[str, str | bytes] = {}, **more: Any) -> None:
        super().__init__(folder, files)
        self.context = ToolContext(files=Overlay(self.view), roots=self.view.roots, **more)

    async def call(self, tool: str, **args: Any) -> ToolResult:
        """Call a tool of the registry with these arguments."""
        found = builtin().get(tool)
        assert found is not None
        result = await found.run(found.arguments.model_validate(args), self.context)
        assert len(result.summary) <= 500
        return result

    async def staged(self, name: str) -> str | None:
        """The text of a file with staged changes; None if it does not exist."""
        return (await self.context.files.peek(self.uri(name))).text

    def changes(self) -> Changeset:
        return self.context.files.changeset()

    def notes(self) -> tuple[str, ...]:
        """The notes for the person who approves."""
        return tuple(
            note for change in self.changes().changes if change.kind == "edit" for note in change.notes
        )
