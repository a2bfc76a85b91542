"""A model that plays a script, for tests, demos and replays without a server or network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Literal

from pydantic import Field

from planloom.domain.errors import ContextOverflow, ModelFailed
from planloom.domain.values import Args, CallId, Value
from planloom.models.port import (
    CallBroken,
    CallMade,
    CallWritten,
    Capabilities,
    Finished,
    FinishReason,
    ModelEvent,
    ModelIdentity,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    UsageReported,
)

CHUNK = 24
"""Characters of one text delta, small enough to split words, as real streams do."""


class ScriptedCall(Value):
    """A tool call of a script; without an id it gets a generated one."""

    name: str
    arguments: Args = Field(default_factory=dict)
    call_id: CallId | None = None


FaultKind = Literal["unavailable", "refused", "output_invalid", "overflow", "hang"]


class Fault(Value):
    """A failure after the turn's output.

    `hang` waits until the reader gives up, `overflow` raises `ContextOverflow`; the others raise `ModelFailed` with
    their code.
    """

    kind: FaultKind
    message: str = "The script says that the model fails here."
    hint: str | None = None


class When(Value):
    """Which requests a turn answers; all conditions that are set must hold.

    `contains` and `lacks` apply to the text of all messages, `last_contains` to that of the last one.
    """

    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    last_contains: tuple[str, ...] = ()
    tool: str | None = None
    schema_given: bool | None = None

    def holds(self, request: ModelRequest) -> bool:
        """Whether the conditions hold for this request."""
        text = "\n".join(message.text for message in request.messages)
        last = request.messages[-1].text if request.messages else ""
        return (
            all(part in text for part in self.contains)
            and not any(part in text for part in self.lacks)
            and all(part in last for part in self.last_contains)
            and (self.tool is None or any(tool.name == self.tool for tool in request.tools))
            and (self.schema_given is None or self.schema_given == (request.response_schema is not None))
        )


class Turn(Value):
    """One answer of a script.

    If `events` is set, they are played and all other output fields are ignored. A turn with `when` answers the
    first request that matches; one without answers in order. `repeat` keeps a turn for further requests. `request`
    is the recorded request, for comparison only.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    broken_calls: tuple[CallBroken, ...] = ()
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    finish: FinishReason | None = None
    fault: Fault | None = None
    when: When | None = None
    repeat: bool = False
    events: tuple[ModelEvent, ...] | None = None
    request: ModelRequest | None = None

    def played(self, number: int) -> Iterator[ModelEvent]:
        """The events of this turn; `number` makes its generated call ids unique."""
        if self.events is not None:
            yield from self.events
            return
        for start in range(0, len(self.reasoning), CHUNK):
            yield ReasoningDelta(text=self.reasoning[start : start + CHUNK])
        for start in range(0, len(self.text), CHUNK):
            yield TextDelta(text=self.text[start : start + CHUNK])
        for index, call in enumerate(self.calls, start=1):
            call_id = call.call_id or CallId(f"call_{number}_{index}")
            written = json.dumps(call.arguments, ensure_ascii=False)
            for start in range(0, len(written), CHUNK):
                yield CallWritten(name=call.name, text=written[start : start + CHUNK])
            yield CallMade(call=ToolCall(call_id=call_id, name=call.name, arguments=call.arguments))
        yield from self.broken_calls
        if self.prompt_tokens is not None or self.completion_tokens is not None:
            yield UsageReported(
                prompt_tokens=self.prompt_tokens or 0,
                completion_tokens=self.completion_tokens or 0,
                cached_tokens=self.cached_tokens,
            )
        if self.fault is None:
            yield Finished(reason=self.finish or ("tool_calls" if self.calls else "stop"))


def says(text: str, **more: object) -> Turn:
    """A turn of plain text; `more` are other fields of `Turn`."""
    return Turn.model_validate({"text": text, **more})


def makes(*calls: tuple[str, Args], **more: object) -> Turn:
    """A turn of native tool calls, each a name and its arguments; `more` are other fields of `Turn`."""
    made = tuple(ScriptedCall(name=name, arguments=arguments) for name, arguments in calls)
    return Turn.model_validate({"calls": made, **more})


def fails(kind: FaultKind = "unavailable", **more: object) -> Turn:
    """A turn that fails after its text; `more` are other fields of `Turn`."""
    return Turn.model_validate({"fault": Fault(kind=kind), **more})


ALL = Capabilities(tools=True, json_schema=True, images=True, context_tokens=128_000, parallelism=4)
"""The default capabilities of the scripted model."""


class ScriptedModel:
    """A `Model` that answers from its turns and records the requests.

    If no turn matches, `stream` raises `ModelFailed` (`model_unavailable`).
    """

    def __init__(
        self,
        turns: Sequence[Turn],
        *,
        capabilities: Capabilities = ALL,
        identity: ModelIdentity | None = None,
    ) -> None:
        self._turns = list(turns)
        self._capabilities = capabilities
        self._identity = identity or ModelIdentity(
            provider="replay", name="script", reason="its answers come from a script"
        )
        self._requests: list[ModelRequest] = []
        self._closed = False

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    @property
    def requests(self) -> tuple[ModelRequest, ...]:
        """The requests so far, in order."""
        return tuple(self._requests)

    @property
    def left(self) -> tuple[Turn, ...]:
        """The turns that were not played yet, and all that repeat."""
        return tuple(self._turns)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    async def capabilities(self) -> Capabilities:
        return self._capabilities

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        self._requests.append(request)
        number = len(self._requests)
        turn = self._next_turn(request)
        for event in turn.played(number):
            # Other tasks can run between two tokens of a real model, so they must here.
            await asyncio.sleep(0)
            yield event
        if turn.fault is not None:
            await _fail(turn.fault)

    async def close(self) -> None:
        self._closed = True

    def _next_turn(self, request: ModelRequest) -> Turn:
        turn = self._choose(request)
        if turn is None:
            raise ModelFailed(
                "model_unavailable",
                f"The script has no answer for request {len(self._requests)}; "
                f"none of the remaining turns ({len(self._turns)}) matches.",
                hint="Add a turn to the script, or record the run again.",
            )
        if not turn.repeat:
            self._turns.remove(turn)
        return turn

    def _choose(self, request: ModelRequest) -> Turn | None:
        for turn in self._turns:
            if turn.when is None or turn.when.holds(request):
                return turn
        return None


async def _fail(fault: Fault) -> None:
    match fault.kind:
        case "hang":
            await asyncio.Event().wait()
        case "unavailable":
            raise ModelFailed("model_unavailable", fault.message, hint=fault.hint)
        case "refused":
            raise ModelFailed("model_refused", fault.message, hint=fault.hint)
        case "output_invalid":
            raise ModelFailed("model_output_invalid", fault.message, hint=fault.hint)
        case "overflow":
            raise ContextOverflow(fault.message, hint=fault.hint)
