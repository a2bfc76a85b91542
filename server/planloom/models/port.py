"""What Planloom asks of a language model: messages in, a stream of text, tool calls and usage out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Literal, Protocol

from pydantic import ConfigDict, Field

from planloom.domain.values import Args, CallId, Json, Value


class Image(Value):
    """An image for a model that takes them; `data` is the raw file, base64 in JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")

    media_type: str
    data: bytes


class ToolSpec(Value):
    """A tool as a model sees it; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: dict[str, Json]


class ToolCall(Value):
    """A call that a model made; `arguments` are decoded JSON."""

    call_id: CallId
    name: str
    arguments: Args


class Message(Value):
    """One turn of a conversation. A tool message answers the call `tool_call_id`."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: CallId | None = None
    images: tuple[Image, ...] = ()


class ModelRequest(Value):
    """One question to a model. `response_schema` constrains the answer where the engine can."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    response_schema: dict[str, Json] | None = None
    max_tokens: int | None = None
    temperature: float | None = None


class TextDelta(Value):
    """More of the visible answer."""

    kind: Literal["text"] = "text"
    text: str


class ReasoningDelta(Value):
    """More of the model's reasoning, where its server tells it apart."""

    kind: Literal["reasoning"] = "reasoning"
    text: str


class CallMade(Value):
    """One whole native tool call, its fragments joined."""

    kind: Literal["call"] = "call"
    call: ToolCall


class CallBroken(Value):
    """A native tool call whose arguments are no JSON object; never run, told to the model."""

    kind: Literal["broken_call"] = "broken_call"
    name: str
    arguments_text: str
    problem: str


class UsageReported(Value):
    """What the server counted for this request."""

    kind: Literal["usage"] = "usage"
    prompt_tokens: int
    completion_tokens: int


class Restarted(Value):
    """The answer broke off and the whole question is asked again after `wait_seconds`.

    Everything this stream has said so far is void, tool calls included: a consumer drops its text, its
    reasoning and its calls, and runs a call only once `Finished` has come. It comes before the wait, also
    where nothing had been said yet, so that a user can be told what is being waited for.
    """

    kind: Literal["restarted"] = "restarted"
    problem: str
    attempt: int
    wait_seconds: float


class Finished(Value):
    """The last thing a stream says. `length` means the answer was cut; it is never done then."""

    kind: Literal["finished"] = "finished"
    reason: Literal["stop", "length", "tool_calls", "refused"]


ModelEvent = Annotated[
    TextDelta | ReasoningDelta | CallMade | CallBroken | UsageReported | Restarted | Finished,
    Field(discriminator="kind"),
]


UNKNOWN_CONTEXT = 16_384
"""Tokens that a model is taken to have room for where neither it nor the settings tell."""


class Capabilities(Value):
    """What an engine can do, probed or configured, never assumed. `parallelism` is requests at a time."""

    tools: bool = False
    json_schema: bool = False
    images: bool = False
    context_tokens: int | None = None
    parallelism: int = 1


class ModelIdentity(Value):
    """Which model answers, and why this one was picked."""

    provider: str
    name: str
    reason: str


class Model(Protocol):
    """A language model behind some engine.

    `stream` yields events and `Finished` last. It raises `domain.errors.ContextOverflow` for a prompt that
    cannot fit, before anything is sent, and `domain.errors.ModelFailed` once its retries are spent, with a
    sentence that says what mends it. Closing the iterator, or cancelling the task that reads it, aborts the
    connection at once. `close` lets go of what it holds once no answer is read any more: another model may be
    picked while steps still read from this one.
    """

    @property
    def identity(self) -> ModelIdentity: ...

    async def capabilities(self) -> Capabilities: ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]: ...

    async def close(self) -> None: ...
