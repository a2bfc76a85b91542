"""The job object in which a command of Windows runs: its processes end together, and are bounded. Not run here."""

from __future__ import annotations

import ctypes
import sys
from typing import Final

_KILL_ON_JOB_CLOSE: Final = 0x2000
_DIE_ON_UNHANDLED_EXCEPTION: Final = 0x400
_JOB_MEMORY: Final = 0x200
_ACTIVE_PROCESS: Final = 0x8
_EXTENDED_LIMITS: Final = 9
_SET_QUOTA_AND_TERMINATE: Final = 0x0101


class _Basic(ctypes.Structure):
    _fields_ = (
        ("per_process_time", ctypes.c_int64),
        ("per_job_time", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("minimum_working_set", ctypes.c_size_t),
        ("maximum_working_set", ctypes.c_size_t),
        ("active_processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority_class", ctypes.c_uint32),
        ("scheduling_class", ctypes.c_uint32),
    )


class JobLimits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION of winnt.h."""

    _fields_ = (
        ("basic", _Basic),
        ("io_counters", ctypes.c_uint64 * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    )


def job_limits(memory_bytes: int, processes: int) -> JobLimits:
    """The limits of a job: when the server ends, or closes the job, all of its processes end."""
    limits = JobLimits()
    limits.basic.flags = _KILL_ON_JOB_CLOSE | _DIE_ON_UNHANDLED_EXCEPTION | _JOB_MEMORY | _ACTIVE_PROCESS
    limits.basic.active_processes = processes
    limits.job_memory = memory_bytes
    return limits


class Job:
    """The job object of one command; on other systems it does nothing."""

    def __init__(self, memory_bytes: int, processes: int) -> None:
        """Make the job. Raises OSError."""
        self._handle = 0
        if sys.platform == "win32":
            self._kernel = ctypes.WinDLL("kernel32", use_last_error=True)
            self._handle = self._kernel.CreateJobObjectW(None, None)
            limits = job_limits(memory_bytes, processes)
            size = ctypes.sizeof(limits)
            if not self._kernel.SetInformationJobObject(
                self._handle, _EXTENDED_LIMITS, ctypes.byref(limits), size
            ):
                raise ctypes.WinError(ctypes.get_last_error())

    def add(self, pid: int) -> None:
        """Put a process that has just started into the job, with everything that it starts. Raises OSError."""
        if sys.platform == "win32":
            process = self._kernel.OpenProcess(_SET_QUOTA_AND_TERMINATE, False, pid)
            added = process and self._kernel.AssignProcessToJobObject(self._handle, process)
            if process:
                self._kernel.CloseHandle(process)
            if not added:
                raise ctypes.WinError(ctypes.get_last_error())

    def close(self) -> None:
        """End every process of the job."""
        if sys.platform == "win32" and self._handle:
            self._kernel.CloseHandle(self._handle)
            self._handle = 0
