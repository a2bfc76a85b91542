"""The loop in which a model works on one task: it proposes, the orchestrator runs, checks and decides.

The model never decides that a task is done: what was really called, and what its checks say, does.
"""

from __future__ import annotations

from typing import Literal

from planloom.agent.answer import Confidence, Turn, control_specs
from planloom.agent.answer_decoder import asked, way_of
from planloom.agent.prompts import ToolNote, remaining, step_prompt, system_prompt
from planloom.agent.task import (
    AgentTask,
    Evidence,
    GaveUp,
    LoopEnd,
    NeedsAnswer,
    ProposesPlan,
    TaskDone,
    ToolRunner,
)
from planloom.agent.turns import LoopState, run_calls, take_turn
from planloom.domain.plans.plan import Plan, Step
from planloom.models.port import Capabilities, Model, ModelRequest
from planloom.tools.registry import Registry

MAX_TURNS = 60
"""Turns of one run, where the limit of tool calls leaves no room for more."""
MOST_IDLE = 8
"""Turns without one call that succeeds, after which the task fails."""
MAX_REFUSALS = 3
"""How often a premature final answer is refused before the task fails."""


async def work_on(task: AgentTask, model: Model, runner: ToolRunner) -> LoopEnd:
    """Let the model work until the task is done, needs a person, or cannot be finished.

    Raises ModelFailed and BudgetExhausted.
    """
    state = _State(task)
    most = max(MAX_TURNS, 2 * task.limits.limit)
    for _ in range(most):
        turn = await _ask(task, model, state)
        state.idle += 1
        end = await _react(task, runner, state, turn)
        if end is not None:
            return end
        if state.idle == 0:
            state.reminded = False
        if state.idle >= MOST_IDLE:
            last = f" It was told last: {state.notes[-1]}" if state.notes else ""
            return GaveUp(reason=f"The model made no progress in {state.idle} turns.{last}")
    return GaveUp(reason=f"The task was not done after {most} turns of the model.")


def frame_of(plan: Plan, step: Step, tools: Registry, can: Capabilities) -> ModelRequest:
    """What every turn of a task begins with, its tools included: so much of the context is never free."""
    direct = plan.route == "direct"
    specs = (*tools.specs(), *control_specs(direct=direct))
    frame = asked(way_of(can), system_prompt(step.agent, direct=direct), "", specs)
    return frame.model_copy(update={"response_schema": None})


class _State(LoopState):
    """What the loop over one task remembers beside."""

    def __init__(self, task: AgentTask) -> None:
        super().__init__(task.results)
        self.calls = task.calls
        self.reminded = False
        self.refused = 0
        self.doubted = 0
        self.unmade = ""


async def _ask(task: AgentTask, model: Model, state: _State) -> Turn:
    task.limits.allow()
    state.results = list(await task.limits.window.fit(state.results))
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
    system = system_prompt(task.step.agent, direct=direct, extra=task.extra_system)
    return await take_turn(task.limits, model, system, prompt, control_specs(direct=direct))


async def _react(task: AgentTask, runner: ToolRunner, state: _State, turn: Turn) -> LoopEnd | None:
    """One row of the table of what may end a loop; None means another turn."""
    stuck = state.malformed(turn)
    if stuck is not None:
        return stuck
    if turn.plan_actions is not None and task.plan().route == "direct":
        return ProposesPlan(steps=turn.plan_actions)
    succeeded = await run_calls(task.limits, runner, state, turn)
    if isinstance(succeeded, GaveUp):
        return succeeded
    if turn.question is not None:
        return NeedsAnswer(question=turn.question, options=turn.options)
    if turn.cut and not turn.calls:
        state.notes.append("Your answer was cut at its length limit. Answer shorter, one call at a time.")
        return None
    if turn.task_completed is not None and succeeded:
        return await _finish(task, runner, state, turn.task_completed, turn.final_answer, turn.confidence)
    if turn.final_answer is not None:
        return await _final(task, runner, state, turn)
    if turn.calls or turn.malformed or turn.task_completed is not None:
        return None
    return await _prose(task, runner, state, turn.text.strip())


