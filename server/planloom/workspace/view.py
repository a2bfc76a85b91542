"""What Planloom sees of a file: the open buffer first, then what the editor acknowledged, then the disk."""

from __future__ import annotations

from typing import Literal

from planloom.domain.text import Eol
from planloom.domain.values import Sha256, Uri, Value
from planloom.workspace.documents import DocumentStore
from planloom.workspace.roots import Roots

Problem = Literal["binary", "undecodable", "too_large", "folder", "special", "unreadable", "foreign"]
"""Why a file that exists has no text here; `foreign` is a URI that names no file of this machine."""


class Snapshot(Value):
    """One file at one moment. `text` is None where there is no file, or none that can be read as text.

    The text never holds a byte-order mark; `bom` says that the file has one. `version` is that of the open
    buffer. `uri` is the document that really holds the text, when it is open under another name.
    """

    uri: Uri
    exists: bool
    text: str | None = None
    sha256: Sha256 | None = None
    version: int | None = None
    eol: Eol | None = None
    bom: bool = False
    encoding: Literal["utf-8", "utf-16-le", "utf-16-be"] = "utf-8"
    source: Literal["buffer", "acknowledged", "disk"] = "disk"
    problem: Problem | None = None
    detail: str = ""
    size: int = 0
    dirty: bool = False


class Entry(Value):
    """One name in a folder."""

    name: str
    uri: Uri
    kind: Literal["file", "folder", "link", "special"]
    size: int = 0


class Listing(Value):
    """A folder's entries by name; `problem` says why there are none to tell."""

    uri: Uri
    entries: tuple[Entry, ...] = ()
    problem: Literal["missing", "not_a_folder", "unreadable", "foreign"] | None = None
    detail: str = ""


class WorkspaceView:
    """The workspace as it is now, before anything that is staged."""

    def __init__(self, roots: Roots, documents: DocumentStore) -> None:
        self.roots = roots
        self.documents = documents

    async def snapshot(self, uri: str) -> Snapshot:
        """The file as it is now; never raises."""
        raise NotImplementedError

    async def list_folder(self, uri: str) -> Listing:
        """The names in a folder; never raises."""
        raise NotImplementedError
