"""The context of a tool call: files as the step sees them, path resolution, index, diagnostics, commands, pages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from planloom.domain.safety.known_keys import KnownKeys
from planloom.domain.values import Sha256, Uri
from planloom.workspace.editor import FileDiagnostics
from planloom.workspace.index.file_index import FileIndex
from planloom.workspace.index.programs import TRUSTED, Programs
from planloom.workspace.language import Language
from planloom.workspace.paths.resolver import PathRefused, Purpose, ResolvedPath, resolve, resolve_uri
from planloom.workspace.paths.roots import Root, Roots
from planloom.workspace.snapshots import Snapshot
from planloom.workspace.staged.overlay import Overlay

if TYPE_CHECKING:
    from planloom.tools.external_tools import ExternalCaller
    from planloom.tools.fetch_url import Fetcher
    from planloom.tools.processes.commands import CommandRunner


class Diagnostics(Protocol):
    """The source of diagnostics from other language servers and linters."""

    async def __call__(self, uris: tuple[Uri, ...]) -> tuple[FileDiagnostics, ...] | None:
        """The diagnostics of these files; None if the editor does not provide them, or not in time."""
        ...


def _no_index() -> FileIndex | None:
    return None


def _unmoved(uri: Uri) -> Uri:
    return uri


@dataclass
class ToolContext:
    """One step's view of the workspace. Tools that write only stage; the gate applies staged changes.

    `replaced_unread` collects files that a call replaced without having read them, which counts as destructive.
    `incomplete` collects files whose new text seems to lack a part: they always need approval.
    `seen` are the hashes of texts that the author of the calls knows: read while planning, attached, or read before.
    Without an `index` the folders are walked; without `diagnostics`, `language`, `commands`, `pages` or `external`
    their tools fail with a message.
    `programs` are those that tools may start without approval. `name_now` is the URI that a file has after the renames
    that the plan has made. `keys` are the server's own, which no file is named after.
    """

    files: Overlay
    roots: Roots
    home: Root | None = None
    replaced_unread: set[Uri] = field(default_factory=set)
    incomplete: set[Uri] = field(default_factory=set)
    seen: dict[Uri, Sha256] = field(default_factory=dict)
    index: Callable[[], FileIndex | None] = _no_index
    diagnostics: Diagnostics | None = None
    language: Language | None = None
    commands: CommandRunner | None = None
    pages: Fetcher | None = None
    external: ExternalCaller | None = None
    programs: Programs = TRUSTED
    name_now: Callable[[Uri], Uri] = _unmoved
    keys: KnownKeys = field(default_factory=KnownKeys)
    _resolved: dict[tuple[str, Purpose], ResolvedPath | PathRefused] | None = None
    _ahead: dict[tuple[str, Purpose], ResolvedPath | PathRefused] = field(default_factory=dict)

    def drop_staged(self) -> None:
        """Forget everything that is staged: it was committed, or refused. What was read stays seen."""
        self.seen.update(self.files.hashes())
        self.files.clear()
        self.replaced_unread.clear()
        self.incomplete.clear()
        self._ahead.clear()

    def has_seen(self, file: Snapshot) -> bool:
        """Whether the author of the calls knows a file: it was read or written here, or has a text seen before."""
        return self.files.has_read(file.uri) or (
            file.sha256 is not None and self.seen.get(file.uri) == file.sha256
        )

    @contextmanager
    def resolving_once(self) -> Iterator[None]:
        """Resolve each path once within the block, which is one call that waits for nobody.

        What the call stages is resolved and judged anew when it is committed.
        """
        self._resolved = {}
        try:
            yield
        finally:
            self._resolved = None

    async def look_ahead(self, paths: Sequence[tuple[str, Purpose]]) -> None:
        """Look once at all that the next calls name; the same holds of it as in `resolving_once`."""
        found = await self.files.view.look_up(paths, self.home)
        self._ahead = dict(zip(paths, (place for place, _ in found), strict=True))
        self.files.ahead = {file.uri: file for _, file in found if file is not None and file.source == "disk"}

    def has_looked_at(self, paths: Iterable[tuple[str, Purpose]]) -> bool:
        """Whether these paths were looked at ahead."""
        return all(each in self._ahead for each in paths)

    def forget_ahead(self) -> None:
        """Look at everything anew from here on."""
        self._ahead.clear()
        self.files.ahead.clear()

    async def resolve(self, path: str, for_: Purpose) -> ResolvedPath | PathRefused:
        """Resolve a path from the plan or the model. A secret stays secret under a staged new name."""
        if for_ == "write" and self.keys.are_in(path):
            return PathRefused("forbidden", "The path contains an API key: choose another name.")
        known = self._resolved
        if known is None:
            return await self._resolve(path, for_)
        if (path, for_) not in known:
            known[path, for_] = await self._resolve(path, for_)
        return known[path, for_]

    async def _resolve(self, path: str, for_: Purpose) -> ResolvedPath | PathRefused:
        place = self._ahead.get((path, for_))
        if place is None:
            place = await asyncio.to_thread(resolve, self.roots, path, for_=for_, home=self.home)
        if isinstance(place, PathRefused) or place.secret or self.files.origin(place.uri) == place.uri:
            return place
        return place._replace(secret=await self.holds_secret(place.uri))

    async def holds_secret(self, uri: Uri) -> bool:
        """Whether a name of a file suggests secrets, of those that it has and the one before staged renames."""
        for name in dict.fromkeys((uri, self.files.origin(uri))):
            place = await self.resolve_uri(name)
            if isinstance(place, ResolvedPath) and place.secret:
                return True
        return False

    async def no_such_file(self, place: ResolvedPath, advice: str) -> str:
        """The answer to a call for a file that does not exist: its new name if the plan has renamed it, else `advice`.

        No tool uses the new name by itself: the call may mean another file.
        """
        now = self.name_now(place.uri)
        if now != place.uri:
            moved = await self.resolve_uri(now)
            if isinstance(moved, ResolvedPath):
                return f"There is no file {place.relative}: this plan has renamed it to {moved.relative}."
        return f"There is no file {place.relative}. {advice}"

    async def resolve_uri(self, uri: str, for_: Purpose = "read") -> ResolvedPath | PathRefused:
        """Resolve the URI of a document."""
        return await asyncio.to_thread(resolve_uri, self.roots, uri, for_=for_)
