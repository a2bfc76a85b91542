"""Runs git read-only for the tools: no program that a repository names, no network, and bounded output."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from planloom.tools.context import ToolContext
from planloom.tools.processes.child_process import Capture
from planloom.tools.tool import ToolResult, failed
from planloom.workspace.index.programs import running_git
from planloom.workspace.index.work_trees import WorkTree, own_work_tree
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath

_SECONDS: Final = 15.0
_CHUNK: Final = 1 << 16
_MOST_BYTES: Final = 20_000_000
"""Output after which git is stopped."""
_MOST_NAMES: Final = 4_000_000
_REVISION: Final = re.compile(r"[^-^\s\0:][^\s\0:]{0,199}")
"""A revision that git cannot take for an option, nor for a file of a commit."""


class GitOutput(NamedTuple):
    """The output of git, without its middle if it was long. `code` is None if it was stopped."""

    text: str
    code: int | None
    cut: bool


class Repository(NamedTuple):
    """A work tree around a workspace folder, and the file or folder asked about."""

    work_tree: WorkTree
    place: ResolvedPath

    @property
    def path(self) -> str:
        """The place asked about, relative to the workspace folder."""
        return self.place.relative

    @property
    def is_whole(self) -> bool:
        """Whether the workspace folder is the whole work tree."""
        return not self.work_tree.prefix

    async def names(self, *arguments: str) -> tuple[str, ...] | None:
        """The NUL-separated output; None if git fails, or prints too much."""
        capture = Capture(head=_MOST_NAMES, tail=1)
        code = await self._run(capture, arguments)
        if code != 0 or capture.left_out:
            return None
        return tuple(os.fsdecode(each) for each in capture.raw().split(b"\0") if each)

    async def output(self, *arguments: str, head: int, tail: int) -> GitOutput:
        """The output as text for a model, with at most `head` bytes of its beginning and `tail` of its end."""
        capture = Capture(head=head, tail=tail)
        code = await self._run(capture, arguments)
        return GitOutput(capture.text(), code, capture.left_out > 0)

    async def commit(self, revision: str) -> str | None:
        """The hash of the commit that a revision names; None if there is none."""
        if not _REVISION.fullmatch(revision):
            return None
        found = await self.output(
            "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", head=200, tail=1
        )
        return found.text.strip() if found.code == 0 else None

    async def range(self, revision: str) -> str | ToolResult:
        """A revision, or a range `A..B` or `A...B`, with its commits as hashes."""
        dots = "..." if "..." in revision else ".." if ".." in revision else ""
        hashes: list[str] = []
        for name in revision.split(dots) if dots else (revision,):
            found = await self.commit(name or "HEAD")
            if found is None:
                return failed(f"There is no commit {name or 'HEAD'!r}. Use git_log to see which there are.")
            hashes.append(found)
        return dots.join(hashes)

    async def _run(self, capture: Capture, arguments: Sequence[str]) -> int | None:
        """Run git into a capture. Returns its exit code, None if it was stopped."""
        git, folder, _, options = self.work_tree
        try:
            async with (
                asyncio.timeout(_SECONDS),
                running_git(git, *options, *arguments, cwd=folder, limit=_CHUNK * 2) as process,
            ):
                assert process.stdout is not None
                while chunk := await process.stdout.read(_CHUNK):
                    capture.add(chunk)
                    if capture.total > _MOST_BYTES:
                        return None
                return await process.wait()
        except (OSError, TimeoutError):
            return None


async def open_repository(context: ToolContext, path: str) -> Repository | ToolResult:
    """The work tree around a path of the workspace, or a failure for the model."""
    place = await context.resolve(path or ".", "read")
    if isinstance(place, PathRefused):
        return failed(place.reason)
    roots = [root.path for root in context.roots.folders]
    git = await asyncio.to_thread(context.programs.find, "git", roots)
    if git is None:
        return failed("Git cannot be used here: it is not installed, or the workspace is not trusted.")
    try:
        async with asyncio.timeout(_SECONDS):
            work_tree = await own_work_tree(git, place.root.path)
    except (OSError, TimeoutError):
        work_tree = None
    if work_tree is None:
        return failed(
            f"Git cannot be used here: {place.root.name} is not in a git repository, or its data lies elsewhere "
            "or its settings name programs that cannot be switched off."
        )
    return Repository(work_tree, place)
