"""Runs git read-only for the tools: no program that a repository names, no network, and bounded output."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from planloom.tools.context import ToolContext
from planloom.tools.processes.child_process import Capture
from planloom.tools.tool import ToolResult, failed
from planloom.workspace.index.programs import running_git
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath

_SECONDS: Final = 15.0
_CHUNK: Final = 1 << 16
_MOST_BYTES: Final = 20_000_000
"""Output after which git is stopped."""
_MOST_NAMES: Final = 4_000_000
_REVISION: Final = re.compile(r"[^-^\s\0:][^\s\0:]{0,199}")
"""A revision that git cannot take for an option, nor for a file of a commit."""
_PROGRAM: Final = re.compile(r"filter\.[^=\n]+\.(?:clean|smudge|process)")


class GitOutput(NamedTuple):
    """The output of git, without its middle if it was long. `code` is None if it was stopped."""

    text: str
    code: int | None
    cut: bool


class Repository(NamedTuple):
    """A work tree. Git runs in `folder`, a workspace folder; `place` is the file or folder asked about.

    `is_whole`: the folder is the whole work tree. `overrides` switch off the filters that the repository's own
    settings define, since they are programs.
    """

    git: Path
    folder: Path
    place: ResolvedPath
    is_whole: bool = False
    overrides: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The place asked about, relative to `folder`."""
        return self.place.relative

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
        try:
            async with (
                asyncio.timeout(_SECONDS),
                running_git(
                    self.git, *self.overrides, *arguments, cwd=self.folder, limit=_CHUNK * 2
                ) as process,
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
    repository = Repository(git, place.root.path, place)
    found = await repository.output(
        "rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir", head=15_000, tail=1
    )
    lines = found.text.splitlines()
    folder = await asyncio.to_thread(place.root.path.resolve)
    if found.code != 0 or len(lines) != 3 or not folder.is_relative_to(lines[0]):
        return failed(f"{place.root.name} is not in a git repository.")
    work_tree, git_folder, common = Path(lines[0]), Path(lines[1]), folder / lines[2]
    stated = (await repository.output("config", "--get", "core.worktree", head=5_000, tail=1)).text.rstrip(
        "\n"
    )
    if not await asyncio.to_thread(_is_own, work_tree, git_folder, common, stated):
        return failed(
            "Git cannot be used here: the repository's data lies in a folder that does not belong to it."
        )
    overrides = await _overrides(repository)
    if overrides is None:
        return failed(
            "Git cannot be used here: the repository's settings name programs that cannot be switched off."
        )
    return repository._replace(is_whole=folder == work_tree, overrides=overrides)


def _is_own(work_tree: Path, git_folder: Path, common: Path, stated: str) -> bool:
    """Whether the repository's data is that of this work tree: else a folder could show another repository's files.

    It is the folder `.git` itself, or one that in turn names the work tree: that of a linked work tree, or that of a
    submodule, whose setting `core.worktree` is `stated`. Links out of it are not followed. Blocks on file I/O.
    """
    if any((common / name).resolve() != common.resolve() / name for name in ("HEAD", "objects", "refs")):
        return False
    pointer = work_tree / ".git"
    if pointer.resolve() == git_folder.resolve() == pointer:
        return common.resolve() == pointer
    if common.resolve() == git_folder.resolve():
        return bool(stated) and (git_folder / stated).resolve() == work_tree
    try:
        back = (git_folder / "gitdir").read_text("utf-8").strip()
    except (OSError, ValueError):
        return False
    return git_folder.resolve().parent == common.resolve() / "worktrees" and Path(back).resolve() == pointer


async def _overrides(repository: Repository) -> tuple[str, ...] | None:
    """Options that switch off the filters of the repository's own settings; the user's filters stay on."""
    found = await repository.output(
        *("config", "--includes", "--show-scope", "--name-only", "--get-regexp", r"^filter\."),
        head=50_000,
        tail=1,
    )
    if found.code not in (0, 1) or found.cut:
        return None
    options: list[str] = []
    for line in found.text.splitlines():
        scope, _, name = line.partition("\t")
        if scope in ("system", "global", "command"):
            continue
        if _PROGRAM.fullmatch(name):
            options += ("-c", f"{name}=")
        elif "=" in name:
            return None
        elif name.endswith(".required"):
            options += ("-c", f"{name}=false")
    return tuple(options)
