"""What a command sees in namespaces of its own: files, devices, processes and a network with nobody else in it.

Everything is read-only but what the policy says. Secrets are covered by empty files and folders, so that programs
that look for them find them empty instead of failing.
"""

from __future__ import annotations

import ctypes
import os
import stat
from contextlib import suppress

from planloom.tools.confinement.linux import kernel

# The module `typing` would take longer to load than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from planloom.tools.confinement.policy import Policy

NAMESPACES = kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWIPC
TEMPORARY = ("/tmp", "/var/tmp")
SHARED_MEMORY = "/dev/shm"
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"}
_RUN = "/run"
_KEPT_OF_RUN = (
    *("systemd/resolve", "NetworkManager", "resolvconf", "connman", "netconfig"),
    *("current-system", "booted-system", "wrappers", "opengl-driver", "binfmt"),
)
"""What programs need of `/run`; the rest are the sockets of services, of the desktop and of containers."""
_SERVICES_OF_RUN = ("postgresql", "mysqld", "mariadb", "redis", "valkey", "memcached", "mongodb")
"""Sockets of databases, for commands that may use a network."""
_FEW_INODES = 1024
_HIGHEST_ID = 0xFFFFFFFF
_SIOCSIFFLAGS = 0x8914
_UP = 0x1
_CHOWN, _DAC_OVERRIDE, _FOWNER, _FSETID, _KILL, _SETGID, _SETUID = 0, 1, 3, 4, 5, 6, 7
ROOT_KEEPS = sum(1 << each for each in (_CHOWN, _DAC_OVERRIDE, _FOWNER, _FSETID, _KILL, _SETGID, _SETUID))
"""What root needs to work with files of several owners, as it does without a confinement."""


def map_ids(pid: int) -> None:
    """Let the user and the group be themselves in the new namespace; root sees every id. Raises OSError."""
    user, group = os.geteuid(), os.getegid()
    is_root = user == 0
    if not is_root:
        _write(f"/proc/{pid}/setgroups", "deny")
    whole = f"0 0 {_HIGHEST_ID}"
    try:
        _write(f"/proc/{pid}/uid_map", whole if is_root else f"{user} {user} 1")
    except OSError:
        # Root of a container has only the ids that it was given.
        _write(f"/proc/{pid}/uid_map", _own_map("uid") if is_root else f"{user} {user} 1")
    try:
        _write(f"/proc/{pid}/gid_map", whole if is_root else f"{group} {group} 1")
    except OSError:
        _write(f"/proc/{pid}/gid_map", _own_map("gid") if is_root else f"{group} {group} 1")


def _own_map(kind: str) -> str:
    """The ids of this process's own namespace, each mapped to itself."""
    with open(f"/proc/self/{kind}_map", encoding="ascii") as file:
        rows = [line.split() for line in file]
    return "\n".join(f"{inside} {inside} {count}" for inside, _, count in rows)


def bring_loopback_up() -> None:
    """Give the processes of this network namespace a way to each other. Raises OSError."""
    number = kernel.checked(kernel.LIBC.socket(2, 2 | 0o2000000, 0), "socket")
    try:
        request = ctypes.create_string_buffer(b"lo".ljust(16, b"\0") + _UP.to_bytes(2, "little"), 40)
        kernel.checked(kernel.LIBC.ioctl(number, ctypes.c_ulong(_SIOCSIFFLAGS), request), "loopback")
    finally:
        os.close(number)


def make_view(policy: Policy) -> None:
    """Mount what the command sees, in a mount namespace of this process. Raises OSError."""
    _View(policy).make()


class _View:
    def __init__(self, policy: Policy) -> None:
        self.writable = _without_nested(policy["writable"])
        self.thrown_away: list[str] = []
        if policy["throwaway"]:
            self.writable = self.thrown_away = [path for path in self.writable if _is_folder(path)]
        self.hidden = policy["hidden"]
        # What is hidden is covered, which cannot be mounted on itself.
        self.read_only = [path for path in policy["read_only"] if path not in self.hidden]
        self.pinned = policy["pinned"]
        self.scratch = policy["scratch"]
        self.shown = policy["shown"]
        self.temporary = policy["temporary"]
        self.most_tasks = policy["processes"]
        self.kept_of_run = _KEPT_OF_RUN + (_SERVICES_OF_RUN if policy["network"] != "none" else ())

    def make(self) -> None:
        kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
        for path in self.thrown_away:
            _cover(path)
        # Opened before anything covers them.
        writable, shown = _opened(self.writable), _opened(self.shown)
        run = _opened([f"{_RUN}/{name}" for name in self.kept_of_run])
        temporary = os.open(self.temporary, os.O_PATH | os.O_CLOEXEC)
        kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
        with suppress(OSError):
            # Limits processes and threads of this PID namespace alone, since Linux 6.14.
            _write("/proc/sys/kernel/pid_max", str(self.most_tasks))
        covered = self._hide()
        if os.path.isdir(_RUN):
            _empty(_RUN)
        changeable = [path for path in TEMPORARY if _is_folder(path) and not _holds(self.writable, path)]
        for path in changeable:
            _bind(temporary, path)
        _devices()
        changeable.append(SHARED_MEMORY)
        # A home or a program may lie in what has just been covered.
        for path, number in sorted({**run, **shown}.items()):
            if not _is_same(path, number):
                _put(path, number)
        for path in self.scratch:
            if _is_folder(path) and not _holds(self.writable, path):
                _scratch(path)
                changeable.append(path)
        for path, number in writable.items():
            _put(path, number)
        for path in (*self.pinned, *self.read_only):
            if os.path.lexists(path) and not os.path.islink(path):
                kernel.mount(path, path, None, kernel.MS_BIND | kernel.MS_REC)
        kernel.set_read_only("/", read_only=True, recursive=True)
        for path in changeable:
            _make_writable(path, recursive=False)
        for path in writable:
            _make_writable(path, recursive=True)
        for path in self.read_only:
            if os.path.lexists(path) and not os.path.islink(path):
                kernel.set_read_only(path, read_only=True, recursive=True)
        for path in covered:
            # It is gone where something above it was covered too, or only a way to what is shown: neither is a mount.
            # What covers it is empty in any case.
            with suppress(OSError):
                kernel.set_read_only(path, read_only=True, recursive=False)
        for number in {*writable.values(), *shown.values(), *run.values(), temporary}:
            os.close(number)

    def _hide(self) -> list[str]:
        """Cover what is hidden. Returns what was covered and is not to be made writable again. Raises OSError."""
        covered = []
        nothing = f"{self.temporary}/.nothing"
        _write(nothing, "")
        for path in self.hidden:
            # What this user cannot reach, the command cannot either.
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                mode = os.lstat(path).st_mode
                if stat.S_ISDIR(mode):
                    _empty(path)
                    covered.append(path)
                elif stat.S_ISREG(mode):
                    kernel.mount(nothing, path, None, kernel.MS_BIND)
                    covered.append(path)
        os.unlink(nothing)
        return covered


