"""A file at one moment: its text with all that is known of it, or why there is none."""

from __future__ import annotations

from typing import Literal, assert_never

from planloom.domain.changes import sha256
from planloom.domain.text.positions import Eol, FileEncoding, FileForm, dominant_eol
from planloom.domain.values import Sha256, Uri, Value
from planloom.workspace.disk import FileFingerprint, FileOnDisk
from planloom.workspace.documents import Document

MARK = "\ufeff"
"""The byte-order mark, as some editors keep it at the start of a buffer."""

Problem = Literal["binary", "undecodable", "too_large", "folder", "special", "unreadable", "refused"]
"""Why a place has no text here; `refused` is one that is never looked at, see `Snapshot.detail`."""


class Snapshot(Value):
    """One file at one moment. `text` is None where there is no file, or none that can be read as text.

    The text never holds a byte-order mark; `bom` says that the file has one. That and `encoding` are not known of an
    open buffer, which may hide them. `version` is that of the open
    buffer. `uri` is the document that really holds the text, if it is open under another name. `dirty` says
    that the buffer holds what is not on disk. `size` is in bytes, 0 for a buffer. `fingerprint` is of the disk.
    """

    uri: Uri
    exists: bool
    text: str | None = None
    sha256: Sha256 | None = None
    version: int | None = None
    eol: Eol | None = None
    bom: bool = False
    encoding: FileEncoding = "utf-8"
    source: Literal["staged", "buffer", "acknowledged", "disk"] = "disk"
    problem: Problem | None = None
    detail: str = ""
    size: int = 0
    dirty: bool = False
    fingerprint: FileFingerprint | None = None

    @property
    def form(self) -> FileForm:
        """How the text is written as a file."""
        return FileForm(encoding=self.encoding, bom=self.bom)


def of_document(document: Document) -> Snapshot:
    """The snapshot of an open buffer."""
    text = document.text.removeprefix(MARK)
    return Snapshot(
        uri=document.uri,
        exists=True,
        text=text,
        sha256=sha256(text),
        version=document.version,
        eol=dominant_eol(text),
        bom=document.text.startswith(MARK),
        source="buffer",
        dirty=document.dirty,
    )


def of_acknowledged(uri: Uri, text: str | None, found: FileOnDisk) -> Snapshot:
    """The snapshot of a file by what its editor says it holds."""
    return Snapshot(
        uri=uri,
        exists=text is not None,
        text=text,
        sha256=sha256(text) if text is not None else None,
        eol=dominant_eol(text) if text is not None else None,
        bom=found.decoded is not None and found.decoded.bom,
        encoding=found.decoded.encoding if found.decoded is not None else "utf-8",
        source="acknowledged",
        fingerprint=found.fingerprint,
    )


def of_disk(uri: Uri, found: FileOnDisk) -> Snapshot:
    """The snapshot of a file as it is on disk."""
    match found.kind:
        case "missing":
            return Snapshot(uri=uri, exists=False)
        case "text":
            assert found.decoded is not None
            text = found.decoded.text
            return Snapshot(
                uri=uri,
                exists=True,
                text=text,
                sha256=sha256(text),
                eol=dominant_eol(text),
                bom=found.decoded.bom,
                encoding=found.decoded.encoding,
                size=found.size,
                fingerprint=found.fingerprint,
            )
        case "binary" | "undecodable" | "too_large" | "folder" | "special" | "unreadable":
            return Snapshot(
                uri=uri,
                exists=True,
                problem=found.kind,
                detail=found.detail,
                size=found.size,
                fingerprint=found.fingerprint,
            )
        case _:
            assert_never(found.kind)
