"""The loop in which a model works on one task: the model proposes calls, the server runs them and checks the result.

The model's claim that a task is done is never enough: the recorded calls and the step's checks decide.
"""

from __future__ import annotations

from typing import Literal

from planloom.agent.answer import Confidence, Turn, control_specs, parted
from planloom.agent.answer_decoder import ToolCallMode, mode_of, turn_request
from planloom.agent.conversation import Ahead
from planloom.agent.plan_spec import plan_in_words_spec, plan_spec
from planloom.agent.prompts import SYSTEM, Brief, remaining, task_brief
from planloom.agent.result_budget import head_and_tail
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
from planloom.agent.turns import LoopState, ask_model, run_calls
from planloom.domain.model_text.fences import fenced
from planloom.domain.plans.background_commands import background_calls
from planloom.domain.plans.plan import SETTLED, Plan
from planloom.domain.values import Args
from planloom.models.port import Capabilities, Model, ModelRequest, ToolSpec
from planloom.tools.registry import Registry

MAX_TURNS = 60
"""Turns of one run, unless twice the limit of tool calls is more."""
MOST_IDLE = 8
"""Consecutive turns without a successful call, after which the task fails."""
_HAND_OVER = "Finish, or call task_completed and say what is done and what is left."
_UNREAD = "It is too early to end: the user has written to you. Follow the newest USER MESSAGE, then finish."
_WRITTEN_BEFORE = (
    "{what} was set aside, since it was written before the results of the other calls. "
    "Look at them, then call {name} again."
)
_CALL_FAILED = "task_completed does not count, since a call beside it failed. Look at its result, then go on."
MAX_REFUSALS = 3
"""How often a premature final answer, or an unfounded claim to be done, is refused before the task fails."""


async def work_on(task: AgentTask, model: Model, runner: ToolRunner) -> LoopEnd:
    """Let the model work until the task is done, needs a person, or cannot be finished.

    Raises ModelFailed and BudgetExhausted.
    """
    state = _State(task)
    most = max(MAX_TURNS, 2 * task.limits.limit)
    for _ in range(most):
        turn = _written_ahead(task, state) or await _ask(task, model, state)
        state.idle += 1
        end = await _decide(task, runner, state, turn)
        if isinstance(end, TaskDone | ProposesPlan) and state.has_unread:
            # Written while the changes were made, which may have waited for the user.
            state.put_off()
            continue
        if end is not None:
            # A later step that continues the conversation is the first to send the results of this turn.
            task.conversation.tell_fates()
            return end
        if state.idle == 0:
            state.reminded = False
        if state.idle >= MOST_IDLE:
            note = state.conversation.last_note
            last = f" The last note to it was: {note}" if note else ""
            return GaveUp(reason=f"The model made no progress in {state.idle} turns.{last}")
    return GaveUp(reason=f"The task was not done after {most} turns of the model.")


def frame_of(plan: Plan, tools: Registry, can: Capabilities) -> ModelRequest:
    """The part of every request of a task that never changes: the system prompt and the tools."""
    mode = mode_of(can)
    specs = (*shown_in(plan, tools).specs(), *controls_of(plan, tools, mode))
    return turn_request(mode, SYSTEM, "", specs).model_copy(update={"response_schema": None})


def shown_in(plan: Plan, tools: Registry) -> Registry:
    """The tools that the plan's models are shown: those that follow a background command come with the first one.

    Few plans have such a command, and all would send these tools in every request.
    """
    return tools if any(background_calls(plan)) else tools.before_commands()


def controls_of(plan: Plan, tools: Registry, mode: ToolCallMode) -> tuple[ToolSpec, ...]:
    """The control tools of a task. All phases of a conversation list the same: a direct run can become a plan."""
    if mode == "native":
        submit = (plan_spec(tools, offered=True),) if plan.route in ("plan", "direct") else ()
        return (*control_specs(with_confidence=True), *submit)
    direct = plan.route == "direct"
    return (*control_specs(with_confidence=direct), *((plan_in_words_spec(),) if direct else ()))


class _State(LoopState):
    """The state of the loop over one task."""

    def __init__(self, task: AgentTask) -> None:
        super().__init__(task.conversation, _HAND_OVER)
        self.calls = task.calls
        self._task = task
        self.messages_sent = 0
        self.reminded = False
        self.early_answers = 0
        self.challenges = 0
        self.failed_changes = ""

    @property
    def has_unread(self) -> bool:
        """Whether the user has written since the last request."""
        return len(self._task.plan().messages) > self.messages_sent

    def put_off(self) -> None:
        """Let the model read what the user has written before the task ends."""
        self.conversation.tell(_UNREAD)
        self.idle = 0


def _written_ahead(task: AgentTask, state: _State) -> Turn | None:
    """What the model has written for this task already, together with the end of the one before.

    None if it may have been written for another task, or without a message of the user.
    """
    conversation, plan, step = state.conversation, task.plan(), task.step
    ahead, conversation.ahead = conversation.ahead, None
    if ahead is None or ahead.version != plan.version or not conversation.has_shown(step.instruction):
        return None
    state.messages_sent = ahead.messages
    if state.has_unread:
        return None
    first = next(each for each in plan.steps if each.status not in SETTLED)
    return ahead.turn if first.step_id == step.step_id else None


