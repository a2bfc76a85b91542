"""What Planloom sees of a file: the open buffer first, then what the editor acknowledged, then the disk."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, assert_never

from planloom.domain.changes import sha256
from planloom.domain.protected import is_git
from planloom.domain.text import Eol, FileEncoding, dominant_eol
from planloom.domain.values import Sha256, Uri, Value
from planloom.workspace.aliases import Aliases, real_places
from planloom.workspace.disk import TEXT_LIMIT, FileOnDisk, Spot, Stamp, read, stamp_at
from planloom.workspace.documents import Document, DocumentStore
from planloom.workspace.names import shown
from planloom.workspace.paths import PathRefused, Purpose, ResolvedPath, resolve_uri
from planloom.workspace.queues import FileQueues
from planloom.workspace.roots import Roots
from planloom.workspace.uris import child, normalized, parent, to_path

MARK = "\ufeff"
"""The byte-order mark, as some editors keep it at the start of a buffer."""

Problem = Literal["binary", "undecodable", "too_large", "folder", "special", "unreadable", "refused"]
"""Why a place has no text here; `refused` is one that is never looked at, see `Snapshot.detail`."""


class Snapshot(Value):
    """One file at one moment. `text` is None where there is no file, or none that can be read as text.

    The text never holds a byte-order mark; `bom` says that the file has one. `version` is that of the open
    buffer. `uri` is the document that really holds the text, if it is open under another name. `dirty` says
    that the buffer holds what is not on disk. `size` is in bytes, 0 for a buffer. `stamp` is of the disk.
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
    stamp: Stamp | None = None


class Entry(Value):
    """One name in a folder; `size` in bytes."""

    name: str
    uri: Uri
    kind: Literal["file", "folder", "link", "special"]
    size: int = 0


class Listing(Value):
    """A folder's entries by name; `problem` says why there are none to tell."""

    uri: Uri
    entries: tuple[Entry, ...] = ()
    problem: Literal["missing", "not_a_folder", "unreadable", "refused"] | None = None
    detail: str = ""


class _Acknowledged(NamedTuple):
    """What an editor says a file holds, and the disk's state when it said so; None stands for no file."""

    text: str | None
    stamp: Stamp | None


class Look(NamedTuple):
    """One file with its place."""

    place: ResolvedPath | PathRefused
    snapshot: Snapshot


class WorkspaceView:
    """The workspace as it is now, before anything that is staged. `limit` is the largest text, in bytes."""

    def __init__(self, roots: Roots, documents: DocumentStore, *, limit: int = TEXT_LIMIT) -> None:
        self.roots = roots
        self.documents = documents
        self.limit = limit
        self.queues = FileQueues()
        self._acknowledged: dict[Uri, _Acknowledged] = {}
        self._renamed: dict[Uri, Uri] = {}
        self._aliases = Aliases(documents)
        documents.listen(self.forget)

    async def snapshot(self, uri: str) -> Snapshot:
        """The file as it is now; never raises."""
        document = self.documents.get(uri)
        if document is not None:
            return of_document(document)
        return (await self.look((uri,)))[0].snapshot

    async def look(self, uris: Sequence[str], *, for_: Purpose = "read") -> tuple[Look, ...]:
        """Many files at once, each with its place, or why it is not used for this purpose; never raises."""
        keys = [normalized(uri) for uri in uris]
        closed = frozenset(key for key in keys if self.documents.get(key) is None)
        unknown = self._aliases.unknown() if closed else ()
        seen, places = await asyncio.to_thread(self._seen, keys, closed, for_, unknown)
        self._aliases.learn(places)
        return tuple(
            Look(place, self._snapshot(key, place, found))
            for key, (place, found) in zip(keys, seen, strict=True)
        )

    async def list_folder(self, uri: str) -> Listing:
        """The names in a folder, sorted, without git's own; never raises."""
        key = normalized(uri)
        place = await asyncio.to_thread(self.locate, key, "read")
        if isinstance(place, PathRefused):
            return Listing(uri=key, problem="refused", detail=place.reason)
        listing = await asyncio.to_thread(_listed, place)
        told = {k: v for k, v in self._acknowledged.items() if parent(k) == place.uri}
        if not told or listing.problem not in (None, "missing"):
            return listing
        entries = {entry.uri: entry for entry in listing.entries}
        for known, acknowledged in told.items():
            if acknowledged.text is None:
                entries.pop(known, None)
            elif known not in entries:
                path = to_path(known)
                entries[known] = Entry(name=path.name if path else known, uri=known, kind="file")
        if listing.problem is not None and not entries:
            return listing
        return Listing(uri=place.uri, entries=tuple(sorted(entries.values(), key=lambda entry: entry.name)))

    def locate(self, uri: str, for_: Purpose) -> ResolvedPath | PathRefused:
        """The place of a URI, by the one resolver; call it from a thread."""
        return resolve_uri(self.roots, uri, for_=for_)

    async def acknowledge(self, uri: str, text: str | None) -> None:
        """Take the editor's word for what a closed file holds, until a document or the disk disagrees."""
        place = await asyncio.to_thread(self.locate, uri, "read")
        if isinstance(place, PathRefused) or self.documents.get(place.uri) is not None:
            return
        stamp = await asyncio.to_thread(stamp_at, spot(place))
        self._acknowledged[place.uri] = _Acknowledged(text, stamp)

    def acknowledged(self) -> tuple[Uri, ...]:
        """The files of which only the editor's word is known."""
        return tuple(self._acknowledged)

    def forget(self, uri: str) -> None:
        """Drop what was only acknowledged of a file: from now on its buffer or the disk tells."""
        self._acknowledged.pop(normalized(uri), None)

    def did_rename(self, uri: str, new_uri: str) -> None:
        """The user gave a file another name: changes meant for the old one must not look for it."""
        self._renamed.pop(normalized(new_uri), None)
        self._renamed[normalized(uri)] = normalized(new_uri)

    def renamed_to(self, uri: str) -> Uri | None:
        """The name that the user gave a file since, if it was told."""
        return self._renamed.get(normalized(uri))

    async def is_dirty(self, uri: str) -> bool:
        """Whether an open buffer holds what is not on disk, by comparing both; False for a closed file."""
        document = self.documents.get(uri)
        if document is None:
            return False
        if document.dirty:
            return True
        place = await asyncio.to_thread(self.locate, uri, "read")
        if isinstance(place, PathRefused):
            return True
        found = await asyncio.to_thread(read, spot(place), self.limit)
        return found.decoded is None or found.decoded.text != document.text.removeprefix(MARK)

    def _seen(
        self,
        keys: Sequence[Uri],
        closed: frozenset[Uri],
        purpose: Purpose,
        unknown: tuple[tuple[Uri, Path], ...],
    ) -> tuple[list[tuple[ResolvedPath | PathRefused, FileOnDisk | None]], dict[Uri, str]]:
        """The places and what is there on disk; runs in a thread."""
        seen: list[tuple[ResolvedPath | PathRefused, FileOnDisk | None]] = []
        for key in keys:
            place = self.locate(key, purpose)
            found = None
            if key in closed and isinstance(place, ResolvedPath):
                found = read(spot(place), self.limit)
            seen.append((place, found))
        return seen, real_places(unknown)

    def _snapshot(self, key: Uri, place: ResolvedPath | PathRefused, found: FileOnDisk | None) -> Snapshot:
        document = self.documents.get(key)
        if document is None and isinstance(place, ResolvedPath):
            document = self.documents.get(place.uri) or self.documents.get(self._aliases.at(place.path) or "")
        if document is not None:
            # The editor may have opened the file while the disk was read: its buffer is the truth.
            return of_document(document)
        if isinstance(place, PathRefused):
            return Snapshot(uri=key, exists=False, problem="refused", detail=place.reason)
        if found is None:
            # It was closed in this very moment, which is too rare for a second turn in a thread.
            found = read(spot(place), self.limit)
        told = self._acknowledged.get(place.uri)
        if told is None:
            return _of_disk(place.uri, found)
        if told.stamp == found.stamp:
            return _of_acknowledged(place.uri, told, found)
        del self._acknowledged[place.uri]
        return _of_disk(place.uri, found)


