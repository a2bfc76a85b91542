"""Keeps the outcome of a slow probe that found nothing, so that a server that hangs is not probed at each call."""

from __future__ import annotations

import time

TIMES_AS_LONG = 2
"""A hold lasts this many times as long as the probe took."""
QUICK_SECONDS = 0.2
"""A probe that took less, as where a connection is refused, can be made at each call: its outcome is not held."""


class Hold:
    """Whether the outcome of the last probe still holds; it does not before the first one."""

    def __init__(self) -> None:
        self._until = 0.0

    @property
    def active(self) -> bool:
        """Whether the outcome holds."""
        return time.monotonic() < self._until

    def begin(self, since: float) -> None:
        """Hold the outcome of a probe that began at this time of `time.monotonic`."""
        now = time.monotonic()
        took = now - since
        self._until = now + TIMES_AS_LONG * took if took > QUICK_SECONDS else 0.0

    def end(self) -> None:
        """Probe at the next call."""
        self._until = 0.0
