"""One turn of an agent loop: sends the request, decodes the streamed answer, and runs its calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from planloom.agent.answer import Malformed, Turn, call_key
from planloom.agent.answer_decoder import AnswerDecoder, checked_call, mode_of, turn_request
from planloom.agent.prompts import ToolNote
from planloom.agent.task import CallRunner, GaveUp, RunLimits
from planloom.domain.errors import BudgetExhausted, ModelFailed
from planloom.models.one_question import Cost
from planloom.models.port import (
    CallBroken,
    CallMade,
    Finished,
    Model,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    Restarted,
    TextDelta,
    ToolCall,
    ToolSpec,
)
from planloom.tools.tool import ToolResult

_ARGS_SHOWN = 200


class LoopState:
    """The state of a loop between turns. `notes` go into the next prompt only; `idle` counts the turns since a
    call last succeeded."""

    def __init__(self, results: Sequence[ToolNote] = ()) -> None:
        self.results: list[ToolNote] = list(results)
        self.notes: list[str] = []
        self.calls = 0
        self._last_key: str | None = None
        self._same = 0
        self._last_malformed: str | None = None
        self._malformed = 0
        self.idle = 0

    def called(self, key: str) -> int:
        """Count a call. Returns how often it was made in a row, this time included."""
        self._same = self._same + 1 if key == self._last_key else 1
        self._last_key = key
        self.calls += 1
        return self._same

    def malformed(self, turn: Turn) -> GaveUp | None:
        """Note for the model which calls cannot be run. The same one three times in a row ends the loop."""
        if not turn.malformed:
            self._last_malformed = None
            return None
        first = turn.malformed[0]
        key = f"{first.name} {first.text}"
        self._malformed = self._malformed + 1 if key == self._last_malformed else 1
        self._last_malformed = key
        if self._malformed > 2:
            return GaveUp(
                reason=f"The model made the same malformed call of {first.name} three times: {first.problem}."
            )
        if self._malformed == 2:
            self.notes.append(
                f"You have made this very call of {first.name} twice, and it cannot be run: {first.problem}. "
                "Write it in another way, or do something else."
            )
        for each in turn.malformed:
            text = f"Not run: {each.problem}."
            self.results.append(ToolNote(name=each.name, args=each.text[:_ARGS_SHOWN], ok=False, text=text))
        return None


async def ask_model(
    limits: RunLimits,
    model: Model,
    system: str,
    prompt: str,
    controls: Sequence[ToolSpec],
    *,
    most_tokens: int | None = None,
) -> Turn:
    """Send one request in the most reliable mode the model supports, and decode the answer as it streams.

    An answer is cut off after `most_tokens`. Raises ModelFailed.
    """
    mode = mode_of(await model.capabilities())
    tools = (*limits.tools.specs(), *controls)
    request = turn_request(mode, system, prompt, tools).model_copy(update={"max_tokens": most_tokens})
    return await _send(limits, model, request, AnswerDecoder(mode, tools, fallback=limits.fallback))


async def _send(limits: RunLimits, model: Model, request: ModelRequest, decoder: AnswerDecoder) -> Turn:
    cost = Cost()
    try:
        turn = await _decoded(limits, request, cost.stream(model, request), decoder)
    except ModelFailed:
        # Providers bill a request that fails in mid-stream, too.
        limits.spend(cost.usage)
        raise
    limits.window.learn(request, cost.prompt_tokens)
    limits.spend(cost.usage)
    return turn


async def _decoded(
    limits: RunLimits, request: ModelRequest, events: AsyncGenerator[ModelEvent, None], decoder: AnswerDecoder
) -> Turn:
    calls: list[ToolCall] = []
    broken: list[Malformed] = []
    cut = False
    async with aclosing(events):
        async for event in events:
            match event:
                case TextDelta():
                    chunk = decoder.feed(event.text)
                    if chunk.visible:
                        limits.stream("text", chunk.visible)
                    if chunk.reasoning:
                        limits.stream("reasoning", chunk.reasoning)
                case ReasoningDelta():
                    limits.stream("reasoning", event.text)
                case CallMade():
                    native = checked_call(event.call, request.tools)
                    if isinstance(native, ToolCall):
                        calls.append(native)
                    else:
                        broken.append(native)
                case CallBroken():
                    broken.append(
                        Malformed(name=event.name, text=event.arguments_text, problem=event.problem)
                    )
                case Restarted():
                    calls, broken = [], []
                    decoder.restart()
                case Finished():
                    cut = event.reason == "length"
    return decoder.turn(calls, broken, cut=cut)


async def run_calls(
    limits: RunLimits, caller: CallRunner, loop_state: LoopState, turn: Turn
) -> bool | GaveUp:
    """Run calls in their order. True if all succeeded; GaveUp if the model repeats itself or a call does not end.

    Raises BudgetExhausted if the step has used up its calls.
    """
    all_ok = True
    ending = turn.task_completed is not None or turn.final_answer is not None
    for call in turn.calls:
        if loop_state.calls >= limits.limit:
            raise BudgetExhausted(
                f"The step made {limits.limit} tool calls, the most that one step may make."
            )
        key = call_key(call)
        same = loop_state.called(key)
        if same >= 3:
            return GaveUp(reason=f"The model made the same call of {call.name} three times in a row.")
        result = await _finish(limits, caller, call, ending=ending)
        if result is None:
            waited = f"{limits.completion_seconds:g} seconds"
            return GaveUp(reason=f"The call of {call.name} was still open {waited} after the step could end.")
        text = result.text
        if same == 2:
            text += "\nYou have just made this very call. Use its result, or do something else."
        args = key.removeprefix(f"{call.name} ")
        shown = args if len(args) <= _ARGS_SHOWN else args[:_ARGS_SHOWN] + "…"
        loop_state.results.append(ToolNote(name=call.name, args=shown, ok=result.ok, text=text))
        all_ok = all_ok and result.ok
        if result.ok:
            loop_state.idle = 0
    return all_ok


async def _finish(
    limits: RunLimits, caller: CallRunner, call: ToolCall, *, ending: bool
) -> ToolResult | None:
    """Run a call to its end. None if the turn would end the task and the call took too long.

    Commands are not limited here: they have a timeout of their own, and may wait for the user.
    """
    tool = limits.tools.get(call.name)
    limited = ending and tool is not None and tool.effect != "execute"
    limit = asyncio.timeout(limits.completion_seconds if limited else None)
    try:
        async with limit:
            return await caller.call(call)
    except TimeoutError:
        if not limit.expired():
            raise
        return None
