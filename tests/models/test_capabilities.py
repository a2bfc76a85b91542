"""Probing the capabilities of OpenAI-compatible servers."""

from __future__ import annotations

import asyncio
import json

import pytest

from planloom.models.port import Capabilities
from planloom.models.providers.text_tools import describe_in_prompt
from tests.models.support import READ_FILE, asks, events_of, model_at
from tests.support.http_server import Answer, Asked, Wire, serving

TRIED = Capabilities(tools=True, json_schema=True, local=True, lean=True)


def saying(gets: dict[str, object], *, tools: bool = True, schema: bool = True) -> Answer:
    """A server with this metadata, whose model supports tools and schemas or silently drops them."""

    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.method == "GET":
            document = gets.get(asked.path)
            await wire.json(404 if document is None else 200, document or {"error": "no"})
            return
        body = asked.json()
        tokens = 10 + (len(json.dumps(body["tools"])) // 4 if tools and "tools" in body else 0)
        text = '"quince"' if schema and "response_format" in body else "Hello"
        choice = {"message": {"content": text}, "finish_reason": "length"}
        await wire.json(200, {"choices": [choice], "usage": {"prompt_tokens": tokens}})

    return answer


PROPS = {"chat_template": "x", "default_generation_settings": {"n_ctx": 2048}, "total_slots": 2}


@pytest.mark.parametrize(
    ("gets", "capabilities"),
    [
        pytest.param({}, TRIED, id="silent"),
        pytest.param({"/v1/models": {"data": "x"}}, TRIED, id="odd"),
        pytest.param(
            {"/v1/models": {"data": [{"id": "small", "max_model_len": 8192}]}},
            TRIED._replace(context_tokens=8192, parallelism=4),
            id="vllm",
        ),
        pytest.param(
            {"/v1/models": {"data": [{"id": "small", "max_model_len": 0, "context_length": 8192}]}},
            TRIED._replace(context_tokens=8192, parallelism=4),
            id="a size of 0 is none",
        ),
        pytest.param(
            {
                "/v1/models": {"data": [{"id": "small"}, {"id": "x"}]},
                "/api/v0/models/small": {
                    "id": "small",
                    "type": "vlm",
                    "max_context_length": 32768,
                    "loaded_context_length": 4096,
                    "capabilities": ["tool_use"],
                },
            },
            TRIED._replace(context_tokens=4096, images=True),
            id="lm studio",
        ),
        pytest.param(
            {
                "/v1/models": {
                    "data": [
                        {
                            "id": "small",
                            "context_length": 99,
                            "supported_parameters": ["temperature"],
                            "architecture": {"input_modalities": ["text", "image"]},
                        }
                    ]
                }
            },
            Capabilities(images=True, context_tokens=99, local=True, lean=True),
            id="openrouter",
        ),
        pytest.param(
            {"/v1/models": {"data": [{"id": "f.gguf", "meta": {"n_ctx_train": 8192}}]}, "/props": PROPS},
            TRIED._replace(context_tokens=2048, parallelism=2),
            id="llama.cpp",
        ),
    ],
)
async def test_reported_capabilities_are_read(gets: dict[str, object], capabilities: Capabilities) -> None:
    async with serving(saying(gets)) as running, model_at(running.origin) as model:
        assert await model.capabilities() == capabilities
        asked = len(running.asked)
        await model.capabilities()
        assert len(running.asked) == asked, "what is known is not asked again"
    if "/props" not in gets:
        assert running.posts() == [], "no answer is asked for where it may cost something"


@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize("schema", [True, False])
async def test_tools_that_a_server_drops_silently_are_detected(tools: bool, schema: bool) -> None:
    gets = {"/v1/models": {"data": [{"id": "small"}]}, "/props": PROPS}
    async with (
        serving(saying(gets, tools=tools, schema=schema)) as running,
        model_at(running.origin) as model,
    ):
        known = await model.capabilities()
    assert (known.tools, known.json_schema) == (tools, schema)


async def test_the_users_settings_override_what_is_probed() -> None:
    gets = {"/v1/models": {"data": [{"id": "small", "max_model_len": 8192}]}}
    async with serving(saying(gets)) as running, model_at(running.origin, context_tokens=100) as model:
        assert (await model.capabilities()).context_tokens == 100


def test_a_schema_is_described_in_the_prompt_once() -> None:
    request = asks(response_schema={"type": "object"}, tools=(READ_FILE,))
    worded = describe_in_prompt(request, tools=False, schema=True)
    assert worded.response_schema is None
    assert worded.tools == (READ_FILE,)
    assert '{"type": "object"}' in worded.messages[0].text
    assert describe_in_prompt(worded, tools=False, schema=True) is worded


async def test_a_server_that_was_down_is_asked_again() -> None:
    gets = {"/v1/models": {"data": [{"id": "small", "max_model_len": 8192}]}}
    down = True

    async def answer(asked: Asked, wire: Wire) -> None:
        if down:
            wire.writer.transport.abort()
        else:
            await saying(gets)(asked, wire)

    async with serving(answer) as running, model_at(running.origin) as model:
        assert (await model.capabilities()).context_tokens is None
        down = False
        assert (await model.capabilities()).context_tokens == 8192


@pytest.mark.slow
async def test_a_server_whose_probe_hangs_is_not_probed_again_at_each_request() -> None:
    probed = 0

    async def answer(asked: Asked, wire: Wire) -> None:
        nonlocal probed
        if asked.method == "GET":
            probed += 1
            await asyncio.Event().wait()
        await saying({})(asked, wire)

    async with serving(answer) as running, model_at(running.origin, probe_seconds=0.5) as model:
        await model.capabilities()
        first = probed
        for _ in range(3):
            await model.capabilities()
        assert probed == first, "the outcome of the probe holds"
        await events_of(model)
        await model.capabilities()
        assert probed == 2 * first, "a server that has answered since is probed once more"
        for _ in range(3):
            await events_of(model)
            await model.capabilities()
        assert probed == 2 * first
