"""What a tool call may use: the files as the step sees them, and the way from a path to a place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from planloom.domain.values import Uri
from planloom.workspace.editor import FileDiagnostics
from planloom.workspace.edits.overlay import Overlay
from planloom.workspace.index.file_index import FileIndex
from planloom.workspace.index.programs import TRUSTED, Programs
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath, resolve, resolve_uri
from planloom.workspace.paths.roots import Root, Roots

if TYPE_CHECKING:
    from planloom.tools.processes.run_command import CommandRunner

READ_LIMIT_BYTES = 5_000_000
"""A larger file is read by ranges only."""


class Diagnostics(Protocol):
    """Where findings of the editor's other tools come from."""

    async def __call__(self, uris: tuple[Uri, ...]) -> tuple[FileDiagnostics, ...] | None:
        """The findings for these files; None if the editor does not tell, or not in time."""
        ...


def _no_index() -> FileIndex | None:
    return None


@dataclass
class ToolContext:
    """One step's view of the workspace. Writing tools only stage; the gate turns what is staged into effects.

    `blind` collects files that a call replaces without their having been read: that counts as destroying.
    `doubtful` are files whose new text seems to have lost a part: a person is asked, whatever the policy says.
    Without an `index` the folders are walked; without `diagnostics` or `commands` the tools for them say so.
    `programs` are those that tools may start by themselves.
    """

    files: Overlay
    roots: Roots
    home: Root | None = None
    blind: set[Uri] = field(default_factory=set)
    doubtful: set[Uri] = field(default_factory=set)
    index: Callable[[], FileIndex | None] = _no_index
    diagnostics: Diagnostics | None = None
    commands: CommandRunner | None = None
    programs: Programs = TRUSTED

    async def resolve(self, path: str, for_: Literal["read", "write"]) -> ResolvedPath | PathRefused:
        """Where a path of the plan or the model leads, or why it is not used.

        A file that is only staged to have another name stays the secret that it is.
        """
        place = await asyncio.to_thread(resolve, self.roots, path, for_=for_, home=self.home)
        if isinstance(place, ResolvedPath) and not place.secret and await self.is_moved_secret(place.uri):
            return place.model_copy(update={"secret": True})
        return place

    async def is_moved_secret(self, uri: Uri) -> bool:
        """Whether a file may hold secrets by the name that it has until staged renames are made."""
        origin = self.files.origin(uri)
        if origin == uri:
            return False
        place = await self.resolve_uri(origin)
        return isinstance(place, ResolvedPath) and place.secret

    async def resolve_uri(self, uri: str) -> ResolvedPath | PathRefused:
        """The same for reading a document by its URI."""
        return await asyncio.to_thread(resolve_uri, self.roots, uri, for_="read")
