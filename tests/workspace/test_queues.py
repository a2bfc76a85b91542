"""Path locks: overlapping requests run in order, others in parallel, and there is no deadlock."""

from __future__ import annotations

import asyncio
import random

from planloom.domain.values import Uri
from planloom.workspace.path_locks import PathLocks


async def test_turns_at_one_file_follow_each_other() -> None:
    locks = PathLocks()
    order: list[int] = []
    running = 0

    async def turn(number: int) -> None:
        nonlocal running
        async with locks.lock((Uri("file:///a"),)):
            running += 1
            assert running == 1
            await asyncio.sleep(0)
            order.append(number)
            running -= 1

    async with asyncio.TaskGroup() as group:
        for number in range(50):
            group.create_task(turn(number))
    assert order == list(range(50))


async def test_different_files_run_side_by_side_and_a_folder_waits_for_its_files() -> None:
    locks = PathLocks()
    async with locks.lock((Uri("file:///d/a"),)):
        async with asyncio.timeout(5), locks.lock((Uri("file:///d/b"), Uri("file:///e"))):
            pass
        folder = asyncio.create_task(locks.lock((Uri("file:///d"),)).__aenter__())
        await asyncio.sleep(0.01)
        assert not folder.done()
    async with asyncio.timeout(5):
        await folder


async def test_random_turns_never_overlap_nor_wait_for_ever() -> None:
    locks = PathLocks()
    chance = random.Random(28)
    places = [Uri(f"file:///{name}") for name in ("a", "b", "c", "d/x", "d/y", "d")]
    held: set[str] = set()

    async def turn(wanted: tuple[Uri, ...]) -> None:
        async with locks.lock(wanted):
            for place in wanted:
                assert not any(
                    h == place or h.startswith(place + "/") or place.startswith(h + "/") for h in held
                )
            held.update(wanted)
            await asyncio.sleep(0)
            held.difference_update(wanted)

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        for _ in range(300):
            wanted = tuple(chance.sample(places[:5], chance.randint(1, 3)))
            group.create_task(turn((places[5],) if chance.random() < 0.2 else wanted))


async def test_a_cancelled_turn_frees_its_place() -> None:
    locks = PathLocks()
    async with locks.lock((Uri("file:///a"),)):
        waiting = asyncio.create_task(locks.lock((Uri("file:///a"),)).__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})
    async with asyncio.timeout(5), locks.lock((Uri("file:///a"),)):
        pass
