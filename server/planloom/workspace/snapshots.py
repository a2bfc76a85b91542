"""Immutable snapshots of files: the text with its properties, or why there is none."""

from __future__ import annotations

from typing import Literal, NamedTuple, assert_never

from planloom.domain.changes import sha256
from planloom.domain.text.positions import Eol, FileEncoding, FileForm, dominant_eol
from planloom.domain.values import Sha256, Uri
from planloom.workspace.disk import FileFingerprint, FileOnDisk
from planloom.workspace.documents import Document

BOM = "\ufeff"
"""The byte-order mark, which some editors keep at the start of a buffer."""

Problem = Literal["binary", "undecodable", "too_large", "folder", "special", "unreadable", "refused"]
"""Why there is no text; a `refused` path is never read, `Snapshot.detail` says why."""


class Snapshot(NamedTuple):
    """One file at one moment. `text` is None if there is no file or it cannot be read as text.

    The text never contains a byte-order mark; `bom` says that the file has one. For an open buffer `bom` and
    `encoding` are unreliable, since the editor may hide them. `version` is that of the open buffer. `uri` is that
    of the document, if the file is open under another name. `dirty`: the buffer has unsaved text. `size` is in
    bytes, 0 for a buffer. `fingerprint` is that of the file on disk. The source `implied` is that of a folder which
    exists only by what is staged in it.
    """

    uri: Uri
    exists: bool
    text: str | None = None
    sha256: Sha256 | None = None
    version: int | None = None
    eol: Eol | None = None
    bom: bool = False
    encoding: FileEncoding = "utf-8"
    source: Literal["staged", "implied", "buffer", "acknowledged", "disk"] = "disk"
    problem: Problem | None = None
    detail: str = ""
    size: int = 0
    dirty: bool = False
    fingerprint: FileFingerprint | None = None

    @property
    def form(self) -> FileForm:
        """Encoding and byte-order mark of the file."""
        return FileForm(encoding=self.encoding, bom=self.bom)


def of_document(document: Document) -> Snapshot:
    """The snapshot of an open buffer."""
    snapshot = Snapshot(
        uri=document.uri,
        exists=True,
        version=document.version,
        bom=document.text.startswith(BOM),
        source="buffer",
        dirty=document.dirty,
    )
    return _with_text(snapshot, document.text.removeprefix(BOM))


def of_acknowledged(uri: Uri, text: str, found: FileOnDisk) -> Snapshot:
    """The snapshot of a closed file with the text that the editor reported."""
    form = found.decoded or FileForm()
    snapshot = Snapshot(
        uri=uri,
        exists=True,
        bom=form.bom,
        encoding=form.encoding,
        source="acknowledged",
        fingerprint=found.fingerprint,
    )
    return _with_text(snapshot, text)


def of_disk(uri: Uri, found: FileOnDisk) -> Snapshot:
    """The snapshot of a file on disk."""
    match found.kind:
        case "missing":
            return Snapshot(uri=uri, exists=False)
        case "text":
            assert found.decoded is not None
            snapshot = Snapshot(
                uri=uri,
                exists=True,
                bom=found.decoded.bom,
                encoding=found.decoded.encoding,
                size=found.size,
                fingerprint=found.fingerprint,
            )
            return _with_text(snapshot, found.decoded.text)
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


def _with_text(snapshot: Snapshot, text: str) -> Snapshot:
    return snapshot._replace(text=text, sha256=sha256(text), eol=dominant_eol(text))
