"""Lists the files of a workspace folder, with `git ls-files` where possible, else by walking it."""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, Awaitable, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import TypeVar

from planloom.workspace.index.ignore import (
    IGNORE_FILES,
    Hides,
    IgnoreChain,
    chain_of,
    exclude_rules,
    read_rules,
    top_chain,
)
from planloom.workspace.index.programs import running_git

T = TypeVar("T")
BATCH = 4000
"""Paths per batch of a walk."""

_CHUNK = 1 << 17
_SILENT_SECONDS = 10.0
"""How long git may list nothing; a pipe in place of a `.gitignore` holds it up for ever."""


class GitFailed(Exception):
    """Git cannot list this folder: it is not a work tree, has another owner, or is damaged."""


async def list_folder_tree(
    root: Path, exclude: Sequence[str], git: Path | None
) -> AsyncGenerator[list[str], None]:
    """Every file below `root` that is not hidden, in batches, as paths with forward slashes.

    Links are listed as files and not followed. Names that are not valid Unicode are left out.
    """
    if git is not None and await asyncio.to_thread(in_work_tree, root):
        started = False
        try:
            async with aclosing(git_files(git, root, exclude)) as batches:
                async for batch in batches:
                    started = True
                    yield batch
        except GitFailed:
            if started:
                raise
        if started:
            # An empty listing does not count: a repository around the folder may ignore it as a whole.
            return
    async with aclosing(_walk_in_thread(root, exclude)) as batches:
        async for batch in batches:
            yield batch


async def git_files(git: Path, root: Path, exclude: Sequence[str]) -> AsyncGenerator[list[str], None]:
    """The same with `git ls-files`; raises `GitFailed`.

    Nested repositories are walked instead, since they may come from an untrusted archive.
    """
    excludes = exclude_rules(exclude)
    shown = _ExcludeFilter(IgnoreChain(excludes=excludes)) if excludes else None
    nested: list[str] = []
    # Tracked files are listed at once, while the search for untracked ones runs.
    async with (
        _ls_files(git, root, "-o", "--exclude-standard") as untracked,
        _ls_files(git, root, "-c", "--deduplicate") as tracked,
    ):
        for listing in (tracked, untracked):
            async for batch in _batches(listing):
                nested += [path for path in batch if path.endswith("/")]
                files = [path for path in batch if not path.endswith("/")] if nested else batch
                yield files if shown is None else [path for path in files if shown(path)]
    if (root / ".gitmodules").is_file():
        async with _ls_files(git, root, "-s") as stages:
            async for batch in _batches(stages):
                nested += [entry.partition("\t")[2] + "/" for entry in batch if entry.startswith("160000 ")]
    for prefix in nested:
        inner = root / prefix
        if (
            (shown is None or shown(prefix.rstrip("/")))
            and (inner / ".git").exists()
            and not inner.is_symlink()
        ):
            async with aclosing(_walk_in_thread(inner, ())) as batches:
                async for batch in batches:
                    paths = [prefix + path for path in batch]
                    yield paths if shown is None else [path for path in paths if shown(path)]


async def git_deleted(git: Path, root: Path) -> tuple[str, ...]:
    """Tracked files that do not exist on disk; raises `GitFailed`."""
    gone: list[str] = []
    async with _ls_files(git, root, "-d") as missing:
        async for batch in _batches(missing):
            gone += batch
    return tuple(gone)


async def _walk_in_thread(root: Path, exclude: Sequence[str]) -> AsyncGenerator[list[str], None]:
    walk = walk_files(root, exclude)
    while batch := await asyncio.to_thread(next, walk, None):
        yield batch


def walk_files(root: Path, exclude: Sequence[str], inside: str = "") -> Iterator[list[str]]:
    """Walk the folder; call it from a thread. Unreadable folders are skipped.

    With `inside`, lists only the files below that folder, still as paths below the root.
    """
    found: list[str] = []
    above, _, _ = inside.rpartition("/")
    chain = chain_of(root, above, top_chain(root, exclude)) if inside else top_chain(root, exclude)
    stack = [(inside + "/" if inside else "", chain)] if chain is not None else []
    base = str(root)
    while stack:
        prefix, chain = stack.pop()
        try:
            with os.scandir(f"{base}/{prefix}") as scan:
                entries = list(scan)
        except OSError:
            continue
        names = {entry.name for entry in entries}
        own = [read_rules(root / prefix / name) for name in IGNORE_FILES if name in names]
        chain = chain.within(prefix, own)
        hides = chain.inside(prefix)
        for entry in entries:
            name = entry.name
            try:
                folder = entry.is_dir(follow_symlinks=False)
            except OSError:
                continue
            if hides(name, folder) or not (name.isascii() or _is_text(name)):
                continue
            if folder:
                stack.append((f"{prefix}{name}/", chain))
            else:
                found.append(prefix + name)
        if len(found) >= BATCH:
            yield found
            found = []
    if found:
        yield found


class _ExcludeFilter:
    """Whether the exclude patterns let a path through; caches the answer for each folder."""

    def __init__(self, chain: IgnoreChain) -> None:
        self._chain = chain
        self._folders: dict[str, Hides | None] = {"": chain.inside("")}

    def __call__(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        hides = self._inside(folder)
        return hides is not None and not hides(name, False)

    def _inside(self, folder: str) -> Hides | None:
        """The test for names in a folder; None if the folder is hidden."""
        if folder not in self._folders:
            above, _, name = folder.rpartition("/")
            hides = self._inside(above)
            hidden = hides is None or hides(name, True)
            self._folders[folder] = None if hidden else self._chain.inside(folder + "/")
        return self._folders[folder]


def in_work_tree(root: Path) -> bool:
    """Whether the folder seems to lie in a work tree of git; call it from a thread."""
    return any((folder / ".git").exists() for folder in (root, *root.parents))


@asynccontextmanager
async def _ls_files(git: Path, root: Path, *options: str) -> AsyncGenerator[Process, None]:
    """Run `git ls-files` on the folder, and kill it when the block ends."""
    async with AsyncExitStack() as stack:
        try:
            process = await stack.enter_async_context(
                # Without a pathspec, against which git would compare each file that it finds.
                running_git(git, "ls-files", "-z", *options, cwd=root, limit=_CHUNK * 2)
            )
        except OSError as error:
            raise GitFailed(str(error)) from error
        yield process


async def _batches(process: Process) -> AsyncGenerator[list[str], None]:
    assert process.stdout is not None
    rest = b""
    while chunk := await _within_time(process.stdout.read(_CHUNK)):
        whole, end, rest = (rest + chunk).rpartition(b"\0")
        if end:
            yield _decoded(whole)
    if await _within_time(process.wait()):
        raise GitFailed(f"git ls-files ended with {process.returncode}")


async def _within_time(waiting: Awaitable[T]) -> T:
    try:
        async with asyncio.timeout(_SILENT_SECONDS):
            return await waiting
    except TimeoutError:
        raise GitFailed(f"git ls-files has listed nothing for {_SILENT_SECONDS:.0f} seconds") from None


def _decoded(raw: bytes) -> list[str]:
    try:
        return raw.decode().split("\0")
    except UnicodeDecodeError:
        texts = (part.decode("utf-8", "replace") for part in raw.split(b"\0"))
        return [text for text in texts if "\ufffd" not in text]


def _is_text(name: str) -> bool:
    """Whether a name is valid Unicode; Python decodes other bytes to lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
