"""Turns at files: two changes of one place never overlap in time, whoever asks first goes first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import NamedTuple

from planloom.domain.values import Uri
from planloom.workspace.paths.uris import is_below


class _Turn(NamedTuple):
    places: frozenset[Uri]
    ended: asyncio.Event


class PathLocks:
    """Who waits for which files. A folder counts for everything in it, so nothing changes below a rename.

    Turns follow the order in which they were asked for, and nobody holds one while waiting for another that
    came later: there is no deadlock, and nobody waits for ever behind others.
    """

    def __init__(self) -> None:
        self._turns: list[_Turn] = []

    @asynccontextmanager
    async def hold(self, places: Iterable[Uri]) -> AsyncIterator[None]:
        """Wait for every earlier turn at one of the places, then keep them until the block ends."""
        turn = _Turn(frozenset(places), asyncio.Event())
        earlier = [other.ended for other in self._turns if _overlap(turn.places, other.places)]
        self._turns.append(turn)
        try:
            for ended in earlier:
                await ended.wait()
            yield
        finally:
            self._turns.remove(turn)
            turn.ended.set()


def _overlap(one: frozenset[Uri], other: frozenset[Uri]) -> bool:
    if one & other:
        return True
    return any(is_below(a, b) or is_below(b, a) for a in one for b in other)
