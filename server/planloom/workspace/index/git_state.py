"""Reads the branch and the changed files of a git work tree, and runs nothing that the repository configures."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final, NamedTuple

from planloom.workspace.index.programs import Programs
from planloom.workspace.index.scan import in_work_tree
from planloom.workspace.index.work_trees import own_work_tree

_SECONDS: Final = 2.0
"""How long git may take; the state of a larger work tree stays unknown."""
_STATUS: Final = (
    *("status", "--porcelain=v2", "--branch", "-z", "--no-renames"),
    # Looking into a submodule runs git in it, with the configuration that it brings along.
    *("--ignore-submodules=all", "--", "."),
)
_FIELDS: Final = {"1": 8, "u": 10, "?": 1}
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

    Git must lie outside all `folders`.
    """
    git = await asyncio.to_thread(lambda: programs.find("git", folders) if in_work_tree(root) else None)
    if git is None:
        return None
    try:
        async with asyncio.timeout(_SECONDS):
            work_tree = await own_work_tree(git, root)
            status = await work_tree.output(*_STATUS) if work_tree is not None else None
    except (OSError, TimeoutError):
        return None
    return None if work_tree is None or status is None else _state(status, work_tree.prefix)


def _state(status: str, prefix: str) -> GitState:
    branch = ""
    changed: list[str] = []
    for entry in filter(None, status.split("\0")):
        kind, _, rest = entry.partition(" ")
        if entry.startswith("# branch.head "):
            head = entry.removeprefix("# branch.head ")
            branch = "" if head == "(detached)" else head
        elif kind in _FIELDS:
            path = entry.split(" ", _FIELDS[kind])[-1]
            letters = "??" if kind == "?" else rest[:2].replace(".", "")
            changed.append(f"{letters} {path.removeprefix(prefix)}")
    return GitState(branch, tuple(changed))
