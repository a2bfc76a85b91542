"""Work that must not be left half made ends before a cancellation takes effect."""

from __future__ import annotations

import asyncio

import pytest

from planloom.shielded import uninterrupted


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
