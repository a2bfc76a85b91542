"""Reads files on disk without following links."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, NamedTuple

from planloom.domain.text.positions import Decoded, decode

TEXT_LIMIT: Final = 5 * 1024 * 1024
"""Largest file, in bytes, that is read as text."""

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
"""Flags for opening a file: follow no link, and do not block on a pipe."""
_HANDLES: Final = "/proc/self/fd"
"""Where a process finds what it has open; on Linux alone."""
_ENTER: Final = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)


class FolderId(NamedTuple):
    """Distinguishes a folder from another that takes its name."""

    device: int
    inode: int


class Folder(NamedTuple):
    """A folder at a real path, and which one it was when it was judged; None if any folder there will do."""

    path: Path
    identity: FolderId | None = None


class HeldFolder(NamedTuple):
    """The folder on a path that was there when the path was judged: `depth` names below the path's root."""

    depth: int
    folder: FolderId


class ConfinedPath(NamedTuple):
    """A path as a real workspace folder and the names below it; a name that is a link is not followed.

    A path that was judged cannot be used if another folder has taken the place of the one that it was `held` by.
    """

    root: Path
    names: tuple[str, ...]
    held: HeldFolder | None = None

    @property
    def path(self) -> Path:
        """The whole path, for messages."""
        return self.root.joinpath(*self.names)


class FileFingerprint(NamedTuple):
    """Distinguishes states of a file without reading it."""

    device: int
    inode: int
    size: int
    modified_ns: int


class FileOnDisk(NamedTuple):
    """The result of reading a path. Only `text` has `decoded`, unless the reader declined it; `size` is in bytes.

    `names` is how many names the file has (hard links).
    """

    kind: Literal["text", "missing", "binary", "undecodable", "too_large", "folder", "special", "unreadable"]
    decoded: Decoded | None = None
    size: int = 0
    fingerprint: FileFingerprint | None = None
    detail: str = ""
    names: int = 1


class DiskRefused(NamedTuple):
    """Why a change on disk was not made; nothing is half done."""

    cause: Cause
    reason: str
    kind: Literal["refused"] = "refused"


def read(
    confined: ConfinedPath, limit: int = TEXT_LIMIT, admits: Callable[[bytes], bool] = lambda _: True
) -> FileOnDisk:
    """Read a file as text of at most `limit` bytes; never raises OSError.

    If `admits` rejects the bytes, they are not decoded.
    """
    if not confined.names:
        return FileOnDisk(kind="folder" if confined.root.is_dir() else "missing")
    try:
        with open_parent(confined) as (name, folder):
            found = os.lstat(name, dir_fd=folder)
            if stat.S_ISDIR(found.st_mode):
                return FileOnDisk(kind="folder", fingerprint=fingerprint_of(found))
            if not stat.S_ISREG(found.st_mode):
                return FileOnDisk(kind="special", fingerprint=fingerprint_of(found))
            handle = os.open(name, os.O_RDONLY | NO_FOLLOW, dir_fd=folder)
    except FileNotFoundError:
        return FileOnDisk(kind="missing")
    except OSError as error:
        return FileOnDisk(kind="unreadable", detail=refusal(error, confined).reason)
    try:
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            fingerprint = fingerprint_of(found)
            if found.st_size > limit:
                return FileOnDisk(kind="too_large", size=found.st_size, fingerprint=fingerprint)
            data = file.read(limit + 1)
    except OSError as error:
        return FileOnDisk(kind="unreadable", detail=refusal(error, confined).reason)
    if len(data) > limit:
        return FileOnDisk(kind="too_large", size=len(data), fingerprint=fingerprint)
    if not admits(data):
        return FileOnDisk(kind="text", size=len(data), fingerprint=fingerprint)
    decoded = decode(data)
    if decoded.kind == "decoded":
        return FileOnDisk(
            kind="text", decoded=decoded, size=len(data), fingerprint=fingerprint, names=found.st_nlink
        )
    return FileOnDisk(kind=decoded.kind, size=decoded.size, fingerprint=fingerprint, detail=decoded.detail)


