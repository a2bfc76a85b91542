"""Reads the branch, the changed files and the committed texts of a git work tree, and runs nothing that the repository
configures.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from planloom.workspace.disk import TEXT_LIMIT
from planloom.workspace.index.programs import Programs, running_git
from planloom.workspace.index.scan import in_work_tree
from planloom.workspace.index.work_trees import WorkTree, own_work_tree

_SECONDS: Final = 2.0
"""How long git may take; the state of a larger work tree stays unknown."""
_READ_SECONDS: Final = 20.0
_CHUNK: Final = 1 << 20
_COMMIT: Final = re.compile(r"# branch\.oid ([0-9a-f]{40,64})(?:\0|\Z)")
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


class CommittedFiles(NamedTuple):
    """The files of a folder that are as a commit has them: all that it has but those that are `changed`."""

    work_tree: WorkTree
    commit: str
    changed: frozenset[str]
    changed_folders: tuple[str, ...]

    def has(self, path: str) -> bool:
        """Whether a file, if the commit has it, is as it is there."""
        return path not in self.changed and not path.startswith(self.changed_folders)

    async def contents(self, paths: Sequence[str]) -> dict[str, bytes]:
        """The entries of the commit under these paths."""
        asked = [path for path in paths if "\n" not in path]
        names = "".join(f"{self.commit}:{self.work_tree.prefix}{path}\n" for path in asked)
        git, folder, _, options = self.work_tree
        found: dict[str, bytes] = {}
        try:
            async with (
                asyncio.timeout(_READ_SECONDS),
                running_git(
                    git, *options, "cat-file", "--batch", cwd=folder, limit=_CHUNK, feed=names.encode()
                ) as process,
            ):
                assert process.stdout is not None
                for path in asked:
                    kind, _, size = (await process.stdout.readline()).decode().rstrip("\n").rpartition(" ")
                    if size.isdecimal():
                        data = await process.stdout.readexactly(int(size) + 1)
                        if kind.endswith(" blob") and len(data) <= TEXT_LIMIT:
                            found[path] = data[:-1]
        except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
            # A file without a known text from before is not undone.
            return found
        return found


async def git_state(root: Path, programs: Programs, folders: tuple[Path, ...]) -> GitState | None:
    """The state of the work tree around `root`; None without git, outside a work tree, or if git takes too long.

    Git must lie outside all `folders`.
    """
    status = await _status(root, programs, folders)
    return None if status is None else _state(*status)


async def committed_files(root: Path, programs: Programs, folders: tuple[Path, ...]) -> CommittedFiles | None:
    """The files below `root` that are as the last commit has them; None as for `git_state`, and without commits."""
    status = await _status(root, programs, folders)
    commit = _COMMIT.search(status[1]) if status is not None else None
    if status is None or commit is None:
        return None
    changed = [each.partition(" ")[2] for each in _state(*status).changed]
    # The folder itself is named by its own path if nothing in it is committed.
    inside = tuple(path for path in changed if path.endswith("/") or not path)
    return CommittedFiles(status[0], commit[1], frozenset(changed), inside)


async def _status(root: Path, programs: Programs, folders: tuple[Path, ...]) -> tuple[WorkTree, str] | None:
    git = await asyncio.to_thread(lambda: programs.find("git", folders) if in_work_tree(root) else None)
    if git is None:
        return None
    try:
        async with asyncio.timeout(_SECONDS):
            work_tree = await own_work_tree(git, root)
            status = await work_tree.output(*_STATUS) if work_tree is not None else None
    except (OSError, TimeoutError):
        return None
    return None if work_tree is None or status is None else (work_tree, status)


def _state(work_tree: WorkTree, status: str) -> GitState:
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
            changed.append(f"{letters} {path.removeprefix(work_tree.prefix)}")
    return GitState(branch, tuple(changed))
