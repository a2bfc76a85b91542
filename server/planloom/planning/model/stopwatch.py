"""How fast a model is, measured while it writes: what an estimate of a plan's duration rests on."""

from __future__ import annotations

import time
from collections.abc import Callable

from planloom.models.tokens import TokenCounter
from planloom.planning.estimates import ModelSpeed

_SHORTEST = 0.05
"""Seconds within which a whole answer came at once: nothing is known of its pace then but the sum."""


class Stopwatch:
    """Times one answer."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` counts seconds."""
        self._clock = clock
        self.begin_anew()

    def begin_anew(self) -> None:
        """The question is asked now."""
        self._asked = self._last = self._clock()
        self._first: float | None = None

    def heard(self) -> None:
        """More of the answer has come."""
        self._last = self._clock()
        if self._first is None:
            self._first = self._last

    def speed(self, text: str, tokens: int) -> ModelSpeed | None:
        """The pace of the answer; its tokens are estimated where nobody has counted. None for no answer."""
        written = tokens or TokenCounter().text(text)
        if self._first is None or written <= 0:
            return None
        writing = self._last - self._first
        if writing < _SHORTEST:
            return ModelSpeed(
                first_token_seconds=0, tokens_per_second=written / max(self._last - self._asked, 0.001)
            )
        return ModelSpeed(first_token_seconds=self._first - self._asked, tokens_per_second=written / writing)
