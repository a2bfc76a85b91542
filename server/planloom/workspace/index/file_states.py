"""Lists the files of a workspace folder with their states, and compares two such listings.

Names that programs read unasked are listed wherever they are; other files only where no ignore file hides them.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path, PurePosixPath
from typing import Final, Literal, NamedTuple

from planloom.domain.safety.protected import OWN_FOLDER, is_git, runs_unasked
from planloom.workspace.index.ignore import IGNORE_FILES, IgnoreChain, child_chain, top_chain

MOST_FILES: Final = 50_000
"""Most files whose states are listed; of a larger folder only the names that programs read unasked are."""
MOST_ENTRIES: Final = 200_000
"""Most entries that are looked at, those of ignored folders included."""
_OUTPUTS: Final = frozenset(
    {
        "node_modules",
        ".venv",
        "venv",
        "site-packages",
        "__pycache__",
        "target",
        "dist",
        "build",
        "out",
        ".tox",
        ".nox",
    }
)
"""Folders that builds fill. Of the guarded names only git's count there: others act in a folder that is opened."""
_OF_GIT: Final = ("config", "config.worktree", "commondir", "hooks", "info")
"""The paths of a git folder that can make git run programs."""
_REPOSITORY: Final = frozenset({"HEAD", "objects", "refs"})
_LINKED: Final = frozenset({"HEAD", "commondir"})
_MARKS: Final = _REPOSITORY | _LINKED
GRAIN_NS: Final = 2_000_000_000
"""How coarse the times of a file system may be."""


_Row = tuple[str, bool, os.DirEntry[str] | None]
"""A name, whether it is a folder, and the entry in a folder that is not ignored."""


class FileState(NamedTuple):
    """Distinguishes states of a file without reading it."""

    size: int
    modified_ns: int
    inode: int
    mode: int
    changed_ns: int


class IgnoredFolder(NamedTuple):
    """The entries that matter of an ignored folder, for as long as the folder is the same: what is made in it, and what
    sets back its times, gives it another time of change.
    """

    inode: int
    changed_ns: int
    rows: tuple[_Row, ...]


class FileStates(NamedTuple):
    """The files of one folder by path, and which of them are `guarded`: programs read them unasked.

    `complete`: all files are listed; else only guarded ones. `searched`: every folder was searched for those.
    `ignored` are the ignored folders.
    """

    files: Mapping[str, FileState]
    guarded: Set[str]
    complete: bool = True
    searched: bool = True
    ignored: Mapping[str, IgnoredFolder] = {}


class FileDifference(NamedTuple):
    """A file that differs between two listings; `old_path` is its path before, if it was renamed.

    If another file has taken its old name, it is created under the new one, with an `old_path`.
    """

    path: str
    change: Literal["create", "edit", "delete", "rename"]
    old_path: str | None = None


def file_states(root: Path, exclude: Sequence[str], ignored: Mapping[str, IgnoredFolder]) -> FileStates:
    """The states of the files below `root`, links not followed. Of the `ignored` folders of an earlier listing, those
    that are the same are not read again. Blocks on file I/O.
    """
    walk = _Walk(root, ignored)
    walk.below(top_chain(root, exclude))
    return FileStates(walk.files, walk.guarded, walk.complete, walk.searched, walk.ignored)


