"""Staged changes over the workspace: read as if they had happened, while nothing has."""

from __future__ import annotations

from planloom.domain.changes import Changeset
from planloom.domain.values import Value
from planloom.workspace.view import Listing, Snapshot, WorkspaceView


class StageRefused(Value):
    """A change that cannot be staged; the sentence says what to do instead."""

    reason: str


class Overlay:
    """Staged → buffer → disk. An overlay may lie over another one: a step's over its plan's."""

    def __init__(self, under: WorkspaceView | Overlay) -> None:
        self.under = under

    async def read(self, uri: str) -> Snapshot:
        """The file as the author of the changes sees it; this reading is the base of what it writes next."""
        raise NotImplementedError

    async def peek(self, uri: str) -> Snapshot:
        """The same for Planloom's own eyes: what the author has read stays the base."""
        raise NotImplementedError

    async def list_folder(self, uri: str) -> Listing:
        """The names in a folder, staged ones among them."""
        raise NotImplementedError

    def has_read(self, uri: str) -> bool:
        """Whether the author of the changes has seen, or written, this file."""
        raise NotImplementedError

    async def stage_write(self, uri: str, text: str, *, notes: tuple[str, ...] = ()) -> StageRefused | None:
        """Let the file hold `text`, its line ends adapted to what was there; None when staged."""
        raise NotImplementedError

    async def stage_create_folder(self, uri: str) -> StageRefused | None:
        """Let the folder be there, and its parents; one that exists is fine."""
        raise NotImplementedError

    async def stage_delete(self, uri: str, *, recursive: bool = False) -> StageRefused | None:
        """Let a file go away, or a folder with, if `recursive`, everything in it."""
        raise NotImplementedError

    async def stage_rename(self, uri: str, new_uri: str) -> StageRefused | None:
        """Let a file or folder have another name; never over something that exists."""
        raise NotImplementedError

    def changeset(self) -> Changeset:
        """What is staged, one change a file, in the order in which it must happen."""
        raise NotImplementedError

    def clear(self) -> None:
        """Forget what is staged and what was read."""
        raise NotImplementedError
