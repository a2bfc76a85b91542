"""Recognizes, watches and ends the process groups of commands whose server has died."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple

from planloom.domain.plans.commands import CommandProcess

_LOOK_SECONDS: Final = 0.3


def process_stamp(pid: int) -> str | None:
    """The identity that tells a process from a later one with the same id: the machine's start and the process's own.

    None if there is no such process, or the system does not say.
    """
    boot, process = _boot(), _process(f"/proc/{pid}")
    return None if boot is None or process is None else f"{boot}:{process.started}"


def left_over(process: CommandProcess) -> Literal["running", "ended", "unknown"]:
    """Whether a process of the group still runs; `unknown` where the system does not tell it from a later one."""
    if sys.platform == "win32" or process.stamp is None:
        return "unknown"
    found = process_stamp(process.pid)
    if found == process.stamp:
        return "running"
    # The system gives no new process the id of a group that still has members.
    is_orphaned = found is None and process.stamp.partition(":")[0] == _boot()
    return "running" if is_orphaned and _has_members(process.pid) else "ended"


def end_left_over(process: CommandProcess) -> str:
    """End the group of a command whose server has died. Returns what became of it, in words.

    Nothing is ended unless it is certainly the same group.
    """
    match left_over(process):
        case "unknown":
            return f"it was running when the server ended, and may still be running as process {process.pid}"
        case "running":
            if sys.platform != "win32":
                # Its output leads nowhere, so it is ended at once.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            return "it was still running after the server had ended, and was stopped"
        case "ended":
            return "it was running when the server ended, and runs no longer"


async def until_one_has_ended(processes: Iterable[CommandProcess]) -> None:
    """Wait until one of these, which were running, has ended. They are no children of this process, so it looks."""
    watched = tuple(processes)
    while all(left_over(process) == "running" for process in watched):  # noqa: ASYNC110
        await asyncio.sleep(_LOOK_SECONDS)


class _Process(NamedTuple):
    group: int
    started: str


def _process(folder: str) -> _Process | None:
    """The process with this folder in /proc; None if there is none, or it has ended and nobody has asked how."""
    try:
        # The name of the program, in parentheses, may contain anything.
        fields = Path(folder, "stat").read_bytes().rpartition(b")")[2].split()
        state, group, started = fields[0], int(fields[2]), fields[19].decode("ascii")
    except (OSError, ValueError, IndexError):
        return None
    return None if state in (b"Z", b"X") else _Process(group, started)


def _has_members(group: int) -> bool:
    with suppress(OSError), os.scandir("/proc") as entries:
        return any(
            process.group == group
            for entry in entries
            if entry.name.isdigit() and (process := _process(entry.path)) is not None
        )
    return False


def _boot() -> str | None:
    with suppress(OSError, ValueError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return None
