"""A model that plays a script: it ships so that tests, demos and replays need no engine and no network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Literal

from pydantic import Field

from planloom.domain.errors import ContextOverflow, ModelFailed
from planloom.domain.values import Args, CallId, Value
from planloom.models.port import (
    CallBroken,
    CallMade,
    Capabilities,
    Finished,
    ModelEvent,
    ModelIdentity,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    UsageReported,
)

CHUNK = 24
"""Characters of one text delta, small enough that every reader of a stream meets words cut in two."""


class ScriptedCall(Value):
    """A tool call as a script writes it; an id is made where none is given."""

    name: str
    arguments: Args = Field(default_factory=dict)
    call_id: CallId | None = None


FaultKind = Literal["unavailable", "refused", "output_invalid", "overflow", "hang"]


class Fault(Value):
    """A way to fail, once the turn has said what it says.

    `hang` says no more until the reader gives up, `overflow` raises `ContextOverflow`; the others raise
    `ModelFailed` with their code.
    """

    kind: FaultKind
    message: str = "The script says that the model fails here."
    hint: str | None = None


class When(Value):
    """Which requests a turn answers; every condition that is given must hold.

    `contains` and `lacks` are looked for in the text of all messages, `last_contains` in the last one's.
    """

    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    last_contains: tuple[str, ...] = ()
    tool: str | None = None
    schema_given: bool | None = None

    def holds(self, request: ModelRequest) -> bool:
        """Whether this request is one that is meant."""
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

    `events`, where given, are played as they stand and nothing else of the turn is. A turn with `when`
    answers the first request that it fits, whenever that comes; one without answers in its turn. `repeat`
    keeps a turn for further requests. `request` is what a recording was asked; it is compared, not played.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    broken_calls: tuple[CallBroken, ...] = ()
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish: Literal["stop", "length", "tool_calls", "refused"] | None = None
    fault: Fault | None = None
    when: When | None = None
    repeat: bool = False
    events: tuple[ModelEvent, ...] | None = None
    request: ModelRequest | None = None

    def played(self, number: int) -> Iterator[ModelEvent]:
        """The events of this turn; `number` makes the ids of its calls differ from other turns'."""
        if self.events is not None:
            yield from self.events
            return
        for start in range(0, len(self.reasoning), CHUNK):
            yield ReasoningDelta(text=self.reasoning[start : start + CHUNK])
        for start in range(0, len(self.text), CHUNK):
            yield TextDelta(text=self.text[start : start + CHUNK])
        for index, call in enumerate(self.calls, start=1):
            call_id = call.call_id or CallId(f"call_{number}_{index}")
            yield CallMade(call=ToolCall(call_id=call_id, name=call.name, arguments=call.arguments))
        yield from self.broken_calls
        if self.prompt_tokens is not None or self.completion_tokens is not None:
            yield UsageReported(
                prompt_tokens=self.prompt_tokens or 0, completion_tokens=self.completion_tokens or 0
            )
        if self.fault is None:
            yield Finished(reason=self.finish or ("tool_calls" if self.calls else "stop"))


def says(text: str, **more: object) -> Turn:
    """A turn of plain text; `more` are further fields of `Turn`."""
    return Turn.model_validate({"text": text, **more})


def makes(*calls: tuple[str, Args], **more: object) -> Turn:
    """A turn of native tool calls, each a name and its arguments; `more` are further fields of `Turn`."""
    made = tuple(ScriptedCall(name=name, arguments=arguments) for name, arguments in calls)
    return Turn.model_validate({"calls": made, **more})


def fails(kind: FaultKind = "unavailable", **more: object) -> Turn:
    """A turn that fails, after its text if it has any; `more` are further fields of `Turn`."""
    return Turn.model_validate({"fault": Fault(kind=kind), **more})


ALL = Capabilities(tools=True, json_schema=True, images=True, context_tokens=128_000, parallelism=4)
"""What the scripted model can do where its maker does not say."""


class ScriptedModel:
    """A `Model` that answers from its turns and remembers what it was asked.

    When no turn fits, it raises `ModelFailed` (`model_unavailable`) and says how many were played.
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
        """What was asked so far, in order."""
        return tuple(self._requests)

    @property
    def left(self) -> tuple[Turn, ...]:
        """The turns that were not played yet; those that repeat never leave."""
        return tuple(self._turns)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    async def capabilities(self) -> Capabilities:
        return self._capabilities

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self._requests.append(request)
        number = len(self._requests)
        turn = self._take(request)
        for event in turn.played(number):
            # A real engine lets other tasks run between two tokens; so must this one.
            await asyncio.sleep(0)
            yield event
        if turn.fault is not None:
            await _fail(turn.fault)

    async def close(self) -> None:
        self._closed = True

    def _take(self, request: ModelRequest) -> Turn:
        turn = self._choose(request)
        if turn is None:
            raise ModelFailed(
                "model_unavailable",
                f"The script has no answer for request {len(self._requests)}; "
                f"of the turns that are left ({len(self._turns)}) none fits.",
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
