"""Leases: which server process runs a plan, and whether that process is still there."""

from __future__ import annotations

import os
import sys
import time
from typing import NamedTuple

from planloom.domain.errors import OwnedElsewhere

LEASE_SECONDS = 15.0
"""How long a lease is valid after its last renewal; its holder renews it three times as often."""


class Lease(NamedTuple):
    """Which server process runs a plan; `since` is RFC 3339."""

    owner: str
    pid: int
    since: str


def owned_elsewhere(lease: Lease) -> OwnedElsewhere:
    """The error for a request on a plan that another live server runs."""
    return OwnedElsewhere(
        f"Another Planloom server (process {lease.pid}) runs this plan. Use that editor window; "
        "when that server ends, this one takes the plan over.",
        details={"pid": lease.pid, "since": lease.since},
    )


def alive(pid: int, renewed: float) -> bool:
    """Whether a lease is valid: its process is alive and renewed it within LEASE_SECONDS.

    `renewed` is a time of the machine's monotonic clock, which all processes share and nobody can set. A time in
    the future is from before a reboot, so its process is gone.
    """
    return 0 <= time.monotonic() - renewed <= LEASE_SECONDS and runs(pid)


def runs(pid: int) -> bool:
    """Whether there is a process of this id; always True on Windows, which cannot be asked."""
    if sys.platform == "win32":  # Signal 0 would end the process there.
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
