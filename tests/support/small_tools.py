"""A few tools that do nothing, with arguments that stay the same: for tests of those who only need to know of tools."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from planloom.tools.registry import Registry
from planloom.tools.tool import Tool, ToolResult, succeeded

TOOL_NAMES = frozenset(
    {
        "read_file",
        "list_files",
        "write_file",
        "edit_file",
        "create_folder",
        "rename_path",
        "delete_path",
        "run_command",
    }
)
"""The tools that a request can spell out."""


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Read(_Arguments):
    """Arguments of a reading tool."""

    path: str = Field(description="Path of the file.")
    start_line: int | None = Field(None, ge=1)


class Write(_Arguments):
    """Arguments of a writing tool."""

    path: str = Field(description="Path of the file.")
    content: str = Field(description="The whole content.", max_length=5_000_000)


class Folder(_Arguments):
    """Arguments of tools that take a path alone."""

    path: str = Field(description="Path of the folder.")


class Command(_Arguments):
    """Arguments of a command."""

    command: str = Field(description="A shell command.")


async def _nothing(arguments: Any, context: Any) -> ToolResult:
    return succeeded("done")


def small_tools() -> Registry:
    """Five tools, one at least for each effect."""
    return Registry(
        (
            Tool("read_file", "Read a text file.", Read, "read", _nothing, paths=("path",)),
            Tool(
                "write_file",
                "Create or replace a whole file.",
                Write,
                "write",
                _nothing,
                paths=("path",),
                writes=("path",),
                replaces=("path",),
            ),
            Tool(
                "create_folder",
                "Create a folder.",
                Folder,
                "write",
                _nothing,
                paths=("path",),
                writes=("path",),
            ),
            Tool(
                "delete_path",
                "Delete a file.",
                Folder,
                "destroy",
                _nothing,
                paths=("path",),
                writes=("path",),
                removes=("path",),
            ),
            Tool("run_command", "Run a command.", Command, "execute", _nothing),
        )
    )
