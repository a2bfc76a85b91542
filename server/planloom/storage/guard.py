"""Keeps servers apart where the file system cannot do it: a file beside the ledger names who uses it.

SQLite's WAL mode needs memory that all users of the file share, and leases name processes, so both work on one machine
only; and some file systems grant every lock. There the ledger has no WAL, and one machine, or without locks one server,
uses it at a time. Its holder renews the file; that it is fresh is judged by the file system's own clock, since those of
two machines differ.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from planloom.domain.errors import StorageFailed
from planloom.running_process import is_running
from planloom.storage.leases import LEASE_SECONDS

_RENEWED_SECONDS = LEASE_SECONDS / 3
_SETTLED_SECONDS = 0.2
_NETWORK = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "drvfs", "fuse", "glusterfs", "gpfs", "lustre", "ncpfs"}
    | {"nfs", "nfs4", "ocfs2", "prl_fs", "smb3", "smbfs", "vboxsf", "virtiofs"}
)
"""File systems, as the kernel names them, on which programs of other machines or of the host may be at work, too."""


class Guard:
    """The right to use one ledger, held through the file `path`. `note` says to the user why there is one."""

    def __init__(self, path: Path, holder: str, note: str) -> None:
        self.path = path
        self.note = note
        self._holder = holder
        self._renewed = _now()

    @property
    def is_held(self) -> bool:
        """Whether the ledger is still ours; renews the right where that is due."""
        if _now() - self._renewed < _RENEWED_SECONDS:
            return True
        found = _read(self.path)
        if found is None and not self.path.exists():
            with suppress(OSError):
                _create(self.path, self._holder)
            found = _read(self.path)
        if found is None or found.get("holder") != self._holder:
            return False
        with suppress(OSError):
            os.utime(self.path)
            self._renewed = _now()
        return _now() - self._renewed < LEASE_SECONDS

    def release(self) -> None:
        """Let others use the ledger, unless further servers of this machine may be using it."""
        found = _read(self.path)
        if str(os.getpid()) in self._holder.split() and found is not None and found["holder"] == self._holder:
            with suppress(OSError):
                self.path.unlink()


def guarded(ledger: Path) -> Guard | None:
    """The right to use a ledger whose folder exists; None on a file system of this machine whose locks hold.

    Raises StorageFailed while another server has it, OSError if the folder cannot be written.
    """
    kind, locks = _kind(ledger.parent), _locks_hold(ledger.parent)
    if locks and kind is None:
        return None
    where = f"is on a {kind} file system" if kind else "is on a file system"
    what = "that other machines may use" if locks else "whose locks do not hold"
    who = "machine" if locks else "server"
    note = (
        f"The plan ledger {ledger} {where} {what}. One {who} at a time can use it, and it is slower there."
        " Set planloom.storage.path to a folder of this machine."
    )
    guard = Guard(ledger.with_name(f"{ledger.name}.server"), _holder(one_server=not locks), note)
    _take(guard.path, guard._holder, ledger)
    return guard


def _take(path: Path, holder: str, ledger: Path) -> None:
    removed = False
    for _ in range(3):
        with suppress(FileExistsError):
            _create(path, holder)
            # Another server that has found the same stale file may be about to remove this one instead.
            time.sleep(_SETTLED_SECONDS if removed else 0.0)
        found = _read(path)
        if found is not None and found.get("holder") == holder:
            os.utime(path)
            return
        if _is_fresh(path, found):
            by = f"process {found['pid']} on {found['host']}" if found else "another server"
            raise StorageFailed(
                f"The plan ledger {ledger} is in use ({by}), and its file system cannot keep two servers apart. End"
                " that one, or set planloom.storage.path to another folder."
            )
        _remove_stale(path, found)
        removed = True
    raise StorageFailed(f"The plan ledger {ledger} is in use by another server.")


def _remove_stale(path: Path, stale: dict[str, Any] | None) -> None:
    """Remove the file of a server that is gone, unless another server has replaced it meanwhile."""
    aside = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        path.rename(aside)
    except FileNotFoundError:
        return
    if _read(aside) != stale:
        with suppress(FileExistsError):
            os.link(aside, path)
    aside.unlink()


def _create(path: Path, holder: str) -> None:
    """Make the file. Raises FileExistsError: that there is one winner holds on every file system."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        json.dump({"holder": holder, "pid": os.getpid(), "host": socket.gethostname()}, file)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    known = isinstance(found, dict) and all(name in found for name in ("holder", "pid", "host"))
    return found if known else None


def _is_fresh(path: Path, found: dict[str, Any] | None) -> bool:
    """Whether the holder is alive: one of this machine by its process, others by the age of the file."""
    one_server = found is not None and found["holder"] == f"{_machine()} {found['pid']}"
    if one_server and found is not None and not is_running(int(found["pid"])):
        return False
    probe = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        probe.touch()
        return probe.stat().st_mtime - path.stat().st_mtime < LEASE_SECONDS
    except FileNotFoundError:
        return False
    finally:
        with suppress(OSError):
            probe.unlink()


def _holder(*, one_server: bool) -> str:
    return f"{_machine()} {os.getpid()}" if one_server else _machine()


def _machine() -> str:
    """The identity that processes that see each other's ids share: the boot of the machine, and the container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115
    except OSError:
        return f"{socket.gethostname()} {uuid.getnode()}"


def _now() -> float:
    """Seconds that also pass while the machine sleeps."""
    if sys.platform != "linux":
        return time.time()
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _kind(folder: Path) -> str | None:
    """The name of the file system if it is one of a network or a host; None for others, and where it is not known."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape")
    except OSError:
        return None
    return network_kind(mounts, folder.resolve())


def network_kind(mounts: str, folder: Path) -> str | None:
    """The answer of `_kind` by the text of /proc/self/mountinfo (proc(5)). Of mounts at one place the last holds."""
    best, found = -1, ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        point = Path(before.split(" ")[4].encode("utf-8", "surrogateescape").decode("unicode_escape"))
        if folder.is_relative_to(point) and len(point.parts) >= best:
            best, found = len(point.parts), after.split(" ")[0]
    return found if found in _NETWORK or found.startswith("fuse.") else None


def _locks_hold(folder: Path) -> bool:
    """Whether a lock keeps another holder out. Where no file can be made it is not known, and nothing can be written.

    Asked by a lock of an open file (fcntl(2), F_OFD_SETLK), which unlike SQLite's own holds within a process, too.
    """
    if sys.platform != "linux":
        return True
    import fcntl
    import struct

    lock = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
    path = folder / f".planloom-{uuid.uuid4().hex}.lock"
    try:
        one = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return True
    try:
        other = os.open(path, os.O_RDWR)
        try:
            fcntl.fcntl(one, fcntl.F_OFD_SETLK, lock)
            fcntl.fcntl(other, fcntl.F_OFD_SETLK, lock)
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            os.close(other)
        return False
    finally:
        os.close(one)
        path.unlink()
