"""Reads the branch and the changed files of a git work tree, and runs nothing that the repository configures."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Final, NamedTuple

from planloom.workspace.index.programs import Programs, running_git
from planloom.workspace.index.scan import in_work_tree

_SECONDS: Final = 2.0
"""How long git may take; the state of a larger work tree stays unknown."""
_MOST_BYTES: Final = 1_000_000
_STATUS: Final = (
    *("status", "--porcelain=v2", "--branch", "-z", "--no-renames"),
    # Looking into a submodule runs git in it, with the configuration that it brings along.
    *("--ignore-submodules=all", "--", "."),
)
_FILTERS: Final = ("config", "-z", "--name-only", "--get-regexp", r"^filter\.")
_PLAIN_KEY: Final = re.compile(r"filter\.([\w./-]+)\.\w+")
_HEADERS: Final = {"1": 8, "u": 10, "?": 1}
"""How many fields precede the path of a changed, an unmerged and an untracked file."""


class GitState(NamedTuple):
    """The state of a work tree: its branch, "" if a commit is checked out, and its changed files.

    A changed file is `M path` with git's letters for index and work tree, `?? path` if untracked; paths are relative
    to the folder that was asked about.
    """

    branch: str
    changed: tuple[str, ...]


async def git_state(root: Path, programs: Programs, folders: tuple[Path, ...]) -> GitState | None:
    """The state of the work tree around `root`; None without git, outside a work tree, or if git takes too long.

    Git must lie outside all `folders`. To compare a file, git would run the filter that the repository configures
    for it, so every filter is switched off.
    """
    git = await asyncio.to_thread(programs.find, "git", folders)
    if git is None or not await asyncio.to_thread(in_work_tree, root):
        return None
    limit = asyncio.timeout(_SECONDS)
    try:
        async with limit:
            without_filters = _switched_off(await _output(git, root, *_FILTERS, may_find_nothing=True))
            prefix = await _output(git, root, "rev-parse", "--show-prefix")
            if without_filters is None or prefix is None:
                return None
            status = await _output(git, root, *without_filters, *_STATUS)
    except (OSError, TimeoutError):
        return None
    return None if status is None else _state(status, prefix.rstrip("\n"))


def _switched_off(keys: str | None) -> tuple[str, ...] | None:
    """The options that switch off these filters; None if a name cannot be written as an option."""
    if keys is None:
        return None
    values: dict[str, str] = {}
    for key in filter(None, keys.split("\0")):
        name = _PLAIN_KEY.fullmatch(key)
        if name is None:
            return None
        values |= {f"filter.{name[1]}.{command}": "" for command in ("clean", "smudge", "process")}
        values[f"filter.{name[1]}.required"] = "false"
    return tuple(word for key, value in values.items() for word in ("-c", f"{key}={value}"))


async def _output(git: Path, root: Path, *arguments: str, may_find_nothing: bool = False) -> str | None:
    """What git prints; None if it fails or prints too much. Raises OSError."""
    async with running_git(git, *arguments, cwd=root, limit=_MOST_BYTES) as process:
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


def _state(status: str, prefix: str) -> GitState:
    branch = ""
    changed: list[str] = []
    for entry in filter(None, status.split("\0")):
        kind, _, rest = entry.partition(" ")
        if entry.startswith("# branch.head "):
            head = entry.removeprefix("# branch.head ")
            branch = "" if head == "(detached)" else head
        elif kind in _HEADERS:
            path = entry.split(" ", _HEADERS[kind])[-1]
            letters = "??" if kind == "?" else rest[:2].replace(".", "")
            changed.append(f"{letters} {path.removeprefix(prefix)}")
    return GitState(branch, tuple(changed))
