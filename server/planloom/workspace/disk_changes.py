"""Changes on disk: writes are atomic, and nothing is overwritten by accident."""

from __future__ import annotations

import base64
import contextlib
import errno
import os
import re
import secrets
import stat
import sys
from pathlib import Path
from typing import Final, Literal

from planloom.domain.safety.protected import folded
from planloom.domain.text.positions import FileProtection
from planloom.running_process import is_running
from planloom.workspace.disk import (
    NO_FOLLOW,
    ConfinedPath,
    DiskRefused,
    FileFingerprint,
    fingerprint_of,
    open_parent,
    refusal,
)

_PLAIN: Final = (0o644, 0o664)
"""The permissions that a new file usually has."""
_OF_USERS: Final = ("user.", "system.posix_acl_")
_LEFTOVER: Final = re.compile(r"\.planloom-(\d{1,9})-[0-9a-f]{16}\.tmp")


class UnflushedFolders:
    """The folders in which several changes have made names, so that each folder is flushed once for all of them."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, ...], ConfinedPath] = {}

    def add(self, confined: ConfinedPath) -> None:
        """Note a path that was made."""
        self._places[str(confined.root), *confined.names[:-1]] = confined

    def flush(self) -> None:
        """Make the names durable, those of outer folders first."""
        for place in sorted(self._places.values(), key=lambda each: len(each.names)):
            with contextlib.suppress(OSError), open_parent(place) as (name, folder):
                _flush(folder, name)


def write(
    confined: ConfinedPath,
    data: bytes,
    *,
    over: FileFingerprint | None,
    unflushed: UnflushedFolders | None = None,
    protection: FileProtection | None = None,
) -> DiskRefused | None:
    """Write a file atomically: readers see the old content or the new, never a part.

    `over` is the state to replace, keeping mode and owner; None if the file must not exist yet, and gets this
    `protection`, if any. With `unflushed` the
    caller makes its name durable.
    """
    try:
        with open_parent(confined) as (name, folder):
            held = _checked(name, folder, over)
            if isinstance(held, DiskRefused):
                return held
            refused = _put(name, folder, data, held or protection)
            if refused is not None:
                return refused
            if unflushed is not None:
                unflushed.add(confined)
            else:
                _flush(folder, name)
    except OSError as error:
        return refusal(error, confined)
    return None


def create_folders(
    confined: ConfinedPath, unflushed: UnflushedFolders | None = None
) -> tuple[ConfinedPath, ...] | DiskRefused:
    """Create a folder and its missing parents; returns the created folders, outermost first.

    With `unflushed` the caller makes their names durable.
    """
    made = []
    for depth in range(1, len(confined.names) + 1):
        part = confined._replace(names=confined.names[:depth])
        try:
            with open_parent(part) as (name, folder):
                try:
                    os.mkdir(name, dir_fd=folder)
                    if unflushed is not None:
                        unflushed.add(part)
                    else:
                        _flush(folder, name)
                    made.append(part)
                except FileExistsError:
                    if not stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
                        return DiskRefused(cause="not_a_folder", reason=f"{part.path} is not a folder.")
        except OSError as error:
            return refusal(error, part)
    return tuple(made)


def delete_file(confined: ConfinedPath, *, was: FileFingerprint) -> DiskRefused | None:
    """Delete a file if its fingerprint is still `was`."""
    try:
        with open_parent(confined) as (name, folder):
            held = _checked(name, folder, was)
            if isinstance(held, DiskRefused):
                return held
            os.unlink(name, dir_fd=folder)
            _flush(folder, name)
    except OSError as error:
        return refusal(error, confined)
    return None


def delete_folder(confined: ConfinedPath) -> DiskRefused | None:
    """Delete an empty folder."""
    try:
        with open_parent(confined) as (name, folder):
            os.rmdir(name, dir_fd=folder)
            _flush(folder, name)
    except OSError as error:
        return refusal(error, confined)
    return None


def rename(confined: ConfinedPath, new: ConfinedPath) -> DiskRefused | None:
    """Rename a file or folder, never over something; a change of case alone is allowed."""
    try:
        with open_parent(confined) as (name, folder), open_parent(new) as (new_name, new_folder):
            found = os.lstat(name, dir_fd=folder)
            there = _entry(new_name, new_folder)
            if (
                there is not None
                and _same_file(found, there)
                and folded(confined.names[-1]) == folded(new.names[-1])
            ):
                # The same file in another case: some systems rename it only through a third name.
                between = _beside(name, folder, "moving")
                os.rename(name, between, src_dir_fd=folder, dst_dir_fd=folder)
                os.rename(between, new_name, src_dir_fd=folder, dst_dir_fd=new_folder)
            elif there is not None:
                return DiskRefused(cause="exists", reason=f"{new.path} exists already.")
            elif stat.S_ISREG(found.st_mode) and _linked(name, folder, new_name, new_folder):
                os.unlink(name, dir_fd=folder)
            else:
                os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=new_folder)
            _flush(folder, name)
            _flush(new_folder, new_name)
    except OSError as error:
        return refusal(error, new if error.errno in (errno.EEXIST, errno.ENAMETOOLONG) else confined)
    return None


def _checked(
    name: str, folder: int | None, expected: FileFingerprint | None
) -> os.stat_result | DiskRefused | None:
    """The file to replace, if it is the expected one and writable; None if none is expected."""
    found = _entry(name, folder)
    if expected is None:
        if found is None:
            return None
        return DiskRefused(cause="exists", reason=f"{name} exists already.")
    if found is None:
        return DiskRefused(cause="missing", reason=f"{name} is not there any more.")
    if not stat.S_ISREG(found.st_mode) or fingerprint_of(found) != expected:
        return DiskRefused(cause="changed", reason=f"{name} has changed on disk meanwhile.")
    if not found.st_mode & 0o222:
        return DiskRefused(cause="read_only", reason=f"{name} is read-only.")
    # Renaming over a file needs no write permission on it, so check that here.
    os.close(os.open(name, os.O_WRONLY | NO_FOLLOW, dir_fd=folder))
    return found


def protection_of(confined: ConfinedPath) -> FileProtection | None:
    """The permissions and extended attributes of a file; None if an editor would make it with the same.

    Attributes that the system sets by itself are left out.
    """
    if sys.platform == "win32":
        return None
    attributes: dict[str, str] = {}
    try:
        with open_parent(confined) as (name, folder):
            handle = os.open(name, os.O_RDONLY | NO_FOLLOW, dir_fd=folder)
        try:
            mode = stat.S_IMODE(os.fstat(handle).st_mode)
            if sys.platform == "linux":
                for attribute in os.listxattr(handle):
                    if attribute.startswith(_OF_USERS):
                        attributes[attribute] = base64.b64encode(os.getxattr(handle, attribute)).decode()
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.ENODATA):
                raise
        finally:
            os.close(handle)
    except OSError:
        return None
    return FileProtection(mode=mode, attributes=attributes) if attributes or mode not in _PLAIN else None


def _put(
    name: str, folder: int | None, data: bytes, model: os.stat_result | FileProtection | None
) -> DiskRefused | None:
    """Write a file over the one that is held, or a new one with this protection or that of any new file."""
    held = model if isinstance(model, os.stat_result) else None
    beside = _beside(name, folder, "tmp")
    handle = os.open(
        beside,
        os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW,
        0o666 if model is None else 0o600,
        dir_fd=folder,
    )
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            if held is not None:
                _keep(handle, held, name, folder)
            elif isinstance(model, FileProtection):
                _protect(handle, model)
            os.fsync(handle)
        if held is not None:
            # Somebody may have saved the file during the flush.
            now = _checked(name, folder, fingerprint_of(held))
            if isinstance(now, DiskRefused):
                os.unlink(beside, dir_fd=folder)
                return now
            os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        elif _linked(beside, folder, name, folder):
            os.unlink(beside, dir_fd=folder)
        else:
            os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=folder)
        raise
    return None


def remove_leftovers(folder: ConfinedPath) -> None:
    """Remove a folder's temporary files whose process has ended: their content was never moved into place."""
    if sys.platform == "win32":
        # Whether a process still runs is not known there.
        return
    with contextlib.suppress(OSError):
        for name in [entry.name for entry in folder.path.iterdir()]:
            ours = _LEFTOVER.fullmatch(name)
            if ours is None or is_running(int(ours[1])):
                continue
            with open_parent(ConfinedPath(folder.root, (*folder.names, name))) as (here, handle):
                found = os.lstat(here, dir_fd=handle)
                if stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid():
                    os.unlink(here, dir_fd=handle)


