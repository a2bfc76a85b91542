"""Reads files as Planloom sees them: the open buffer first, then text the editor acknowledged, then the disk."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from planloom.domain.text.positions import Decoded, differ_only_in_eol
from planloom.domain.values import Uri
from planloom.workspace.disk import (
    TEXT_LIMIT,
    ConfinedPath,
    FileFingerprint,
    FileOnDisk,
    fingerprint_at,
    read,
)
from planloom.workspace.documents import Document, DocumentStore
from planloom.workspace.moves import Move
from planloom.workspace.path_locks import PathLocks
from planloom.workspace.paths.listings import Listing, list_on_disk
from planloom.workspace.paths.names import quoted
from planloom.workspace.paths.resolver import PathRefused, Purpose, ResolvedPath, Resolver, resolve_uri
from planloom.workspace.paths.roots import Root, Roots
from planloom.workspace.paths.uris import is_at_or_below, normalized
from planloom.workspace.real_paths import RealPathIndex, resolve_real_paths
from planloom.workspace.snapshots import BOM, Snapshot, of_acknowledged, of_disk, of_document
from planloom.workspace.unanswered import UnansweredEdits

T = TypeVar("T")
Places = Sequence[ResolvedPath | PathRefused]


class _Acknowledged(NamedTuple):
    """The text that an editor reported for a closed file, and the file's fingerprint at that time."""

    text: str
    fingerprint: FileFingerprint | None


class ResolvedSnapshot(NamedTuple):
    """One file: its resolved path and its snapshot."""

    place: ResolvedPath | PathRefused
    snapshot: Snapshot


Refresh = Callable[[Iterable[Uri]], Awaitable[frozenset[Uri]]]
"""Fetches what is at these URIs now, where only the editor can reach them; returns those of which it cannot tell."""


async def nothing_refreshed(_: Iterable[Uri]) -> frozenset[Uri]:
    """The default: everything is on a disk of this machine."""
    return frozenset()


