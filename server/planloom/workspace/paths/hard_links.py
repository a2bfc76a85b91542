"""Finds the other names of a file that has several on its disk (hard links), so that it is judged by each of them.

A disk does not tell the names of a file. Looked through are the workspace folders, Planloom's own state, and the places
in the user's home where keys and start files usually are: a name elsewhere stays unknown.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from planloom.domain.safety.protected import SECRET_FOLDERS, danger, is_secret
from planloom.workspace.paths.names import listed, quoted

MOST_ENTRIES: Final = 100_000
"""Most names of one folder tree that are looked at, those nearest to its top first."""
_MOST_AT_HOME: Final = 5_000
_FOLDERS_AT_HOME: Final = SECRET_FOLDERS | {".docker", ".config"}
_NAMED: Final = 3


class OtherNames(NamedTuple):
    """The names of a file that has `names` in all, as far as they are known, but for the one that was asked about.

    `inside` are paths below a workspace folder, `at_home` below the user's home. `own`: one of them belongs to
    Planloom's own state. `unknown` is how many were not found.
    """

    names: int = 1
    inside: tuple[str, ...] = ()
    at_home: tuple[str, ...] = ()
    own: bool = False
    unknown: int = 0

    @property
    def secret(self) -> bool:
        """Whether one of the names suggests secrets."""
        return any(map(is_secret, (*self.inside, *self.at_home)))

    @property
    def danger(self) -> str | None:
        """Why a change of the file always needs approval, if so."""
        for name in (*self.inside, *self.at_home):
            found = danger(name)
            if found is not None:
                return f"It is {quoted(name)} too (a hard link). {found}"
        if self.at_home:
            return f"It is {quoted('~/' + self.at_home[0])} too (a hard link)."
        if self.unknown:
            return (
                f"The file has {self.names} names on this disk (hard links), not all of them in the workspace: a"
                " change may show in a file outside."
            )
        return None

    @property
    def note(self) -> str | None:
        """The notes for a person on names that are all harmless."""
        if not self.inside or self.danger is not None:
            return None
        names = listed([quoted(name) for name in self.inside], _NAMED)
        return f"The file has {self.names} names (hard links): a change may show in {names} too."


ONLY_NAME: Final = OtherNames()


class _Wanted(NamedTuple):
    """A file with `names` names, as it was when they were asked for, and where to look for them.

    `inode` is its device with its number there.
    """

    inode: tuple[int, int]
    names: int
    changed_ns: int
    path: str
    folders: tuple[Path, ...]
    private: tuple[Path, ...]
    home: Path


def other_names(
    path: Path, found: os.stat_result | None, folders: Sequence[Path], private: Sequence[Path] = ()
) -> OtherNames:
    """The other names of the file at a real path, which `found` describes. Walks folders: call it from a thread.

    `folders` are real workspace folders, `private` those of Planloom's own state.
    """
    if found is None or not stat.S_ISREG(found.st_mode) or found.st_nlink < 2:
        return ONLY_NAME
    wanted = _Wanted(
        (found.st_dev, found.st_ino),
        found.st_nlink,
        found.st_ctime_ns,
        os.fspath(path),
        tuple(folders),
        tuple(private),
        Path.home(),
    )
    names, places = _looked_for(wanted)
    if not all(_leads_to(place, wanted.inode) for place in places):
        # A folder above one of the names was renamed, which does not change the file.
        _looked_for.cache_clear()
        names, _ = _looked_for(wanted)
    return names


@lru_cache(maxsize=512)
def _looked_for(wanted: _Wanted) -> tuple[OtherNames, tuple[str, ...]]:
    """The other names, and where they are. A file that gets or loses a name is another key, since it changes."""
    left = wanted.names - 1
    inside = dict(_names(wanted, left, _trees(wanted.folders, MOST_ENTRIES)))
    left -= len(inside)
    own = dict(_names(wanted, left, _trees(wanted.private, MOST_ENTRIES))) if left else {}
    left -= len(own)
    at_home = dict(_names(wanted, left, _at_home(wanted.home))) if left else {}
    unknown = left - len(at_home)
    names = OtherNames(wanted.names, tuple(inside.values()), tuple(at_home.values()), bool(own), unknown)
    return names, (*inside, *own, *at_home)


class LinkedSecrets:
    """The files with several names of which one suggests secrets, in these folders or the user's home.

    They are looked for when the first file is asked about, in its thread.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(folders)

    def __contains__(self, inode: tuple[int, int]) -> bool:
        return inode in self._found

    @cached_property
    def _found(self) -> frozenset[tuple[int, int]]:
        found: set[tuple[int, int]] = set()
        for entry, relative in chain(_trees(self._folders, MOST_ENTRIES), _at_home(Path.home())):
            state = _state(entry.path) if is_secret(relative) else None
            if state is not None and state.st_nlink > 1 and stat.S_ISREG(state.st_mode):
                found.add((state.st_dev, state.st_ino))
        return frozenset(found)


_Entry = tuple["os.DirEntry[str]", str]


def _names(wanted: _Wanted, most: int, entries: Iterable[_Entry]) -> Iterator[tuple[str, str]]:
    """At most `most` other places of a file, each with its path below the folder that was listed."""
    seen = {wanted.path}
    for entry, relative in entries:
        if most == 0:
            return
        if entry.inode() == wanted.inode[1] and entry.path not in seen:
            seen.add(entry.path)
            if _leads_to(entry.path, wanted.inode):
                most -= 1
                yield entry.path, relative


def _leads_to(place: str, inode: tuple[int, int]) -> bool:
    state = _state(place)
    return state is not None and (state.st_dev, state.st_ino) == inode


def _state(place: str) -> os.stat_result | None:
    # Not that of the entry, which lacks device and number on Windows.
    try:
        return os.lstat(place)
    except OSError:
        return None


def _at_home(home: Path) -> Iterator[_Entry]:
    """The entries directly in the user's home, and those in the folders there that hold keys."""
    for entry in _listed(os.fspath(home)):
        yield entry, entry.name
        if entry.name in _FOLDERS_AT_HOME and entry.is_dir(follow_symlinks=False):
            for inner, relative in _trees((Path(entry.path),), _MOST_AT_HOME):
                yield inner, f"{entry.name}/{relative}"


def _trees(folders: Iterable[Path], most: int) -> Iterator[_Entry]:
    """Everything in these folders with its path below them, the nearest to the top first; follows no link.

    Git's objects are left out: they are many, and hold no file by its name.
    """
    for folder in folders:
        seen = 0
        waiting = deque(((os.fspath(folder), ""),))
        while waiting and seen < most:
            place, prefix = waiting.popleft()
            for entry in _listed(place):
                seen += 1
                relative = prefix + entry.name
                yield entry, relative
                if entry.is_dir(follow_symlinks=False) and not relative.endswith(".git/objects"):
                    waiting.append((entry.path, f"{relative}/"))


def _listed(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
