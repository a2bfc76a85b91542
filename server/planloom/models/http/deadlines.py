"""The time limits of one answer: to the first token, between tokens, and as a whole."""

from __future__ import annotations

import asyncio

from planloom.models.http.transport import Timeouts

AFTER_FINISH_SECONDS = 1.0
"""How long the counts and the end of a stream are waited for once the answer itself is complete."""


class StreamDeadlines:
    """Which time limit holds now. The clock stands while the consumer of the stream is at work."""

    def __init__(self, timeouts: Timeouts, *, patient: bool) -> None:
        self._timeouts = timeouts
        self._token = max(timeouts.token, timeouts.first_token) if patient else timeouts.token
        self._clock = asyncio.get_running_loop().time
        self._start = self._since = self._clock()
        self._complete = 0.0
        self._any = False

    def a_token_came(self) -> None:
        """A token has been read and passed on."""
        self._any = True
        self._since = self._clock()

    def limit(self, setting: str) -> float:
        """The seconds of that limit."""
        if not setting:
            return self._timeouts.answer
        return self._token if self._any else self._timeouts.first_token

    def seconds_left(self, *, complete: bool) -> tuple[float, str, str]:
        """The seconds until the nearest limit, what is missing then, and the setting behind it."""
        if complete:
            self._complete = self._complete or self._clock()
            return self._complete + AFTER_FINISH_SECONDS - self._clock(), "end", ""
        name, setting = (
            ("further token", "model.tokenTimeoutSeconds")
            if self._any
            else ("first token", "model.firstTokenTimeoutSeconds")
        )
        now = self._clock()
        nearest = self._since + self.limit(setting) - now
        whole = self._start + self._timeouts.answer - now
        return (nearest, name, setting) if nearest <= whole else (whole, "end of its answer", "")
