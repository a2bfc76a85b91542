"""Files on disk as they are: reached without following any link that was put in the way, and read."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, NamedTuple

from planloom.domain.text.positions import Decoded, decode
from planloom.domain.values import Value

TEXT_LIMIT: Final = 5 * 1024 * 1024
"""Bytes up to which a file is read as text."""

Cause = Literal[
    "read_only",
    "permission",
    "full",
    "too_long",
    "exists",
    "missing",
    "changed",
    "folder",
    "not_a_folder",
    "not_empty",
    "failed",
]

_HAS_FOLDER_HANDLES: Final = os.open in os.supports_dir_fd
NO_FOLLOW: Final = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
"""How a file is opened: not through a link, and without waiting at the other end of a pipe."""
_ENTER: Final = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)


class ConfinedPath(NamedTuple):
    """A place by a real workspace folder and the names below it; no name is followed if it is a link."""

    root: Path
    names: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The whole path, for sentences."""
        return self.root.joinpath(*self.names)


class FileFingerprint(NamedTuple):
    """What tells one state of a file from another without reading it."""

    device: int
    inode: int
    size: int
    modified_ns: int


class FileOnDisk(Value):
    """What is at a place. `decoded` is there for `text` alone; `size` is in bytes."""

    kind: Literal["text", "missing", "binary", "undecodable", "too_large", "folder", "special", "unreadable"]
    decoded: Decoded | None = None
    size: int = 0
    fingerprint: FileFingerprint | None = None
    detail: str = ""


class DiskRefused(Value):
    """An effect that did not happen, nothing half done, and why."""

    kind: Literal["refused"] = "refused"
    cause: Cause
    reason: str


def read(
    spot: ConfinedPath, limit: int = TEXT_LIMIT, admits: Callable[[bytes], bool] = lambda _: True
) -> FileOnDisk:
    """What is there, as text if it is text of at most `limit` bytes; never raises OSError.

    Bytes that `admits` does not want are not decoded: the text is left out.
    """
    if not spot.names:
        return FileOnDisk(kind="folder" if spot.root.is_dir() else "missing")
    try:
        with holding(spot) as (name, folder):
            found = os.lstat(name, dir_fd=folder)
            if stat.S_ISDIR(found.st_mode):
                return FileOnDisk(kind="folder", fingerprint=stamp_of(found))
            if not stat.S_ISREG(found.st_mode):
                return FileOnDisk(kind="special", fingerprint=stamp_of(found))
            handle = os.open(name, os.O_RDONLY | NO_FOLLOW, dir_fd=folder)
    except FileNotFoundError:
        return FileOnDisk(kind="missing")
    except OSError as error:
        return FileOnDisk(kind="unreadable", detail=refusal(error, spot).reason)
    try:
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            fingerprint = stamp_of(found)
            if found.st_size > limit:
                return FileOnDisk(kind="too_large", size=found.st_size, fingerprint=fingerprint)
            data = file.read(limit + 1)
    except OSError as error:
        return FileOnDisk(kind="unreadable", detail=refusal(error, spot).reason)
    if len(data) > limit:
        return FileOnDisk(kind="too_large", size=len(data), fingerprint=fingerprint)
    if not admits(data):
        return FileOnDisk(kind="text", size=len(data), fingerprint=fingerprint)
    decoded = decode(data)
    if decoded.kind == "decoded":
        return FileOnDisk(kind="text", decoded=decoded, size=len(data), fingerprint=fingerprint)
    return FileOnDisk(kind=decoded.kind, size=decoded.size, fingerprint=fingerprint, detail=decoded.detail)


def stamp_at(spot: ConfinedPath) -> FileFingerprint | None:
    """The present state of a place; None if nothing is there, or nothing that can be seen."""
    try:
        with holding(spot) as (name, folder):
            return stamp_of(os.lstat(name, dir_fd=folder))
    except OSError:
        return None


_CAUSES: Final[dict[int, tuple[Cause, str]]] = {
    errno.EROFS: ("read_only", "is on a read-only file system"),
    errno.EACCES: ("permission", "may not be changed by this user"),
    errno.EPERM: ("permission", "may not be changed by this user"),
    errno.ENOSPC: ("full", "does not fit: the disk is full"),
    errno.EDQUOT: ("full", "does not fit: the disk quota is used up"),
    errno.EFBIG: ("full", "is larger than this system allows"),
    errno.ENAMETOOLONG: ("too_long", "has a name that is too long"),
    errno.EEXIST: ("exists", "exists already"),
    errno.ENOENT: ("missing", "is not there"),
    errno.ENOTDIR: ("changed", "lies below something that is no folder any more"),
    errno.ELOOP: ("changed", "has become a link"),
    errno.EISDIR: ("folder", "is a folder"),
    errno.ENOTEMPTY: ("not_empty", "is a folder that is not empty"),
}


def refusal(error: OSError, spot: ConfinedPath) -> DiskRefused:
    """The sentence for a failure of the system."""
    fallback: tuple[Cause, str] = ("failed", f"cannot be used ({error.strerror or error})")
    cause, sentence = _CAUSES.get(error.errno or 0, fallback)
    return DiskRefused(cause=cause, reason=f"{spot.path} {sentence}.")


@contextmanager
def holding(spot: ConfinedPath) -> Iterator[tuple[str, int | None]]:
    """The last name of a place and a handle of its folder, reached without following any link.

    With the handle held, nobody can move the place by putting a link into the path. Where there are no such
    handles, the whole path is given, and checked to be free of links.
    """
    if not spot.names:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not _HAS_FOLDER_HANDLES:
        parent = spot.path.parent
        if parent.resolve() != parent:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        yield str(spot.path), None
        return
    folder = os.open(spot.root, _ENTER)
    try:
        for name in spot.names[:-1]:
            inner = os.open(name, _ENTER | NO_FOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield spot.names[-1], folder
    finally:
        os.close(folder)


def stamp_of(found: os.stat_result) -> FileFingerprint:
    """The part of a file's state that tells it from another one."""
    return FileFingerprint(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
