"""The index of the workspace's files: built in the background, kept fresh, asked at every keystroke."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from planloom.domain.values import Uri
from planloom.workspace.index.ignore import IGNORE_FILES, chain_of, top_chain
from planloom.workspace.index.path_table import Hit, PathTable
from planloom.workspace.index.programs import TRUSTED, Programs
from planloom.workspace.index.scan import GitFailed, git_deleted, list_folder_tree, walked
from planloom.workspace.paths.roots import Root
from planloom.workspace.paths.uris import to_path

logger = logging.getLogger(__name__)

MOST_FILES = 1_000_000
"""Files that are indexed; a larger workspace is indexed in part, and says so."""

_MOST_CHANGES = 2000
"""Changes at a time above which listing everything anew costs less."""


_MOST_MATCHED = 500
_MOST_DEAD = 1000
"""Entries taken out after which the table is written anew."""


class Changed(NamedTuple):
    """A file or folder that appeared, went away or has another content."""

    uri: Uri
    kind: Literal["created", "deleted", "changed"]


class FileIndex:
    """Every path below the workspace folders that no ignore file and no exclude hides.

    Paths have forward slashes; with several folders open each begins with its folder's name. All work is done
    in threads or by git, so that no call holds up the event loop. `build` and `update` are for one job, one
    call after the other; searches may come at any time and see what is there by then.
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
        self._turn = asyncio.Lock()
        self._asked = self._answered = 0

    @property
    def complete(self) -> bool:
        """Whether every file is in; until then answers are of what has been found so far."""
        return self._ready.is_set() and not self._partial

    @property
    def listed(self) -> bool:
        """Whether the first listing has ended, even if of too large a workspace it holds a part alone."""
        return self._ready.is_set()

    @property
    def files(self) -> int:
        """How many files have been found so far."""
        return self._table.files if self._table else 0

    async def built(self, timeout_seconds: float) -> bool:
        """Wait until the first listing has ended, for so long at most; whether it has."""
        try:
            # Not `wait_for`, which in Python 3.11 can swallow a cancellation that comes as the wait ends.
            async with asyncio.timeout(timeout_seconds):
                await self._ready.wait()
        except TimeoutError:
            return False
        return True

    async def build(self) -> None:
        """List everything. The first time, what is found can be searched at once; later, the old list stays
        in use until the new one is whole. A listing serves all who asked before it began."""
        self._asked += 1
        mine = self._asked
        async with self._turn:
            if self._answered >= mine:
                return
            asked = self._asked
            await self._build()
            self._answered = asked

    async def update(self, changes: Iterable[Changed]) -> None:
        """Take in what has changed; an ignore file among it, or very much, lists everything anew."""
        changes = tuple(changes)
        async with self._turn:
            if self._table is None or not self._ready.is_set():
                return
            if len(changes) > _MOST_CHANGES or any(_is_ignore_file(change.uri) for change in changes):
                await self._build()
                return
            table = self._table
            for change in changes:
                if change.kind == "deleted":
                    await asyncio.to_thread(self._forget, table, change.uri)
                elif change.kind == "created":
                    await asyncio.to_thread(self._discover, table, change.uri)
            if table.dead > _MOST_DEAD:
                self._table = await asyncio.to_thread(table.ordered)

    async def search(self, query: str, limit: int) -> tuple[Hit, ...]:
        """The paths that match best, fuzzily; empty for an empty query."""
        table = self._table
        return await asyncio.to_thread(table.search, query, limit) if table else ()

    async def match(self, query: str, paths: Sequence[str]) -> tuple[Hit, ...]:
        """The same for a few paths that need not be listed: what is open, what was used lately."""
        return PathTable.match(query, paths[:_MOST_MATCHED])

    async def ending_with(self, tail: str, limit: int = 20) -> tuple[str, ...]:
        """The paths whose last names are `tail`; where there is none, those that differ in case alone."""
        table = self._table
        if table is None:
            return ()
        found = await asyncio.to_thread(table.ending_with, tail, limit)
        return found or await asyncio.to_thread(table.ending_with_folded, tail, limit)

    async def below(self, folder: str, limit: int) -> tuple[str, ...]:
        """The paths inside a folder ("" is everything) in order, folders with a slash at their end."""
        table = self._table
        return await asyncio.to_thread(table.below, folder, limit) if table else ()

    async def lists(self, uri: str) -> bool:
        """Whether a file, or something below a folder, has been found."""
        table, path = self._table, self.path_of(uri)
        if table is None or path is None:
            return False
        return table.contains(path) or bool(await self.below(path, 1))

    def path_of(self, uri: str) -> str | None:
        """How the index writes the path of a file, whether it is listed or not; None outside the workspace."""
        found = self._place(uri)
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
        # From here on answers are complete; what follows makes them better.
        ordered = await asyncio.to_thread(table.ordered)
        for root in by_git:
            assert git is not None
            with suppress(GitFailed):
                for path in await git_deleted(git, root.path):
                    await asyncio.to_thread(ordered.remove, self._prefix(root) + path)
        self._table = ordered

    async def _list(self, root: Root, table: PathTable, git: Path | None) -> bool:
        """List one folder; whether git's word was taken for it."""
        prefix = self._prefix(root)
        if git is not None:
            try:
                if not await self._take(root, table, list_folder_tree(root.path, self.exclude, git)):
                    return True
            except GitFailed as error:
                logger.info("%s is listed without git: %s", root.path, error)
            # Git stopped half-way, or files that only search tools know may show what it hides.
            await asyncio.to_thread(table.remove, prefix.rstrip("/"))
        await self._take(root, table, list_folder_tree(root.path, self.exclude, None))
        return False

    async def _take(self, root: Root, table: PathTable, tree: AsyncGenerator[list[str], None]) -> bool:
        """Put a listing into the table; whether there are ignore files in it that git does not know."""
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

    def _forget(self, table: PathTable, uri: str) -> None:
        path = self.path_of(uri)
        if path:
            table.remove(path)

    def _discover(self, table: PathTable, uri: str) -> None:
        found = self._place(uri)
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
            for batch in walked(root.path, self.exclude, relative):
                table.extend([self._prefix(root) + inner for inner in batch])
        elif not table.contains(path):
            table.extend([path])

    def _place(self, uri: str) -> tuple[Root, str] | None:
        path = to_path(uri)
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