async def _ask(task: AgentTask, model: Model, state: _State) -> Turn:
    task.limits.allow()
    tools = shown_in(task.plan(), task.limits.tools)
    controls = controls_of(task.plan(), tools, mode_of(await model.capabilities()))
    may_revise = any(spec.name == "submit_plan" for spec in controls)

    def brief() -> Brief:
        plan = task.plan()
        step = plan.step(task.step.step_id) or task.step
        state.messages_sent = len(plan.messages)
        return task_brief(plan, step, task.background, task.conversation.steps, may_revise=may_revise)

    turn = await ask_model(task.limits._replace(tools=tools), model, state.conversation, brief, controls)
    task.read(state.messages_sent)
    return turn


async def _decide(task: AgentTask, runner: ToolRunner, state: _State, turn: Turn) -> LoopEnd | None:
    """Run the calls of a turn. Returns how the loop ends, None for another turn."""
    gave_up = state.malformed(turn)
    if gave_up is not None:
        return gave_up
    plan, rest = task.plan(), None
    if state.conversation.is_native and remaining(plan, task.step):
        turn, rest = parted(turn)
    succeeded = await run_calls(task.limits, runner, state, turn)
    if rest is not None and succeeded is True and not await _may_end(runner):
        # The end of the task was written before its calls.
        succeeded, rest = await run_calls(task.limits, runner, state, rest), None
    if isinstance(succeeded, GaveUp):
        return succeeded
    submits = turn.report is not None and plan.route == "direct"
    ends = submits or (turn.task_completed, turn.final_answer) != (None, None)
    if state.has_unread and (ends or not turn.calls):
        state.put_off()
        return None
    if submits and turn.report is not None:
        return await _proposes_plan(task, runner, state, turn.report, succeeded=succeeded)
    if turn.report is not None:
        state.conversation.tell(await task.revise(turn.report))
        return None
    if turn.question is not None:
        return NeedsAnswer(question=turn.question, options=turn.options)
    if turn.cut and not turn.calls:
        state.conversation.tell(
            "Your answer was cut at its length limit. Answer shorter, one call at a time."
        )
        return None
    if turn.task_completed is not None:
        if turn.malformed or not succeeded:
            state.conversation.tell(_CALL_FAILED)
            return None
        if _is_whole_request(plan) and not _proves(turn, task.limits.tools):
            state.conversation.tell(_WRITTEN_BEFORE.format(what="Your task_completed", name="task_completed"))
            return None
        end = await _finish(task, runner, state, turn.task_completed, turn.final_answer, turn.confidence)
        if rest is not None and isinstance(end, TaskDone):
            state.conversation.ahead = Ahead(rest, plan.version, state.messages_sent)
        return end
    if turn.final_answer is not None:
        return await _final_answer(task, runner, state, turn, succeeded=succeeded)
    if turn.calls or turn.malformed:
        return None
    return await _prose(task, runner, state, turn.text.strip())


def _is_whole_request(plan: Plan) -> bool:
    """Whether the task is a request that is carried out at once."""
    return plan.route == "direct" and len(plan.steps) == 1


async def _may_end(runner: ToolRunner) -> bool:
    """Whether the calls so far leave the claim open that the task is done."""
    return await runner.evidence() != "idle" and not await runner.missing()


async def _proposes_plan(
    task: AgentTask, runner: ToolRunner, state: _State, plan: Args, *, succeeded: bool
) -> ProposesPlan | None:
    """Settle what is staged, then end the direct run by the plan; else say why the plan was set aside."""
    problem = task.plan_problem(plan)
    if problem:
        state.conversation.tell(f"Your submit_plan cannot be used: {problem}. Call submit_plan again.")
        return None
    not_made = await runner.commit()
    if not_made is not None:
        state.conversation.add_failure("changes", f"{not_made} Your plan was set aside: submit it again.")
    elif not succeeded:
        state.conversation.tell(
            "A call failed, so your plan was set aside: submit it again if it still fits."
        )
    else:
        return ProposesPlan(plan)
    return None


