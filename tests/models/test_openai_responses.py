"""OpenAI's Responses API: a whole conversation without anything stored, at a server as strict as the real one."""

from __future__ import annotations

import asyncio

import pytest

from planloom.domain.errors import ContextOverflow, ModelFailed
from planloom.domain.values import CallId, Json
from planloom.models.http.keys import Keyring
from planloom.models.http.learned import LearnedModels
from planloom.models.http.transport import Timeouts
from planloom.models.offline.scripted import Turn, makes, says
from planloom.models.port import (
    CallMade,
    Capabilities,
    Finished,
    Image,
    Message,
    Model,
    ModelIdentity,
    ModelRequest,
    Reasoning,
    ReasoningDelta,
    Restarted,
    ToolCall,
    UsageReported,
)
from planloom.models.providers.openai_compatible import OpenAICompatible
from planloom.models.providers.openai_responses import PROVIDER, OpenAIResponses
from planloom.models.providers.servers import ModelServers
from planloom.settings import Settings
from tests.models.support import READ_FILE, Waits, asks, calls_of, events_of, model_at, text_of
from tests.models.test_openai_models import CLOSED, Silent
from tests.support.http_server import Answer, Asked, Wire, serving
from tests.support.responses_server import ResponsesServer

READ = ("read_file", {"path": "a"})
ABLE = Capabilities(tools=True, json_schema=True, images=True)


async def talk(model: Model, turns: int, first: ModelRequest) -> list[list[object]]:
    """A conversation in which every call is answered, as the agent's loop continues it."""
    request, answers = first, []
    for _ in range(turns):
        events = await events_of(model, request)
        answers.append([*events])
        calls = tuple(event.call for event in events if isinstance(event, CallMade))
        finished = events[-1]
        assert isinstance(finished, Finished)
        said = Message(role="assistant", text=text_of(events), tool_calls=calls, reasoning=finished.reasoning)
        results = (Message(role="tool", text="content", tool_call_id=call.call_id) for call in calls)
        request = request.model_copy(update={"messages": (*request.messages, said, *results)})
    return answers


def first_request(**more: object) -> ModelRequest:
    """A system prompt and a task, with a tool."""
    system, user = Message(role="system", text="You work."), Message(role="user", text="Look at a.")
    return ModelRequest.model_validate({"messages": (system, user), "tools": (READ_FILE,), **more})


async def test_a_conversation_goes_on_with_its_reasoning_in_place() -> None:
    server = ResponsesServer(
        [
            makes(READ, READ, text="I read it.", reasoning="First the file."),
            makes(READ, reasoning="Once more."),
            says("Done."),
        ]
    )
    async with serving(server) as running, model_at(running.origin, OpenAIResponses(), effort="low") as model:
        answers = await talk(model, 3, first_request())
    assert server.refusals == []
    first = answers[0]
    assert [event for event in first if isinstance(event, ReasoningDelta)]
    assert calls_of(first) == [READ, READ]  # type: ignore[arg-type]
    assert first[-1].reason == "tool_calls"  # type: ignore[attr-defined]
    kinds = [item["type"] for item in server.accepted[-1]["input"]]
    assert kinds == [
        *("message", "reasoning", "message", "function_call", "function_call"),
        *("function_call_output", "function_call_output"),
        *("reasoning", "function_call", "function_call_output"),
    ]
    assert server.accepted[-1]["input"][1] == {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "First the file."}],
        "encrypted_content": "sealed-1",
    }
    assert server.accepted[-1]["input"][2]["phase"] == "commentary"
    (usage,) = (event for event in answers[1] if isinstance(event, UsageReported))
    assert usage.cached_tokens == 7


async def test_every_request_extends_the_one_before_and_has_its_cache_key() -> None:
    server = ResponsesServer([makes(READ, reasoning="Hm."), makes(READ), says("Done.")])
    async with serving(server) as running, model_at(running.origin, OpenAIResponses()) as model:
        await talk(model, 3, first_request())
    first, second, third = server.accepted
    assert second["input"][: len(first["input"])] == first["input"]
    assert third["input"][: len(second["input"])] == second["input"]
    fixed = ("instructions", "tools", "store", "include", "prompt_cache_key", "model")
    assert all(first[name] == third[name] for name in fixed)
    assert first["store"] is False and first["include"] == ["reasoning.encrypted_content"]


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ({"verified": False}, {"effort": "low"}),
        ({"reasons": False}, {"effort": "high", "temperature": 0.5}),
        ({}, {"temperature": 0.5}),
    ],
)
async def test_what_the_model_or_the_account_may_not_have_is_learned(
    given: dict[str, bool], options: dict[str, object]
) -> None:
    server = ResponsesServer([says("One."), says("Two.")], **given)
    async with serving(server) as running, model_at(running.origin, OpenAIResponses(), **options) as model:
        assert text_of(await events_of(model, first_request(max_tokens=1))) == "One."
        learned = len(server.refusals)
        assert text_of(await events_of(model, first_request())) == "Two."
    assert learned in (1, 2)
    assert len(server.refusals) == learned, "each refusal is met once"
    assert server.accepted[-1]["tools"], "only what was refused is left out"


