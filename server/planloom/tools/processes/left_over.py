"""Recognizes and ends the process group of a background command whose server has died."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path


def process_stamp(pid: int) -> str | None:
    """What tells a process from a later one with the same id: the machine's start and the process's own.

    None if there is no such process, or the system does not say.
    """
    boot = _boot()
    try:
        # The name of the program, in parentheses, may contain anything.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        state, started = fields[0], fields[19].decode("ascii")
    except (OSError, ValueError, IndexError):
        return None
    return None if boot is None or state in (b"Z", b"X") else f"{boot}:{started}"


def end_left_over(pid: int, stamp: str | None) -> str:
    """End the group of a background command whose server has died. Returns what became of it, in words.

    `stamp` is that of the process when it was started. Nothing is ended unless it is certainly the same group.
    """
    if sys.platform == "win32" or stamp is None:
        return f"it was running when the server ended, and may still be running as process {pid}"
    found = process_stamp(pid)
    # The system gives no new process the id of a group that still has members.
    is_orphaned = found is None and stamp.partition(":")[0] == _boot()
    try:
        if found == stamp or is_orphaned:
            # Its output leads nowhere, so it is ended at once.
            os.killpg(pid, signal.SIGKILL)
            return "it was still running after the server had ended, and was stopped"
    except (ProcessLookupError, PermissionError):
        pass
    return "it was running when the server ended, and runs no longer"


def _boot() -> str | None:
    with suppress(OSError, ValueError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return None
