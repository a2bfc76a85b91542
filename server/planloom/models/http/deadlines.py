"""The time limits of one answer: to the first token, between tokens, and as a whole."""

from __future__ import annotations

import asyncio

from planloom.models.http.transport import Timeouts

AFTER_FINISH_SECONDS = 1.0
"""How long to wait for the usage and the end of a stream after the answer is complete."""


class StreamDeadlines:
    """Computes which time limit applies now; `patient` allows as much time between tokens as for the first one."""

    def __init__(self, timeouts: Timeouts, *, patient: bool) -> None:
        self._timeouts = timeouts
        self._token = max(timeouts.token, timeouts.first_token) if patient else timeouts.token
        self._clock = asyncio.get_running_loop().time
        self._start = self._since = self._clock()
        self._complete = 0.0
        self._any = False

    def token_received(self) -> None:
        """Restart the limit between tokens, after a token was read and passed on."""
        self._any = True
        self._since = self._clock()

    def limit(self, setting: str) -> float:
        """The limit in seconds behind a setting; "" is the limit of the whole answer."""
        if not setting:
            return self._timeouts.answer
        return self._token if self._any else self._timeouts.first_token

    def seconds_left(self, *, complete: bool) -> tuple[float, str, str]:
        """The seconds until the next limit, what will be missing then, and the setting that holds the limit."""
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
