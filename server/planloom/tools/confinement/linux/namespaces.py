"""The system that a command sees in its own namespaces: files, devices, processes and a network with nobody else in it.

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
"""The parts of `/run` that programs need; the rest are the sockets of services, of the desktop and of containers."""
_SERVICES_OF_RUN = ("postgresql", "mysqld", "mariadb", "redis", "valkey", "memcached", "mongodb")
"""Sockets of databases, for commands that may use a network."""
_FOLDER_ITSELF = os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_FEW_INODES = 1024
_HIGHEST_ID = 0xFFFFFFFF
_SIOCSIFFLAGS = 0x8914
_UP = 0x1
_CHOWN, _DAC_OVERRIDE, _FOWNER, _FSETID, _KILL, _SETGID, _SETUID = 0, 1, 3, 4, 5, 6, 7
ROOT_KEEPS = sum(1 << each for each in (_CHOWN, _DAC_OVERRIDE, _FOWNER, _FSETID, _KILL, _SETGID, _SETUID))
"""The capabilities that root needs to work with files of several owners, as it does without a confinement."""


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


def make_view(policy: Policy, slot: str) -> None:
    """Mount what the command sees, in a mount namespace of this process; its caches are kept in the folder `slot`.

    Raises OSError.
    """
    _View(policy, slot).make()


class _View:
    def __init__(self, policy: Policy, slot: str) -> None:
        self.writable = _without_nested(policy["writable"])
        self.thrown_away: list[str] = []
        if policy["throwaway"]:
            self.writable = self.thrown_away = [path for path in self.writable if _is_folder(path)]
        self.hidden = policy["hidden"]
        # What is hidden is covered, which cannot be mounted on itself.
        self.read_only = [path for path in policy["read_only"] if path not in self.hidden]
        self.shown = policy["shown"]
        self.cached = policy["cached"]
        self.pinned = policy["pinned"]
        self.home = policy["home"]
        self.plan_folder = policy["plan_folder"]
        self.slot = slot
        self.most_tasks = policy["processes"]
        self.kept_of_run = _KEPT_OF_RUN + (_SERVICES_OF_RUN if policy["network"] != "none" else ())

    def make(self) -> None:
        kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
        for path in self.thrown_away:
            _cover(path)
        # Opened before anything covers them.
        writable, seen = _opened(self.writable), _opened(self.shown)
        seen |= _opened([f"{_RUN}/{name}" for name in self.kept_of_run])
        temporary = os.open(f"{self.plan_folder}/tmp", os.O_PATH | os.O_CLOEXEC)
        home = {self.home: os.open(f"{self.plan_folder}/home", os.O_PATH | os.O_CLOEXEC)} if self.home else {}
        kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
        with suppress(OSError):
            # Limits processes and threads of this PID namespace alone, since Linux 6.14.
            _write("/proc/sys/kernel/pid_max", str(self.most_tasks))
        cached = self._copies()
        sealed = [path for path in self._hide() if _holds(self.writable, path)]
        if os.path.isdir(_RUN):
            _empty(_RUN)
        own = [path for path in TEMPORARY if _is_folder(path) and not _holds(self.writable, path)]
        for path in own:
            _bind(temporary, path)
        _devices()
        own += home
        # Outer folders are mounted first: a mount hides what is below it, such as a program.
        mounted: dict[str, str] = {}
        for path in sorted({*home, *seen, *cached, *writable}):
            number = (seen | cached | writable | home)[path]
            if path in home or path in writable or path in cached or not _is_same(path, number):
                mounted[path] = f"/proc/self/fd/{_put(path, number, own)}"
        for path in (*self.pinned, *self.read_only):
            if os.path.lexists(path) and not os.path.islink(path):
                kernel.mount(path, path, None, kernel.MS_BIND | kernel.MS_REC)
        kernel.set_read_only("/", read_only=True, recursive=True)
        for path in (*own, SHARED_MEMORY, *cached):
            _make_writable(mounted.get(path, path), recursive=False)
        for path in writable:
            _make_writable(mounted[path], recursive=True)
        for path in self.read_only:
            if os.path.lexists(path) and not os.path.islink(path):
                kernel.set_read_only(path, read_only=True, recursive=True)
        # The folder of a submodule lies in git's folder of another working tree, which was made read-only as a whole.
        for path in self.pinned:
            _make_writable(path, recursive=False)
        for path in (*sealed, *(mounted[path] for path in seen if path in mounted and path not in cached)):
            # It is gone where something above it was covered too, or only a way to what is shown: neither is a mount.
            # What covers it is empty in any case.
            with suppress(OSError):
                kernel.set_read_only(path, read_only=True, recursive=False)

    def _copies(self) -> dict[str, int]:
        """Open files of the caches, as overlays whose changes are kept in the plan's folder.

        One overlay of the whole home, of which only they will be seen, takes a tenth of the time of one for each.
        """
        disk = os.stat(self.home).st_dev if self.home else 0
        of_home = [
            path
            for path in self.cached
            if self.home and _holds([self.home], path) and os.stat(path).st_dev == disk
        ]
        others = [(path, [path]) for path in self.cached if path not in of_home]
        found: dict[str, int] = {}
        for folder, paths in ((self.home, of_home), *others):
            # Without an overlay a cache begins empty where something can be made, and is only read elsewhere.
            with suppress(OSError):
                if paths:
                    own = f"{self.slot}/{folder.replace('/', '%')[-200:]}"
                    _overlay(folder, os.open(folder, os.O_PATH | os.O_CLOEXEC), own)
                    found |= _opened(paths)
        return found

    def _hide(self) -> list[str]:
        """Cover what is hidden. Returns what was covered. Raises OSError."""
        covered = []
        # Opened, since its folder may be hidden too.
        nothing = os.open(f"{self.plan_folder}/nothing", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        for path in self.hidden:
            # What this user cannot reach, the command cannot either.
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                mode = os.lstat(path).st_mode
                if stat.S_ISDIR(mode):
                    _empty(path)
                    covered.append(path)
                elif stat.S_ISREG(mode):
                    _bind(nothing, path)
                    covered.append(path)
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


def _put(path: str, number: int, own: list[str]) -> int:
    """Mount what was opened at a path, which is made where something empty covers its place.

    Returns an open file of the mount: another command of the plan could have put a link on the way by the next time,
    in one of the folders that are the plan's `own`. What is not a folder there is moved aside. Raises OSError.
    """
    *above, last = path.strip("/").split("/")
    folder, at = os.open("/", _FOLDER_ITSELF), ""
    for name in above:
        at += f"/{name}"
        inner = _entered(folder, name, may_move=_holds(own, at))
        os.close(folder)
        folder = inner
    if stat.S_ISDIR(os.fstat(number).st_mode):
        place = _entered(folder, last, may_move=_holds(own, path))
    else:
        with suppress(OSError):
            os.close(os.open(last, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, dir_fd=folder))
        place = os.open(last, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    _bind(number, f"/proc/self/fd/{place}")
    mounted = os.open(last, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    os.close(place)
    os.close(folder)
    if not os.path.samestat(os.fstat(mounted), os.fstat(number)):
        raise OSError(0, f"{path} has changed")
    return mounted


def _entered(folder: int, name: str, *, may_move: bool) -> int:
    """An open file of a folder in an open one, which is made if it is missing. Raises OSError."""
    with suppress(OSError):
        os.mkdir(name, dir_fd=folder)
    try:
        return os.open(name, _FOLDER_ITSELF, dir_fd=folder)
    except NotADirectoryError:
        if not may_move:
            raise
    os.rename(name, f"{name}.aside", src_dir_fd=folder, dst_dir_fd=folder)
    os.mkdir(name, dir_fd=folder)
    return os.open(name, _FOLDER_ITSELF, dir_fd=folder)


def _bind(number: int, path: str) -> None:
    kernel.mount(f"/proc/self/fd/{number}", path, None, kernel.MS_BIND | kernel.MS_REC)


def _overlay(path: str, lower: int, own: str) -> None:
    """Mount at a path what was opened, so that its changes are kept in the folder `own`. Raises OSError."""
    layers = {"lowerdir": lower}
    for name in ("upperdir", "workdir"):
        os.makedirs(f"{own}/{name}", exist_ok=True)
        layers[name] = os.open(f"{own}/{name}", os.O_PATH | os.O_CLOEXEC)
    # A path could hold what separates options.
    options = ",".join(f"{name}=/proc/self/fd/{number}" for name, number in layers.items())
    kernel.mount("overlay", path, "overlay", kernel.MS_NOSUID | kernel.MS_NODEV, f"{options},userxattr")
    for number in layers.values():
        os.close(number)


def _empty(path: str) -> None:
    options = f"size=1m,nr_inodes={_FEW_INODES},mode=0755"
    kernel.mount("tmpfs", path, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)


def _cover(path: str) -> None:
    """Cover a folder by one with the same content, of which all changes are in memory. Raises OSError."""
    lower = os.open(path, os.O_PATH | os.O_CLOEXEC)
    kernel.mount("tmpfs", path, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=25%,mode=0700")
    _overlay(path, lower, path)


def _devices() -> None:
    """Devices that hold nothing, and terminals and shared memory of its own."""
    found = _opened([f"/dev/{name}" for name in _DEVICES])
    kernel.mount("tmpfs", "/dev", "tmpfs", kernel.MS_NOSUID, "size=1m,mode=0755")
    for path, number in found.items():
        os.close(_put(path, number, []))
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
