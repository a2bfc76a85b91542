"""Requests to Ollama and Anthropic, and the peculiarities of their answers."""

from __future__ import annotations

import json

import pytest

from planloom.domain.errors import ModelFailed
from planloom.domain.values import CallId
from planloom.models.port import (
    Capabilities,
    Finished,
    Image,
    Message,
    ModelRequest,
    Reasoning,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    UsageReported,
)
from planloom.models.providers.anthropic import Anthropic
from planloom.models.providers.ollama import Ollama
from tests.models.protocols import PROTOCOLS
from tests.models.support import READ_FILE, asks, calls_of, events_of, model_at, text_of
from tests.support.http_server import Answer, Asked, Wire, serving

CALL = ToolCall(call_id=CallId("c1"), name="read_file", arguments={"path": "a"})
CONVERSATION = ModelRequest(
    messages=(
        Message(role="system", text="S"),
        Message(role="user", text="U", images=(Image(media_type="image/png", data=b"\x00"),)),
        Message(role="assistant", text="", tool_calls=(CALL,)),
        Message(role="tool", text="content", tool_call_id=CallId("c1")),
        Message(role="user", text="go on"),
    ),
    tools=(READ_FILE,),
    temperature=1.5,
)


def speaks(path: str, content_type: str, *lines: object, shown: object = None) -> Answer:
    """A server that streams these documents, and describes the model with `shown`."""

    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.path == path:
            await wire.head(content_type=content_type)
            for line in lines:
                text = json.dumps(line)
                await wire.send((f"data: {text}\n\n" if "event" in content_type else f"{text}\n").encode())
        elif shown is not None:
            await wire.json(200, shown)
        else:
            await wire.json(404, {"error": "model 'small' not found"})

    return answer


def ollama(*lines: object, shown: object = None) -> Answer:
    return speaks("/api/chat", "application/x-ndjson", *lines, shown=shown)


def ollama_line(content: str, **more: object) -> dict[str, object]:
    return {"message": {"role": "assistant", "content": content}, "done": bool(more), **more}


async def test_a_request_to_ollama_has_its_format() -> None:
    async with (
        serving(ollama(ollama_line("ok", done_reason="stop"))) as running,
        model_at(running.origin, Ollama()) as model,
    ):
        await events_of(model, CONVERSATION)
    body = running.posts()[-1].json()
    assert body["messages"] == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "U", "images": ["AA=="]},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": "read_file", "arguments": {"path": "a"}}}],
        },
        {"role": "tool", "content": "content", "tool_name": "read_file"},
        {"role": "user", "content": "go on"},
    ]
    assert body["tools"][0]["function"]["name"] == "read_file"
    assert body["options"] == {"num_ctx": 8192, "temperature": 1.5}
    assert body["stream"] is True


@pytest.mark.parametrize(
    ("prompt", "max_tokens", "limit", "smallest", "largest"),
    [
        ("short", 100, None, 4096, 4096),
        ("word " * 8_000, 1000, None, 12_000, 32_768),
        ("世" * 8_000, 1000, None, 10_000, 32_768),
        ("word " * 8_000, 1000, 12_000, 12_000, 12_000),
    ],
)
async def test_the_context_is_as_large_as_the_prompt_needs(
    prompt: str, max_tokens: int, limit: int | None, smallest: int, largest: int
) -> None:
    shown = {"model_info": {"llama.context_length": limit}, "capabilities": ["completion"]}
    async with (
        serving(ollama(ollama_line("ok", done_reason="stop"), shown=shown)) as running,
        model_at(running.origin, Ollama()) as model,
    ):
        await events_of(model, asks(prompt, max_tokens=max_tokens))
        await events_of(model, asks("short"))
    first, second = (
        post.json()["options"]["num_ctx"] for post in running.posts() if post.path == "/api/chat"
    )
    assert smallest <= first <= largest
    assert second >= min(first, limit or first), "a smaller context would make Ollama load the model again"


@pytest.mark.parametrize(
    ("shown", "capabilities"),
    [
        (
            {
                "capabilities": ["completion", "tools", "vision"],
                "model_info": {"qwen2.context_length": 32768},
            },
            Capabilities(
                tools=True,
                json_schema=True,
                images=True,
                context_tokens=32768,
                local=True,
                lean=True,
            ),
        ),
        (
            {"template": "{{ .Prompt }}", "model_info": {"x.context_length": "many"}},
            Capabilities(tools=False, json_schema=True, local=True, lean=True),
        ),
        (
            {"template": "{{ if .Tools }}"},
            Capabilities(tools=True, json_schema=True, local=True, lean=True),
        ),
        (None, Capabilities(tools=True, json_schema=True, local=True, lean=True)),
    ],
)
async def test_ollama_says_what_a_model_can_do(shown: object, capabilities: Capabilities) -> None:
    async with serving(ollama(shown=shown)) as running, model_at(running.origin, Ollama()) as model:
        assert await model.capabilities() == capabilities


