"""What a provider says of its reasoning goes back to it unchanged with the message that it belongs to."""

from __future__ import annotations

import json

import pytest

from planloom.domain.values import CallId
from planloom.models.http.adapter import ProviderAdapter
from planloom.models.port import Finished, Message, Reasoning, ToolCall
from planloom.models.providers.anthropic import Anthropic
from planloom.models.providers.ollama import Ollama
from planloom.models.providers.openai_compatible import OpenAICompatible
from tests.models.support import READ_FILE, asks, events_of, model_at
from tests.support.http_server import Asked, Wire, serving

Lines = list[dict[str, object]]
_CALL = {"id": "c1", "function": {"name": "read_file", "arguments": '{"path": "a"}'}}


def _openai(*deltas: dict[str, object]) -> Lines:
    return [
        *({"choices": [{"delta": delta}]} for delta in deltas),
        {"choices": [{"delta": {"tool_calls": [{"index": 0, **_CALL}]}, "finish_reason": "tool_calls"}]},
    ]


def _anthropic(*blocks: tuple[dict[str, object], *tuple[dict[str, object], ...]]) -> Lines:
    lines: Lines = []
    for index, (start, *deltas) in enumerate(blocks):
        lines.append({"type": "content_block_start", "index": index, "content_block": start})
        lines += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    call = {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a"}}
    lines.append({"type": "content_block_start", "index": len(blocks), "content_block": call})
    return [*lines, {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}]


CASES: dict[str, tuple[type[ProviderAdapter], Lines, object]] = {
    "DeepSeek's and llama.cpp's field": (
        OpenAICompatible,
        _openai({"reasoning_content": "Look "}, {"reasoning_content": "first."}),
        {"reasoning_content": "Look first."},
    ),
    "vLLM's field": (OpenAICompatible, _openai({"reasoning": "Hm"}), {"reasoning": "Hm"}),
    "OpenRouter's list, joined by index": (
        OpenAICompatible,
        _openai(
            {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "Look "}]},
            {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "up.", "signature": "S"}]},
            {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "X"}]},
        ),
        {
            "reasoning_details": [
                {"type": "reasoning.text", "index": 0, "text": "Look up.", "signature": "S"},
                {"type": "reasoning.encrypted", "index": 1, "data": "X"},
            ]
        },
    ),
    "Anthropic's signed and redacted blocks": (
        Anthropic,
        _anthropic(
            (
                {"type": "thinking", "thinking": "", "signature": ""},
                {"type": "thinking_delta", "thinking": "Look "},
                {"type": "thinking_delta", "thinking": "first."},
                {"type": "signature_delta", "signature": "S"},
            ),
            ({"type": "redacted_thinking", "data": "X"},),
        ),
        [
            {"type": "thinking", "thinking": "Look first.", "signature": "S"},
            {"type": "redacted_thinking", "data": "X"},
        ],
    ),
    "an unsigned block, which Anthropic would refuse": (
        Anthropic,
        _anthropic(({"type": "thinking", "thinking": "Hm"},)),
        [],
    ),
    "Ollama's field": (
        Ollama,
        [
            {"message": {"thinking": "Hm"}},
            {"message": {"tool_calls": [{"function": {"name": "read_file", "arguments": {"path": "a"}}}]}},
            {"message": {}, "done": True, "done_reason": "stop"},
        ],
        {"thinking": "Hm"},
    ),
}


@pytest.mark.parametrize(("adapter", "lines", "expected"), CASES.values(), ids=CASES)
async def test_reasoning_goes_back_in_the_form_in_which_it_came(
    adapter: type[ProviderAdapter], lines: Lines, expected: object
) -> None:
    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.method != "POST" or asked.path.endswith("/show"):
            await wire.json(404, {"error": "not found"})
            return
        await wire.head(content_type="application/x-ndjson" if adapter is Ollama else "text/event-stream")
        if adapter is Ollama:
            await wire.send("".join(f"{json.dumps(line)}\n" for line in lines).encode())
        else:
            await wire.events(*lines)

    async with serving(answer) as running, model_at(running.origin, adapter()) as model:
        request = asks("Hi", tools=(READ_FILE,))
        finished = (await events_of(model, request))[-1]
        assert isinstance(finished, Finished)
        call = ToolCall(call_id=CallId("c1"), name="read_file", arguments={"path": "a"})
        said = Message(role="assistant", text="", tool_calls=(call,), reasoning=finished.reasoning)
        told = Message(role="tool", text="content", tool_call_id=CallId("c1"))
        await events_of(model, request.model_copy(update={"messages": (*request.messages, said, told)}))
    body = running.posts()[-1].json()
    sent = next(message for message in body["messages"] if message["role"] == "assistant")
    if isinstance(expected, list):
        assert [block for block in sent["content"] if block["type"] != "tool_use"] == expected
    else:
        assert isinstance(expected, dict)
        assert {name: sent.get(name) for name in expected} == expected


async def test_reasoning_of_another_provider_is_left_out_and_a_refusal_is_learned() -> None:
    refusals = 0

    async def answer(asked: Asked, wire: Wire) -> None:
        nonlocal refusals
        if asked.method != "POST":
            await wire.json(404, {"error": "not found"})
        elif any("reasoning_content" in message for message in asked.json()["messages"]):
            refusals += 1
            await wire.json(400, {"error": {"message": "reasoning_content is not allowed in messages"}})
        else:
            await wire.json(200, {"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]})

    kept = (
        Reasoning(provider="anthropic", data={"type": "thinking"}),
        Reasoning(provider="openai", data={"reasoning_content": "Hm"}),
    )
    messages = (
        *asks("Hi").messages,
        Message(role="assistant", text="so", reasoning=kept),
        *asks("on").messages,
    )
    async with serving(answer) as running, model_at(running.origin) as model:
        for _ in range(2):
            await events_of(model, asks("Hi").model_copy(update={"messages": messages}))
    assert refusals == 1
    assert running.posts()[-1].json()["messages"][1] == {"role": "assistant", "content": "so"}