def spot(place: ResolvedPath) -> Spot:
    """A resolved path for the disk: its real root, and the names below it."""
    if place.relative == ".":
        return Spot(place.path, ())
    names = tuple(place.relative.split("/"))
    return Spot(place.path.parents[len(names) - 1], names)


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


def _of_acknowledged(uri: Uri, told: _Acknowledged, found: FileOnDisk) -> Snapshot:
    return Snapshot(
        uri=uri,
        exists=told.text is not None,
        text=told.text,
        sha256=sha256(told.text) if told.text is not None else None,
        eol=dominant_eol(told.text) if told.text is not None else None,
        bom=found.decoded is not None and found.decoded.bom,
        encoding=found.decoded.encoding if found.decoded is not None else "utf-8",
        source="acknowledged",
        stamp=found.stamp,
    )


def _of_disk(uri: Uri, found: FileOnDisk) -> Snapshot:
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
                stamp=found.stamp,
            )
        case "binary" | "undecodable" | "too_large" | "folder" | "special" | "unreadable":
            return Snapshot(
                uri=uri,
                exists=True,
                problem=found.kind,
                detail=found.detail,
                size=found.size,
                stamp=found.stamp,
            )
        case _:
            assert_never(found.kind)


def _listed(place: ResolvedPath) -> Listing:
    entries = []
    try:
        with os.scandir(place.path) as names:
            for found in names:
                entry = _entry(place, found)
                if entry is not None and not is_git(found.name):
                    entries.append(entry)
    except FileNotFoundError:
        return Listing(uri=place.uri, problem="missing", detail=f"{shown(place.relative)} is not there.")
    except NotADirectoryError:
        return Listing(uri=place.uri, problem="not_a_folder", detail=f"{shown(place.relative)} is no folder.")
    except OSError as error:
        return Listing(
            uri=place.uri, problem="unreadable", detail=f"{shown(place.relative)}: {error.strerror}."
        )
    return Listing(uri=place.uri, entries=tuple(sorted(entries, key=lambda entry: entry.name)))


def _entry(place: ResolvedPath, found: os.DirEntry[str]) -> Entry | None:
    """The entry for a name; None if it went away while the folder was listed."""
    uri = child(place.uri, found.name)
    if found.is_symlink():
        return Entry(name=found.name, uri=uri, kind="link")
    if found.is_dir(follow_symlinks=False):
        return Entry(name=found.name, uri=uri, kind="folder")
    try:
        info = found.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISREG(info.st_mode):
        return Entry(name=found.name, uri=uri, kind="file", size=info.st_size)
    return Entry(name=found.name, uri=uri, kind="special")