async def _finish(
    task: AgentTask,
    runner: ToolRunner,
    state: _State,
    summary: str,
    answer: str | None,
    confidence: Confidence | None,
) -> LoopEnd | None:
    """End the task if its checks pass and its staged changes are made; else note for the model what is missing."""
    denial = runner.denial()
    if denial is not None:
        return denial._replace(answer=answer, confidence=confidence)
    failed_changes = runner.failed_changes()
    if failed_changes and failed_changes == state.failed_changes:
        return GaveUp(reason=failed_changes)
    state.failed_changes = failed_changes
    missing = await runner.missing()
    if missing:
        state.conversation.tell("The task is not done yet: " + " ".join(missing))
        return None
    challenged = await _challenge(task, runner, state)
    if challenged is not None:
        return challenged if isinstance(challenged, GaveUp) else None
    not_made = await runner.commit()
    if not_made is not None:
        # Later prompts show the calls that staged these changes as successful, so they must show this failure too.
        state.conversation.add_failure("changes", not_made)
        return None
    failed_checks = await runner.failed_checks()
    if failed_checks:
        window = state.conversation.window
        found = head_and_tail("\n".join(failed_checks), window.room // 4, window.text)
        state.conversation.tell(f"The task is not done yet. What its checks found:\n{fenced(found)}")
        return None
    last = remaining(task.plan(), task.step) == 0
    return TaskDone(summary=summary, answer=answer if last else None, confidence=confidence if last else None)


async def _challenge(
    task: AgentTask, runner: ToolRunner, state: _State
) -> GaveUp | Literal["challenged"] | None:
    """Note for the model that its claim to be done lacks evidence. None accepts the claim.

    Doubtful evidence is accepted at the second claim; a claim without any effect or success never is.
    """
    plan = task.plan()
    evidence = await runner.evidence()
    if _is_whole_request(plan):
        return _challenge_once(task, state, evidence)
    if evidence == "worked" or (evidence == "doubtful" and state.challenges > 0):
        return None
    state.challenges += 1
    if state.challenges > MAX_REFUSALS:
        return GaveUp(reason="The model kept saying that the task is done, but it has done nothing.")
    state.conversation.tell(
        "The task does not look done: what it names is not there, or nothing was changed. Do it with the tools first."
        + (
            " If there is truly nothing left to do, call task_completed again."
            if evidence == "doubtful"
            else ""
        )
    )
    return "challenged"


def _challenge_once(task: AgentTask, state: _State, evidence: Evidence) -> Literal["challenged"] | None:
    """A direct request may only want a text answer, so the model is challenged once at most."""
    may_change = any(tool.writes for tool in task.limits.tools)
    if evidence != "idle" or state.challenges > 0 or not may_change:
        return None
    state.challenges += 1
    state.conversation.tell(
        "Nothing was changed. If the request asks for a change, make it with the tools now; "
        "if it asks for words alone, give your answer again."
    )
    return "challenged"


async def _final_answer(
    task: AgentTask, runner: ToolRunner, state: _State, turn: Turn, *, succeeded: bool
) -> LoopEnd | None:
    """Accept a final answer at the last task; before that, only for a task that is done.

    `succeeded` says that the calls beside it did.
    """
    plan = task.plan()
    left = remaining(plan, task.step)
    answer = turn.final_answer or ""
    if turn.calls and left > 0:
        state.conversation.tell(
            f"Your final answer was set aside. {left + 1} of {len(plan.steps)} tasks remain, this one among them."
        )
        return None
    if turn.calls and not (succeeded and _only_changes(turn, task.limits.tools)):
        state.conversation.tell(_WRITTEN_BEFORE.format(what="Your final answer", name="final_answer"))
        return None
    if left == 0:
        return await _finish(task, runner, state, answer, answer, turn.confidence)
    state.early_answers += 1
    if runner.denial() or (state.early_answers > 1 and await _is_done(runner)):
        return await _finish(task, runner, state, answer, None, None)
    if state.early_answers > MAX_REFUSALS:
        return GaveUp(reason="The model kept giving a final answer instead of doing the task.")
    state.conversation.tell(
        f"It is too early for final_answer: {left + 1} of {len(plan.steps)} tasks remain. "
        "Do the CURRENT TASK with tool calls, then call task_completed."
    )
    return None


def _proves(turn: Turn, tools: Registry) -> bool:
    """Whether the calls tell by their success what they have done: changes, and commands that have ended."""
    return all(
        tool is not None
        and (bool(tool.writes) or tool.effect == "execute")
        and not call.arguments.get("background")
        for call, tool in ((call, tools.get(call.name)) for call in turn.calls)
    )


def _only_changes(turn: Turn, tools: Registry) -> bool:
    """Whether all calls change files: what they return says nothing that an answer beside them must know."""
    called = (tools.get(call.name) for call in turn.calls)
    return all(tool is not None and tool.writes for tool in called)


async def _is_done(runner: ToolRunner) -> bool:
    return runner.looks_done() and not await runner.missing()


async def _prose(task: AgentTask, runner: ToolRunner, state: _State, text: str) -> LoopEnd | None:
    """An answer without calls: the summary of a task that looks done, else one reminder, then the task fails."""
    plan = task.plan()
    if text and _is_whole_request(plan):
        return await _finish(task, runner, state, text, text, None)
    if text and (runner.denial() or await _is_done(runner)):
        return await _finish(task, runner, state, text, None, None)
    if state.reminded:
        return GaveUp(reason="The model answered in words twice instead of doing the task with tools.")
    state.reminded = True
    state.conversation.tell(
        "You answered in words, but nothing was done. Use the tools; when the task is done, call task_completed."
    )
    return None
