"""Keeps other processes of the user from reading this process's environment and memory, where the user's keys are.

A command that a person approved runs as the same user, and its parents are this server and the command line. On Linux
it could read their keys from `/proc/<pid>/environ` or attach to them as a debugger does. Other systems have no such
file; there, and for root, this does nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress

_ENVIRONMENT_IN_STAT = 47
"""The field of `/proc/self/stat` with the address of the environment, counted from the one after the name."""
_PR_GET_DUMPABLE = 3
_PR_SET_DUMPABLE = 4


def make_private() -> bool:
    """Make this process unreadable for others of its user. Returns whether the system has confirmed it.

    Children that run another program are not affected. A crash writes no core file any more.
    """
    if not sys.platform.startswith("linux"):
        return False
    with suppress(ImportError, OSError, AttributeError):
        # Python has no other way to this call.
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        return bool(libc.prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0) == 0)
    return False


def forget_variables(names: Iterable[str]) -> None:
    """Take variables out of the environment of this process and, on Linux, out of the memory that it started with.

    Programs that it starts do not get them, and `/proc/<pid>/environ` does not show them, not even to root.
    """
    held = [name for name in names if os.environ.pop(name, None) is not None]
    if not held or not sys.platform.startswith("linux"):
        return
    with suppress(ImportError, OSError, ValueError, IndexError):
        import ctypes

        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123
            fields = file.read().rpartition(b")")[2].split()
        start, end = int(fields[_ENVIRONMENT_IN_STAT]), int(fields[_ENVIRONMENT_IN_STAT + 1])
        block = ctypes.string_at(start, end - start)
        for name in held:
            entry = b"\0" + os.fsencode(name) + b"="
            found = (b"\0" + block).find(entry)
            if found >= 0:
                value = found + len(entry) - 1
                ctypes.memset(start + value, 0, block.find(b"\0", value) - value)