class _Walk:
    """One walk through a folder."""

    def __init__(self, root: Path, known: Mapping[str, IgnoredFolder]) -> None:
        self.ignored: dict[str, IgnoredFolder] = {}
        self._known = known
        self._settled_ns = time.time_ns() - GRAIN_NS
        self.files: dict[str, FileState] = {}
        self.guarded: set[str] = set()
        self.complete = self.searched = True
        self._root = root
        self._base = str(root)
        self._counting: dict[str, bool] = {}
        self._entries = 0

    def below(self, top: IgnoreChain) -> None:
        """List everything. A folder without a chain is hidden by an ignore file: only guarded names count in it."""
        stack: list[tuple[str, IgnoreChain | None, bool]] = [("", top, False)]
        while stack:
            prefix, chain, is_output = stack.pop()
            rows = self._rows(prefix) if chain is not None else self._ignored_rows(prefix)
            names = {name for name, _, _ in rows}
            if names >= _LINKED or names >= _REPOSITORY:
                self._guard(f"{prefix}HEAD")
                self._guard_parts(prefix)
            if not self.complete:
                chain = None
            if chain is not None and not names.isdisjoint(IGNORE_FILES):
                chain = child_chain(chain, self._root, prefix)
            hides = chain.inside(prefix) if chain is not None else None
            for name, is_folder, entry in rows:
                path = prefix + name
                counts = self._counts(name)
                if counts and is_git(name):
                    # The folder's own repository is not a command's to write, unless the user lets it.
                    if prefix:
                        self._guard(path)
                        self._guard_parts(f"{path}/")
                elif not prefix and name == OWN_FOLDER:
                    continue
                elif counts and not is_output:
                    self._guard_all(path, is_folder)
                elif is_folder:
                    hidden = hides is None or hides(name, True)
                    stack.append((f"{path}/", None if hidden else chain, is_output or name in _OUTPUTS))
                elif entry is not None and hides is not None and not hides(name, False) and self.complete:
                    self._add(path, entry)

    def _ignored_rows(self, prefix: str) -> Sequence[_Row]:
        """The folders and the names that count in an ignored folder."""
        try:
            found = os.lstat(f"{self._base}/{prefix}")
        except OSError:
            return ()
        known = self._known.get(prefix)
        if known is None or (known.inode, known.changed_ns) != (found.st_ino, found.st_ctime_ns):
            rows = [
                (name, is_folder, None)
                for name, is_folder, _ in self._rows(prefix)
                if is_folder or name in _MARKS or self._counts(name)
            ]
            known = IgnoredFolder(found.st_ino, found.st_ctime_ns, tuple(rows))
        self._entries += 1
        if known.changed_ns < self._settled_ns:
            self.ignored[prefix] = known
        return known.rows

    def _rows(self, prefix: str) -> list[_Row]:
        if self._entries > MOST_ENTRIES:
            self.searched = False
            return []
        try:
            with os.scandir(f"{self._base}/{prefix}") as entries:
                rows: list[_Row] = [
                    (entry.name, entry.is_dir(follow_symlinks=False), entry) for entry in entries
                ]
        except OSError:
            return []
        self._entries += len(rows)
        return [row for row in rows if row[0].isascii() or _is_text(row[0])]

    def _counts(self, name: str) -> bool:
        """Whether git or other programs read what has this name unasked."""
        known = self._counting.get(name)
        if known is None:
            known = self._counting[name] = is_git(name) or runs_unasked(name)
        return known

    def _add(self, path: str, entry: os.DirEntry[str]) -> None:
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError:
            return
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
            return
        self.files[path] = _state(found)
        if len(self.files) >= MOST_FILES:
            self.complete = False

    def _guard(self, path: str) -> None:
        try:
            found = os.lstat(f"{self._base}/{path}")
        except OSError:
            return
        # The times of a folder change with each file that is made in it.
        is_folder = stat.S_ISDIR(found.st_mode)
        self.files[path] = FileState(0, 0, found.st_ino, found.st_mode, 0) if is_folder else _state(found)
        self.guarded.add(path)

    def _guard_parts(self, prefix: str) -> None:
        """Guard what of a git folder can make git run programs."""
        for name in _OF_GIT:
            path = Path(self._base, prefix, name)
            self._guard_all(prefix + name, path.is_dir() and not path.is_symlink())

    def _guard_all(self, path: str, is_folder: bool) -> None:
        """Guard a file, or every file below a folder."""
        stack = [(path, is_folder)]
        while stack:
            path, is_folder = stack.pop()
            if is_folder:
                stack += [(f"{path}/{name}", inner) for name, inner, _ in self._rows(f"{path}/")]
            else:
                self._guard(path)


def differences(root: Path, before: FileStates, after: FileStates, since_ns: int) -> Iterator[FileDifference]:
    """The changes between two listings of a folder, of which the later began after `since_ns`.

    What only an ignore file shows or hides since has not changed. Blocks on file I/O.
    """
    whole = before.complete and after.complete
    gone = {
        path: state
        for path, state in before.files.items()
        if path not in after.files and (whole or path in before.guarded) and not os.path.lexists(root / path)
    }
    moved = {
        (state.inode, state.size, state.modified_ns): path
        for path, state in before.files.items()
        if path in gone or (path in after.files and after.files[path].inode != state.inode)
    }
    for path, state in after.files.items():
        if not whole and path not in after.guarded:
            continue
        earlier = before.files.get(path)
        if earlier is not None:
            if earlier != state and not (stat.S_ISDIR(earlier.mode) and stat.S_ISDIR(state.mode)):
                yield FileDifference(path, "edit")
            continue
        old = moved.get((state.inode, state.size, state.modified_ns))
        if old is not None and path in after.guarded:
            # A file that programs did not read under its old name may be read under the new one.
            old = old if old in before.guarded and _tail(old) == _tail(path) else None
        if old is not None and gone.pop(old, None) is not None:
            yield FileDifference(path, "rename", old)
        elif old is not None or (path in after.guarded and before.searched) or state.changed_ns >= since_ns:
            yield FileDifference(path, "create", old)
    for path in gone:
        yield FileDifference(path, "delete")


def parts_of_repository(path: str) -> tuple[str, ...]:
    """The guarded paths of the repository that begins with this path, itself `.git` or the `HEAD` in another folder."""
    folder, _, name = path.rpartition("/")
    is_git_folder = is_git(name)
    return tuple(
        str(PurePosixPath(path if is_git_folder else folder, part))
        for part in _OF_GIT
        if is_git_folder or name == "HEAD"
    )


def _tail(path: str) -> str:
    """A guarded path from the first guarded name on."""
    names = path.split("/")
    first = next((at for at, name in enumerate(names) if is_git(name) or runs_unasked(name)), len(names) - 1)
    return "/".join(names[first:])


def _state(found: os.stat_result) -> FileState:
    return FileState(found.st_size, found.st_mtime_ns, found.st_ino, found.st_mode, found.st_ctime_ns)


def _is_text(name: str) -> bool:
    """Whether a name is valid Unicode; Python decodes other bytes to lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
