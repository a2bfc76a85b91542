"""The searchable index of the workspace's files, built in the background and updated with file events."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from planloom.domain.values import Uri
from planloom.workspace.index.ignore import IGNORE_FILES, chain_of, top_chain
from planloom.workspace.index.path_table import Hit, PathTable
from planloom.workspace.index.programs import TRUSTED, Programs
from planloom.workspace.index.scan import GitFailed, git_deleted, list_folder_tree, walk_files
from planloom.workspace.paths.roots import Root, path_of
from planloom.workspace.paths.uris import child

logger = logging.getLogger(__name__)
_T = TypeVar("_T")

MOST_FILES = 1_000_000
"""Most files that are indexed; a larger workspace is indexed in part, and `FileIndex.complete` is False."""

_MOST_CHANGES = 2000
"""Most changes in one update; above it, listing everything again costs less."""

_MOST_MATCHED = 500
_FEW = 1000
"""Files of a table in which a look-up takes less time than to begin one in a thread."""
_MOST_DEAD = 1000
"""Removed entries after which the table is rebuilt."""


class Changed(NamedTuple):
    """A file or folder that was created, deleted or changed."""

    uri: Uri
    kind: Literal["created", "deleted", "changed"]


class FileIndex:
    """Every path below the workspace folders that no ignore file and no exclude pattern hides.

    Paths have forward slashes; with several folders open each begins with its folder's name. Work runs in threads
    or in git, but for look-ups in a small table, so no call blocks the event loop. `build` and `update` run one at a
    time; searches may run at any time and see what has been indexed so far.
    """

    def __init__(
        self,
        folders: Sequence[Root],
        *,
        exclude: Sequence[str] = (),
        git: Literal["find"] | None = "find",
        programs: Programs = TRUSTED,
    ) -> None:
        self.folders = tuple(folders)
        self.exclude = tuple(exclude)
        self._git = git
        self._programs = programs
        self._table: PathTable | None = None
        self._ready = asyncio.Event()
        self._partial = False
        self._building = asyncio.Lock()
        self._requested = self._served = 0

    @property
    def complete(self) -> bool:
        """Whether every file has been indexed."""
        return self._ready.is_set() and not self._partial

    @property
    def listed(self) -> bool:
        """Whether the first listing has ended, even if the workspace is too large and only a part is indexed."""
        return self._ready.is_set()

    @property
    def files(self) -> int:
        """How many files have been found so far."""
        return self._table.files if self._table else 0

    async def wait_until_listed(self, timeout_seconds: float) -> bool:
        """Wait until the first listing has ended; False on timeout."""
        try:
            # Not `wait_for`, which in Python 3.11 can swallow a cancellation that arrives as the wait ends.
            async with asyncio.timeout(timeout_seconds):
                await self._ready.wait()
        except TimeoutError:
            return False
        return True

    async def build(self) -> None:
        """List everything. The first listing can be searched while it grows; a later one replaces the old list
        when it is complete. One listing serves every call made before it began."""
        self._requested += 1
        request = self._requested
        async with self._building:
            if self._served >= request:
                return
            requested = self._requested
            await self._build()
            self._served = requested

    async def update(self, changes: Iterable[Changed]) -> None:
        """Apply changes; if an ignore file or more than `_MOST_CHANGES` files changed, list everything again."""
        changes = tuple(changes)
        async with self._building:
            if self._table is None or not self._ready.is_set():
                return
            if len(changes) > _MOST_CHANGES or any(_is_ignore_file(change.uri) for change in changes):
                await self._build()
                return
            table = self._table
            if any(change.kind != "changed" for change in changes):
                await asyncio.to_thread(self._follow, table, changes)
            if table.dead > _MOST_DEAD:
                self._table = await asyncio.to_thread(table.ordered)

    async def search(self, query: str, limit: int) -> tuple[Hit, ...]:
        """The best fuzzy matches; empty for an empty query."""
        table = self._table
        return await _looked_up(table, lambda: table.search(query, limit)) if table else ()

    async def match(self, query: str, paths: Sequence[str]) -> tuple[Hit, ...]:
        """Match a few paths that need not be in the index, such as open or recent files."""
        return PathTable.match(query, paths[:_MOST_MATCHED])

    async def ending_with(self, tail: str, limit: int = 20) -> tuple[str, ...]:
        """The paths whose last names are `tail`; if there is none, those that differ only in case."""
        return await self.ending_with_any((tail,), limit)

    async def ending_with_any(self, tails: Sequence[str], limit: int) -> tuple[str, ...]:
        """Like `ending_with`, for each of these tails; at most `limit` paths of each."""
        table = self._table
        if table is None:
            return ()

        def found() -> Iterator[str]:
            for tail in tails:
                yield from table.ending_with(tail, limit) or table.ending_with_folded(tail, limit)

        return await _looked_up(table, lambda: tuple(found()))

    async def below(self, folder: str, limit: int) -> tuple[str, ...]:
        """The paths inside a folder ("" is everything), sorted; folders end with a slash."""
        table = self._table
        return await _looked_up(table, lambda: table.below(folder, limit)) if table else ()

    def kinds(self) -> Iterator[Uri]:
        """The URI of a file with each suffix that was found so far, in each folder; there may be no such file."""
        suffixes = () if self._table is None else tuple(self._table.suffixes)
        return (child(root.uri, f"file{suffix}") for root in self.folders for suffix in suffixes)

    async def contains(self, uri: str) -> bool:
        """Whether a file, or anything below a folder, is in the index."""
        table, path = self._table, self.path_of(uri)
        if table is None or path is None:
            return False
        return table.contains(path) or bool(await self.below(path, 1))

    def path_of(self, uri: str) -> str | None:
        """The path of a file as the index writes it, even if it is not in the index; None outside the workspace."""
        found = self._locate(uri)
        return self._prefix(found[0]) + found[1] if found else None

    async def _build(self) -> None:
        table = await asyncio.to_thread(PathTable)
        if self._table is None:
            self._table = table
        git = await asyncio.to_thread(self._usable_git)
        partial = self._partial
        self._partial = False
        by_git = [root for root in self.folders if await self._list(root, table, git)]
        if not self._ready.is_set() or partial:
            self._table = table
            self._ready.set()
        # All files are in the table now; what follows sorts them and removes deleted ones.
        ordered = await asyncio.to_thread(table.ordered)
        for root in by_git:
            assert git is not None
            with suppress(GitFailed):
                for path in await git_deleted(git, root.path):
                    await asyncio.to_thread(ordered.remove, self._prefix(root) + path)
        self._table = ordered

    async def _list(self, root: Root, table: PathTable, git: Path | None) -> bool:
        """List one folder; whether git listed it."""
        prefix = self._prefix(root)
        if git is not None:
            try:
                if not await self._add_listing(root, table, list_folder_tree(root.path, self.exclude, git)):
                    return True
            except GitFailed as error:
                logger.info("%s is listed without git: %s", root.path, error)
            # Git failed half-way, or an `.ignore` file, which git does not read, may show what git hides.
            await asyncio.to_thread(table.remove, prefix.rstrip("/"))
        await self._add_listing(root, table, list_folder_tree(root.path, self.exclude, None))
        return False

    async def _add_listing(self, root: Root, table: PathTable, tree: AsyncGenerator[list[str], None]) -> bool:
        """Add a listing to the table; whether it contains `.ignore` files, which git does not read."""
        prefix = self._prefix(root)
        own = IGNORE_FILES[1]
        found = False
        async with aclosing(tree) as batches:
            async for batch in batches:
                found = found or any(path.endswith(own) and path.rpartition("/")[2] == own for path in batch)
                await asyncio.to_thread(table.extend, [prefix + path for path in batch] if prefix else batch)
                if table.files > MOST_FILES:
                    self._partial = True
                    break
        return found

    def _usable_git(self) -> Path | None:
        return self._programs.find("git", [root.path for root in self.folders]) if self._git else None

    def _follow(self, table: PathTable, changes: Sequence[Changed]) -> None:
        for change in changes:
            if change.kind == "deleted":
                self._forget(table, change.uri)
            elif change.kind == "created":
                self._discover(table, change.uri)

    def _forget(self, table: PathTable, uri: str) -> None:
        path = self.path_of(uri)
        if path:
            table.remove(path)

    def _discover(self, table: PathTable, uri: str) -> None:
        found = self._locate(uri)
        if found is None or not found[1]:
            return
        root, relative = found
        folder, _, name = relative.rpartition("/")
        chain = chain_of(root.path, folder, top_chain(root.path, self.exclude))
        real = root.path / relative
        is_folder = real.is_dir() and not real.is_symlink()
        prefix = f"{folder}/" if folder else ""
        if chain is None or chain.inside(prefix)(name, is_folder) or not os.path.lexists(real):
            return
        path = self._prefix(root) + relative
        if is_folder:
            table.remove(path)
            table.add_folder(path)
            for batch in walk_files(root.path, self.exclude, relative):
                table.extend([self._prefix(root) + inner for inner in batch])
        elif not table.contains(path):
            table.extend([path])

    def _locate(self, uri: str) -> tuple[Root, str] | None:
        path = path_of(uri, self.folders)
        if path is None:
            return None
        owners = [root for root in self.folders if path.is_relative_to(root.path)]
        if not owners:
            return None
        root = max(owners, key=lambda each: len(each.path.parts))
        relative = path.relative_to(root.path).as_posix()
        return root, "" if relative == "." else relative

    def _prefix(self, root: Root) -> str:
        return f"{root.name}/" if len(self.folders) > 1 else ""


def _is_ignore_file(uri: str) -> bool:
    return uri.rstrip("/").rpartition("/")[2] in IGNORE_FILES


async def _looked_up(table: PathTable, look: Callable[[], _T]) -> _T:
    """The answer of a table, from a thread if the table is large."""
    return look() if table.files < _FEW else await asyncio.to_thread(look)
