"""A server is sent as many requests at a time as it states, or the user sets, or it is seen to take."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from planloom.models.http.learned import LearnedModels
from planloom.models.http.slots import MOST_MEASURED, TRIALS, Slots
from planloom.models.port import TextDelta
from tests.models.support import PATIENT, asks, model_at
from tests.support.http_server import Asked, Running, Wire, serving

TOKENS = 12


class Engine:
    """A server without metadata that answers `slots` requests at a time, token by token, and lets others wait.

    It sends a token when all that it answers were read so far, as an engine that makes a token of each in every step.
    """

    def __init__(self, slots: int) -> None:
        self.free = asyncio.Semaphore(slots)
        self.inside: set[str] = set()
        self.read: Counter[str] = Counter()
        self.changed = asyncio.Condition()
        self.most_sent = 0
        self.sent = 0

    async def __call__(self, asked: Asked, wire: Wire) -> None:
        if asked.method == "GET":
            await wire.json(404, {"error": "no"})
            return
        name = asked.json()["messages"][-1]["content"]
        self.sent += 1
        self.most_sent = max(self.most_sent, self.sent)
        await wire.head(content_type="text/event-stream")
        async with self.free:
            self.inside.add(name)
            for number in range(TOKENS):
                await wire.events({"choices": [{"delta": {"content": "x"}}]})
                async with self.changed:
                    await self.changed.wait_for(
                        lambda token=number: all(self.read[each] > token for each in self.inside)  # type: ignore[misc]
                    )
            async with self.changed:
                self.inside.discard(name)
                self.changed.notify_all()
        self.sent -= 1
        await wire.events({"choices": [{"delta": {}, "finish_reason": "stop"}]}, "[DONE]")

    async def ask(
        self, origin: str, learned: LearnedModels, names: str, parallelism: int = 0
    ) -> tuple[int, bool]:
        """Ask a question for each letter at a time; `parallelism` and `may_take_more` afterwards."""
        async with model_at(origin, learned=learned, timeouts=PATIENT, parallelism=parallelism) as model:

            async def one(name: str) -> None:
                async for event in model.stream(asks(name)):
                    if isinstance(event, TextDelta):
                        async with self.changed:
                            self.read[name] += 1
                            self.changed.notify_all()

            async with asyncio.TaskGroup() as group:
                for name in names:
                    group.create_task(one(name))
            can = await model.capabilities()
            return can.parallelism, can.may_take_more


def no_errors(running: Running) -> None:
    assert running.errors == []


@pytest.mark.parametrize(("slots", "measured"), [(2, 2), (3, 3), (9, MOST_MEASURED)])
async def test_what_a_server_takes_at_a_time_is_learned_from_what_it_is_asked(
    slots: int, measured: int
) -> None:
    engine, learned = Engine(slots), LearnedModels()
    async with serving(engine) as running:
        assert (await engine.ask(running.origin, learned, "a"))[0] == 1, "one request tells nothing"
        found = 1
        for names in ("bcdef", "ghijk", "lmnop", "qrstu"):
            found, _ = await engine.ask(running.origin, learned, names)
        assert found == measured
        no_errors(running)


async def test_a_server_that_answers_one_by_one_is_tried_some_times_and_then_sent_one_at_a_time() -> None:
    engine, learned = Engine(1), LearnedModels()
    async with serving(engine) as running:
        names = "".join(chr(ord("a") + number) for number in range(TRIALS + 2))
        assert await engine.ask(running.origin, learned, names) == (1, False)
        assert engine.most_sent == 2, "never more than one more than is known to be taken"
        engine.most_sent = 0
        await engine.ask(running.origin, learned, "XYZ")
        assert engine.most_sent == 1
        no_errors(running)


async def test_no_more_requests_are_sent_than_the_user_sets() -> None:
    engine = Engine(9)
    async with serving(engine) as running:
        assert await engine.ask(running.origin, LearnedModels(), "abcdef", parallelism=3) == (3, False)
        assert engine.most_sent == 3
        no_errors(running)


async def test_a_request_that_is_cancelled_while_it_waits_leaves_the_slot_to_the_next() -> None:
    slots, taken = Slots(), asyncio.Event()

    async def take() -> None:
        async with slots.slot(1):
            taken.set()

    async with slots.slot(1):
        first, second = asyncio.create_task(take()), asyncio.create_task(take())
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        assert not taken.is_set()
    await second
    assert first.cancelled() and taken.is_set()
