"""What a tool call may use: the files as the step sees them, and the way from a path to a place."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Literal

from planloom.domain.values import Uri
from planloom.workspace.overlay import Overlay
from planloom.workspace.paths import PathRefused, ResolvedPath, resolve
from planloom.workspace.roots import Root, Roots

READ_LIMIT_BYTES = 5_000_000
"""A larger file is read by ranges only (EDITS.md row 11)."""


@dataclass
class ToolContext:
    """One step's view of the workspace. Writing tools only stage; the gate turns what is staged into effects.

    `blind` collects files that a call replaces without their having been read: that counts as destroying.
    """

    files: Overlay
    roots: Roots
    home: Root | None = None
    blind: set[Uri] = field(default_factory=set)

    async def resolve(self, path: str, for_: Literal["read", "write"]) -> ResolvedPath | PathRefused:
        """Where a path of the plan or the model leads, or why it is not used."""
        return await asyncio.to_thread(resolve, self.roots, path, for_=for_, home=self.home)
