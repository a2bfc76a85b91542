"""Finds out by what means this machine can confine a command, and says what they can do and cannot."""

from __future__ import annotations

import os
import sys
from functools import cache

from planloom.domain.safety.confinement import Abilities
from planloom.tools.confinement.linux_command import tried_means
from planloom.tools.confinement.macos import SANDBOX_EXEC
from planloom.tools.confinement.policy import Means

_PROTECTED_CHANGE = (
    "A command can change .git and other protected names in the workspace, the modes of other files, and what lies in "
    "the shared memory."
)
_SIGNALS_SINCE = 6
"""The version of Landlock that holds back signals."""
_NO_LOOPBACK = "A command gets no network, or all of it: a network of this machine alone cannot be had."


@cache
def means() -> Means:
    """By what this machine can confine a command. Tries each in a child process; blocks for about 50 ms."""
    if sys.platform == "win32":
        return Means(job_object=True)
    if sys.platform == "darwin":
        return Means(sandbox_exec=SANDBOX_EXEC.is_file())
    return tried_means()


def abilities() -> Abilities:
    """The parts of a confinement that this machine can enforce. The first call blocks for about 50 ms."""
    return abilities_of(means(), is_root=_is_root())


def abilities_of(has: Means, *, is_root: bool = False) -> Abilities:
    """The parts of a confinement enforced by these means. `is_root`: commands run as the user who may do everything."""
    if has.sandbox_exec:
        return Abilities(
            files=True,
            network=True,
            processes=False,
            how="sandbox-exec",
            missing=("A process that starts a session of its own outlives its command.",),
        )
    files = has.namespaces or has.landlock > 0
    network = has.namespaces or has.system_calls
    processes = has.namespaces or (has.supervisor and has.landlock > 0)
    named = {
        "namespaces": has.namespaces,
        "Landlock": has.landlock > 0,
        "seccomp": has.system_calls,
        "a supervisor": has.supervisor and not has.namespaces,
        "a job object": has.job_object,
    }
    return Abilities(
        files=files,
        network=network,
        processes=processes,
        how=", ".join(name for name, there in named.items() if there) or "nothing",
        namespaces=has.namespaces,
        loopback=has.namespaces or not network,
        missing=tuple(_missing(has, is_root=is_root)),
        throwaway=has.overlays,
    )


def _missing(has: Means, *, is_root: bool) -> list[str]:
    found: list[str] = []
    if not has.namespaces and has.landlock:
        found.append(_PROTECTED_CHANGE)
        if not has.system_calls:
            found.append("It can reach services of this machine by sockets that are files.")
        if has.landlock < _SIGNALS_SINCE:
            found.append("It can end the user's other processes.")
    if not has.namespaces and not has.landlock:
        found.append("A command can read and change every file that the user can.")
    if not has.namespaces and not has.system_calls:
        found.append("A command can use the network, whatever was allowed.")
    elif not has.namespaces:
        found.append(_NO_LOOPBACK)
    if not has.namespaces and not has.supervisor and not has.job_object:
        found.append("A process that starts a session of its own outlives its command.")
    elif not has.namespaces and not has.landlock:
        found.append("A command can see and end the user's other processes.")
    if is_root and not has.namespaces:
        found.append("Commands run as root, for whom the limit on processes does not hold.")
    return found


def _is_root() -> bool:
    return sys.platform != "win32" and os.geteuid() == 0