async def test_reasoning_that_another_account_has_encrypted_is_left_out() -> None:
    item: dict[str, Json] = {"type": "reasoning", "summary": [], "encrypted_content": "foreign"}
    kept = Reasoning(provider=PROVIDER, data={"item": item, "place": 0})
    request = first_request()
    said = Message(role="assistant", text="Hm.", reasoning=(kept,))
    request = request.model_copy(update={"messages": (*request.messages, said, *asks("On").messages)})
    server = ResponsesServer([says("ok")])
    async with serving(server) as running, model_at(running.origin, OpenAIResponses()) as model:
        assert text_of(await events_of(model, request)) == "ok"
    assert len(server.refusals) == 1 and "could not be verified" in server.refusals[0]
    assert "reasoning" not in [item["type"] for item in server.accepted[0]["input"]]


async def test_a_refusal_and_a_cut_answer_are_told() -> None:
    turns = [Turn(text="I can't help with that.", finish="refused"), Turn(text="It be", finish="length")]
    server = ResponsesServer(turns)
    async with serving(server) as running, model_at(running.origin, OpenAIResponses()) as model:
        refused, cut = [await events_of(model, first_request()) for _ in turns]
    assert (text_of(refused), refused[-1].reason) == ("I can't help with that.", "refused")  # type: ignore
    assert (text_of(cut), cut[-1].reason) == ("It be", "length")  # type: ignore


def streams(*events: dict[str, object]) -> Answer:
    """A server that sends these events."""

    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.path != "/v1/responses":
            await wire.json(404, {"error": "not found"})
            return
        await wire.head(content_type="text/event-stream")
        await wire.events({"type": "response.created", "response": {"status": "in_progress"}}, *events)

    return answer


def failed(code: str, message: str) -> dict[str, object]:
    error = {"code": code, "message": message}
    return {"type": "response.failed", "response": {"object": "response", "status": "failed", "error": error}}


async def test_a_failure_within_the_answer_is_retried_or_told() -> None:
    busy = streams(failed("rate_limit_exceeded", "Rate limit reached. Please try again in 1.898s."))
    waits = Waits()
    async with (
        serving(busy) as running,
        model_at(running.origin, OpenAIResponses(), retries=1, waits=waits) as model,
    ):
        with pytest.raises(ModelFailed, match=r"Rate limit reached.*tried 2 times"):
            await events_of(model)
    assert waits.seconds == [1.898], "an answer that has begun has no header for it"
    long = streams(failed("context_length_exceeded", "Your input exceeds the context window of this model."))
    async with serving(long) as running, model_at(running.origin, OpenAIResponses()) as model:
        with pytest.raises(ContextOverflow):
            await events_of(model)
    bad = streams({"type": "error", "code": "invalid_prompt", "message": "Flagged as unsafe.", "param": None})
    async with serving(bad) as running, model_at(running.origin, OpenAIResponses()) as model:
        with pytest.raises(ModelFailed, match="Flagged as unsafe") as caught:
            await events_of(model)
    assert caught.value.code == "model_refused"


async def test_a_model_may_reason_in_silence_after_it_has_begun() -> None:
    summary: dict[str, object] = {
        "type": "response.reasoning_summary_text.delta",
        "output_index": 0,
        "delta": "Hm",
    }
    text: dict[str, object] = {"type": "response.output_text.delta", "output_index": 1, "delta": "Done."}
    completed: dict[str, object] = {
        "type": "response.completed",
        "response": {"object": "response", "status": "completed", "output": []},
    }

    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.method != "POST":
            await wire.json(404, {"error": "not found"})
            return
        await wire.head(content_type="text/event-stream")
        await wire.events(summary)
        await asyncio.sleep(0.4)
        await wire.events(text, completed)

    limits = Timeouts(connect=2.0, first_token=5.0, token=0.1, answer=10.0)
    async with (
        serving(answer) as running,
        model_at(running.origin, OpenAIResponses(), timeouts=limits) as model,
    ):
        events = await events_of(model)
    assert text_of(events) == "Done." and not any(isinstance(event, Restarted) for event in events)


