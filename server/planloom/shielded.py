"""Finishes a piece of work before a cancellation takes effect, so that no change is left half made."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any, Generic, TypeVar

T = TypeVar("T")
MOST_UNREAD = 1_000
"""Most values that `ReadAhead` keeps: a small compressed answer may hold millions."""


async def uninterrupted(work: Coroutine[Any, Any, T]) -> T:
    """Await `work`. However often the caller is cancelled, `work` runs to its end; then the cancellation is raised.

    `work` must limit its own time. Its task needs no supervisor, since it never outlives this call. If it fails after
    a cancellation, its exception is the cause of the CancelledError.
    """
    return await _to_its_end(work, passes_on=False)


async def interrupted_once(work: Coroutine[Any, Any, T]) -> T:
    """Await `work`. It gets the first cancellation of the caller, and then ends in its own way: further ones wait.

    For libraries that clean up after a cancellation, but not after another one in the middle of that.
    """
    return await _to_its_end(work, passes_on=True)


async def _to_its_end(work: Coroutine[Any, Any, T], *, passes_on: bool) -> T:
    job = asyncio.create_task(work)
    try:
        return await asyncio.shield(job)
    except asyncio.CancelledError as cancelled:
        if passes_on:
            job.cancel()
        while not job.done():
            try:
                await asyncio.wait({job})
            except asyncio.CancelledError:
                continue
        if job.cancelled():
            raise
        raise cancelled from job.exception()


class ReadAhead(Generic[T]):
    """Runs a generator in a task of its own, and hands on what it yields.

    A reader may stop waiting for the next value and go on later; the generator never hears of it. It is cancelled
    once, by `aclose`, and then ends in its own way. It goes on while at most `MOST_UNREAD` values wait to be read.
    """

    def __init__(self, values: AsyncGenerator[T]) -> None:
        self._values = values
        self._unread: deque[T] = deque()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(lambda _: self._news.set())

    def unread(self) -> T | None:
        """The next value if there is one already, else None."""
        if not self._unread:
            return None
        value = self._unread.popleft()
        if not self._unread:
            self._room.set()
        return value

    async def next(self) -> T | None:
        """The next value, None at the end. Raises what the generator raises, after its last value."""
        while (value := self.unread()) is None:
            if self._task.done():
                self._task.result()
                break
            self._news.clear()
            await self._news.wait()
        return value

    async def aclose(self) -> None:
        """End the generator. However often the caller is cancelled meanwhile, this waits for its end."""
        if not self._task.done():
            await uninterrupted(self._ended())
        elif not self._task.cancelled():
            # Nobody may have read up to its failure.
            self._task.exception()

    async def _run(self) -> None:
        async with aclosing(self._values) as values:
            async for value in values:
                self._unread.append(value)
                self._news.set()
                if len(self._unread) >= MOST_UNREAD:
                    self._room.clear()
                    await self._room.wait()

    async def _ended(self) -> None:
        self._task.cancel()
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.exception()
