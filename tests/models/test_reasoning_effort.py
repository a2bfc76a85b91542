"""The user's reasoning effort reaches each provider in its own form, and what a provider refuses is left out."""

from __future__ import annotations

import asyncio

import pytest

from planloom.domain.values import CallId, Json
from planloom.models.http.adapter import ProviderAdapter
from planloom.models.port import Capabilities, Message, ModelRequest, Reasoning, ToolCall
from planloom.models.providers.anthropic import Anthropic
from planloom.models.providers.ollama import Ollama
from planloom.models.providers.openai_compatible import OpenAICompatible
from tests.models.support import PATIENT, READ_FILE, asks, events_of, model_at, text_of
from tests.support.http_server import Answer, Asked, Wire, serving

ABLE = Capabilities(tools=True, json_schema=True)
FIELDS = ("thinking", "output_config", "reasoning_effort", "think", "temperature", "max_tokens")


def body_of(adapter: ProviderAdapter, name: str, **fields: object) -> dict[str, Json]:
    """The body of a request with these fields and a temperature."""
    request = asks("Hi", temperature=0.5, max_tokens=1000, **fields)
    return adapter.build_request(name, request, ABLE, 10).body


CASES: dict[str, tuple[type[ProviderAdapter], str, dict[str, object], dict[str, object]]] = {
    "nothing set": (Anthropic, "claude-sonnet-4-5", {}, {"temperature": 0.5, "max_tokens": 1000}),
    "an effort is a budget on top of the answer": (
        Anthropic,
        "claude-sonnet-4-5",
        {"effort": "low"},
        {"thinking": {"type": "enabled", "budget_tokens": 4096}, "max_tokens": 5096},
    ),
    "a budget of one's own": (
        Anthropic,
        "claude-opus-4-20250514",
        {"thinking_tokens": 2000},
        {"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 3000},
    ),
    "newer models take an effort": (
        Anthropic,
        "claude-opus-4-6",
        {"effort": "high"},
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}, "max_tokens": 33768},
    ),
    "off": (
        Anthropic,
        "claude-sonnet-5",
        {"effort": "off", "thinking_tokens": 9000},
        {"thinking": {"type": "disabled"}, "temperature": 0.5, "max_tokens": 1000},
    ),
    "a compatible server": (
        OpenAICompatible,
        "qwen3",
        {"effort": "medium"},
        {"reasoning_effort": "medium", "temperature": 0.5, "max_tokens": 13288},
    ),
    "a compatible server, off": (
        OpenAICompatible,
        "qwen3",
        {"effort": "off"},
        {"reasoning_effort": "none", "temperature": 0.5, "max_tokens": 1000},
    ),
    "ollama": (Ollama, "qwen3:8b", {"effort": "low"}, {"think": True}),
    "ollama, off": (Ollama, "qwen3:8b", {"effort": "off"}, {"think": False}),
    "ollama, a model with levels": (Ollama, "gpt-oss:20b", {"effort": "low"}, {"think": "low"}),
}


@pytest.mark.parametrize(("adapter", "name", "fields", "expected"), CASES.values(), ids=CASES)
def test_an_effort_is_sent_in_the_providers_form(
    adapter: type[ProviderAdapter], name: str, fields: dict[str, object], expected: dict[str, object]
) -> None:
    body = body_of(adapter(), name, **fields)
    assert {field: body[field] for field in FIELDS if field in body} == expected


REFUSED: dict[str, tuple[type[ProviderAdapter], str, str, object]] = {
    "openai": (
        OpenAICompatible,
        "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
        "reasoning_effort",
        None,
    ),
    "openai, with tools": (
        OpenAICompatible,
        "Function tools with reasoning_effort are not supported for this model in /v1/chat/completions.",
        "reasoning_effort",
        None,
    ),
    "ollama": (Ollama, '"small" does not support thinking', "think", None),
    "anthropic, an older model": (
        Anthropic,
        "`thinking` is not supported for this model",
        "thinking",
        None,
    ),
    "anthropic, a newer model": (
        Anthropic,
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.',
        "thinking",
        {"type": "adaptive"},
    ),
}


