"""Locks on files and folders, granted in the order of the requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import NamedTuple

from planloom.domain.values import Uri
from planloom.workspace.paths.uris import is_below


class _Holder(NamedTuple):
    places: frozenset[Uri]
    released: asyncio.Event


class PathLocks:
    """Exclusive locks on sets of URIs; a folder's URI locks everything in it, so nothing changes below a rename.

    A request waits only for requests made before it, so there is neither deadlock nor starvation.
    """

    def __init__(self) -> None:
        self._holders: list[_Holder] = []

    @asynccontextmanager
    async def lock(self, places: Iterable[Uri]) -> AsyncIterator[bool]:
        """Wait for every earlier request that overlaps `places`, then hold them until the block ends.

        Gives whether there was one.
        """
        holder = _Holder(frozenset(places), asyncio.Event())
        earlier = [other.released for other in self._holders if _overlap(holder.places, other.places)]
        self._holders.append(holder)
        try:
            for released in earlier:
                await released.wait()
            yield bool(earlier)
        finally:
            self._holders.remove(holder)
            holder.released.set()


def _overlap(one: frozenset[Uri], other: frozenset[Uri]) -> bool:
    if one & other:
        return True
    return any(is_below(a, b) or is_below(b, a) for a in one for b in other)