async def test_an_answer_that_ends_without_its_last_event_is_asked_for_again() -> None:
    halves = [streams({"type": "response.output_text.delta", "output_index": 0, "delta": "Ha"})]

    async def answer(asked: Asked, wire: Wire) -> None:
        await (halves.pop() if halves and asked.method == "POST" else server)(asked, wire)

    server = ResponsesServer([says("Whole.")])
    async with serving(answer) as running, model_at(running.origin, OpenAIResponses()) as model:
        events = await events_of(model)
    assert text_of(events) == "Whole." and any(isinstance(event, Restarted) for event in events)


async def test_items_that_come_whole_are_taken_once_although_the_end_repeats_them() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}
    call = {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": '{"path": "a"}'}
    output = [thought, call]
    response: dict[str, object] = {"object": "response", "status": "completed", "output": output}
    server = streams(
        *(
            {"type": f"response.output_item.{state}", "output_index": index, "item": item}
            for index, item in enumerate(output)
            for state in ("added", "done")
        ),
        {"type": "response.completed", "response": response},
    )
    async with serving(server) as running, model_at(running.origin, OpenAIResponses()) as model:
        events = await events_of(model, first_request())
    assert calls_of(events) == [READ]
    finished = events[-1]
    assert isinstance(finished, Finished) and len(finished.reasoning) == 1


def body_of(name: str = "small", adapter: OpenAIResponses | None = None, **more: object) -> dict[str, Json]:
    """The body of a request."""
    return (adapter or OpenAIResponses()).build_request(name, asks("Hi", **more), ABLE, 1).body


def test_a_schema_is_asked_for_as_the_form_of_the_text() -> None:
    form = {"type": "json_schema", "name": "answer", "schema": CLOSED, "strict": True}
    assert body_of(response_schema=CLOSED)["text"] == {"format": form}


def test_images_and_long_ids_of_other_providers_are_accepted() -> None:
    call = ToolCall(call_id=CallId("x" * 90), name="read_file", arguments={})
    request = ModelRequest(
        messages=(
            Message(role="user", text="See", images=(Image(media_type="image/png", data=b"\0"),)),
            Message(role="assistant", text="", tool_calls=(call,)),
            Message(role="tool", text="content", tool_call_id=call.call_id),
        ),
    )
    seen, called, told = OpenAIResponses().build_request("small", request, ABLE, 1).body["input"]  # type: ignore[misc]
    assert seen["content"][1] == {"type": "input_image", "image_url": "data:image/png;base64,AA=="}  # type: ignore
    assert called["call_id"] == told["call_id"] and len(called["call_id"]) == 64  # type: ignore


@pytest.mark.parametrize(
    ("name", "effort", "reasoning"),
    [
        ("gpt-5", None, {"summary": "auto"}),
        ("gpt-5", "off", {"effort": "minimal"}),
        ("gpt-5.6-terra", "off", {"effort": "none"}),
        ("o4-mini", "high", {"effort": "high", "summary": "auto"}),
        ("gpt-4.1", "high", None),
    ],
)
async def test_what_openai_documents_of_its_models_is_known_before_the_first_request(
    name: str, effort: str | None, reasoning: object
) -> None:
    adapter = OpenAIResponses()
    await adapter.probe(Silent("https://api.openai.com/v1"), name)
    body = body_of(name, adapter, effort=effort, max_tokens=1000, temperature=0.5)
    assert body.get("reasoning") == reasoning
    assert ("include" in body) == ("temperature" not in body) == (name != "gpt-4.1")
    assert (
        body["max_output_tokens"] == {None: 13_288, "off": 1000, "high": 33_768}[effort] or name == "gpt-4.1"
    )


@pytest.mark.parametrize(
    ("provider", "name", "url", "adapter"),
    [
        ("openai", "gpt-5.6", "https://api.openai.com", OpenAIResponses),
        ("openai", "o3", "https://api.openai.com/v1", OpenAIResponses),
        ("openai", "gpt-4.1", "https://api.openai.com", OpenAICompatible),
        ("openai", "gpt-5-chat-latest", "https://api.openai.com", OpenAICompatible),
        ("openai", "gpt-5.6", "https://example.org/v1", OpenAICompatible),
        ("openai-responses", "any", "https://example.org/v1", OpenAIResponses),
    ],
)
async def test_the_reasoning_models_of_openai_are_asked_in_this_form(
    provider: str, name: str, url: str, adapter: type
) -> None:
    servers = ModelServers(Settings(), {}, Keyring(), LearnedModels())
    model = servers.open(ModelIdentity(provider=provider, name=name, reason="a test"), url)
    assert type(model._adapter) is adapter
    assert model.identity.provider == provider
