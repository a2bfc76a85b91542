"""Finds the git folder of a working tree, and what of it a command may change: nothing that makes git run a program.

Git runs what `config` and `hooks` say, and follows `commondir` to another folder that has these. A `commondir` that
does not exist cannot be made read-only, so its name is taken while a command may write there: `.` stands for the
folder itself.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

_COMMON: Final = "commondir"
_ITSELF: Final = b".\n"
_MOST_BYTES: Final = 100_000
_KEPT: Final = (
    *(
        "config",
        "config.worktree",
        "hooks",
        "info",
        "modules",
        "worktrees",
        "objects/info/alternates",
        _COMMON,
    ),
    "gitdir",
)
"""Paths that stay as they are: those that run programs, or lead to folders that do."""
_SHARED: Final = ("objects", "refs", "logs")
"""The paths that a linked working tree changes in the folder of its repository."""
_BARE: Final = re.compile(rb"\bbare\s*=\s*(?:true|yes|on|1)\b", re.IGNORECASE)
_WORKING_TREE: Final = re.compile(rb"\bworktree\s*=[^\S\n]*([^\n]*)", re.IGNORECASE)
_OWN_CONFIG: Final = re.compile(rb"worktreeconfig", re.IGNORECASE)


class GitFolder(NamedTuple):
    """The git folder of one working tree. `name` is how an approval calls it.

    `repository` is the folder with its settings. `writable` are the folders that a command may change, `kept` what in
    them stays as it is, whether it is there or not.
    """

    name: str
    path: Path
    repository: Path
    writable: tuple[Path, ...]
    kept: tuple[Path, ...]


def git_folder(folder: Path, roots: Iterable[Path]) -> GitFolder | None:
    """The git folder that git uses in `folder`, if its hooks and settings can be protected. Blocks on file I/O.

    `folder` is a real path, `roots` are the workspace folders. A linked working tree and a submodule have it elsewhere,
    which counts only if that folder points back. None for those whose settings name another working tree: to take the
    name `commondir` hides that.
    """
    tree = next((each for each in (folder, *folder.parents) if os.path.lexists(each / ".git")), None)
    if tree is None:
        return None
    try:
        path = tree / ".git"
        if path.is_symlink():
            return None
        found = _linked(tree) or _submodule(tree) if path.is_file() else _own(path, tree)
    except (OSError, ValueError, RuntimeError):
        return None
    if found is None:
        return None
    root = next((each for each in roots if found.path.is_relative_to(each)), None)
    name = str(found.path) if root is None else found.path.relative_to(root).as_posix()
    return found._replace(name=name)


def _own(path: Path, tree: Path) -> GitFolder | None:
    # A link cannot be made read-only, and could be replaced.
    if any((path / name).is_symlink() for name in _KEPT):
        return None
    if not _is_repository(path) or _read(path / _COMMON) not in (None, _ITSELF):
        return None
    if _BARE.search(_read(path / "config") or b"") or any(each != tree for each in _working_trees(path)):
        return None
    return GitFolder("", path, path, (path,), tuple(path / name for name in _KEPT))


def _working_trees(path: Path) -> list[Path]:
    """The working trees that the settings of a repository name."""
    named = _WORKING_TREE.findall(_read(path / "config") or b"")
    return [(path / os.fsdecode(each)).resolve() for each in named]


def _submodule(tree: Path) -> GitFolder | None:
    path = _named(tree, _read(tree / ".git"), b"gitdir: ")
    return None if path is None or not _working_trees(path) else _own(path, tree)


def _linked(tree: Path) -> GitFolder | None:
    path = _named(tree, _read(tree / ".git"), b"gitdir: ")
    if path is None or _named(path, _read(path / "gitdir")) != (tree / ".git"):
        return None
    common = _named(path, _read(path / _COMMON))
    if common is None or path.parent != common / "worktrees" or not _is_repository(common):
        return None
    writable = (path, *(common / name for name in _SHARED if (common / name).is_dir()))
    kept = (*(path / name for name in _KEPT), common / "objects" / "info" / "alternates")
    return GitFolder("", path, common, writable, kept)


def _is_repository(path: Path) -> bool:
    parts = (path / "objects", path / "refs")
    return all(each.is_dir() and not each.is_symlink() for each in parts) and all(
        (path / name).is_file() and not (path / name).is_symlink() for name in ("HEAD", "config")
    )


def _named(folder: Path, content: bytes | None, prefix: bytes = b"") -> Path | None:
    """The real path that a file of git's names."""
    if content is None or not content.startswith(prefix):
        return None
    return (folder / os.fsdecode(content[len(prefix) :].rstrip(b"\n"))).resolve(strict=True)


def _read(path: Path) -> bytes | None:
    if path.is_symlink() or not path.is_file():
        return None
    with path.open("rb") as file:
        return file.read(_MOST_BYTES)


class Reserved(NamedTuple):
    """The name `commondir` of a git folder, taken by an open file that is locked until the command has ended."""

    path: Path
    number: int

    def release(self) -> None:
        """Remove the file unless another command still needs it. Blocks on file I/O."""
        if sys.platform == "win32":
            raise AssertionError("none is taken there")
        import fcntl

        try:
            with suppress(OSError):
                fcntl.flock(self.number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_open_at(self.path, self.number):
                    self.path.unlink()
        finally:
            os.close(self.number)


def reserved(git: GitFolder) -> Reserved | None:
    """Make what must not be missing, since it could be made: hooks, settings, `commondir`. Blocks on file I/O.

    None where nothing has to be taken. Raises OSError.
    """
    if sys.platform != "linux":
        return None
    path = git.path / _COMMON
    is_linked = _read(path) not in (None, _ITSELF)
    if _OWN_CONFIG.search(_read(git.repository / "config") or b""):
        (git.path / "config.worktree").touch()
    if is_linked:
        return None
    (git.path / "hooks").mkdir(exist_ok=True)
    return _taken(path)


def _taken(path: Path) -> Reserved:
    if sys.platform != "linux":
        raise AssertionError("none is taken elsewhere")
    import fcntl

    while True:
        with suppress(FileExistsError), _itself(path.parent) as made:
            # At once with its content, since git refuses an empty one.
            os.link(made, path)
        with suppress(FileNotFoundError):
            number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            fcntl.flock(number, fcntl.LOCK_SH)
            if _is_open_at(path, number):
                return Reserved(path, number)
            os.close(number)


@contextmanager
def _itself(folder: Path) -> Iterator[str]:
    number, made = tempfile.mkstemp(prefix="planloom-", dir=folder)
    try:
        os.write(number, _ITSELF)
        yield made
    finally:
        os.close(number)
        Path(made).unlink()


def _is_open_at(path: Path, number: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(number))
    except OSError:
        return False
