"""A growing conversation is found in the provider's cache, and what came from there is reported."""

from __future__ import annotations

import pytest

from planloom.domain.values import CallId
from planloom.models.http.adapter import ProviderAdapter
from planloom.models.http.json_text import list_of, object_of
from planloom.models.port import Capabilities, Message, ModelRequest, ToolCall, UsageReported
from planloom.models.providers.anthropic import Anthropic, AnthropicReader
from planloom.models.providers.openai_compatible import OpenAICompatible, OpenAIReader
from tests.models.support import READ_FILE, asks

MOST_MARKS = 4
LOOK_BACK = 20
"""How many blocks before a mark Anthropic looks for the end of a cached prefix."""


def _turn(number: int, calls: int) -> tuple[Message, ...]:
    made = tuple(
        ToolCall(call_id=CallId(f"c{number}_{each}"), name="read_file", arguments={"path": "a"})
        for each in range(calls)
    )
    results = (Message(role="tool", text="content", tool_call_id=call.call_id) for call in made)
    return (Message(role="assistant", text="Look.", tool_calls=made), *results)


def _marks(request: ModelRequest) -> tuple[int, list[int]]:
    """How many blocks the messages have, and which of them are marked."""
    body = Anthropic().build_request("claude", request, Capabilities(tools=True), 1).body
    assert [object_of(block).get("cache_control") for block in list_of(body["system"])] == [
        {"type": "ephemeral"}
    ]
    blocks = [
        object_of(block)
        for message in list_of(body["messages"])
        for block in list_of(object_of(message).get("content"))
    ]
    return len(blocks), [number for number, block in enumerate(blocks) if "cache_control" in block]


@pytest.mark.parametrize("calls", [1, 5, 9, 12, 30])
def test_each_request_finds_what_the_one_before_has_cached(calls: int) -> None:
    messages: tuple[Message, ...] = (
        Message(role="system", text="S"),
        Message(role="user", text="U"),
    )
    before: list[int] = []
    for number in range(4):
        count, marks = _marks(ModelRequest(messages=messages, tools=(READ_FILE,)))
        assert marks[-1] == count - 1, "the newest part is cached for the next request"
        assert len(marks) + 1 <= MOST_MARKS
        found = not before or any(0 <= mark - before[-1] < LOOK_BACK for mark in marks)
        assert found, f"the prefix up to block {before} is not found from {marks}"
        before = marks
        messages += _turn(number, calls)
        if number == 1:
            messages += (Message(role="user", text="The list has changed."),)


@pytest.mark.parametrize(
    ("reader", "data", "expected"),
    [
        (
            OpenAIReader(asks("Hi")),
            {
                "usage": {
                    "prompt_tokens": 9,
                    "completion_tokens": 2,
                    "prompt_tokens_details": {"cached_tokens": 7},
                }
            },
            7,
        ),
        (
            OpenAIReader(asks("Hi")),
            {"usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 4}},
            4,
        ),
        (OpenAIReader(asks("Hi")), {"usage": {"prompt_tokens": 9, "completion_tokens": 2}}, None),
        (
            AnthropicReader(asks("Hi"), forced=False),
            {
                "type": "message_delta",
                "usage": {"input_tokens": 2, "cache_read_input_tokens": 7, "output_tokens": 2},
            },
            7,
        ),
    ],
)
def test_the_cached_part_of_a_prompt_is_reported(
    reader: OpenAIReader | AnthropicReader, data: dict[str, object], expected: int | None
) -> None:
    reader.feed(data)  # type: ignore[arg-type]
    reader.add_text("ok")
    reader.finish("stop")
    (usage,) = (event for event in reader.end() if isinstance(event, UsageReported))
    assert usage == UsageReported(prompt_tokens=9, completion_tokens=2, cached_tokens=expected)


@pytest.mark.parametrize("adapter", [Anthropic, OpenAICompatible])
def test_a_longer_conversation_begins_with_the_bytes_of_the_shorter(
    adapter: type[ProviderAdapter],
) -> None:
    short = (Message(role="system", text="S"), Message(role="user", text="U"), *_turn(1, 2))
    bodies = [
        adapter().build_request(
            "x", ModelRequest(messages=messages, tools=(READ_FILE,)), Capabilities(tools=True), 1
        )
        for messages in (short, (*short, *_turn(2, 3)))
    ]
    first, second = (str(list_of(built.body["messages"])) for built in bodies)
    unmarked = ", 'cache_control': {'type': 'ephemeral'}"
    assert second.replace(unmarked, "").startswith(first.replace(unmarked, "")[:-1])
