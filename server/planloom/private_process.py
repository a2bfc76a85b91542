"""Keeps other processes of the user from reading this process's environment and memory, where the user's keys are.

A command that a person approved runs as the same user, and its parents are this server and the command line. On Linux
it could read their keys from `/proc/<pid>/environ` or attach to them as a debugger does. Other systems have no such
file; there, and for root, this does nothing.
"""

from __future__ import annotations

import sys
from contextlib import suppress

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
