"""The port to language models: messages in, a stream of text, tool calls and usage out."""

from collections.abc import AsyncGenerator
from typing import Literal, NamedTuple, Protocol

from pydantic import ConfigDict

from planloom.domain.errors import ModelProblem
from planloom.domain.values import Args, CallId, Json, Value


class Image(Value):
    """An image; `data` is the raw file, base64 in JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")

    media_type: str
    data: bytes


class ToolSpec(Value):
    """A tool offered to a model; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: dict[str, Json]


class ToolCall(Value):
    """A tool call of a model; `arguments` are decoded JSON."""

    call_id: CallId
    name: str
    arguments: Args


class Reasoning(Value):
    """Reasoning as a provider sent it, to be sent back unchanged with the message that it belongs to.

    `data` is one block or the fields of a message, in the provider's form. Other providers ignore it.
    """

    provider: str
    data: dict[str, Json]


class Message(Value):
    """One turn of a conversation. A tool message answers the call `tool_call_id`."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    reasoning: tuple[Reasoning, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: CallId | None = None
    images: tuple[Image, ...] = ()


Effort = Literal["off", "low", "medium", "high"]
"""How much a model reasons before it answers."""
EFFORT_TOKENS: dict[Effort, int] = {"off": 0, "low": 4_096, "medium": 12_288, "high": 32_768}
"""Tokens that an answer with this effort gets for its reasoning."""


class ModelRequest(Value):
    """One request to a model. `response_schema` constrains the answer if the server supports it.

    `effort` and `thinking_tokens`, the most tokens of reasoning, are left to the model where they are None. They come
    on top of `max_tokens`.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    response_schema: dict[str, Json] | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    effort: Effort | None = None
    thinking_tokens: int | None = None

    @property
    def reasoning_tokens(self) -> int:
        """The tokens to reserve for reasoning; 0 if none is asked for."""
        if self.effort == "off":
            return 0
        return self.thinking_tokens or (EFFORT_TOKENS[self.effort] if self.effort else 0)


class TextDelta(Value):
    """The next piece of the visible answer."""

    kind: Literal["text"] = "text"
    text: str


class ReasoningDelta(Value):
    """The next piece of the model's reasoning, if its server reports it separately."""

    kind: Literal["reasoning"] = "reasoning"
    text: str


class CallWritten(Value):
    """The next piece of the arguments of a call that the model still writes, so that a user can see it come.

    Servers that send a call whole send none. What is run is the `CallMade` that follows.
    """

    kind: Literal["written"] = "written"
    name: str
    text: str


class CallMade(Value):
    """One complete native tool call."""

    kind: Literal["call"] = "call"
    call: ToolCall


class CallBroken(Value):
    """A native tool call whose arguments are not a JSON object; it is not run, and the model gets the problem."""

    kind: Literal["broken_call"] = "broken_call"
    call_id: CallId = CallId("")
    name: str
    arguments_text: str
    problem: str


class UsageReported(Value):
    """The tokens that the server counted for this request.

    `cached_tokens` of the prompt came from the server's cache; None if the server does not say.
    """

    kind: Literal["usage"] = "usage"
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int | None = None


class Restarted(Value):
    """The request failed, and is sent again after `wait_seconds`.

    A consumer must drop all text, reasoning and calls of this stream so far, and must not run a call before
    `Finished`. The event comes before the wait, even if there was no output yet, so that a user can see the wait.
    `cause` is the problem for programs, if the failure has one.
    """

    kind: Literal["restarted"] = "restarted"
    problem: str
    attempt: int
    wait_seconds: float
    cause: ModelProblem | None = None


FinishReason = Literal["stop", "length", "tool_calls", "refused"]
"""Why an answer ended. `length`: it was cut off and is incomplete."""


class Finished(Value):
    """The last event of a stream.

    `reasoning` is what the provider wants back with this answer in later requests.
    """

    kind: Literal["finished"] = "finished"
    reason: FinishReason
    reasoning: tuple[Reasoning, ...] = ()


ModelEvent = (
    TextDelta | ReasoningDelta | CallWritten | CallMade | CallBroken | UsageReported | Restarted | Finished
)


UNKNOWN_CONTEXT = 16_384
"""The assumed context size in tokens of a lean model whose server does not state it."""
HOSTED_CONTEXT = 128_000
"""The assumed context size in tokens of any other model whose server does not state it."""
LARGE_CONTEXT = 65_536
"""The stated context size from which a model on this machine is taken for a large one."""


class Capabilities(NamedTuple):
    """Abilities of a model, as probed or configured. `local`: its server is on this machine. `lean`: it is small, so
    that it plans with a short prompt, and tools that only read. `native_only`: none of its models prints calls as text.

    `parallelism` is the number of concurrent requests.

    `context_tokens` is None if nobody states it; prompts are then made for `assumed_context`, but a longer one is
    sent, and the server's refusal tells the real size.
    """

    tools: bool = False
    json_schema: bool = False
    images: bool = False
    context_tokens: int | None = None
    assumed_context: int = UNKNOWN_CONTEXT
    parallelism: int = 1
    local: bool = False
    lean: bool = False
    native_only: bool = False

    @property
    def usable_context(self) -> int:
        """The context size to make prompts for: the known one, else the assumed one."""
        return self.context_tokens or self.assumed_context


NOT_ASKED = "not asked yet"
"""Why nothing is known of a model: before a person's first request no server is contacted."""


class ModelIdentity(NamedTuple):
    """Which model answers, and why it was chosen."""

    provider: str
    name: str
    reason: str

    @property
    def label(self) -> str:
        """The name with its provider."""
        return f"{self.provider}/{self.name}"


class Model(Protocol):
    """A language model.

    `stream` yields events, `Finished` last. It raises `domain.errors.ContextOverflow` for a prompt that does not fit:
    before sending it if the context size is known, else when the server refuses it. It raises
    `domain.errors.ModelFailed`, with a hint for the user, when its retries are exhausted. Closing the generator, or
    cancelling the task that reads it, aborts the connection at once. `close` releases resources after the last open
    stream has ended, since another model may be chosen while steps still read from this one.
    """

    @property
    def identity(self) -> ModelIdentity: ...

    async def capabilities(self) -> Capabilities: ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]: ...

    async def close(self) -> None: ...
