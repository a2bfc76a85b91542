"""A workspace with a step's context in it: what the tests of tools stand on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planloom.domain.changes import Changeset
from planloom.tools.context import ToolContext
from planloom.tools.registry import builtin
from planloom.tools.tool import ToolResult
from planloom.workspace.edits.overlay import Overlay
from tests.workspace.room import Room


class Desk(Room):
    """A room whose files a step works on."""

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
        """What a file holds with what is staged; None if it is not there."""
        return (await self.context.files.peek(self.uri(name))).text

    def changes(self) -> Changeset:
        return self.context.files.changeset()

    def notes(self) -> tuple[str, ...]:
        """What the person who approves is told."""
        return tuple(
            note for change in self.changes().changes if change.kind == "edit" for note in change.notes
        )
