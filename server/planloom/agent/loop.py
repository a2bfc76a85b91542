"""The loop in which a model works on one task: it proposes, the orchestrator runs, checks and decides.

The model never decides that a task is done: what was really called, and what its checks say, does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Literal, cast

from planloom.agent.answer import Confidence, Malformed, Turn, call_key, control_specs
from planloom.agent.prompts import ToolNote, remaining, step_prompt, system_prompt
from planloom.agent.speech import Ear, asked, checked, way_of
from planloom.agent.work import Asks, Hands, LoopEnd, Plans, Stuck, Summed, Work
from planloom.domain.errors import BudgetExhausted
from planloom.domain.plan import Usage
from planloom.models.asking import usage_of
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
    UsageReported,
)
from planloom.tools.tool import ToolResult

MAX_TURNS = 60
MAX_REFUSALS = 3
"""How often a premature final answer is refused before the task fails."""
_ARGS_SHOWN = 200


async def work_on(task: Work, model: Model, hands: Hands) -> LoopEnd:
    """Let the model work until the task is done, needs a person, or cannot be finished.

    Raises ModelFailed and BudgetExhausted.
    """
    state = _State(task)
    for _ in range(MAX_TURNS):
        turn = await _ask(task, model, state)
        end = await _react(task, hands, state, turn)
        if end is not None:
            return end
    return Stuck(reason=f"The task was not done after {MAX_TURNS} turns of the model.")


class _State:
    """What the loop remembers between turns."""

    def __init__(self, task: Work) -> None:
        self.results: list[ToolNote] = []
        self.notes: list[str] = list(task.notes)
        self.calls = 0
        self.last_key: str | None = None
        self.same = 0
        self.last_malformed: str | None = None
        self.reminded = False
        self.refused = 0
        self.doubted = 0


async def _ask(task: Work, model: Model, state: _State) -> Turn:
    task.allow()
    state.results = list(await task.room.fit(state.results))
    plan = task.plan()
    direct = plan.route == "direct"
    prompt = step_prompt(
        plan,
        plan.step(task.step.step_id) or task.step,
        attachments=task.attachments,
        results=state.results,
        notes=state.notes,
        context_summary=plan.context_summary or "",
        earlier=task.earlier,
    )
    state.notes = []
    way = way_of(await model.capabilities())
    tools = (*task.tools.specs(), *control_specs(direct=direct))
    system = system_prompt(task.step.agent, direct=direct, extra=task.extra_system)
    return await _read(
        task, model, asked(way, system, prompt, tools), Ear(way, tools, fallback=task.fallback)
    )


async def _read(task: Work, model: Model, request: ModelRequest, ear: Ear) -> Turn:
    calls: list[ToolCall] = []
    broken: list[Malformed] = []
    cut = False
    usage = Usage(requests=1)
    events = model.stream(request)
    async with aclosing(cast("AsyncGenerator[ModelEvent]", events)):
        async for event in events:
            match event:
                case TextDelta():
                    heard = ear.hear(event.text)
                    if heard.visible:
                        task.stream("text", heard.visible)
                    if heard.reasoning:
                        task.stream("reasoning", heard.reasoning)
                case ReasoningDelta():
                    task.stream("reasoning", event.text)
                case CallMade():
                    native = checked(event.call, request.tools)
                    if isinstance(native, ToolCall):
                        calls.append(native)
                    else:
                        broken.append(native)
                case CallBroken():
                    broken.append(
                        Malformed(name=event.name, text=event.arguments_text, problem=event.problem)
                    )
                case UsageReported():
                    usage = usage_of(event)
                case Restarted():
                    calls, broken = [], []
                    ear.restart()
                case Finished():
                    cut = event.reason == "length"
    task.room.learn(request, usage.prompt_tokens)
    task.spend(usage)
    return ear.turn(calls, broken, cut=cut)


async def _react(task: Work, hands: Hands, state: _State, turn: Turn) -> LoopEnd | None:
    """One row of the table in SPEC.md section 3; None means another turn."""
    stuck = _malformed(state, turn)
    if stuck is not None:
        return stuck
    if turn.plan_actions is not None and task.plan().route == "direct":
        return Plans(steps=turn.plan_actions)
    succeeded = await _run_calls(task, hands, state, turn)
    if isinstance(succeeded, Stuck):
        return succeeded
    if turn.question is not None:
        return Asks(question=turn.question, options=turn.options)
    if turn.cut and not turn.calls:
        state.notes.append("Your answer was cut at its length limit. Answer shorter, one call at a time.")
        return None
    if turn.task_completed is not None and succeeded:
        return await _finish(task, hands, state, turn.task_completed, turn.final_answer, turn.confidence)
    if turn.final_answer is not None:
        return await _final(task, hands, state, turn)
    if turn.calls or turn.malformed or turn.task_completed is not None:
        return None
    return await _prose(task, hands, state, turn.text.strip())


def _malformed(state: _State, turn: Turn) -> Stuck | None:
    if not turn.malformed:
        state.last_malformed = None
        return None
    first = turn.malformed[0]
    key = f"{first.name} {first.text}"
    if state.last_malformed == key:
        return Stuck(reason=f"The model made the same malformed call of {first.name} twice: {first.problem}.")
    state.last_malformed = key
    for each in turn.malformed:
        state.results.append(
            ToolNote(name=each.name, args=each.text[:_ARGS_SHOWN], ok=False, text=f"Not run: {each.problem}.")
        )
    return None


async def _run_calls(task: Work, hands: Hands, state: _State, turn: Turn) -> bool | Stuck:
    """Run calls in their order. True if every one succeeded; Stuck if the model goes round in circles."""
    good = True
    ending = turn.task_completed is not None or turn.final_answer is not None
    for call in turn.calls:
        if state.calls >= task.limit:
            raise BudgetExhausted(f"The step made {task.limit} tool calls, the most that one step may make.")
        state.calls += 1
        key = call_key(call)
        state.same = state.same + 1 if key == state.last_key else 1
        state.last_key = key
        if state.same >= 3:
            return Stuck(reason=f"The model made the same call of {call.name} three times in a row.")
        result = await _settled(task, hands, call, ending=ending)
        if result is None:
            waited = f"{task.completion_seconds:g} seconds"
            return Stuck(reason=f"The call of {call.name} was still open {waited} after the step could end.")
        text = result.text
        if state.same == 2:
            text += "\nYou have just made this very call. Use its result, or do something else."
        args = key.removeprefix(f"{call.name} ")
        shown = args if len(args) <= _ARGS_SHOWN else args[:_ARGS_SHOWN] + "…"
        state.results.append(ToolNote(name=call.name, args=shown, ok=result.ok, text=text))
        good = good and result.ok
    return good


async def _settled(task: Work, hands: Hands, call: ToolCall, *, ending: bool) -> ToolResult | None:
    """The result of a call; None if it stayed open too long when the task could have ended.

    A command has a time limit of its own, and may wait for a person.
    """
    tool = task.tools.get(call.name)
    limited = ending and tool is not None and tool.effect != "execute"
    limit = asyncio.timeout(task.completion_seconds if limited else None)
    try:
        async with limit:
            return await hands.call(call)
    except TimeoutError:
        if not limit.expired():
            raise
        return None


async def _finish(
    task: Work, hands: Hands, state: _State, summary: str, answer: str | None, confidence: Confidence | None
) -> LoopEnd | None:
    """End the task if its checks hold and what it staged is allowed; else tell the model what is missing."""
    missing = await hands.missing()
    if missing:
        state.notes.append("The task is not done yet: " + " ".join(missing))
        return None
    doubt = await _doubt(task, hands, state)
    if doubt is not None:
        return doubt if isinstance(doubt, Stuck) else None
    denied = await hands.settle()
    if denied is not None:
        state.notes.append(f"The changes were not made: {denied}")
        return None
    unproved = await hands.unproved()
    if unproved:
        state.notes.append("The task is not done yet: " + " ".join(unproved))
        return None
    last = remaining(task.plan(), task.step) == 0
    return Summed(summary=summary, answer=answer if last else None, confidence=confidence if last else None)


async def _doubt(task: Work, hands: Hands, state: _State) -> Stuck | Literal["doubted"] | None:
    """Whether to believe that the task is done: a model that has done nothing is asked again, or never believed."""
    plan = task.plan()
    if plan.route == "direct" and len(plan.steps) == 1:
        return None
    standing = await hands.standing()
    if standing == "worked" or (standing == "doubtful" and state.doubted > 0):
        return None
    state.doubted += 1
    if state.doubted > MAX_REFUSALS:
        return Stuck(reason="The model kept saying that the task is done, but it has done nothing.")
    state.notes.append(
        "The task does not look done: what it names is not there, or nothing was changed. Do it with the tools first."
        + (
            " If there is truly nothing left to do, call task_completed again."
            if standing == "doubtful"
            else ""
        )
    )
    return "doubted"


async def _final(task: Work, hands: Hands, state: _State, turn: Turn) -> LoopEnd | None:
    plan = task.plan()
    left = remaining(plan, task.step)
    answer = turn.final_answer or ""
    if turn.calls:
        state.notes.append(
            f"Your final answer was set aside. {left + 1} of {len(plan.steps)} tasks remain, this one among them."
        )
        return None
    if left == 0:
        return await _finish(task, hands, state, answer, answer, turn.confidence)
    state.refused += 1
    if state.refused > 1 and hands.worked() and not await hands.missing():
        return await _finish(task, hands, state, answer, None, None)
    if state.refused > MAX_REFUSALS:
        return Stuck(reason="The model kept giving a final answer instead of doing the task.")
    state.notes.append(
        f"It is too early for final_answer: {left + 1} of {len(plan.steps)} tasks remain. "
        "Do the CURRENT TASK with tool calls, then call task_completed."
    )
    return None


async def _prose(task: Work, hands: Hands, state: _State, text: str) -> LoopEnd | None:
    """Words alone: the summary if the work is visibly done, else one reminder, then the task fails."""
    plan = task.plan()
    if text and plan.route == "direct" and len(plan.steps) == 1:
        return await _finish(task, hands, state, text, text, None)
    if text and hands.worked() and not await hands.missing():
        return await _finish(task, hands, state, text, None, None)
    if state.reminded:
        return Stuck(reason="The model answered in words twice instead of doing the task with tools.")
    state.reminded = True
    state.notes.append(
        "You answered in words, but nothing was done. Use the tools; when the task is done, call task_completed."
    )
    return None