async def _finish(
    task: AgentTask,
    runner: ToolRunner,
    state: _State,
    summary: str,
    answer: str | None,
    confidence: Confidence | None,
) -> LoopEnd | None:
    """End the task if its checks hold and what it staged is allowed; else tell the model what is missing."""
    over = runner.turned_down()
    if over is not None:
        return over.model_copy(update={"answer": answer, "confidence": confidence})
    unmade = runner.unmade()
    if unmade and unmade == state.unmade:
        return GaveUp(reason=unmade)
    state.unmade = unmade
    missing = await runner.missing()
    if missing:
        state.notes.append("The task is not done yet: " + " ".join(missing))
        return None
    doubt = await _doubt(task, runner, state)
    if doubt is not None:
        return doubt if isinstance(doubt, GaveUp) else None
    denied = await runner.settle()
    if denied is not None:
        state.notes.append(denied)
        # Every later prompt shows the calls as they succeeded, so it must show this too.
        state.results.append(ToolNote(name="changes", args="", ok=False, text=denied))
        return None
    unproved = await runner.unproved()
    if unproved:
        state.notes.append("The task is not done yet: " + " ".join(unproved))
        return None
    last = remaining(task.plan(), task.step) == 0
    return TaskDone(summary=summary, answer=answer if last else None, confidence=confidence if last else None)


async def _doubt(task: AgentTask, runner: ToolRunner, state: _State) -> GaveUp | Literal["doubted"] | None:
    """Whether to believe that the task is done: a model that has done nothing is asked again, or never believed."""
    plan = task.plan()
    standing = await runner.standing()
    if plan.route == "direct" and len(plan.steps) == 1:
        return _doubt_once(task, state, standing)
    if standing == "worked" or (standing == "doubtful" and state.doubted > 0):
        return None
    state.doubted += 1
    if state.doubted > MAX_REFUSALS:
        return GaveUp(reason="The model kept saying that the task is done, but it has done nothing.")
    state.notes.append(
        "The task does not look done: what it names is not there, or nothing was changed. Do it with the tools first."
        + (
            " If there is truly nothing left to do, call task_completed again."
            if standing == "doubtful"
            else ""
        )
    )
    return "doubted"


def _doubt_once(task: AgentTask, state: _State, standing: Evidence) -> Literal["doubted"] | None:
    """A request that runs directly may want an answer in words, and that alone; so it is asked back but once."""
    could = any(tool.effect != "read" for tool in task.limits.tools)
    if standing != "idle" or state.doubted > 0 or not could:
        return None
    state.doubted += 1
    state.notes.append(
        "Nothing was changed. If the request asks for a change, make it with the tools now; "
        "if it asks for words alone, give your answer again."
    )
    return "doubted"


async def _final(task: AgentTask, runner: ToolRunner, state: _State, turn: Turn) -> LoopEnd | None:
    plan = task.plan()
    left = remaining(plan, task.step)
    answer = turn.final_answer or ""
    if turn.calls:
        state.notes.append(
            f"Your final answer was set aside. {left + 1} of {len(plan.steps)} tasks remain, this one among them."
        )
        return None
    if left == 0:
        return await _finish(task, runner, state, answer, answer, turn.confidence)
    state.refused += 1
    if runner.turned_down() or (state.refused > 1 and await _is_done(runner)):
        return await _finish(task, runner, state, answer, None, None)
    if state.refused > MAX_REFUSALS:
        return GaveUp(reason="The model kept giving a final answer instead of doing the task.")
    state.notes.append(
        f"It is too early for final_answer: {left + 1} of {len(plan.steps)} tasks remain. "
        "Do the CURRENT TASK with tool calls, then call task_completed."
    )
    return None


async def _is_done(runner: ToolRunner) -> bool:
    return runner.worked() and not await runner.missing()


async def _prose(task: AgentTask, runner: ToolRunner, state: _State, text: str) -> LoopEnd | None:
    """Words alone: the summary if the work is visibly done, else one reminder, then the task fails."""
    plan = task.plan()
    if text and plan.route == "direct" and len(plan.steps) == 1:
        return await _finish(task, runner, state, text, text, None)
    if text and (runner.turned_down() or await _is_done(runner)):
        return await _finish(task, runner, state, text, None, None)
    if state.reminded:
        return GaveUp(reason="The model answered in words twice instead of doing the task with tools.")
    state.reminded = True
    state.notes.append(
        "You answered in words, but nothing was done. Use the tools; when the task is done, call task_completed."
    )
    return None
