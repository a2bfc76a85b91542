"""Landlock: what a process and its children may do to files, to other processes and to sockets without a path.

The rights and the versions that have brought them: https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import errno
import os

from planloom.tools.confinement.linux import kernel

_CREATE_RULESET = 444
_ADD_RULE = 445
_RESTRICT_SELF = 446
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1

_EXECUTE = 1 << 0
_WRITE_FILE = 1 << 1
_READ_FILE = 1 << 2
_READ_DIR = 1 << 3
_TRUNCATE = 1 << 14
_IOCTL_DEV = 1 << 15
_LAST_OF_VERSION = {1: 12, 2: 13, 3: 14, 4: 14, 5: 15}
"""The highest right that a version knows; later ones know no more that are used here."""
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_SCOPES = 0b11
"""Sockets without a path, and signals: only to processes under the same rules."""
_SCOPES_SINCE = 6
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")


def version() -> int:
    """The version of Landlock that the kernel has; 0 if it has none, or has it switched off."""
    try:
        return kernel.syscall("landlock", _CREATE_RULESET, 0, 0, _CREATE_RULESET_VERSION)
    except OSError:
        return 0


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def restrict(known: int, readable: list[str], writable: list[str]) -> None:
    """Let this process only read and run what lies below `readable`, and change what lies below `writable`.

    `known` is the kernel's version of Landlock. Paths that are not there are left out. Needs `no_new_privs`. Raises
    OSError.
    """
    every = (1 << (_LAST_OF_VERSION.get(known, 15) + 1)) - 1
    rules = _Ruleset(every, 0, _SCOPES if known >= _SCOPES_SINCE else 0)
    size = 24 if known >= _SCOPES_SINCE else 8
    ruleset = kernel.syscall("landlock", _CREATE_RULESET, ctypes.byref(rules), size, 0)
    try:
        for path in readable:
            _allow(ruleset, path, _READ & every)
        for path in writable:
            _allow(ruleset, path, every & ~_IOCTL_DEV)
        for name in _DEVICES:
            _allow(ruleset, f"/dev/{name}", every)
        kernel.syscall("landlock", _RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP):
            return
        raise
    try:
        if not os.path.isdir(f"/proc/self/fd/{parent}"):
            rights &= _OF_FILES
        rule = _PathBeneath(rights, parent)
        kernel.syscall(f"landlock {path}", _ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(parent)


def all_but(hidden: list[str], within: str = "/") -> list[str]:
    """The largest files and folders within a folder that hold nothing of what is hidden; it alone if it holds nothing.

    Links are left out: their targets count.
    """
    above = {"/"}
    for path in hidden:
        while path != "/":
            path = os.path.dirname(path)  # noqa: PLW2901
            above.add(path)
    if within not in above:
        return [within]
    found: list[str] = []
    left = [within]
    covered = set(hidden)
    while left:
        folder = left.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            if entry.path in covered or entry.is_symlink():
                continue
            (left if entry.path in above else found).append(entry.path)
    return found
