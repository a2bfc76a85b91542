"""The loop in which a model works on one task: the model proposes calls, the server runs them and checks the result.

The model's claim that a task is done is never enough: the recorded calls and the step's checks decide.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from planloom.agent.answer import Confidence, Turn, control_specs, parted
from planloom.agent.answer_decoder import ToolCallMode, mode_of, turn_request
from planloom.agent.conversation import Ahead
from planloom.agent.plan_spec import SUBMIT_PLAN, plan_in_words_spec, plan_spec
from planloom.agent.prompts import SYSTEM, Brief, TaskForm, concerns, remaining, task_brief
from planloom.agent.result_budget import head_and_tail
from planloom.agent.task import (
    AgentTask,
    GaveUp,
    LoopEnd,
    NeedsAnswer,
    ProposesPlan,
    TaskDone,
    ToolRunner,
)
from planloom.agent.turns import LoopState, ask_model, run_calls
from planloom.domain.model_text.fences import fenced
from planloom.domain.patterns import pattern
from planloom.domain.plans.plan import Plan
from planloom.domain.values import Args, StepId
from planloom.models.port import Capabilities, Model, ModelRequest, ToolSpec
from planloom.tools.registry import Registry

MAX_TURNS = 60
"""Turns of one run, unless twice the limit of tool calls is more."""
MOST_IDLE = 8
"""Consecutive turns without a successful call, after which the task fails."""
_HAND_OVER = "Finish, or call task_completed and say what is done and what is left."
_UNREAD = "The user has written to you: see the newest USER MESSAGE, then call task_completed again."
_WRITTEN_BEFORE = (
    "{what} was set aside, since it was written before the results of the other calls. "
    "Look at them, then call {name} again."
)
_NOTHING_DONE = (
    "Nothing was changed. If the request asks for a change, make it with the tools now; "
    "if it asks for words alone, give your answer again."
)
_NOTHING_CHANGED = (
    "Nothing was changed in this task{}. Do it with the tools; if it was done before or needs no change, call "
    "task_completed with unchanged: why."
)
_TWICE = "The model said twice that the task is done, but it changed nothing and gave no reason."
_SAME = "The task is not done yet: its checks found the same as before."
_WRONG_CHECK = (
    " If a check itself is wrong, {}call task_completed with unchecked: why. The user sees that sentence."
)
_BY_PLAN = "change the checks of the CURRENT TASK by submit_plan, or "
_VARYING = pattern(r"\d+[.,]\d+|0x[0-9a-fA-F]+")
"""The differences between two outputs that say the same: times, and addresses of objects."""
_CALL_FAILED = "task_completed does not count, since a call beside it failed. Look at its result, then go on."
MAX_REFUSALS = 3
"""How often a premature final answer, or an unfounded claim to be done, is refused before the task fails; new errors
hold a task up no more often.
"""
_NEW_ERRORS = (
    "The task is not done yet. New errors:\n{}\nMend them. If a later task does, or they have to stay, end "
    "the task again{}."
)
_WITH_REASON = " by task_completed with unchecked: why"


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
            if isinstance(end, TaskDone):
                task.conversation.accept("task_completed" if turn.task_completed else "final_answer")
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
    specs = (*tools.specs(), *controls_of(plan, tools, mode))
    return turn_request(mode, SYSTEM, "", specs).model_copy(update={"response_schema": None})


def controls_of(plan: Plan, tools: Registry, mode: ToolCallMode) -> tuple[ToolSpec, ...]:
    """The control tools of a task. All phases of a conversation list the same: a direct run can become a plan."""
    if mode == "native":
        submit = (plan_spec(tools, offered=True),) if plan.route in ("plan", "direct") else ()
        return (*control_specs(native=True, with_confidence=True), *submit)
    direct = plan.route == "direct"
    specs = control_specs(with_confidence=direct, with_reasons=not _is_whole_request(plan))
    return (*specs, *((plan_in_words_spec(),) if direct else ()))


class _Claim(NamedTuple):
    """The model's word that its task is done, and its reasons why nothing was to change or a check says nothing.

    `goes_on`: it has written the next task, too, which may mend the errors that this one brings.
    """

    summary: str
    answer: str | None = None
    confidence: Confidence | None = None
    unchanged: str = ""
    unchecked: str = ""
    goes_on: bool = False


class _State(LoopState):
    """The state of the loop over one task. `is_known`: the conversation has shown its instruction from the first.

    `to_come` are the tasks that the model was shown as still to come when it wrote the answer at hand.
    """

    def __init__(self, task: AgentTask) -> None:
        super().__init__(task.conversation, _HAND_OVER)
        self.calls = task.calls
        self._task = task
        self.messages_sent = 0
        self.is_known = True
        self.to_come: tuple[StepId, ...] = ()
        self.reminded = False
        self.early_answers = 0
        self.challenges = 0
        self.failed_changes = ""
        self.failed_checks: dict[bool, tuple[str, ...]] = {}
        self.new_errors: list[str] = []

    @property
    def has_unread(self) -> bool:
        """Whether the user has written to this task since the last request."""
        plan = self._task.plan()
        return any(concerns(plan, self._task.step, each) for each in plan.messages[self.messages_sent :])

    def put_off(self) -> None:
        """Let the model read what the user has written before the task ends."""
        self.conversation.tell(_UNREAD)
        self.idle = 0


def _written_ahead(task: AgentTask, state: _State) -> Turn | None:
    """The turn that the model has written for this task already, together with the end of the one before.

    None if it may have been written for another task, or without a message of the user.
    """
    conversation, plan, step = state.conversation, task.plan(), task.step
    ahead, conversation.ahead = conversation.ahead, None
    if ahead is None or (ahead.steps[0], ahead.version) != (step.step_id, plan.version):
        return None
    if not conversation.has_shown(step.instruction):
        return None
    state.messages_sent, state.to_come = ahead.messages, ahead.steps[1:]
    if state.has_unread:
        return None
    return ahead.turn


async def _ask(task: AgentTask, model: Model, state: _State) -> Turn:
    task.limits.allow()
    mode = mode_of(await model.capabilities())
    controls = controls_of(task.plan(), task.limits.tools, mode)
    may_revise = any(spec.name == SUBMIT_PLAN for spec in controls)

    def brief() -> Brief:
        plan = task.plan()
        step = plan.step(task.step.step_id) or task.step
        state.messages_sent = len(plan.messages)
        state.to_come = tuple(each.step_id for each in plan.steps if each.status == "pending")
        is_native = mode == "native"
        state.is_known = state.is_known and is_native and task.conversation.has_shown(step.instruction)
        form = TaskForm(native=is_native, may_revise=may_revise, is_known=state.is_known)
        return task_brief(plan, step, task.background, task.conversation.steps, form)

    turn = await ask_model(task.limits, model, state.conversation, brief, controls)
    task.read(state.messages_sent)
    return turn


async def _decide(task: AgentTask, runner: ToolRunner, state: _State, turn: Turn) -> LoopEnd | None:
    """Run the calls of a turn. Returns how the loop ends, None for another turn."""
    gave_up = state.malformed(turn)
    if gave_up is not None:
        return gave_up
    if turn.refused:
        return GaveUp(reason="The model refused to go on.", text=turn.text)
    plan, rest = task.plan(), None
    if state.conversation.is_native and (state.to_come or remaining(plan, task.step)):
        turn, rest = parted(turn)
    succeeded = await run_calls(task.limits, runner, state, turn)
    if rest is not None and succeeded is True and not await _may_end(runner):
        # The end of the task was written before its calls.
        succeeded, rest = await run_calls(task.limits, runner, state, rest), None
    if isinstance(succeeded, GaveUp | NeedsAnswer):
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
        answer = turn.final_answer or (turn.task_completed if state.conversation.is_native else None)
        claim = _Claim(turn.task_completed, answer, turn.confidence, turn.unchanged, turn.unchecked)
        claim = claim._replace(goes_on=rest is not None)
        end = await _finish(task, runner, state, claim)
        following = plan.step(state.to_come[0]) if rest is not None and state.to_come else None
        if isinstance(end, TaskDone) and rest is not None and following and following.kind == "processing":
            state.conversation.ahead = Ahead(rest, state.to_come, plan.version, state.messages_sent)
        return end
    if turn.final_answer is not None:
        return await _final_answer(task, runner, state, turn, succeeded=succeeded)
    if turn.calls or turn.malformed:
        return None
    return await _prose(task, runner, state, turn)


def _is_whole_request(plan: Plan) -> bool:
    """Whether the task is a request that is carried out at once."""
    return plan.route == "direct" and len(plan.steps) == 1


async def _may_end(runner: ToolRunner) -> bool:
    """Whether the calls so far leave the claim open that the task is done."""
    return runner.has_worked() and not await _lacks(runner)


async def _lacks(runner: ToolRunner) -> bool:
    """Whether the step lacks something that shows before its changes are committed."""
    return bool(await runner.missing() or await runner.failed_checks(committed=False))


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
    claim: _Claim,
) -> LoopEnd | None:
    """End the task if its checks pass and its staged changes are made; else note for the model what is missing."""
    plan, denial, answer, confidence = task.plan(), runner.denial(), claim.answer, claim.confidence
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
    unmet = await runner.failed_checks(committed=False)
    if unmet and not _may_stay_unchecked(task, state, unmet, claim.unchecked, committed=False):
        return None
    errors = await runner.new_errors()
    if not (claim.goes_on or _may_stay(state, errors)):
        state.new_errors.append(errors)
        reason = "" if _is_whole_request(plan) else _WITH_REASON
        state.conversation.tell(_NEW_ERRORS.format(fenced(errors), reason))
        return None
    unchanged = ""
    if not runner.has_worked():
        challenged = _challenge(task, state, unchanged := claim.unchanged)
        if challenged is not None:
            return challenged if isinstance(challenged, GaveUp) else None
    not_made = await runner.commit()
    if not_made is not None:
        # Later prompts show the calls that staged these changes as successful, so they must show this failure too.
        state.conversation.add_failure("changes", not_made)
        return None
    failed_checks = await runner.failed_checks(committed=True)
    if failed_checks and not _may_stay_unchecked(task, state, failed_checks, claim.unchecked, committed=True):
        return None
    if remaining(plan, task.step):
        answer = confidence = None
    if unmet or failed_checks:
        return TaskDone(f"Not checked: {claim.unchecked}\n{claim.summary}", "unchecked", answer, confidence)
    if errors and claim.unchecked:
        return TaskDone(f"Errors are left: {claim.unchecked}\n{claim.summary}", None, answer, confidence)
    if unchanged:
        return TaskDone(f"Nothing to change: {unchanged}", "unchanged", answer, confidence)
    return TaskDone(claim.summary, None, answer, confidence)


def _may_stay(state: _State, errors: str) -> bool:
    """Whether a task may end with these errors, which nobody has asked it to be free of: the model knows them."""
    return not errors or errors in state.new_errors or len(state.new_errors) >= MAX_REFUSALS


def _may_stay_unchecked(
    task: AgentTask, state: _State, failed: tuple[str, ...], why: str, *, committed: bool
) -> bool:
    """Whether the task may end without these checks: they failed alike before, and the model says why they may.

    Else the model reads what they found, in a line where that is the same as before.
    """
    before = state.failed_checks.get(committed, ())
    now = state.failed_checks[committed] = tuple(_VARYING.sub("", each) for each in failed)
    is_alike = [each.partition("\n")[0] for each in before] == [each.partition("\n")[0] for each in now]
    if why and is_alike:
        return True
    window = state.conversation.window
    found = head_and_tail("\n".join(failed), window.room // 4, window.text)
    said = _SAME if before == now else f"The task is not done yet. What its checks found:\n{fenced(found)}"
    may_change = state.conversation.is_native and task.plan().route == "plan"
    state.conversation.tell(said + (_WRONG_CHECK.format(_BY_PLAN if may_change else "") if is_alike else ""))
    return False


def _challenge(task: AgentTask, state: _State, reason: str) -> GaveUp | Literal["challenged"] | None:
    """Note for the model, once, that nothing supports its claim to be done. None accepts the claim.

    A direct request may only want words. In a task of a plan a `reason` is believed, and people see it.
    """
    if reason or not any(tool.changes_files for tool in task.limits.tools):
        return None
    whole = _is_whole_request(task.plan())
    if state.challenges > 0:
        return None if whole else GaveUp(reason=_TWICE)
    state.challenges += 1
    files = f", which is to change {', '.join(task.step.expected_files)}" if task.step.expected_files else ""
    state.conversation.tell(_NOTHING_DONE if whole else _NOTHING_CHANGED.format(files))
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
        return await _finish(task, runner, state, _Claim(answer, answer, turn.confidence))
    state.early_answers += 1
    if runner.denial() or (state.early_answers > 1 and await _is_done(runner)):
        return await _finish(task, runner, state, _Claim(answer))
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
        and (tool.changes_files or tool.effect == "execute")
        and not call.arguments.get("background")
        for call, tool in ((call, tools.get(call.name)) for call in turn.calls)
    )


def _only_changes(turn: Turn, tools: Registry) -> bool:
    """Whether all calls only change files: an answer beside them does not depend on their results."""
    called = (tools.get(call.name) for call in turn.calls)
    return all(tool is not None and tool.changes_files for tool in called)


async def _is_done(runner: ToolRunner) -> bool:
    return runner.looks_done() and not await _lacks(runner)


async def _prose(task: AgentTask, runner: ToolRunner, state: _State, turn: Turn) -> LoopEnd | None:
    """An answer without calls: the summary of a task that looks done, else one reminder, then the task fails."""
    plan, text = task.plan(), turn.text.strip()
    if text and _is_whole_request(plan):
        return await _finish(task, runner, state, _Claim(text, text))
    if text and (runner.denial() or await _is_done(runner)):
        return await _finish(task, runner, state, _Claim(text))
    if state.reminded:
        return GaveUp(reason="The model answered in words twice instead of doing the task with tools.")
    state.reminded = True
    state.conversation.tell(
        "You answered in words. Use the tools; when the task is done, call task_completed."
    )
    return None
