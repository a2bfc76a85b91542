"""Measures the speed of a model while it writes, for the estimate of a plan's duration."""

from __future__ import annotations

import time
from collections.abc import Callable

from planloom.models.tokens import TokenCounter
from planloom.planning.estimates import ModelSpeed

_SHORTEST = 0.05
"""Seconds below which an answer counts as received at once, so that only its total time is known."""


class Stopwatch:
    """Times one answer."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` counts seconds."""
        self._clock = clock
        self.restart()

    def restart(self) -> None:
        """Start anew: the request is sent now."""
        self._start = self._last = self._clock()
        self._first: float | None = None

    def received(self) -> None:
        """Part of the answer has been received."""
        self._last = self._clock()
        if self._first is None:
            self._first = self._last

    def speed(self, text: str, tokens: int) -> ModelSpeed | None:
        """The speed of the answer; `tokens` is estimated from the text if 0. None without an answer."""
        written = tokens or TokenCounter().text(text)
        if self._first is None or written <= 0:
            return None
        writing = self._last - self._first
        if writing < _SHORTEST:
            return ModelSpeed(
                first_token_seconds=0, tokens_per_second=written / max(self._last - self._start, 0.001)
            )
        return ModelSpeed(first_token_seconds=self._first - self._start, tokens_per_second=written / writing)
