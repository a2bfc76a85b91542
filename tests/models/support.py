"""Shared helpers of the tests of HTTP adapters: a model at a server, and the results of a stream."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from planloom.models.http.adapter import ProviderAdapter
from planloom.models.http.http_model import HttpModel, Options
from planloom.models.http.learned import LearnedModels
from planloom.models.http.transport import FindKey, Timeouts
from planloom.models.port import (
    CallBroken,
    Message,
    Model,
    ModelEvent,
    ModelIdentity,
    ModelRequest,
    Restarted,
    TextDelta,
    ToolSpec,
)
from planloom.models.providers.openai_compatible import OpenAICompatible

QUICK = Timeouts(connect=2.0, first_token=0.5, token=0.3, answer=5.0)
"""Limits for servers that hang, so that a test of them takes less than a second."""

PATIENT = Timeouts(connect=5.0, first_token=8.0, token=8.0, answer=20.0)
"""Limits long enough for a busy machine."""

READ_FILE = ToolSpec(
    name="read_file",
    description="Reads a file.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


class Waits:
    """Records the waits between attempts and does not wait."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def asks(text: str = "Hi", **more: object) -> ModelRequest:
    """A request of one user message."""
    return ModelRequest.model_validate({"messages": (Message(role="user", text=text),), **more})


@contextlib.asynccontextmanager
async def model_at(
    origin: str,
    adapter: ProviderAdapter | None = None,
    *,
    find_key: FindKey = lambda: None,
    waits: Waits | None = None,
    timeouts: Timeouts = QUICK,
    learned: LearnedModels | None = None,
    **options: object,
) -> AsyncIterator[HttpModel]:
    """An adapter for the server at `origin`, closed with the block."""
    adapter = adapter or OpenAICompatible()
    adapter.learned = (learned or LearnedModels()).of(origin, "small")
    model = HttpModel(
        adapter,
        adapter.endpoint(origin),
        ModelIdentity(provider="a provider", name="small", reason="a test asks for it"),
        find_key=find_key,
        key_advice="Set THE_KEY.",
        options=Options(timeouts=timeouts, sleep=waits or Waits(), **options),  # type: ignore[arg-type]
    )
    try:
        yield model
    finally:
        await model.close()


async def events_of(model: Model, request: ModelRequest | None = None) -> list[ModelEvent]:
    """Every event of one answer."""
    return [event async for event in model.stream(request or asks())]


def final(events: list[ModelEvent]) -> list[ModelEvent]:
    """The events after the last restart."""
    last = max((number for number, event in enumerate(events) if isinstance(event, Restarted)), default=-1)
    return events[last + 1 :]


def text_of(events: list[ModelEvent]) -> str:
    """The visible answer after the last restart."""
    return "".join(event.text for event in final(events) if isinstance(event, TextDelta))


def calls_of(events: list[ModelEvent]) -> list[tuple[str, object]]:
    """The calls after the last restart: name and arguments, or the text of a broken call."""
    calls: list[tuple[str, object]] = []
    for event in final(events):
        if event.kind == "call":
            calls.append((event.call.name, event.call.arguments))
        elif isinstance(event, CallBroken):
            calls.append((event.name, event.arguments_text))
    return calls
