"""Decides whether git may run in a work tree: the repository's data must be the work tree's own, and the
repository's filters are switched off."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from planloom.workspace.index.programs import running_git

_MOST_BYTES: Final = 1_000_000
_PROGRAM: Final = re.compile(r"filter\..+\.(?:clean|smudge|process)")


class WorkTree(NamedTuple):
    """A work tree that git may be asked about in `folder`.

    `prefix` is the folder's path in the work tree, empty or with a slash at its end. `options` must precede git's
    command: they switch off the repository's filters, which git would run to compare a file.
    """

    git: Path
    folder: Path
    prefix: str
    options: tuple[str, ...]

    async def output(self, *arguments: str) -> str | None:
        """The output of git; None if it fails or prints too much. Raises OSError."""
        return await _output(self.git, self.folder, *self.options, *arguments)


async def own_work_tree(git: Path, folder: Path) -> WorkTree | None:
    """The work tree around a folder; None if there is none or git must not be asked about it. Raises OSError."""
    placed = await _output(
        git, folder, "rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir", "--show-prefix"
    )
    stated = await _output(git, folder, "config", "--get", "core.worktree", may_find_nothing=True)
    filters = await _output(
        git,
        folder,
        *("config", "--includes", "--show-scope", "--name-only", "--get-regexp", r"^filter\."),
        may_find_nothing=True,
    )
    lines = (placed or "").splitlines()
    if len(lines) not in (3, 4) or stated is None or filters is None:
        return None
    top, git_folder = Path(lines[0]), Path(lines[1])
    real = await asyncio.to_thread(folder.resolve)
    if not real.is_relative_to(top):
        return None
    if not await asyncio.to_thread(_is_own, top, git_folder, real / lines[2], stated.rstrip("\n")):
        return None
    options = _switched_off(filters.splitlines())
    return None if options is None else WorkTree(git, folder, "".join(lines[3:]), options)


def _is_own(top: Path, git_folder: Path, common: Path, stated: str) -> bool:
    """Whether the repository's data is that of the work tree: else a folder could show another repository's files.

    It is the folder `.git` itself, or one that in turn names the work tree: that of a linked work tree, or that of a
    submodule, whose setting `core.worktree` is `stated`. Links out of it are not followed. Blocks on file I/O.
    """
    if any((common / name).resolve() != common.resolve() / name for name in ("HEAD", "objects", "refs")):
        return False
    pointer = top / ".git"
    if pointer.resolve() == git_folder.resolve() == pointer:
        return common.resolve() == pointer
    if common.resolve() == git_folder.resolve():
        return bool(stated) and (git_folder / stated).resolve() == top
    try:
        back = (git_folder / "gitdir").read_text("utf-8").strip()
    except (OSError, ValueError):
        return False
    return git_folder.resolve().parent == common.resolve() / "worktrees" and Path(back).resolve() == pointer


def _switched_off(scoped: Iterable[str]) -> tuple[str, ...] | None:
    """The options that switch off the filters of the repository's own settings; the user's filters stay on.

    Each line is a scope, a tab and a name. None if a name cannot be written as an option.
    """
    options: list[str] = []
    for line in scoped:
        scope, _, name = line.partition("\t")
        if scope in ("system", "global", "command"):
            continue
        if "=" in name:
            return None
        if _PROGRAM.fullmatch(name):
            options += ("-c", f"{name}=")
        elif name.endswith(".required"):
            options += ("-c", f"{name}=false")
    return tuple(options)


async def _output(git: Path, folder: Path, *arguments: str, may_find_nothing: bool = False) -> str | None:
    async with running_git(git, *arguments, cwd=folder, limit=_MOST_BYTES) as process:
        assert process.stdout is not None
        raw = b""
        while chunk := await process.stdout.read(_MOST_BYTES):
            raw += chunk
            if len(raw) > _MOST_BYTES:
                return None
        code = await process.wait()
    if code and not (may_find_nothing and code == 1):
        return None
    return raw.decode("utf-8", "replace")
