"""What Planloom sees of a file: the open buffer first, then what the editor acknowledged, then the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from planloom.domain.text.positions import Decoded, with_eol
from planloom.domain.values import Uri
from planloom.workspace.disk import TEXT_LIMIT, ConfinedPath, FileFingerprint, FileOnDisk, read, stamp_at
from planloom.workspace.documents import Document, DocumentStore
from planloom.workspace.path_locks import PathLocks
from planloom.workspace.paths.listings import Entry, Listing, listed
from planloom.workspace.paths.resolver import PathRefused, Purpose, ResolvedPath, resolve_uri
from planloom.workspace.paths.roots import Roots
from planloom.workspace.paths.uris import is_below, normalized, parent, to_path
from planloom.workspace.real_paths import RealPathIndex, real_places
from planloom.workspace.snapshots import MARK, Snapshot, of_acknowledged, of_disk, of_document


class _Acknowledged(NamedTuple):
    """What an editor says a file holds, and the disk's state when it said so; None stands for no file."""

    text: str | None
    fingerprint: FileFingerprint | None


class ResolvedSnapshot(NamedTuple):
    """One file with its place."""

    place: ResolvedPath | PathRefused
    snapshot: Snapshot


class WorkspaceView:
    """The workspace as it is now, before anything that is staged. `limit` is the largest text, in bytes."""

    def __init__(self, roots: Roots, documents: DocumentStore, *, limit: int = TEXT_LIMIT) -> None:
        self.roots = roots
        self.documents = documents
        self.limit = limit
        self.queues = PathLocks()
        self._acknowledged: dict[Uri, _Acknowledged] = {}
        self._overtaken: set[Uri] = set()
        self._renamed: dict[Uri, Uri] = {}
        self._aliases = RealPathIndex(documents)
        documents.listen(self.forget)

    async def snapshot(self, uri: str) -> Snapshot:
        """The file as it is now; never raises."""
        document = self.buffer(uri)
        if document is not None:
            return of_document(document)
        return (await self.look((uri,)))[0].snapshot

    def buffer(self, uri: str) -> Document | None:
        """The open document, unless the file was changed on disk under it and the editor has not said more since."""
        document = self.documents.get(uri)
        return None if document is None or document.uri in self._overtaken else document

    def overtake(self, uri: str) -> tuple[Uri, ...]:
        """From now on the disk tells what is at and below a place, until the editor says something of a document.

        The documents there of which the editor still told until now.

        For a change on disk under buffers in which nothing is unsaved: the editor reloads them when it sees fit.
        """
        key = normalized(uri)
        places = (document.uri for document in self.documents.all())
        there = tuple(place for place in places if place == key or is_below(place, key))
        fresh = tuple(place for place in there if place not in self._overtaken)
        self._overtaken.update(fresh)
        return fresh

    def is_overtaken(self, uri: str) -> bool:
        """Whether a file is open and its buffer is older than the disk."""
        return normalized(uri) in self._overtaken

    async def look(self, uris: Sequence[str], *, for_: Purpose = "read") -> tuple[ResolvedSnapshot, ...]:
        """Many files at once, each with its place, or why it is not used for this purpose; never raises."""
        keys = [normalized(uri) for uri in uris]
        closed = frozenset(key for key in keys if self.buffer(key) is None)
        unknown = self._aliases.unknown() if closed else ()
        seen, places = await asyncio.to_thread(self._seen, keys, closed, for_, unknown)
        self._aliases.learn(places)
        return tuple(
            ResolvedSnapshot(place, self._snapshot(key, place, found))
            for key, (place, found) in zip(keys, seen, strict=True)
        )

    async def list_folder(self, uri: str) -> Listing:
        """The names in a folder, sorted, without git's own; never raises."""
        key = normalized(uri)
        place = await asyncio.to_thread(self.locate, key, "read")
        if isinstance(place, PathRefused):
            return Listing(uri=key, problem="refused", detail=place.reason)
        listing = await asyncio.to_thread(listed, place)
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
        fingerprint = await asyncio.to_thread(stamp_at, spot(place))
        self._acknowledged[place.uri] = _Acknowledged(text, fingerprint)

    def acknowledged(self) -> tuple[Uri, ...]:
        """The files of which only the editor's word is known."""
        return tuple(self._acknowledged)

    def forget(self, uri: str) -> None:
        """Drop what was only acknowledged of a file: from now on its buffer or the disk tells."""
        self._acknowledged.pop(normalized(uri), None)
        self._overtaken.discard(normalized(uri))

    def did_rename(self, uri: str, new_uri: str) -> None:
        """A file got another name, by the user or an edit: changes meant for the old one must not look for it."""
        self._renamed.pop(normalized(new_uri), None)
        self._renamed[normalized(uri)] = normalized(new_uri)

    def renamed_to(self, uri: str) -> Uri | None:
        """The name that a file has got since, if it was told."""
        return self._renamed.get(normalized(uri))

    async def saved_text(self, uri: str) -> str | None:
        """The text on disk, whatever is open; None if there is none."""
        found = await self.saved(uri)
        return found.text if found is not None else None

    async def saved(self, uri: str) -> Decoded | None:
        """The text on disk with its form, whatever is open; None if there is none."""
        place = await asyncio.to_thread(self.locate, uri, "read")
        if isinstance(place, PathRefused):
            return None
        return (await asyncio.to_thread(read, spot(place), self.limit)).decoded

    async def is_dirty(self, uri: str) -> bool:
        """Whether an open buffer holds what is not on disk, by comparing both; False for a closed file.

        An editor that reloads a file says no more than that its text has changed, and one that has not done so
        yet still shows what was on disk: neither has anything to save.
        """
        if self.buffer(uri) is None:
            return False
        place = await asyncio.to_thread(self.locate, uri, "read")
        found = (
            None if isinstance(place, PathRefused) else await asyncio.to_thread(read, spot(place), self.limit)
        )
        document = self.documents.get(uri)
        if document is None or found is None:
            return document is not None
        if found.decoded is None and found.kind != "missing":
            return document.dirty
        text = document.text.removeprefix(MARK)
        saved = found.decoded.text if found.decoded is not None else None
        if saved == text or (saved is not None and not document.dirty and _alike(saved, text)):
            self.documents.note_saved(uri, document.text)
            return False
        return not self.documents.is_as_saved(uri)

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
        document = self.buffer(key)
        if document is None and isinstance(place, ResolvedPath):
            document = self.buffer(place.uri) or self.buffer(self._aliases.at(place.path) or "")
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
            return of_disk(place.uri, found)
        if told.fingerprint == found.fingerprint:
            return of_acknowledged(place.uri, told.text, found)
        del self._acknowledged[place.uri]
        return of_disk(place.uri, found)


def _alike(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but line ends, which an editor makes uniform as it opens a file."""
    return with_eol(one, "\n") == with_eol(other, "\n")


def spot(place: ResolvedPath) -> ConfinedPath:
    """A resolved path for the disk: its real root, and the names below it."""
    if place.relative == ".":
        return ConfinedPath(place.path, ())
    names = tuple(place.relative.split("/"))
    return ConfinedPath(place.path.parents[len(names) - 1], names)
