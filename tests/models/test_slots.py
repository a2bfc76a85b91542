"""A server is sent no more requests at a time than it states or the user sets."""

from __future__ import annotations

import asyncio

import pytest

from planloom.models.http.learned import Learned, LearnedModels
from tests.models.support import PATIENT, asks, model_at
from tests.support.http_server import Asked, Wire, serving


class Engine:
    """A server without metadata, which begins to answer when `most` requests are open."""

    def __init__(self, most: int) -> None:
        self.most, self.open, self.most_open = most, 0, 0
        self.full = asyncio.Event()

    async def __call__(self, asked: Asked, wire: Wire) -> None:
        if asked.method == "GET":
            await wire.json(404, {"error": "no"})
            return
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        if self.open >= self.most:
            self.full.set()
        await self.full.wait()
        await wire.head(content_type="text/event-stream")
        await wire.events({"choices": [{"delta": {"content": "x"}}]})
        self.open -= 1
        await wire.events({"choices": [{"delta": {}, "finish_reason": "stop"}]}, "[DONE]")


@pytest.mark.parametrize(("stated", "sent"), [(0, 1), (3, 3)])
async def test_as_many_requests_are_sent_as_the_user_sets_or_one_to_a_silent_server_on_this_machine(
    stated: int, sent: int
) -> None:
    engine, learned = Engine(sent), LearnedModels()
    async with serving(engine) as running, asyncio.TaskGroup() as group:

        async def ask(name: str) -> None:
            # Each on its own adapter, as steps and drafts are.
            async with model_at(
                running.origin, learned=learned, timeouts=PATIENT, parallelism=stated
            ) as model:
                assert [event async for event in model.stream(asks(name))]

        tasks = [group.create_task(ask(name)) for name in "abcdef"]
        await asyncio.gather(*tasks)
        assert engine.most_open == sent
        assert running.errors == []


async def test_a_request_that_is_cancelled_while_it_waits_leaves_the_slot_to_the_next() -> None:
    learned, taken = Learned(), asyncio.Event()

    async def take() -> None:
        async with learned.slots(1):
            taken.set()

    async with learned.slots(1):
        first, second = asyncio.create_task(take()), asyncio.create_task(take())
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        assert not taken.is_set()
    await second
    assert first.cancelled() and taken.is_set()