def _beside(name: str, folder: int | None, ending: Literal["tmp", "moving"]) -> str:
    """An unpredictable name in the same folder; contains the process id, for `remove_leftovers`."""
    fresh = f".planloom-{os.getpid()}-{secrets.token_hex(8)}.{ending}"
    return str(Path(name).parent / fresh) if folder is None else fresh


def _keep(handle: int, held: os.stat_result, name: str, folder: int | None) -> None:
    """Copy owner, mode and extended attributes of the old file to the new one."""
    if sys.platform == "win32":
        return
    now = os.fstat(handle)
    if (now.st_uid, now.st_gid) != (held.st_uid, held.st_gid):
        os.fchown(handle, held.st_uid, held.st_gid)
    if sys.platform == "linux":
        old = os.open(name, os.O_RDONLY | NO_FOLLOW, dir_fd=folder)
        try:
            for attribute in os.listxattr(old):
                # Only the system may set some attributes, and it sets them by itself.
                with contextlib.suppress(PermissionError):
                    os.setxattr(handle, attribute, os.getxattr(old, attribute))
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.ENODATA):
                raise
        finally:
            os.close(old)
    os.fchmod(handle, stat.S_IMODE(held.st_mode))


def _protect(handle: int, protection: FileProtection) -> None:
    """Set permissions and extended attributes, as far as the file system has them."""
    if sys.platform == "win32":
        return
    if sys.platform == "linux":
        for attribute, value in protection.attributes.items():
            with contextlib.suppress(OSError):
                os.setxattr(handle, attribute, base64.b64decode(value))
    os.fchmod(handle, protection.mode)


def _linked(name: str, folder: int | None, new_name: str, new_folder: int | None) -> bool:
    """Hard-link a file, which fails if the new name exists; False if the system does not support it."""
    try:
        os.link(name, new_name, src_dir_fd=folder, dst_dir_fd=new_folder, follow_symlinks=False)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.EXDEV, errno.ENOSYS, errno.EACCES):
            return False
        raise
    return True


def _same_file(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def _entry(name: str, folder: int | None) -> os.stat_result | None:
    try:
        return os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return None


def _flush(folder: int | None, name: str) -> None:
    """Flush a folder to make a change of names durable, where supported."""
    if os.name == "nt":
        return
    where = str(Path(name).parent) if folder is None else "."
    with contextlib.suppress(OSError):
        # A file system that cannot flush a folder makes names durable by itself.
        handle = os.open(where, os.O_RDONLY, dir_fd=folder)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
