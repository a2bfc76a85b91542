"""The port to what language servers know of code: symbols, references, renames, actions, and the problems of a text.

Positions count UTF-16 code units, which every language server takes, whatever the editor has negotiated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, Protocol

from planloom.domain.changes import Changeset
from planloom.domain.problems import Judged
from planloom.domain.text.positions import Encoding, Position, Range, TextEdit
from planloom.domain.values import Uri
from planloom.workspace.editor import FileDiagnostics

ENCODING: Final[Encoding] = "utf-16"
MOST_PLACES: Final = 2_000
"""How many symbols, places or edits of one answer are read; an answer with more is cut, and says so."""

Texts = Mapping[Uri, str | None]
"""Staged texts, which stand in for those of the editor and the disk; None for a file that is staged to be gone."""
Nearby = Literal["definition", "implementation", "references", "callers", "callees"]


class NotKnown(Exception):
    """Nobody can answer: the message says why, as a sentence for people and models."""


class Symbol(NamedTuple):
    """A named thing in the code. `kind` is that of LSP in words, as `function`; `container` is what it stands in.

    `range` is the whole of it, `name_range` its name; a search by name alone may know only one of them for both.
    """

    name: str
    kind: str
    uri: Uri
    range: Range
    name_range: Range
    container: str = ""


class Place(NamedTuple):
    """A stretch of a file."""

    uri: Uri
    range: Range


class FileEdits(NamedTuple):
    """Edits of one file, all against `version` of its document if the answer names one."""

    uri: Uri
    edits: tuple[TextEdit, ...]
    version: int | None = None


class CodeChange(NamedTuple):
    """Edits of several files. `beside` are other things that belong to it, such as a file to be renamed, in words.

    `texts` are those that the edits refer to, of each file: what the source knew when it answered.
    """

    files: tuple[FileEdits, ...]
    texts: Mapping[Uri, str]
    beside: tuple[str, ...] = ()


class CodeAction(NamedTuple):
    """Something that a language server offers to do. `change` is None where it can only be done by a command of the
    server."""

    title: str
    kind: str
    change: CodeChange | None
    preferred: bool = False


ServerState = Literal["ready to start", "starting", "running", "given up", "not started", "missing"]


class ServerReport(NamedTuple):
    """A language server for people: its program, how it is, and why. One that is `missing` is for files that the
    workspace has, and nobody serves: `program` then names their suffixes, and `why` says how to get it."""

    name: str
    program: str
    state: ServerState
    why: str = ""


class Language(Protocol):
    """All that is known of the code of a workspace. `texts` are what the asker has staged.

    Every question may raise NotKnown. Answers name only files, by their normalised URIs, and are bounded in size and
    time; whether a file may be read or written is for the asker to judge.
    """

    def serves(self, uri: Uri) -> bool:
        """Whether somebody can probably answer for a file like this one. Starts nothing."""
        ...

    def judges(self, uri: Uri) -> bool:
        """Whether staged text of a file like this one can probably be judged. Starts nothing."""
        ...

    def prepare(self, uri: Uri) -> None:
        """Begin to start whoever judges files like this one, if anybody does: staged text of it may soon be judged."""
        ...

    async def symbols(self, uri: Uri, texts: Texts) -> tuple[Symbol, ...]:
        """The symbols of a file, in its order, those within others after them."""
        ...

    async def named(self, name: str, texts: Texts) -> tuple[Symbol, ...]:
        """The symbols of the workspace that a name finds, those that are called just that first."""
        ...

    async def nearby(self, what: Nearby, uri: Uri, position: Position, texts: Texts) -> tuple[Place, ...]:
        """The places that have to do with the name at a position, in the order of files and lines."""
        ...

    async def hover(self, uri: Uri, position: Position, texts: Texts) -> str:
        """What is known of the name at a position, as text; empty if nothing is."""
        ...

    async def rename(self, uri: Uri, position: Position, new_name: str, texts: Texts) -> CodeChange:
        """The edits that rename the name at a position wherever it is used."""
        ...

    async def actions(self, uri: Uri, range_: Range, texts: Texts) -> tuple[CodeAction, ...]:
        """What is offered for a stretch of a file, such as to mend a problem there or to sort the imports."""
        ...

    async def formatted(self, uri: Uri, texts: Texts) -> CodeChange:
        """The edits that format a file."""
        ...

    async def diagnostics(self, uris: tuple[Uri, ...], texts: Texts) -> tuple[FileDiagnostics, ...]:
        """The problems of files as they are staged. Raises NotKnown where no server of our own serves one of them."""
        ...

    async def judge(self, changes: Changeset, under: Texts, seconds: float) -> Judged | None:
        """The problems that changes would bring, over what is staged `under` them; None if no server judges such files.

        Waits `seconds` at most; what is not known by then is said in the judgement.
        """
        ...

    def reports(self) -> tuple[ServerReport, ...]:
        """The language servers that we have started, or can start. Blocks on file I/O."""
        ...

    async def close(self) -> None:
        """End whatever was started."""
        ...
