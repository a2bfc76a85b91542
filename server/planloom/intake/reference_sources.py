"""What resolving a reference needs to know, and what it comes to."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from planloom.domain.plans.attachments import ResolvedAttachment, Unresolved
from planloom.domain.text.positions import Encoding, Range
from planloom.domain.values import Uri, Value
from planloom.workspace.editor import FileDiagnostics
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath
from planloom.workspace.snapshots import Snapshot


class Context(Value):
    """Where the user was when asking: the active document and what is selected in it."""

    uri: Uri | None = None
    selections: tuple[Range, ...] = ()


class Requested(Value):
    """Something attached without being named in the text."""

    uri: Uri
    range: Range | None = None
    label: str | None = None


class Limits(NamedTuple):
    """How much is attached: bytes of one reference, bytes of all, references, bytes of an image."""

    reference_bytes: int = 262_144
    total_bytes: int = 8_000_000
    references: int = 100
    image_bytes: int = 5_000_000


class Resolution(Value):
    """What the references of a message came to, in their order, each place once."""

    attachments: tuple[ResolvedAttachment, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()


class ReferenceSources(Protocol):
    """Where the contents come from. Nothing here raises; positions are in `encoding`."""

    @property
    def encoding(self) -> Encoding: ...

    async def locate(self, path: str) -> ResolvedPath | PathRefused: ...

    async def locate_uri(self, uri: str) -> ResolvedPath | PathRefused: ...

    async def snapshot(self, uri: str) -> Snapshot: ...

    def language_id(self, uri: str) -> str | None: ...

    def listed(self) -> bool:
        """Whether every file of the workspace is known by now."""
        ...

    async def ending_with(self, tail: str) -> tuple[str, ...]:
        """The paths, folders with a slash at their end, whose last names are these."""
        ...

    async def below(self, place: ResolvedPath, limit: int) -> tuple[str, ...]:
        """The paths inside a folder, relative to it, in order, folders with a slash at their end."""
        ...

    async def image(self, place: ResolvedPath, most_bytes: int) -> bytes | None: ...

    async def diagnostics(self, uri: Uri) -> FileDiagnostics | None:
        """None if the editor does not tell."""
        ...
