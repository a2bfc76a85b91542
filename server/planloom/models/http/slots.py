"""Sends a server no more requests at a time than it answers; where nobody states how many, that is measured."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

MOST_MEASURED = 4
"""The most requests at a time that a measurement finds."""
TRIALS = 8
"""The measurement ends after so many trials in a row that have proved nothing."""
ROUNDS = 2
"""How often a token of every open answer must arrive in a trial to prove that they are answered at the same time. A
server that takes requests one after the other ends one answer before it begins the next, so no second round comes."""


class Slots:
    """The open requests of one model of one server.

    A measurement costs nothing: while others are open, one request more than is known to be taken is sent rather than
    kept back, and waits at the server at worst. If the tokens of all of them arrive by turns, they are answered at
    the same time.
    """

    def __init__(self) -> None:
        self.measured = 1
        self._trials_left = TRIALS
        self._open: set[Slot] = set()
        self._on_trial = False
        self._rounds = 0
        self._heard: set[Slot] = set()
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def may_take_more(self) -> bool:
        """Whether more than `measured` requests at a time are still to be tried."""
        return self._trials_left > 0 and self.measured < MOST_MEASURED

    @asynccontextmanager
    async def slot(self, stated: int | None) -> AsyncGenerator[Slot]:
        """A slot, once there is one. `stated` is how many there are; None measures it."""
        while len(self._open) >= self._limit(stated):
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        slot = Slot(self)
        self._open.add(slot)
        if stated is None and len(self._open) > self.measured and self.may_take_more:
            self._on_trial, self._rounds, self._heard = True, 0, set()
        try:
            yield slot
        finally:
            self._open.discard(slot)
            if self._on_trial:
                self._on_trial = False
                self._trials_left -= 1
            self._wake()

    def heard(self, slot: Slot) -> None:
        """Count a token of an open answer."""
        if not self._on_trial:
            return
        self._heard.add(slot)
        if self._heard != self._open:
            return
        self._rounds, self._heard = self._rounds + 1, set()
        if self._rounds == ROUNDS:
            self._on_trial = False
            self.measured, self._trials_left = len(self._open), TRIALS
            self._wake()

    def _limit(self, stated: int | None) -> int:
        return max(1, stated) if stated is not None else self.measured + self.may_take_more

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)


class Slot:
    """The place of one request among the open ones."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots

    def heard(self) -> None:
        """Say that a token of the answer was read."""
        self._slots.heard(self)