class WorkspaceView:
    """The current workspace, without staged changes. `limit` is the largest text, in bytes.

    `moves` are the user's renames, in order.
    """

    def __init__(
        self,
        roots: Roots,
        documents: DocumentStore,
        *,
        limit: int = TEXT_LIMIT,
        refresh: Refresh = nothing_refreshed,
    ) -> None:
        self.roots = roots
        self.documents = documents
        self.limit = limit
        self.refresh = refresh
        self.locks = PathLocks()
        self.unanswered = UnansweredEdits(documents, self.locks)
        self._acknowledged: dict[Uri, _Acknowledged] = {}
        self._stale: dict[Uri, frozenset[str]] = {}
        self.moves: list[Move] = []
        self._own_renames: set[Move] = set()
        self._renamed: dict[Uri, Uri] = {}
        self._rename_listeners: list[Callable[[Move], None]] = []
        self._real_paths = RealPathIndex(documents)
        documents.listen(self.forget)

    async def snapshot(self, uri: str) -> Snapshot:
        """The file's current state; never raises."""
        return (await self.snapshots((uri,)))[0]

    async def snapshots(
        self, uris: Sequence[str], ahead: MutableMapping[Uri, Snapshot] | None = None
    ) -> tuple[Snapshot, ...]:
        """The current states of several files, the closed ones read in one thread; never raises.

        A closed file that was read `ahead` is taken from there, once.
        """
        found: dict[str, Snapshot] = {}
        for uri in uris:
            document = self.buffer(uri)
            if document is not None:
                found[uri] = of_document(document)
            elif ahead and uri in ahead:
                found[uri] = ahead.pop(Uri(uri))
        closed = [uri for uri in uris if uri not in found]
        if closed:
            resolved = await self.resolve_all(closed)
            found |= {uri: each.snapshot for uri, each in zip(closed, resolved, strict=True)}
        return tuple(found[uri] for uri in uris)

    def buffer(self, uri: str) -> Document | None:
        """The open document; None if it is closed or stale."""
        document = self.documents.get(uri)
        return None if document is None or document.uri in self._stale else document

    def mark_stale(self, uri: str, before: str | None, after: str | None) -> Mapping[Uri, frozenset[str]]:
        """Before a change on disk under saved buffers, of the text `before` to `after`: read the documents at and below
        a URI from disk until the editor reports another text than those that were there before, since it reloads them
        at its own pace, and what it has reported of an earlier change may still be under way.

        Returns the older texts of these documents until now, for `unmark_stale`.
        """
        key, known = normalized(uri), {}
        for document in self.documents.all():
            if is_at_or_below(document.uri, key):
                known[document.uri] = self._stale.get(document.uri, frozenset())
                older = known[document.uri] | {document.text.removeprefix(BOM)}
                if before is not None:
                    older |= {before}
                self._stale[document.uri] = older - {after}
        return known

    def unmark_stale(self, known: Mapping[Uri, frozenset[str]]) -> None:
        """The change that `mark_stale` was told of has not been made."""
        self._stale.update(known)
        self._stale = {uri: older for uri, older in self._stale.items() if older}

    def is_stale(self, uri: str) -> bool:
        """Whether the file is open and its buffer is older than the disk."""
        return normalized(uri) in self._stale

    async def resolve_all(
        self, uris: Sequence[str], *, for_: Purpose = "read"
    ) -> tuple[ResolvedSnapshot, ...]:
        """Resolve and read many files in one thread; a refused path has an empty snapshot. Never raises."""
        return (await self.resolve_with(uris, lambda _: None, for_=for_))[0]

    async def resolve_with(
        self, uris: Sequence[str], look: Callable[[Places], T], *, for_: Purpose
    ) -> tuple[tuple[ResolvedSnapshot, ...], T]:
        """Like `resolve_all`, and what `look` finds out about the resolved paths, in the same thread."""
        keys = [normalized(uri) for uri in uris]
        unknown = await self.refresh(keys)
        closed = frozenset(key for key in keys if self.buffer(key) is None)
        unresolved = self._real_paths.unresolved() if closed else ()

        def looked() -> tuple[list[tuple[ResolvedPath | PathRefused, FileOnDisk | None]], dict[Uri, str], T]:
            files, real_paths = self._resolve_and_read(keys, closed, for_, unresolved)
            files = [
                (_unknown(key), None) if key in unknown else file
                for key, file in zip(keys, files, strict=True)
            ]
            return files, real_paths, look([place for place, _ in files])

        files, real_paths, seen = await asyncio.to_thread(looked)
        self._real_paths.add(real_paths)
        snapshots = tuple(
            ResolvedSnapshot(place, self._to_snapshot(key, place, found))
            for key, (place, found) in zip(keys, files, strict=True)
        )
        return snapshots, seen

    async def look_up(
        self, paths: Sequence[tuple[str, Purpose]], home: Root | None
    ) -> tuple[tuple[ResolvedPath | PathRefused, Snapshot | None], ...]:
        """Resolve paths of a model or a plan and read the closed files there, in one thread; never raises.

        Nothing is read that is refused or may hold secrets.
        """
        opened = frozenset(document.uri for document in self.documents.all())
        unresolved = self._real_paths.unresolved()

        def looked() -> tuple[list[tuple[ResolvedPath | PathRefused, FileOnDisk | None]], dict[Uri, str]]:
            resolver = Resolver(self.roots)
            files: list[tuple[ResolvedPath | PathRefused, FileOnDisk | None]] = []
            for text, for_ in paths:
                place = resolver.path(text, for_=for_, home=home)
                found = None
                if (
                    isinstance(place, ResolvedPath)
                    and not place.secret
                    and not place.root.is_virtual
                    and place.uri not in opened
                ):
                    found = read(confined_path(place), self.limit)
                files.append((place, found))
            return files, resolve_real_paths(unresolved)

        files, real_paths = await asyncio.to_thread(looked)
        self._real_paths.add(real_paths)
        return tuple(
            (
                place,
                self._to_snapshot(place.uri, place, found)
                if isinstance(place, ResolvedPath) and found
                else None,
            )
            for place, found in files
        )

    async def list_folder(self, uri: str) -> Listing:
        """The entries of a folder, sorted, without git's own; never raises."""
        return await asyncio.to_thread(self._locate_and_list, normalized(uri))

    def _locate_and_list(self, key: Uri) -> Listing:
        place = self.locate(key, "read")
        if isinstance(place, PathRefused):
            return Listing(uri=key, problem="refused", detail=place.reason)
        return list_on_disk(place)

    def has(self, path: str) -> bool:
        """Whether a workspace folder has a file or folder at this relative path; links are not followed."""
        return bool(path.strip("./")) and any(
            os.path.lexists(root.path / path) for root in self.roots.folders
        )

    def locate(self, uri: str, for_: Purpose) -> ResolvedPath | PathRefused:
        """Resolve a URI; call it from a thread."""
        return resolve_uri(self.roots, uri, for_=for_)

    async def acknowledge(self, uri: str, text: str) -> None:
        """Assume that a closed file has this text, as the editor reported, until a document or the disk differs."""
        place = await asyncio.to_thread(self.locate, uri, "read")
        if isinstance(place, PathRefused) or self.documents.get(place.uri) is not None:
            return
        fingerprint = await asyncio.to_thread(fingerprint_at, confined_path(place))
        self._acknowledged[place.uri] = _Acknowledged(text, fingerprint)

    def acknowledged(self) -> tuple[Uri, ...]:
        """The files whose text is known from the editor's report alone."""
        return tuple(self._acknowledged)

    def forget(self, uri: str) -> None:
        """Drop a file's acknowledged text, and its stale mark unless its buffer has one of the older texts: its buffer
        or the disk is read from now on.
        """
        key = normalized(uri)
        self._acknowledged.pop(key, None)
        older, document = self._stale.get(key), self.documents.get(key)
        if older is not None and (document is None or document.text.removeprefix(BOM) not in older):
            del self._stale[key]

    def did_rename(self, uri: str, new_uri: str) -> None:
        """Record a rename by the user or an edit, so that later changes to the old name can be refused with the new."""
        self._renamed.pop(normalized(new_uri), None)
        self._renamed[normalized(uri)] = normalized(new_uri)

    def expect_renames(self, renames: Iterable[Move]) -> None:
        """Before an edit: the editor will tell of these renames as if the user had made them."""
        self._own_renames.update(renames)

    def forget_renames(self, renames: Iterable[Move]) -> None:
        """The editor has not made these renames."""
        self._own_renames.difference_update(renames)

    def told_of_rename(self, uri: str, new_uri: str) -> None:
        """Record a rename of which the editor tells, unless it is part of an edit."""
        move = Move(normalized(uri), normalized(new_uri))
        own = [each for each in self._own_renames if each.renamed(move.old) == move.new]
        self._own_renames.difference_update([move] if own else self._overlapping(move))
        if own or move.old == move.new:
            return
        self.did_rename(*move)
        self.moves.append(move)
        for listener in self._rename_listeners:
            listener(move)

    def on_rename(self, listener: Callable[[Move], None]) -> None:
        """Call `listener` with each rename by the user."""
        self._rename_listeners.append(listener)

    def _overlapping(self, move: Move) -> list[Move]:
        return [each for each in self._own_renames if not {*each}.isdisjoint(move)]

    def renamed_to(self, uri: str) -> Uri | None:
        """The new name of a file that was renamed; None if no rename was recorded."""
        return self._renamed.get(normalized(uri))

    async def saved_text(self, uri: str) -> str | None:
        """The text on disk, even if the file is open; None if there is none."""
        found = await self.saved(uri)
        return found.text if found is not None else None

    async def saved(self, uri: str) -> Decoded | None:
        """The decoded text on disk, even if the file is open; None if there is none."""
        await self.refresh((normalized(uri),))
        place = await asyncio.to_thread(self.locate, uri, "read")
        if isinstance(place, PathRefused):
            return None
        return (await asyncio.to_thread(read, confined_path(place), self.limit)).decoded

    async def unsaved(self) -> tuple[Uri, ...]:
        """The open documents with unsaved text of the user or of plans, in the order in which they were opened."""
        documents = self.documents.all()
        return tuple(
            [
                each.uri
                for each in documents
                if not self.documents.is_own(each.uri) and await self.is_dirty(each.uri)
            ]
        )

    async def is_unsaved(self, uri: Uri) -> bool:
        """Whether a file has text that the disk lacks, in an open buffer or as the editor alone has said."""
        return await self.is_dirty(uri) or (await self.snapshot(uri)).source == "acknowledged"

    async def is_dirty(self, uri: str) -> bool:
        """Whether an open buffer has unsaved text, by comparing it with the disk; False for a closed file.

        Reloading a file looks like typing, and a buffer not reloaded yet still shows the old text of the disk:
        neither counts as unsaved.
        """
        if self.buffer(uri) is None:
            return False
        await self.refresh((normalized(uri),))
        place = await asyncio.to_thread(self.locate, uri, "read")
        found = (
            None
            if isinstance(place, PathRefused)
            else await asyncio.to_thread(read, confined_path(place), self.limit)
        )
        document = self.documents.get(uri)
        if document is None or found is None:
            return document is not None
        if found.decoded is None and found.kind != "missing":
            return document.dirty
        text = document.text.removeprefix(BOM)
        saved = found.decoded.text if found.decoded is not None else None
        if saved == text or (saved is not None and not document.dirty and differ_only_in_eol(saved, text)):
            self.documents.note_saved(uri, document.text)
            return False
        return not self.documents.is_saved(uri)

    def _resolve_and_read(
        self,
        keys: Sequence[Uri],
        closed: frozenset[Uri],
        purpose: Purpose,
        unresolved: tuple[tuple[Uri, Path], ...],
    ) -> tuple[list[tuple[ResolvedPath | PathRefused, FileOnDisk | None]], dict[Uri, str]]:
        """Resolve all keys, read the closed files and find real paths of open ones; runs in a thread."""
        files: list[tuple[ResolvedPath | PathRefused, FileOnDisk | None]] = []
        resolver = Resolver(self.roots)
        for key in keys:
            place = resolver.uri(key, for_=purpose)
            found = None
            if key in closed and isinstance(place, ResolvedPath):
                found = read(confined_path(place), self.limit)
            files.append((place, found))
        return files, resolve_real_paths(unresolved)

    def _to_snapshot(self, key: Uri, place: ResolvedPath | PathRefused, found: FileOnDisk | None) -> Snapshot:
        document = self.buffer(key)
        if document is None and isinstance(place, ResolvedPath):
            document = self.buffer(place.uri) or self.buffer(self._real_paths.document_at(place.path) or "")
        if document is not None:
            # The editor may have opened the file while the disk was read: its buffer takes precedence.
            return of_document(document)
        if isinstance(place, PathRefused):
            return Snapshot(uri=key, exists=False, problem="refused", detail=place.reason)
        if found is None:
            # It was closed just now, which is too rare to be worth another thread.
            found = read(confined_path(place), self.limit)
        acknowledged = self._acknowledged.get(place.uri)
        if acknowledged is None:
            return of_disk(place.uri, found)
        if acknowledged.fingerprint == found.fingerprint:
            return of_acknowledged(place.uri, acknowledged.text, found)
        del self._acknowledged[place.uri]
        return of_disk(place.uri, found)


def _unknown(uri: Uri) -> PathRefused:
    return PathRefused(
        code="unreadable", reason=f"The editor cannot tell what is at {quoted(uri)}: try again later."
    )


def confined_path(place: ResolvedPath) -> ConfinedPath:
    """The form of a resolved path that `disk` takes."""
    if place.relative == ".":
        return ConfinedPath(place.path, ())
    names = tuple(place.relative.split("/"))
    return ConfinedPath(place.path.parents[len(names) - 1], names, place.held)
