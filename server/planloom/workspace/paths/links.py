"""Follows a path name by name through every link, and finds the real spelling of its end."""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol

from planloom.workspace.paths.names import name_risk

MAX_LINKS: Final = 40
_JUNCTION: Final = 0xA0000003


class FileSystem(Protocol):
    """The disk operations that `follow` needs; each may raise OSError."""

    def lstat(self, path: str) -> os.stat_result: ...

    def readlink(self, path: str) -> str: ...

    def names(self, folder: str) -> Sequence[str]: ...


class RealDisk:
    """The disk of this machine."""

    # Strings instead of Path objects, for speed: every file that is read has its path followed.

    def lstat(self, path: str) -> os.stat_result:
        return os.lstat(path)

    def readlink(self, path: str) -> str:
        return os.readlink(path)  # noqa: PTH115

    def names(self, folder: str) -> Sequence[str]:
        return os.listdir(folder)  # noqa: PTH208


REAL_DISK: Final = RealDisk()


class Link(NamedTuple):
    """A link on the path, and its target."""

    path: Path
    target: str


class PathEnd(NamedTuple):
    """The end of a path. `missing` are the last names that do not exist; with any, `found` is None.

    `ends_in_link`: the last requested name is itself a link.
    """

    path: Path
    missing: tuple[str, ...]
    found: os.stat_result | None
    links: tuple[Link, ...]
    ends_in_link: bool = False


class ResolveError(NamedTuple):
    """Why a path cannot be followed, and where."""

    code: Literal["loop", "dangling", "not_a_folder", "too_long", "unreadable", "ambiguous", "risky"]
    path: Path
    links: tuple[Link, ...] = ()
    detail: str = ""


class _Next(NamedTuple):
    name: str
    from_link: bool


def is_link(found: os.stat_result) -> bool:
    """Whether it is a symbolic link or a Windows junction."""
    return stat.S_ISLNK(found.st_mode) or getattr(found, "st_reparse_tag", 0) == _JUNCTION


def follow(start: Path, parts: Sequence[str], *, disk: FileSystem = REAL_DISK) -> PathEnd | ResolveError:
    """Follow `parts`, which contain no `..`, from the real folder `start` through every link."""
    here = str(start)
    ahead = deque(_Next(part, False) for part in parts)
    links: list[Link] = []
    ends_in_link = False
    try:
        found = disk.lstat(here)
        while ahead:
            name, from_link = ahead.popleft()
            if name == "..":
                here = os.path.dirname(here)  # noqa: PTH120
                found = disk.lstat(here)
                continue
            if not stat.S_ISDIR(found.st_mode):
                return ResolveError("not_a_folder", Path(here), tuple(links))
            spelled = _spelled(disk, here, name)
            if isinstance(spelled, ResolveError):
                return spelled._replace(links=tuple(links))
            name, entry = spelled
            if entry is None:
                if from_link:
                    return ResolveError("dangling", links[-1].path, tuple(links), links[-1].target)
                missing = (name, *(step.name for step in ahead))
                return PathEnd(Path(here, *missing), missing, None, tuple(links))
            if not is_link(entry):
                here, found = _joined(here, name), entry
                continue
            if len(links) == MAX_LINKS:
                return ResolveError("loop", links[0].path, tuple(links))
            ends_in_link = ends_in_link or (not ahead and not from_link)
            target = disk.readlink(_joined(here, name))
            links.append(Link(Path(here, name), target))
            names = Path(target).parts
            if Path(target).is_absolute():
                here, names = names[0], names[1:]
                found = disk.lstat(here)
            ahead.extendleft(_Next(part, True) for part in reversed(names))
    except OSError as error:
        return ResolveError(_code(error), Path(here), tuple(links), os.strerror(error.errno or 0))
    return PathEnd(Path(here), (), found, tuple(links), ends_in_link)


def case_collisions(place: PathEnd, disk: FileSystem = REAL_DISK) -> tuple[str, ...]:
    """The existing names that differ only in case from the first missing name of a path."""
    if not place.missing:
        return ()
    folder = str(place.path.parents[len(place.missing) - 1])
    key = _key(place.missing[0])
    return tuple(other for other in _names(disk, folder) or () if _key(other) == key)


def _code(error: OSError) -> Literal["loop", "not_a_folder", "too_long", "unreadable"]:
    match error.errno:
        case errno.ENAMETOOLONG:
            return "too_long"
        case errno.ENOTDIR:
            return "not_a_folder"
        case errno.ELOOP:
            return "loop"
        case _:
            return "unreadable"


def _entry(disk: FileSystem, path: str) -> os.stat_result | None:
    try:
        return disk.lstat(path)
    except FileNotFoundError:
        return None


def _spelled(disk: FileSystem, folder: str, name: str) -> tuple[str, os.stat_result | None] | ResolveError:
    """A name as the folder really spells it, and its entry, None if missing.

    The file system itself shows whether case and Unicode form matter: a name that is also reachable in another
    spelling, or is not in the folder's listing, is compared with the names there.
    """
    entry = _entry(disk, _joined(folder, name))
    risk = name_risk(name)
    if entry is not None:
        swapped = name.swapcase()
        forgiving = swapped != name and _same(entry, _entry(disk, _joined(folder, swapped)))
        if name.isascii() and not forgiving and risk is None:
            return name, entry
    elif name.isascii() and risk is None:
        return name, None
    names = _names(disk, folder)
    if names is not None and name in names:
        return name, entry
    if risk is not None:
        return ResolveError("risky", Path(folder, name), detail=risk)
    if names is None:
        return name, entry
    if entry is not None:
        key = _key(name)
        for other in names:
            if _key(other) == key and _same(entry, _entry(disk, _joined(folder, other))):
                return other, entry
        return name, entry
    form = unicodedata.normalize("NFC", name)
    same = [other for other in names if unicodedata.normalize("NFC", other) == form]
    if len(same) > 1:
        return ResolveError(
            "ambiguous", Path(folder, name), detail="several files differ only in their Unicode form"
        )
    return (same[0], _entry(disk, _joined(folder, same[0]))) if same else (name, None)


def _names(disk: FileSystem, folder: str) -> Sequence[str] | None:
    try:
        return disk.names(folder)
    except OSError:
        # A folder may permit entering but not listing; the requested spelling is then used as it is.
        return None


def _joined(folder: str, name: str) -> str:
    return folder + name if folder.endswith(os.sep) else folder + os.sep + name


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _same(one: os.stat_result, other: os.stat_result | None) -> bool:
    return other is not None and (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
