"""Leases: which server process runs a plan, and whether that process is still there."""

from __future__ import annotations

import time
from typing import NamedTuple

from planloom.domain.errors import OwnedElsewhere
from planloom.running_process import is_running

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
    return 0 <= time.monotonic() - renewed <= LEASE_SECONDS and is_running(pid)
