"""One turn of an agent loop: sends the request, decodes the streamed answer, and runs its calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from planloom.agent.answer import Malformed, Turn, call_key
from planloom.agent.answer_decoder import AnswerDecoder, checked_call, mode_of
from planloom.agent.conversation import Conversation
from planloom.agent.prompts import Brief
from planloom.agent.task import CallRunner, GaveUp, NeedsAnswer, RunLimits
from planloom.domain.errors import BudgetExhausted, ContextOverflow, ModelFailed
from planloom.models.one_question import Cost
from planloom.models.port import (
    CallBroken,
    CallMade,
    CallWritten,
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

_REPEATED = "You have just made this very call, and it changes nothing. Use its result, or do something else."
_CUT = "the answer was cut off at its length limit, in the middle of it"
_ANNOUNCED = (10, 5, 1)


class LoopState:
    """The counts of a loop between turns. `idle` counts the turns since a call last succeeded.

    `hand_over` tells a model with few calls left how to end its run.
    """

    def __init__(self, conversation: Conversation, hand_over: str) -> None:
        self.conversation = conversation
        self.hand_over = hand_over
        self.calls = 0
        self._last_key: str | None = None
        self._last_malformed: str | None = None
        self._malformed = 0
        self.idle = 0

    def repeats(self, key: str) -> bool:
        """Count a call. Returns whether it equals the call before it."""
        is_same = key == self._last_key
        self._last_key = key
        self.calls += 1
        return is_same

    def malformed(self, turn: Turn) -> GaveUp | None:
        """Tell the model which calls cannot be run. The same one three times in a row ends the loop."""
        for each in turn.malformed:
            self.conversation.add_malformed(each)
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
            self.conversation.tell(
                f"You have made this very call of {first.name} twice, and it cannot be run: {first.problem}. "
                "Write it in another way, or do something else."
            )
        return None


async def ask_model(
    limits: RunLimits,
    model: Model,
    conversation: Conversation,
    brief: Callable[[], Brief],
    controls: Sequence[ToolSpec],
    *,
    most_tokens: int | None = None,
) -> Turn:
    """Send the next request in the most reliable mode that the model supports, and decode the answer as it streams.

    An answer is cut off after `most_tokens`. A request that turns out too long for the model is compacted, and sent
    once more. Raises ModelFailed and ContextOverflow.
    """
    can = await model.capabilities()
    mode = mode_of(can)
    tools = (*limits.tools.specs(), *controls)
    refused: ContextOverflow | None = None
    while True:
        request = await conversation.request(mode, brief, tools)
        if most_tokens is not None:
            request = request.model_copy(update={"max_tokens": most_tokens})
        if refused is not None and conversation.window.size(request) > conversation.window.room:
            raise refused
        native_only = mode == "native" and (can.native_only or conversation.calls_natively)
        decoder = AnswerDecoder(mode, tools, fallback=limits.fallback, native_only=native_only)
        try:
            turn = await _send(limits, model, conversation, request, decoder)
        except ContextOverflow as error:
            if refused is not None or mode != "native":
                raise
            refused = error
            conversation.window.overflowed(request, error.context_tokens)
        else:
            conversation.add_answer(turn)
            return turn


async def _send(
    limits: RunLimits, model: Model, conversation: Conversation, request: ModelRequest, decoder: AnswerDecoder
) -> Turn:
    cost = Cost()
    try:
        with limits.waiting():
            turn = await _decoded(limits, cost.stream(model, request), decoder)
    except ModelFailed:
        # Providers bill a request that fails in mid-stream, too.
        limits.spend(cost.usage)
        raise
    conversation.window.learn(request, cost.prompt_tokens)
    limits.spend(cost.usage)
    return turn


async def _decoded(
    limits: RunLimits, events: AsyncGenerator[ModelEvent, None], decoder: AnswerDecoder
) -> Turn:
    made: list[ToolCall] = []
    calls: list[ToolCall] = []
    broken: list[Malformed] = []
    finished = Finished(reason="stop")
    limits.written(None)
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
                    made.append(event.call)
                    native = checked_call(event.call, decoder.tools)
                    if isinstance(native, ToolCall):
                        calls.append(native)
                    else:
                        broken.append(native)
                case CallBroken():
                    name = event.name or "call"
                    made.append(ToolCall(call_id=event.call_id, name=name, arguments={}))
                    broken.append(
                        Malformed(
                            call_id=event.call_id,
                            name=event.name,
                            text=event.arguments_text,
                            problem=event.problem,
                        )
                    )
                case CallWritten():
                    limits.written(event)
                case Restarted():
                    limits.written(None)
                    made, calls, broken = [], [], []
                    decoder.restart()
                case Finished():
                    finished = event
    cut = finished.reason == "length"
    if cut:
        broken = [each._replace(problem=_CUT) for each in broken]
    turn = decoder.turn(calls, broken, cut=cut)
    return turn._replace(
        made=tuple(made) or turn.made,
        native=bool(made),
        reasoning=finished.reasoning,
        refused=finished.reason == "refused",
    )


async def run_calls(
    limits: RunLimits, caller: CallRunner, loop_state: LoopState, turn: Turn
) -> bool | GaveUp | NeedsAnswer:
    """Run calls in their order. True if all succeeded; GaveUp if a call does not end.

    A call that the user has to answer something for is the last one that is run.

    A call that only repeats the one before is no progress, except a command, which may end differently each time.
    Raises BudgetExhausted if the step has used up its calls.
    """
    all_ok = True
    ending = turn.task_completed is not None or turn.final_answer is not None
    for place, call in enumerate(turn.calls, 1):
        if loop_state.calls >= limits.limit:
            raise BudgetExhausted(
                f"The step made {limits.limit} tool calls, the most that one step may make at a time "
                "(execution.maxToolCallsPerStep). Resume the plan to let it go on."
            )
        tool = limits.tools.get(call.name)
        is_repeated = loop_state.repeats(call_key(call)) and (tool is None or not tool.is_of_commands)
        result = await _finish(limits, caller, turn.calls[place - 1 :], ending=ending)
        if result is None:
            waited = f"{limits.completion_seconds:g} seconds"
            return GaveUp(reason=f"The call of {call.name} was still open {waited} after the step could end.")
        remarks = [_REPEATED] if is_repeated else []
        left = limits.limit - loop_state.calls
        if left in _ANNOUNCED and limits.limit > _ANNOUNCED[0]:
            remarks.append(f"Calls left in this run: {left}. {loop_state.hand_over}")
        loop_state.conversation.add_result(call, result, remark=" ".join(remarks))
        if result.asks is not None:
            return NeedsAnswer(*result.asks)
        all_ok = all_ok and result.ok
        # An exit code is a result, so a command that ended with another than 0 is progress, too.
        if (result.ok or result.ended) and not is_repeated:
            loop_state.idle = 0
    return all_ok


async def _finish(
    limits: RunLimits, caller: CallRunner, calls: Sequence[ToolCall], *, ending: bool
) -> ToolResult | None:
    """Run the first of some calls to its end. None if the turn would end the task and the call took too long.

    Commands and fetches are not limited here: they have a timeout of their own, and may wait for the user.
    """
    call, *following = calls
    tool = limits.tools.get(call.name)
    limited = ending and tool is not None and not tool.limits_own_time
    limit = asyncio.timeout(limits.completion_seconds if limited else None)
    try:
        async with limit:
            return await caller.call(call, following)
    except TimeoutError:
        if not limit.expired():
            raise
        return None
