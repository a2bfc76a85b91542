"""Follows a path name by name, through every link, to the real spelling of the place where it ends."""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol

from planloom.workspace.paths.names import doubtful

MAX_LINKS: Final = 40
_JUNCTION: Final = 0xA0000003


class FileSystem(Protocol):
    """The little that following needs of a disk; each call may raise OSError."""

    def lstat(self, path: str) -> os.stat_result: ...

    def readlink(self, path: str) -> str: ...

    def names(self, folder: str) -> Sequence[str]: ...


class RealDisk:
    """The disk of this machine."""

    # Plain strings, not Path objects: a path is followed for every file that is looked at.

    def lstat(self, path: str) -> os.stat_result:
        return os.lstat(path)

    def readlink(self, path: str) -> str:
        return os.readlink(path)  # noqa: PTH115

    def names(self, folder: str) -> Sequence[str]:
        return os.listdir(folder)  # noqa: PTH208


REAL_DISK: Final = RealDisk()


class Link(NamedTuple):
    """A link on the way, and where it points."""

    path: Path
    target: str


class PathEnd(NamedTuple):
    """Where a path ends; `missing` are its last names that are not there; `found` is None if any are.

    `ends_in_link` says that the last name asked is itself a link.
    """

    path: Path
    missing: tuple[str, ...]
    found: os.stat_result | None
    links: tuple[Link, ...]
    ends_in_link: bool = False


class ResolveError(NamedTuple):
    """Why a path ends nowhere, and at which of its places."""

    code: Literal["loop", "dangling", "not_a_folder", "too_long", "unreadable", "ambiguous", "doubtful"]
    at: Path
    links: tuple[Link, ...] = ()
    detail: str = ""


class _Next(NamedTuple):
    name: str
    from_link: bool


def is_link(found: os.stat_result) -> bool:
    """Whether it is a symbolic link, or what stands for one on Windows."""
    return stat.S_ISLNK(found.st_mode) or getattr(found, "st_reparse_tag", 0) == _JUNCTION


def follow(start: Path, parts: Sequence[str], *, disk: FileSystem = REAL_DISK) -> PathEnd | ResolveError:
    """Go from `start`, a real folder, along `parts`, which hold no `..`, and through every link."""
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


def twins(place: PathEnd, disk: FileSystem = REAL_DISK) -> tuple[str, ...]:
    """The names beside the first missing one of a place that differ from it only in case."""
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
    """A name as the folder really spells it.

    Whether case or Unicode form matter is asked of the file system itself: a name that can be reached in
    another spelling, or that is not among the folder's names, is looked up there.
    """
    entry = _entry(disk, _joined(folder, name))
    doubt = doubtful(name)
    if entry is not None:
        swapped = name.swapcase()
        forgiving = swapped != name and _same(entry, _entry(disk, _joined(folder, swapped)))
        if name.isascii() and not forgiving and doubt is None:
            return name, entry
    elif name.isascii() and doubt is None:
        return name, None
    names = _names(disk, folder)
    if names is not None and name in names:
        return name, entry
    if doubt is not None:
        return ResolveError("doubtful", Path(folder, name), detail=doubt)
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
        # A folder may be entered without being listed; its names are then taken as they are asked.
        return None


def _joined(folder: str, name: str) -> str:
    return folder + name if folder.endswith(os.sep) else folder + os.sep + name


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _same(one: os.stat_result, other: os.stat_result | None) -> bool:
    return other is not None and (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