async def test_tools_are_described_in_words_to_a_model_without_tools() -> None:
    shown = {"capabilities": ["completion"]}
    async with (
        serving(ollama(ollama_line("ok", done_reason="stop"), shown=shown)) as running,
        model_at(running.origin, Ollama()) as model,
    ):
        await events_of(model, CONVERSATION)
    body = running.posts()[-1].json()
    assert "tools" not in body
    assert "read_file" in body["messages"][0]["content"]
    assert [message["role"] for message in body["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
        "user",
    ]


async def test_ollamas_thinking_counts_and_end_are_read() -> None:
    server = ollama(
        {"message": {"content": "", "thinking": "Hm"}},
        ollama_line("yes"),
        ollama_line("", done_reason="length", prompt_eval_count=5, eval_count=2),
    )
    async with serving(server) as running, model_at(running.origin, Ollama()) as model:
        assert await events_of(model) == [
            ReasoningDelta(text="Hm"),
            TextDelta(text="yes"),
            UsageReported(prompt_tokens=5, completion_tokens=2),
            Finished(reason="length", reasoning=(Reasoning(provider="ollama", data={"thinking": "Hm"}),)),
        ]


async def test_a_missing_model_names_the_command_that_gets_it() -> None:
    async def answer(asked: Asked, wire: Wire) -> None:
        await wire.json(404, {"error": "model 'small' not found"})

    async with serving(answer) as running, model_at(running.origin, Ollama()) as model:
        with pytest.raises(ModelFailed) as caught:
            await events_of(model)
    assert caught.value.message.startswith("Ollama is running but has no model 'small': `ollama pull small`.")


def anthropic(*events: object) -> Answer:
    return speaks("/v1/messages", "text/event-stream", *events)


async def test_a_request_to_anthropic_has_its_format() -> None:
    whole = {"type": "message", "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn"}
    async with serving(anthropic(whole)) as running, model_at(running.origin, Anthropic()) as model:
        assert text_of(await events_of(model, CONVERSATION)) == "ok"
    (asked,) = running.posts()
    assert asked.headers["anthropic-version"] == "2023-06-01"
    assert asked.json() == {
        "model": "small",
        "max_tokens": 8192,
        "stream": True,
        "system": [{"type": "text", "text": "S", "cache_control": {"type": "ephemeral"}}],
        "temperature": 1.0,
        "tools": [
            {
                "name": "read_file",
                "description": "Reads a file.",
                "input_schema": READ_FILE.parameters,
            }
        ],
        "messages": [
            {
                "role": "user",
                "content": [
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "AA=="},
                    },
                    {"type": "text", "text": "U", "cache_control": {"type": "ephemeral"}},
                ],
            },
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a"}}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "content"},
                    {"type": "text", "text": "go on", "cache_control": {"type": "ephemeral"}},
                ],
            },
        ],
    }


async def test_a_schema_becomes_a_call_that_is_the_answer() -> None:
    server = anthropic(
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "x", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"a"'},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": ": 1}"},
        },
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    )
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    async with serving(server) as running, model_at(running.origin, Anthropic()) as model:
        events = await events_of(model, asks(response_schema=schema))
    assert events == [TextDelta(text='{"a"'), TextDelta(text=": 1}"), Finished(reason="stop")]
    body = running.posts()[0].json()
    assert body["tool_choice"] == {"type": "tool", "name": "answer"}
    assert body["tools"][0]["input_schema"] == schema


async def test_a_whole_message_with_calls_is_read() -> None:
    content = [
        {"type": "thinking", "thinking": "Hm"},
        {"type": "tool_use", "id": "a", "name": "read_file", "input": {"path": "x"}},
    ]
    server = anthropic({"type": "message", "content": content, "stop_reason": "tool_use"})
    async with serving(server) as running, model_at(running.origin, Anthropic()) as model:
        events = await events_of(model, asks(tools=(READ_FILE,)))
    assert calls_of(events) == [("read_file", {"path": "x"})]
    assert events[0] == ReasoningDelta(text="Hm")


@pytest.mark.parametrize(
    ("message", "request_", "changed"),
    [
        ("max_tokens: 8192 > 4096, which is the maximum allowed", asks(), ("max_tokens", 4096)),
        (
            "cache_control: extra inputs are not permitted",
            CONVERSATION,
            ("system", [{"type": "text", "text": "S"}]),
        ),
        ("temperature is deprecated for this model", CONVERSATION, ("temperature", None)),
    ],
)
async def test_anthropics_refusals_are_adapted_to(
    message: str, request_: ModelRequest, changed: tuple[str, object]
) -> None:
    asked_before = False

    async def answer(asked: Asked, wire: Wire) -> None:
        nonlocal asked_before
        if asked.method == "POST" and not asked_before:
            asked_before = True
            await wire.json(
                400, {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
            )
            return
        await PROTOCOLS["anthropic"].server()(asked, wire)

    async with serving(answer) as running, model_at(running.origin, Anthropic()) as model:
        await events_of(model, request_)
    assert running.posts()[-1].json().get(changed[0]) == changed[1]


async def test_an_overloaded_service_is_retried() -> None:
    tries = 0

    async def answer(asked: Asked, wire: Wire) -> None:
        nonlocal tries
        if asked.method == "POST":
            tries += 1
        if asked.method == "POST" and tries == 1:
            await wire.json(
                529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
            )
        else:
            await PROTOCOLS["anthropic"].server()(asked, wire)

    async with serving(answer) as running, model_at(running.origin, Anthropic()) as model:
        events = await events_of(model)
    assert events[0].kind == "restarted"