def _make_writable(path: str, *, recursive: bool) -> None:
    """Make a mount writable again. What was read-only before, for whoever has mounted it, stays so."""
    try:
        kernel.set_read_only(path, read_only=False, recursive=recursive)
    except PermissionError:
        if recursive:
            # Perhaps only something in it was.
            _make_writable(path, recursive=False)


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _holds(folders: list[str], path: str) -> bool:
    """Whether one of the folders is the path, or is above it."""
    return any((path + "/").startswith(folder.rstrip("/") + "/") for folder in folders)


def _without_nested(paths: list[str]) -> list[str]:
    """The paths that lie below no other of them, in order."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not _holds(kept, path):
            kept.append(path)
    return kept


def _opened(paths: list[str]) -> dict[str, int]:
    found = {}
    for path in paths:
        with suppress(OSError):
            found[path] = os.open(path, os.O_PATH | os.O_CLOEXEC)
    return found


def _is_same(path: str, number: int) -> bool:
    """Whether the path still leads to what was opened."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(number))
    except OSError:
        return False


def _put(path: str, number: int) -> None:
    """Mount what was opened at a path, which is made where something empty covers its place. Raises OSError."""
    if not os.path.lexists(path):
        is_folder = stat.S_ISDIR(os.fstat(number).st_mode)
        os.makedirs(path if is_folder else os.path.dirname(path), exist_ok=True)
        if not is_folder:
            _write(path, "")
    _bind(number, path)


def _bind(number: int, path: str) -> None:
    kernel.mount(f"/proc/self/fd/{number}", path, None, kernel.MS_BIND | kernel.MS_REC)


def _empty(path: str) -> None:
    options = f"size=1m,nr_inodes={_FEW_INODES},mode=0755"
    kernel.mount("tmpfs", path, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)


def _cover(path: str) -> None:
    """Cover a folder by one with the same content, of which all changes are in memory. Raises OSError."""
    lower = os.open(path, os.O_PATH | os.O_CLOEXEC)
    kernel.mount("tmpfs", path, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=25%,mode=0700")
    layers = {"lowerdir": lower}
    for name in ("upperdir", "workdir"):
        os.mkdir(f"{path}/{name}")
        layers[name] = os.open(f"{path}/{name}", os.O_PATH | os.O_CLOEXEC)
    # A path could hold what separates options.
    options = ",".join(f"{name}=/proc/self/fd/{number}" for name, number in layers.items())
    kernel.mount("overlay", path, "overlay", kernel.MS_NOSUID | kernel.MS_NODEV, f"{options},userxattr")
    for number in layers.values():
        os.close(number)


def _scratch(path: str) -> None:
    """Cover a folder by one in memory, with everything that was in it."""
    entries = _opened([entry.path for entry in os.scandir(path) if not entry.is_symlink()])
    kernel.mount("tmpfs", path, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=25%,mode=0700")
    for entry, number in entries.items():
        _put(entry, number)
        kernel.set_read_only(entry, read_only=True, recursive=True)
        os.close(number)


def _devices() -> None:
    """Devices that hold nothing, and terminals and shared memory of its own."""
    found = _opened([f"/dev/{name}" for name in _DEVICES])
    kernel.mount("tmpfs", "/dev", "tmpfs", kernel.MS_NOSUID, "size=1m,mode=0755")
    for path, number in found.items():
        _put(path, number)
        os.close(number)
    os.mkdir("/dev/pts")
    with suppress(OSError):
        options = "newinstance,ptmxmode=0666,mode=0620"
        kernel.mount("devpts", "/dev/pts", "devpts", kernel.MS_NOSUID | kernel.MS_NOEXEC, options)
    os.mkdir(SHARED_MEMORY)
    flags = kernel.MS_NOSUID | kernel.MS_NODEV
    kernel.mount("tmpfs", SHARED_MEMORY, "tmpfs", flags, "size=25%,mode=1777")
    for name, target in _LINKS.items():
        os.symlink(target, f"/dev/{name}")


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