def read_bytes(confined: ConfinedPath, limit: int) -> bytes | None:
    """The bytes of a regular file of at most `limit` bytes, else None; never raises OSError."""
    try:
        with open_parent(confined) as (name, folder):
            handle = os.open(name, os.O_RDONLY | NO_FOLLOW, dir_fd=folder)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            data = file.read(limit + 1)
    except OSError:
        return None
    return data if len(data) <= limit else None


def fingerprint_at(confined: ConfinedPath) -> FileFingerprint | None:
    """The current fingerprint of a path; None if it does not exist or cannot be read."""
    try:
        with open_parent(confined) as (name, folder):
            return fingerprint_of(os.lstat(name, dir_fd=folder))
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
    errno.ENOENT: ("missing", "does not exist"),
    errno.ENOTDIR: ("changed", "lies below something that is not a folder any more"),
    errno.ELOOP: ("changed", "has become a link"),
    errno.ESTALE: ("changed", "lies in a folder that another has replaced"),
    errno.EISDIR: ("folder", "is a folder"),
    errno.ENOTEMPTY: ("not_empty", "is a folder that is not empty"),
}


def refusal(error: OSError, confined: ConfinedPath) -> DiskRefused:
    """Turn an OSError into a refusal with a sentence."""
    fallback: tuple[Cause, str] = ("failed", f"cannot be used ({error.strerror or error})")
    cause, sentence = _CAUSES.get(error.errno or 0, fallback)
    return DiskRefused(cause=cause, reason=f"{confined.path} {sentence}.")


@contextmanager
def open_parent(confined: ConfinedPath) -> Iterator[tuple[str, int | None]]:
    """The last name of a path and a handle of its parent folder, opened without following any link.

    While the handle is open, nobody can redirect the path by putting a link into it. On systems without folder
    handles the name is the whole path, checked to be free of links. Raises OSError, ESTALE for another folder than
    the one held.
    """
    if not confined.names:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not _HAS_FOLDER_HANDLES:
        parent = confined.path.parent
        if parent.resolve() != parent:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if confined.held is not None:
            held = confined.root.joinpath(*confined.names[: confined.held.depth])
            _require_held(confined, confined.held.depth, held.stat())
        yield str(confined.path), None
        return
    folder = os.open(confined.root, _ENTER)
    try:
        _require_held(confined, 0, os.fstat(folder))
        for depth, name in enumerate(confined.names[:-1], start=1):
            inner = os.open(name, _ENTER | NO_FOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
            _require_held(confined, depth, os.fstat(folder))
        yield confined.names[-1], folder
    finally:
        os.close(folder)


@contextmanager
def entered(folder: Folder) -> Iterator[str]:
    """A path by which a process that is started meanwhile enters this very folder, whatever takes its name.

    Only Linux has such a path; elsewhere it is the folder's own, and a moment is left after the comparison. Raises
    OSError, ESTALE for another folder than the one that was judged.
    """
    if folder.identity is None or not _HAS_FOLDER_HANDLES:
        _require_identity(folder, folder.path.stat())
        yield str(folder.path)
        return
    handle = os.open(folder.path, _ENTER | NO_FOLLOW)
    try:
        _require_identity(folder, os.fstat(handle))
        yield f"{_HANDLES}/{handle}" if Path(_HANDLES).is_dir() else str(folder.path)
    finally:
        os.close(handle)


def _require_identity(folder: Folder, found: os.stat_result) -> None:
    if folder.identity is not None and folder.identity != (found.st_dev, found.st_ino):
        raise OSError(errno.ESTALE, "another folder has taken the place of its own")


def is_held(confined: ConfinedPath) -> bool:
    """Whether the folder that was on the path when it was judged still is; True if none was noted."""
    if confined.held is None:
        return True
    try:
        with open_parent(confined._replace(names=confined.names[: confined.held.depth + 1])):
            return True
    except OSError:
        return False


def _require_held(confined: ConfinedPath, depth: int, found: os.stat_result) -> None:
    held = confined.held
    if held is not None and held.depth == depth and held.folder != (found.st_dev, found.st_ino):
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))


def fingerprint_of(found: os.stat_result) -> FileFingerprint:
    """The fingerprint of a stat result."""
    return FileFingerprint(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
