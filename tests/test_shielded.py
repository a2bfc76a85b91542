"""Work that must not be left half made ends before a cancellation takes effect."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from planloom.shielded import MOST_UNREAD, ReadAhead, uninterrupted


class Work:
    """Work that ends when `may_end` is set."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.may_end = asyncio.Event()
        self.ended = False
        self.fault = fault

    async def run(self) -> str:
        await self.may_end.wait()
        self.ended = True
        if self.fault is not None:
            raise self.fault
        return "done"


async def cancelled_times(times: int, work: Work) -> asyncio.Task[str]:
    """A caller of `work` that was cancelled so often while it waited."""
    caller = asyncio.create_task(uninterrupted(work.run()))
    await asyncio.sleep(0)
    for _ in range(times):
        caller.cancel()
        for _ in range(3):
            await asyncio.sleep(0)
        assert not caller.done()
    return caller


async def test_without_a_cancellation_the_caller_gets_the_result() -> None:
    work = Work()
    caller = await cancelled_times(0, work)
    work.may_end.set()
    assert await caller == "done"


async def test_without_a_cancellation_the_caller_gets_the_failure() -> None:
    work = Work(OSError("disk"))
    caller = await cancelled_times(0, work)
    work.may_end.set()
    with pytest.raises(OSError, match="disk"):
        await caller


@pytest.mark.parametrize("times", [1, 2, 3])
async def test_a_cancellation_takes_effect_after_the_work_however_often_it_comes(times: int) -> None:
    work = Work()
    caller = await cancelled_times(times, work)
    work.may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert work.ended and caller.cancelled()


@pytest.mark.parametrize("times", [1, 2])
async def test_a_failure_after_a_cancellation_is_the_cause_of_the_cancellation(times: int) -> None:
    work = Work(OSError("disk"))
    caller = await cancelled_times(times, work)
    work.may_end.set()
    with pytest.raises(asyncio.CancelledError) as raised:
        await caller
    assert work.ended and raised.value.__cause__ is work.fault


async def test_a_timeout_around_the_work_ends_after_it() -> None:
    work = Work()
    asyncio.get_running_loop().call_later(0.05, work.may_end.set)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await uninterrupted(work.run())
    assert work.ended


class Values:
    """A generator that yields its values at once, waits for `goes_on`, and counts what it hears of cancellations."""

    def __init__(self, *values: int, fault: Exception | None = None) -> None:
        self.values = values
        self.fault = fault
        self.goes_on = asyncio.Event()
        self.may_end = asyncio.Event()
        self.cancelled = 0
        self.ended = False

    async def run(self) -> AsyncGenerator[int]:
        try:
            for value in self.values:
                yield value
            await self.goes_on.wait()
            if self.fault is not None:
                raise self.fault
        except asyncio.CancelledError:
            self.cancelled += 1
            await self.may_end.wait()
            raise
        finally:
            self.ended = True


async def test_values_are_read_one_by_one_and_then_their_end() -> None:
    values = Values(1, 2)
    async with aclosing(ReadAhead(values.run())) as ahead:
        assert ahead.unread() is None
        assert [await ahead.next(), ahead.unread(), ahead.unread()] == [1, 2, None]
        values.goes_on.set()
        assert [await ahead.next(), await ahead.next()] == [None, None]


async def test_a_failure_is_raised_after_the_last_value() -> None:
    values = Values(1, fault=OSError("the connection was lost"))
    values.goes_on.set()
    async with aclosing(ReadAhead(values.run())) as ahead:
        assert await ahead.next() == 1
        for _ in range(2):
            with pytest.raises(OSError, match="lost"):
                await ahead.next()


async def test_a_reader_that_stops_waiting_reads_the_next_value_later() -> None:
    values = Values(1)
    async with aclosing(ReadAhead(values.run())) as ahead:
        assert await ahead.next() == 1
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await ahead.next()
        values.goes_on.set()
        assert await ahead.next() is None
    assert values.cancelled == 0


@pytest.mark.parametrize("times", [0, 1, 2, 3])
async def test_however_often_a_reader_is_cancelled_the_generator_is_cancelled_once(times: int) -> None:
    values = Values(1)

    async def read() -> None:
        async with aclosing(ReadAhead(values.run())) as ahead:
            assert await ahead.next() == 1
            if times:
                await ahead.next()

    reader = asyncio.create_task(read())
    for _ in range(times):
        await turns()
        reader.cancel()
    await turns()
    assert values.cancelled == 1 and not reader.done()
    values.may_end.set()
    await asyncio.wait({reader})
    assert values.ended and reader.cancelled() == bool(times)


async def test_a_generator_that_never_waits_is_not_read_further_than_its_reader_follows() -> None:
    made = 0

    async def endless() -> AsyncGenerator[int]:
        nonlocal made
        while True:
            made += 1
            yield made

    async with aclosing(ReadAhead(endless())) as ahead:
        for number in range(1, 5 * MOST_UNREAD):
            assert await ahead.next() == number
            assert made - number < MOST_UNREAD


async def turns() -> None:
    """Let all tasks run until they wait."""
    for _ in range(10):
        await asyncio.sleep(0)
