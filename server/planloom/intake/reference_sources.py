"""The inputs and results of resolving references, and the port to their contents."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from planloom.domain.plans.attachments import Attachment, ResolvedAttachment, Unresolved
from planloom.domain.text.positions import Encoding, Range
from planloom.domain.values import Sha256, Uri, Value
from planloom.intake.references import LineSpan
from planloom.tools.external_tools import NotThere
from planloom.workspace.editor import FileDiagnostics
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath
from planloom.workspace.snapshots import Snapshot


class Context(Value):
    """The active document, its selections, and the chosen text of a terminal at the time of the request."""

    uri: Uri | None = None
    selections: tuple[Range, ...] = ()
    terminal: str | None = None


class Requested(Value):
    """Something that the client attaches without a reference in the text."""

    uri: Uri
    range: Range | None = None
    label: str | None = None


class Limits(NamedTuple):
    """Limits of what is attached: bytes of one reference, bytes of all, number of references, bytes of an image."""

    reference_bytes: int = 262_144
    total_bytes: int = 8_000_000
    references: int = 100
    image_bytes: int = 5_000_000


class Changes(NamedTuple):
    """A diff for people and models, without files that may hold secrets; or why there is none."""

    diff: str | None
    problem: str = ""


class Resolution(NamedTuple):
    """The results of the references of a message, in their order, without duplicates."""

    attachments: tuple[ResolvedAttachment, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()

    @property
    def plain(self) -> tuple[Attachment, ...]:
        """The attachments without their contents."""
        return tuple(each.attachment for each in self.attachments)

    @property
    def texts(self) -> tuple[tuple[Sha256, str], ...]:
        """The attached texts by hash."""
        return tuple(
            (each.attachment.sha256, each.text)
            for each in self.attachments
            if each.attachment.sha256 is not None and each.text is not None
        )


class SymbolPlace(NamedTuple):
    """A symbol in the code: its name, behind that of what it stands in for a part of a class, and its lines."""

    name: str
    kind: str
    place: ResolvedPath
    lines: LineSpan


class ReferenceSources(Protocol):
    """Access to the contents that references name. No method raises; positions are in `encoding`."""

    @property
    def encoding(self) -> Encoding: ...

    async def locate(self, path: str) -> ResolvedPath | PathRefused: ...

    async def locate_uri(self, uri: str) -> ResolvedPath | PathRefused: ...

    async def snapshot(self, uri: str) -> Snapshot: ...

    def language_id(self, uri: str) -> str | None: ...

    def listed(self) -> bool:
        """Whether the list of the workspace's files is complete."""
        ...

    async def ending_with(self, tail: str) -> tuple[str, ...]:
        """The paths that end with the names of `tail`; folders end with a slash."""
        ...

    async def below(self, place: ResolvedPath, limit: int) -> tuple[str, ...]:
        """The paths inside a folder, relative to it and sorted; folders end with a slash."""
        ...

    async def image(self, place: ResolvedPath, most_bytes: int) -> bytes | None: ...

    async def diagnostics(self, uri: Uri) -> FileDiagnostics | None:
        """The diagnostics of a file; None if the editor does not provide any."""
        ...

    async def problems(self) -> tuple[FileDiagnostics, ...] | None:
        """The diagnostics of every file that the editor tells of; None if it does not provide any."""
        ...

    async def symbols(self, name: str) -> tuple[SymbolPlace, ...]:
        """The symbols that are called just this, such as `Class.method`; empty if nobody knows the code, or in time."""
        ...

    async def resource(self, server: str, uri: str) -> str | NotThere | None:
        """The text of what an MCP server offers, or why there is none; None if the user has no server of this name."""
        ...

    async def changes(self, path: str) -> Changes:
        """The changes that git reports since the last commit at or below a path; "" for the whole workspace."""
        ...