ANSWERS: dict[type[ProviderAdapter], dict[str, object]] = {
    OpenAICompatible: {"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]},
    Ollama: {"message": {"content": "ok"}, "done": True, "done_reason": "stop"},
    Anthropic: {
        "type": "message",
        "content": [{"type": "text", "text": "ok"}],
        "stop_reason": "end_turn",
    },
}


def refusing(
    adapter: type[ProviderAdapter], words: str, field: str, then: object, *, together: int = 1
) -> Answer:
    """A server that refuses a field with another value than `then`, once so many requests have it."""
    waiting = asyncio.Barrier(together)

    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.method != "POST" or asked.path.endswith("/show"):
            await wire.json(404, {"error": "not found"})
        elif field in asked.json() and asked.json()[field] != then:
            await waiting.wait()
            await wire.json(400, {"error": {"type": "invalid_request_error", "message": words}})
        else:
            await wire.json(200, ANSWERS[adapter])

    return answer


CASES_REFUSED = pytest.mark.parametrize(("adapter", "words", "field", "then"), REFUSED.values(), ids=REFUSED)


@CASES_REFUSED
async def test_a_refused_effort_is_left_out_from_then_on(
    adapter: type[ProviderAdapter], words: str, field: str, then: object
) -> None:
    server = refusing(adapter, words, field, then)
    async with serving(server) as running, model_at(running.origin, adapter(), effort="low") as model:
        for _ in range(2):
            await events_of(model, asks("Hi", tools=(READ_FILE,)))
    sent = [asked.json() for asked in running.posts() if not asked.path.endswith("/show")]
    assert len(sent) == 3, "one refusal is enough"
    assert sent[-1].get(field) == then
    assert sent[-1]["tools"], "only the effort was refused"


@CASES_REFUSED
async def test_requests_that_are_refused_together_are_both_sent_again(
    adapter: type[ProviderAdapter], words: str, field: str, then: object
) -> None:
    server = refusing(adapter, words, field, then, together=2)
    async with (
        serving(server) as running,
        model_at(running.origin, adapter(), timeouts=PATIENT, effort="low", parallelism=2) as model,
        asyncio.TaskGroup() as group,
    ):
        both = [group.create_task(events_of(model, asks("Hi", tools=(READ_FILE,)))) for _ in range(2)]
    assert [text_of(each.result()) for each in both] == ["ok", "ok"]
    sent = [asked.json() for asked in running.posts() if not asked.path.endswith("/show")]
    assert [body.get(field) == then for body in sent] == [False, False, True, True]


def test_an_answer_with_a_schema_is_not_forced_while_thinking() -> None:
    schema: dict[str, Json] = {"type": "object", "properties": {"a": {"type": "integer"}}}
    forced = body_of(Anthropic(), "claude-sonnet-4-5", response_schema=schema)
    assert forced["tool_choice"] == {"type": "tool", "name": "answer"}
    free = body_of(Anthropic(), "claude-sonnet-4-5", response_schema=schema, effort="low")
    assert not {"tool_choice", "tools"} & free.keys()
    assert "fits this schema" in str(free["system"])


@pytest.mark.parametrize("thought", [True, False])
def test_a_turn_that_began_without_a_thought_goes_on_without(thought: bool) -> None:
    block = Reasoning(provider="anthropic", data={"type": "thinking", "thinking": "Hm", "signature": "S"})
    call = ToolCall(call_id=CallId("c1"), name="read_file", arguments={"path": "a"})
    later = call.model_copy(update={"call_id": CallId("c2")})
    request = ModelRequest(
        messages=(
            Message(role="user", text="Hi"),
            Message(role="assistant", text="", tool_calls=(call,), reasoning=(block,) if thought else ()),
            Message(role="tool", text="content", tool_call_id=CallId("c1")),
            Message(role="assistant", text="", tool_calls=(later,)),
            Message(role="tool", text="content", tool_call_id=CallId("c2")),
        ),
        tools=(READ_FILE,),
        effort="low",
    )
    body = Anthropic().build_request("claude-sonnet-4-5", request, ABLE, 10).body
    assert ("thinking" in body) is thought
