"""Chat completions: requests, and all forms of servers' answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import pytest

from planloom.domain.errors import ContextOverflow, ModelFailed
from planloom.domain.values import CallId, Json
from planloom.models.port import (
    CallMade,
    CallWritten,
    Capabilities,
    Finished,
    Image,
    Message,
    ModelRequest,
    Reasoning,
    ReasoningDelta,
    Restarted,
    TextDelta,
    ToolCall,
    UsageReported,
)
from planloom.models.providers.openai_compatible import OpenAICompatible
from tests.models.support import READ_FILE, Waits, asks, calls_of, events_of, final, model_at, text_of
from tests.support.http_server import Answer, Asked, Wire, serving


def chunk(finish: str | None = None, **delta: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def fragment(index: int | None = None, **more: object) -> dict[str, object]:
    place = {} if index is None else {"index": index}
    call_id = {"id": more.pop("id")} if "id" in more else {}
    return {**place, **call_id, "function": more}


def streams(*data: object) -> Answer:
    """A server without metadata that streams these events."""

    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.method == "GET":
            await wire.json(404, {"error": "not found"})
            return
        await wire.head(content_type="text/event-stream")
        await wire.events(*data)

    return answer


async def test_text_reasoning_and_usage_are_streamed() -> None:
    server = streams(
        chunk(role="assistant", content=""),
        chunk(reasoning_content="Hm."),
        chunk(reasoning="So."),
        chunk(content="Hel"),
        chunk(content="lo"),
        chunk("stop"),
        {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}},
        "[DONE]",
    )
    async with serving(server) as running, model_at(running.origin) as model:
        assert await events_of(model) == [
            ReasoningDelta(text="Hm."),
            ReasoningDelta(text="So."),
            TextDelta(text="Hel"),
            TextDelta(text="lo"),
            UsageReported(prompt_tokens=9, completion_tokens=4),
            Finished(
                reason="stop",
                reasoning=(
                    Reasoning(provider="openai", data={"reasoning_content": "Hm.", "reasoning": "So."}),
                ),
            ),
        ]


@pytest.mark.parametrize(
    ("fragments", "calls"),
    [
        pytest.param(
            [
                [fragment(0, id="a", name="read_file", arguments="")],
                [fragment(0, arguments='{"pa')],
                [fragment(1, id="b", name="list_files", arguments='{"x"')],
                [fragment(0, arguments='th":"x"}')],
                [fragment(1, arguments=":1}")],
            ],
            [("read_file", {"path": "x"}), ("list_files", {"x": 1})],
            id="interleaved",
        ),
        pytest.param(
            [[fragment(id="a", name="f", arguments='{"a"')], [fragment(arguments=":1}")]],
            [("f", {"a": 1})],
            id="no index",
        ),
        pytest.param(
            [
                [fragment(0, id="a", name="f", arguments='{"a":1}')],
                [fragment(0, id="b", name="f", arguments='{"a":2}')],
            ],
            [("f", {"a": 1}), ("f", {"a": 2})],
            id="one index for all",
        ),
        pytest.param(
            [
                [fragment(0, name="f", arguments='{"a":"}"}')],
                [fragment(0, name="f", arguments='{"a":2}')],
            ],
            [("f", {"a": "}"}), ("f", {"a": 2})],
            id="one index and no id for all",
        ),
        pytest.param(
            [
                [fragment(0, id="a", name="f", arguments='{"a":')],
                [fragment(0, id="a", name="f", arguments="1}")],
                [fragment(0, id="a", name="f", arguments="")],
            ],
            [("f", {"a": 1})],
            id="id and name in every fragment",
        ),
        pytest.param([[fragment(0, id="a", name="f", arguments={"a": 1})]], [("f", {"a": 1})], id="object"),
        pytest.param(
            [[fragment(0, id="a", name="f", arguments='"{\\"a\\": 1}"')]],
            [("f", {"a": 1})],
            id="twice encoded",
        ),
        pytest.param([[fragment(0, id="a", name="f")]], [("f", {})], id="no arguments"),
        pytest.param([[fragment(0, id="a", name="f", arguments="null")]], [("f", {})], id="null"),
        pytest.param(
            [[fragment(0, id="a", name="f", arguments='{"a": "x\ny"}')]],
            [("f", {"a": "x\ny"})],
            id="raw line end in a string",
        ),
        pytest.param([[fragment(0, id="a", name="f", arguments='{"a"')]], [("f", '{"a"')], id="cut"),
        pytest.param([[fragment(0, id="a", name="f", arguments="[1]")]], [("f", "[1]")], id="a list"),
        pytest.param(
            [[fragment(0, id="a", name="f", arguments='{"a": NaN}')]], [("f", '{"a": NaN}')], id="no number"
        ),
        pytest.param([[fragment(0, id="a", arguments="{}")]], [("", "{}")], id="no name"),
        pytest.param(
            [[fragment(0, id="a", name="f", arguments='{"a": ' + "[" * 100_000)]],
            [("f", '{"a": ' + "[" * 100_000)],
            id="deep",
        ),
    ],
)
async def test_fragments_are_joined_to_calls(
    fragments: Sequence[Sequence[dict[str, object]]], calls: list[tuple[str, object]]
) -> None:
    server = streams(*(chunk(tool_calls=list(part)) for part in fragments), chunk("tool_calls"), "[DONE]")
    async with serving(server) as running, model_at(running.origin) as model:
        events = await events_of(model, asks(tools=(READ_FILE,)))
    assert calls_of(events) == calls
    assert events[-1] == Finished(reason="tool_calls")
    ids = [event.call.call_id for event in events if isinstance(event, CallMade)]
    assert len(set(ids)) == len(ids)
    assert all(ids)


async def test_an_id_that_the_conversation_has_used_is_replaced() -> None:
    server = streams(chunk("tool_calls", tool_calls=[fragment(0, id="a", name="f", arguments="{}")]))
    earlier = ToolCall(call_id=CallId("a"), name="f", arguments={})
    request = ModelRequest(
        messages=(
            Message(role="user", text="x"),
            Message(role="assistant", text="", tool_calls=(earlier,)),
            Message(role="tool", text="ok", tool_call_id=CallId("a")),
        )
    )
    async with serving(server) as running, model_at(running.origin) as model:
        written, call, _ = await events_of(model, request)
    assert written == CallWritten(name="f", text="{}")
    assert isinstance(call, CallMade)
    assert call.call.call_id not in {"a", ""}


@pytest.mark.parametrize(
    ("data", "text", "reason"),
    [
        pytest.param([chunk(content="a"), chunk("stop")], "a", "stop", id="no [DONE]"),
        pytest.param([chunk(content="a"), "[DONE]"], "a", "stop", id="no reason"),
        pytest.param([chunk("length", content="a"), "[DONE]"], "a", "length", id="cut"),
        pytest.param([chunk("content_filter", content="")], "", "refused", id="filtered"),
        pytest.param([chunk("stop", content=None, refusal="I won't.")], "I won't.", "stop", id="refusal"),
        pytest.param(
            [{"choices": [{"message": {"content": "all"}, "finish_reason": "stop"}]}],
            "all",
            "stop",
            id="whole",
        ),
        pytest.param([chunk("stop", content=[{"type": "text", "text": "p"}])], "p", "stop", id="parts"),
        pytest.param(
            [chunk(content="\ud83d"), chunk("stop", content="\ude00!")], "\U0001f600!", "stop", id="halves"
        ),
        pytest.param([chunk("stop", content="\ud83d")], "\ufffd", "stop", id="one half"),
        pytest.param([chunk("stop", content="a\u2028\x0cb\x85")], "a\u2028\x0cb\x85", "stop", id="line ends"),
        pytest.param(
            [chunk(content="{" + " " * 300)] + [chunk(content=" " * 300)] * 9, None, "length", id="blank run"
        ),
        pytest.param([{"choices": 5}, {"x": []}, chunk("stop", content="a")], "a", "stop", id="odd chunks"),
    ],
)
async def test_answers_end_as_the_server_meant(data: Sequence[object], text: str | None, reason: str) -> None:
    async with serving(streams(*data)) as running, model_at(running.origin) as model:
        events = await events_of(model)
    assert events[-1] == Finished.model_validate({"reason": reason})
    assert text is None or text_of(events) == text


async def test_what_is_sent_is_what_the_request_says() -> None:
    call = ToolCall(call_id=CallId("c1"), name="read_file", arguments={"path": "ü"})
    request = ModelRequest(
        messages=(
            Message(role="system", text="S"),
            Message(role="user", text="U\ud800", images=(Image(media_type="image/png", data=b"\x00"),)),
            Message(role="assistant", text="", tool_calls=(call,)),
            Message(role="tool", text="content", tool_call_id=CallId("c1")),
        ),
        tools=(READ_FILE,),
        response_schema={"type": "object"},
        max_tokens=5,
        temperature=0.5,
    )
    async with serving(streams(chunk("stop", content="a"))) as running, model_at(running.origin) as model:
        await events_of(model, request)
    (asked,) = running.posts()
    assert asked.path == "/v1/chat/completions"
    assert "authorization" not in asked.headers
    assert asked.json() == {
        "model": "small",
        "messages": [
            {"role": "system", "content": "S"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "U?"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
                ],
            },
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "read_file", "arguments": '{"path": "ü"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "content"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "read_file",
                    "description": "Reads a file.",
                    "parameters": READ_FILE.parameters,
                },
            }
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": {"type": "object"}},
        },
        "max_tokens": 5,
        "temperature": 0.5,
    }


@pytest.mark.parametrize(
    ("error", "more", "gone", "capabilities"),
    [
        ("Unknown parameter: 'stream_options'", {}, ("stream_options",), {}),
        ("Unsupported value: 'temperature'", {"temperature": 0.5}, ("temperature",), {}),
        (
            "'max_tokens' is not supported; use 'max_completion_tokens'",
            {"max_tokens": 5},
            ("max_tokens",),
            {},
        ),
        (
            "Unsupported keyword: $ref",
            {"response_schema": {"type": "object"}},
            ("response_format",),
            {"json_schema": False},
        ),
        (
            "response_format json_schema is not available",
            {"response_schema": {"type": "object"}},
            ("response_format",),
            {"json_schema": False},
        ),
        (
            '"auto" tool choice requires --enable-auto-tool-choice',
            {"tools": (READ_FILE,)},
            ("tools",),
            {"tools": False},
        ),
        ("small does not support tools", {"tools": (READ_FILE,)}, ("tools",), {"tools": False}),
    ],
)
async def test_a_field_that_the_server_refuses_is_left_out_from_then_on(
    error: str, more: dict[str, object], gone: Sequence[str], capabilities: dict[str, object]
) -> None:
    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.method == "GET":
            await wire.json(404, {})
        elif any(field in asked.json() for field in gone):
            await wire.json(400, {"error": {"message": error, "type": "invalid_request_error"}})
        else:
            await streams(chunk("stop", content="fine"))(asked, wire)

    waits = Waits()
    async with serving(answer) as running, model_at(running.origin, waits=waits) as model:
        assert text_of(await events_of(model, asks(**more))) == "fine"
        refused = len(running.posts()) - 1
        assert text_of(await events_of(model, asks(**more))) == "fine"
        assert len(running.posts()) == refused + 2
        expected = Capabilities(tools=True, json_schema=True, local=True, lean=True)._replace(**capabilities)
        assert await model.capabilities() == expected
    assert waits.seconds == []
    sent = running.posts()[-1].json()
    if "tools" in gone:
        assert "read_file" in sent["messages"][0]["content"]


async def test_cancelling_twice_leaves_no_connection_open() -> None:
    left: list[int] = []

    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.method == "GET":
            await wire.json(404, {})
            return
        await wire.head(content_type="text/event-stream")
        await wire.events(chunk(content="a"))
        await wire.until_left()
        left.append(len(left))

    async def read(model: OpenAICompatible) -> None:
        async with contextlib.aclosing(model.stream(asks())) as stream:
            async for event in stream:
                begun.set()
                assert event == TextDelta(text="a")

    async with serving(answer) as running, model_at(running.origin) as model:
        for turns in range(20):
            begun = asyncio.Event()
            reader = asyncio.ensure_future(read(model))
            await begun.wait()
            reader.cancel()
            for _ in range(turns % 5):
                await asyncio.sleep(0)
            reader.cancel()
            await asyncio.wait({reader})
        async with asyncio.timeout(5):
            while len(left) < 20:
                await asyncio.sleep(0.01)


async def test_cancelling_aborts_the_connection_at_once() -> None:
    left = asyncio.Event()

    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.method == "GET":
            await wire.json(404, {})
            return
        await wire.head(content_type="text/event-stream")
        await wire.events(chunk(content="a"))
        await wire.until_left()
        left.set()

    async with serving(answer) as running, model_at(running.origin) as model:
        stream = model.stream(asks())
        assert await anext(stream) == TextDelta(text="a")
        reader = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reader
        async with asyncio.timeout(0.25):
            await left.wait()


async def test_closing_the_stream_aborts_the_connection_at_once() -> None:
    left = asyncio.Event()

    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.method == "GET":
            await wire.json(404, {})
            return
        await wire.head(content_type="text/event-stream")
        await wire.events(chunk(content="a"))
        await wire.until_left()
        left.set()

    async with serving(answer) as running, model_at(running.origin) as model:
        async with contextlib.aclosing(model.stream(asks())) as stream:
            await anext(stream)
        async with asyncio.timeout(0.25):
            await left.wait()


async def test_a_prompt_that_cannot_fit_is_never_sent() -> None:
    async with serving(streams()) as running, model_at(running.origin, context_tokens=1000) as model:
        with pytest.raises(ContextOverflow, match="takes 1000"):
            await events_of(model, asks("word " * 2000))
    assert running.posts() == []


@pytest.mark.parametrize("takes_schema", [True, False])
async def test_a_schema_counts_only_if_it_is_in_the_prompt(takes_schema: bool) -> None:
    schema: dict[str, Json] = {"type": "object", "description": "word " * 2000}

    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.method == "POST" and not takes_schema:
            message = "response_format json_schema is not available"
            await wire.json(400, {"error": {"message": message, "type": "invalid_request_error"}})
        else:
            await streams(chunk("stop", content="fine"))(asked, wire)

    async with serving(answer) as running, model_at(running.origin, context_tokens=1000) as model:
        if takes_schema:
            assert text_of(await events_of(model, asks(response_schema=schema))) == "fine"
        else:
            with pytest.raises(ContextOverflow, match="takes 1000"):
                await events_of(model, asks(response_schema=schema))
    assert all("word word" not in str(asked.json()["messages"]) for asked in running.posts())


async def test_an_overflow_that_the_server_finds_is_reported_as_one() -> None:
    async def answer(asked: Asked, wire: Wire) -> None:
        error = {
            "message": "This model's maximum context length is 10 tokens",
            "code": "context_length_exceeded",
        }
        await wire.json(404 if asked.method == "GET" else 400, {"error": error})

    async with serving(answer) as running, model_at(running.origin) as model:
        with pytest.raises(ContextOverflow, match="maximum context"):
            await events_of(model)


async def test_a_server_that_cannot_parse_its_model_is_not_unavailable() -> None:
    async def answer(asked: Asked, wire: Wire) -> None:
        words = "The model produced output that does not match the expected peg-native format"
        await wire.json(404 if asked.method == "GET" else 500, {"error": {"message": words}})

    async with serving(answer) as running, model_at(running.origin) as model:
        with pytest.raises(ModelFailed, match="could not read what its model wrote") as failure:
            await events_of(model)
        assert failure.value.code == "model_output_invalid"
        assert len(running.posts()) == 3


async def test_a_broken_stream_is_retried_and_the_reader_informed() -> None:
    tries = 0

    async def answer(asked: Asked, wire: Wire) -> None:
        nonlocal tries
        if asked.method == "GET":
            await wire.json(404, {})
            return
        tries += 1
        await wire.head(content_type="text/event-stream")
        await wire.events(chunk(content=f"try {tries}"))
        if tries == 3:
            await wire.events(chunk("stop"))

    waits = Waits()
    async with serving(answer) as running, model_at(running.origin, waits=waits) as model:
        events = await events_of(model)
    assert text_of(events) == "try 3"
    assert [event.attempt for event in events if isinstance(event, Restarted)] == [2, 3]
    assert waits.seconds == [0.5, 1.0]
    assert final(events)[-1] == Finished(reason="stop")


async def test_an_error_in_the_stream_is_reported() -> None:
    server = streams(chunk(content="a"), {"error": {"message": "GPU on fire", "code": 500}})
    waits = Waits()
    async with serving(server) as running, model_at(running.origin, waits=waits, retries=1) as model:
        with pytest.raises(ModelFailed, match=r"GPU on fire.*tried 2 times"):
            await events_of(model)
    assert waits.seconds == [0.5]


async def test_an_empty_answer_is_invalid_output() -> None:
    async with serving(streams(chunk("stop"), "[DONE]")) as running, model_at(running.origin) as model:
        with pytest.raises(ModelFailed) as caught:
            await events_of(model)
    assert caught.value.code == "model_output_invalid"


def test_learned_refusals_lower_what_was_probed() -> None:
    adapter = OpenAICompatible()
    assert adapter.reduced(Capabilities(tools=False)) == Capabilities(tools=False)
