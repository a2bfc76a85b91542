"""The calls of the Linux kernel that Python has no functions for; numbers are those of its headers."""

from __future__ import annotations

import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
CLONE_NEWTIME = 0x00000080
CLONE_NAMESPACES = (
    CLONE_NEWNS
    | CLONE_NEWCGROUP
    | CLONE_NEWUTS
    | CLONE_NEWIPC
    | CLONE_NEWUSER
    | CLONE_NEWPID
    | CLONE_NEWNET
    | CLONE_NEWTIME
)

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MOUNT_ATTR_RDONLY = 0x1
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_MOUNT_SETATTR = 442

_CLONE = {"x86_64": 56, "aarch64": 220}
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION_3 = 0x20080522


def machine() -> str:
    """The architecture of the kernel, such as `x86_64`."""
    return os.uname().machine


def checked(result: int, what: str) -> int:
    """The result of a call, unless it failed. Raises OSError, with `what` in its message."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return int(result)


def syscall(what: str, number: int, *arguments: object) -> int:
    """A call by its number; integers are passed as the kernel's longs. Raises OSError."""
    passed = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return checked(LIBC.syscall(ctypes.c_long(number), *passed), what)


def prctl(option: int, value: int = 0, third: int = 0) -> None:
    """Set a property of this process. Raises OSError."""
    arguments = [ctypes.c_ulong(each) for each in (value, third, 0, 0)]
    checked(LIBC.prctl(option, *arguments), f"prctl {option}")


def fork_into(namespaces: int) -> int:
    """Like `os.fork`, with the child in new namespaces. Only for processes of one thread. Raises OSError."""
    # The last argument is the signal of the child's end, SIGCHLD.
    return syscall("clone", _CLONE[machine()], namespaces | 17, 0, 0, 0, 0)


def join(namespace: int) -> None:
    """Enter the namespace of which this is an open file. Raises OSError."""
    checked(LIBC.setns(namespace, 0), "setns")


def leave_network() -> None:
    """Enter a new network namespace. Raises OSError."""
    checked(LIBC.unshare(CLONE_NEWNET), "unshare")


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Mount something. Raises OSError."""
    names = [None if each is None else os.fsencode(each) for each in (source, target, kind)]
    data = None if options is None else options.encode()
    checked(LIBC.mount(*names, ctypes.c_ulong(flags), data), f"mount {target}")


class _MountAttributes(ctypes.Structure):
    _fields_ = [
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    ]


def set_read_only(target: str, *, read_only: bool, recursive: bool) -> None:
    """Make a mount read-only, or writable again. Raises OSError."""
    wanted = _MountAttributes(MOUNT_ATTR_RDONLY, 0) if read_only else _MountAttributes(0, MOUNT_ATTR_RDONLY)
    flags = _AT_RECURSIVE if recursive else 0
    syscall(
        f"mount_setattr {target}",
        _MOUNT_SETATTR,
        _AT_FDCWD,
        ctypes.c_char_p(os.fsencode(target)),
        flags,
        ctypes.byref(wanted),
        ctypes.sizeof(wanted),
    )


def keep_capabilities(kept: int) -> None:
    """Give up every capability but those of the mask, for good. Raises OSError."""
    with open("/proc/sys/kernel/cap_last_cap", "rb") as file:
        last = int(file.read())
    for number in range(last + 1):
        if not kept >> number & 1:
            prctl(PR_CAPBSET_DROP, number)
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    low, high = kept & 0xFFFFFFFF, kept >> 32
    # Effective and permitted, but nothing that a program which is run could inherit.
    data = (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0)
    syscall("capset", _CAPSET[machine()], ctypes.byref(header), ctypes.byref(data))
