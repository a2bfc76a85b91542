"""A real, weak model over real HTTP: checks that its answers are parsed, not their quality."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator

import pytest

from planloom.domain.errors import ContextOverflow
from planloom.models.http.keys import Keyring
from planloom.models.http.learned import LearnedModels
from planloom.models.port import Finished, Message, Model, ModelRequest, TextDelta, UsageReported
from planloom.models.providers.servers import ModelServers
from planloom.models.selection.select import choose_model
from planloom.settings import ModelSettings, Settings
from tests.models.support import READ_FILE, asks, calls_of, events_of, text_of
from tests.support.real_model import MISSING, model_file, real_model

pytestmark = [pytest.mark.slow, pytest.mark.skipif(model_file() is None, reason=MISSING)]


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with real_model(context_tokens=2048) as address:
        yield address


@pytest.fixture
async def model(origin: str) -> AsyncIterator[Model]:
    settings = Settings(model=ModelSettings(base_url=origin, temperature=0))
    chosen = (await choose_model(settings, {"OLLAMA_HOST": "127.0.0.1:9"})).model
    assert chosen is not None
    yield chosen
    await chosen.close()


async def test_it_is_recognised_and_named_from_its_own_list(origin: str, model: Model) -> None:
    assert model.identity.provider == "openai"
    assert model.identity.name.endswith(".gguf")
    provider, _ = await ModelServers(Settings(), {}, Keyring(), LearnedModels()).detect(origin)
    assert provider.name == "openai"


async def test_its_capabilities_are_found_out(model: Model) -> None:
    known = await model.capabilities()
    assert not known.tools, "its template has no place for tools, and the server drops them without a word"
    assert known.json_schema
    assert known.context_tokens == 2048
    assert known.parallelism == 1


async def test_an_answer_is_streamed_and_counted(model: Model) -> None:
    events = await events_of(model, asks("Say hello.", max_tokens=12))
    assert sum(isinstance(event, TextDelta) for event in events) >= 2
    (usage,) = (event for event in events if isinstance(event, UsageReported))
    assert 0 < usage.completion_tokens <= 12
    assert usage.prompt_tokens > 5
    assert isinstance(events[-1], Finished)


async def test_an_answer_without_room_is_reported_as_cut(model: Model) -> None:
    events = await events_of(model, asks("Write a long story about a sea.", max_tokens=4))
    assert events[-1] == Finished(reason="length")


async def test_a_schema_constrains_the_answer(model: Model) -> None:
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "maxLength": 12, "pattern": "^[a-z]+$"},
            "size": {"enum": [1, 2]},
        },
        "required": ["path", "size"],
        "additionalProperties": False,
    }
    events = await events_of(model, asks("Name a file.", response_schema=schema, max_tokens=60))
    assert events[-1] == Finished(reason="stop")
    answer = json.loads(text_of(events))
    assert set(answer) == {"path", "size"}
    assert answer["size"] in {1, 2}


async def test_tools_that_it_would_drop_are_described_in_words(model: Model) -> None:
    plain = await events_of(model, asks("Hi", max_tokens=1))
    offered = await events_of(model, asks("Hi", tools=(READ_FILE,), max_tokens=1))
    counts = [
        next(event.prompt_tokens for event in events if event.kind == "usage") for events in (plain, offered)
    ]
    assert counts[1] > counts[0] + 20
    assert calls_of(offered) == []


async def test_a_prompt_beyond_its_context_is_not_sent(model: Model) -> None:
    with pytest.raises(ContextOverflow, match="takes 2048"):
        await events_of(model, asks("word " * 4000))


async def test_the_estimate_learns_from_its_counts(model: Model) -> None:
    request = ModelRequest(
        messages=(Message(role="system", text="You plan."), Message(role="user", text="计划 " * 60)),
        max_tokens=1,
    )
    counter = model.inner.counter  # type: ignore[attr-defined]
    real = next(event.prompt_tokens for event in await events_of(model, request) if event.kind == "usage")
    assert abs(counter.request(request) - real) < 0.1 * real


async def test_a_cancelled_answer_frees_the_only_slot(model: Model) -> None:
    await model.capabilities()
    async with contextlib.aclosing(model.stream(asks("Tell a very long story.", max_tokens=1500))) as stream:
        await anext(stream)
    async with asyncio.timeout(20):
        assert await events_of(model, asks("Hi", max_tokens=2))
