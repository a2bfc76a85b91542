"""The resources that the processes of a command use, and how to end those that it has left behind."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

# The module `typing` would take longer to load than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from planloom.tools.confinement.policy import Policy

_PAGE = os.sysconf("SC_PAGE_SIZE")
_LONGEST_PART = 20
"""Looking may take a twentieth of the time."""
_FIRST_LOOK_SECONDS = 0.1
"""Most commands end before that."""
_ROUNDS = 200


def descendants(pid: int) -> list[int]:
    """The processes below a process, in no order."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    left = [pid]
    while left:
        below = children.get(left.pop(), [])
        found += below
        left += below
    return found


def end_all(pid: int) -> None:
    """End everything below a process that adopts its orphans. It must be the calling process."""
    for _ in range(_ROUNDS):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            # Orphans become children of this process, so nothing is left.
            return
        left = descendants(pid)
        # Stopped first, so that none can start another while the rest are ended.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for each in left:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(each, number)
        time.sleep(0.005)


class Watch:
    """Tells when the processes that `pids` returns use more than the policy allows, and says so once."""

    def __init__(self, policy: Policy, pids: Callable[[], list[int]]) -> None:
        self._memory_bytes = policy["memory_bytes"]
        self._processes = policy["processes"]
        self._pids = pids
        self._next = time.monotonic() + _FIRST_LOOK_SECONDS

    def exceeded(self) -> bool:
        """Whether they use too much; looks only so often that it costs little."""
        began = time.monotonic()
        if began < self._next:
            return False
        pids = self._pids()
        used = sum(map(_own_bytes, pids))
        now = time.monotonic()
        self._next = now + (now - began) * _LONGEST_PART
        problem = ""
        if used > self._memory_bytes:
            problem = f"its processes used more than {self._memory_bytes >> 20} MB of memory"
        elif len(pids) > self._processes:
            problem = f"it had more than {self._processes} processes"
        if problem:
            os.write(2, f"planloom: the command was ended, since {problem}\n".encode())
        return bool(problem)


def _own_bytes(pid: int) -> int:
    """Memory that a process has for itself."""
    with suppress(OSError, ValueError), open(f"/proc/{pid}/statm", "rb") as file:
        _, resident, shared, *_ = map(int, file.read().split())
        return (resident - shared) * _PAGE
    return 0
