"""The loop in which a model investigates a question with read-only tools and ends with a report."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from planloom.agent.answer import Turn, control_specs
from planloom.agent.conversation import NEW_THREAD, Conversation, Thread
from planloom.agent.prompts import Brief, Section, how_to_work
from planloom.agent.result_budget import FixedContextWindow
from planloom.agent.task import CallRunner, GaveUp, RunLimits
from planloom.agent.turns import LoopState, ask_model, run_calls
from planloom.domain.errors import ModelFailed
from planloom.domain.model_text.fences import fenced
from planloom.domain.values import Args
from planloom.models.port import Model, ToolSpec
from planloom.tools.registry import Registry

MAX_TURNS = 10
"""Turns of one investigation, unless it has a number of its own; the last one offers only the report tool."""
_TURNS_ANNOUNCED = (5, 2)
_REVISE = "The user wants another version: see FEEDBACK OF THE USER."
_READY = "Look up what you still need, then call {name}."
_NOW = "Call {name} now, with what you know. No other tool can be called any more."
_HAND_OVER = "Call {name} before none is left."
_TURNS_LEFT = "Turns left, this one included: {left}. In the last one you can only call {name}."
_TOO_LONG = "Your answer was cut at its length limit. Call {name}, shorter."
_IN_WORDS = "You answered in words. Call {name}, with every field that you can fill."
_TOO_EARLY = "Nothing has been done yet. Call {name} with what is to be done."
_UNUSABLE = "Your {name} cannot be used: {problem}. Call {name} again."

R = TypeVar("R")


class Report(NamedTuple, Generic[R]):
    """The kind of report that ends an investigation.

    `read` parses the tool's arguments into a report, or returns the problem as a phrase. `find` looks for a report
    printed in a text, `from_words` makes one out of prose; both return None if there is none. `from_question` makes
    one of a question to the user and its options; without it the model cannot ask. An unusable report is sent back
    `corrections` times.
    """

    spec: ToolSpec
    read: Callable[[Args], R | str]
    find: Callable[[str], R | str | None]
    from_words: Callable[[str], R | None]
    from_question: Callable[[str, tuple[str, ...]], R] | None = None
    corrections: int = 1

    def controls(self) -> tuple[ToolSpec, ...]:
        """The tools that end the investigation."""
        asking = (each for each in control_specs() if each.name == "ask_user")
        return (self.spec, *(asking if self.from_question is not None else ()))


class Opening(NamedTuple):
    """The beginning of a conversation that the steps of the plan continue, with the bytes that are sent for them.

    `rules` are those of planning. `keep` gets the conversation once it has ended by a plan. A plan that is revised
    continues the `thread` in which it was made. `runs` are the commands that may be run meanwhile.
    """

    rules: str
    tools: Registry
    controls: tuple[ToolSpec, ...]
    sections: tuple[Section, ...]
    keep: Callable[[Thread], None]
    thread: Thread = NEW_THREAD
    runs: tuple[str, ...] = ()


class Investigation(NamedTuple, Generic[R]):
    """One question. `system` is the same for all questions of a kind, so that prefix caches hit.

    An answer is cut off after `answer_tokens`. One that begins a longer conversation has an `opening`, of which it
    uses the tools and the rules.
    """

    system: str
    question: tuple[Section, ...]
    report: Report[R]
    window: FixedContextWindow
    limits: RunLimits
    answer_tokens: int | None = None
    turns: int = MAX_TURNS
    opening: Opening | None = None

    def sentence(self, template: str, **more: object) -> str:
        """A sentence for the model, with the name of its report tool in it."""
        return template.format(name=self.report.spec.name, **more)


async def investigate(investigation: Investigation[R], model: Model, caller: CallRunner) -> R | GaveUp:
    """Let the model investigate until it reports. Raises ModelFailed and BudgetExhausted."""
    thread = NEW_THREAD if investigation.opening is None else investigation.opening.thread
    sees = (await model.capabilities()).images
    conversation = Conversation(investigation.window, thread, sees=sees)
    loop_state = _State(conversation, investigation.sentence(_HAND_OVER))
    if thread.open:
        loop_state.conversation.tell(_REVISE)
    for left in range(investigation.turns, 0, -1):
        loop_state.final = left == 1
        if left in _TURNS_ANNOUNCED and left < investigation.turns // 2:
            loop_state.conversation.tell(investigation.sentence(_TURNS_LEFT, left=left))
        last = loop_state.final or loop_state.calls >= investigation.limits.limit
        turn = await _ask(investigation, model, loop_state, last=last)
        if turn.refused:
            raise ModelFailed("model_refused", "The model refused to go on.", raw_text=turn.text or None)
        end = await _decide(investigation, caller, loop_state, turn, last=last)
        if isinstance(end, GaveUp):
            return end._replace(text=loop_state.last_text)
        if end is not None:
            if investigation.opening is not None:
                investigation.opening.keep(loop_state.conversation.thread)
            return end
    reason = f"There was no {investigation.report.spec.name} after {investigation.turns} turns of the model."
    return GaveUp(reason=reason, text=loop_state.last_text)


class _State(LoopState):
    def __init__(self, conversation: Conversation, hand_over: str) -> None:
        super().__init__(conversation, hand_over)
        self.reminded = False
        self.corrected = 0
        self.final = False
        self.last_text = ""


async def _ask(investigation: Investigation[R], model: Model, loop_state: _State, *, last: bool) -> Turn:
    limits = investigation.limits._replace(tools=Registry(())) if last else investigation.limits
    limits.allow()

    def brief() -> Brief:
        summary = "\n".join(investigation.window.summary)
        earlier = Section("EARLIER RESULTS", fenced(summary) if summary else "")
        sections = tuple(each for each in (*investigation.question, earlier) if each.text)
        instructions = investigation.sentence(_NOW if last else _READY)
        rules = how_to_work("" if investigation.opening is None else investigation.opening.rules)
        return Brief(investigation.system, sections, instructions, rules)

    opening = None if last else investigation.opening
    return await ask_model(
        limits,
        model,
        loop_state.conversation,
        brief,
        investigation.report.controls() if opening is None else opening.controls,
        most_tokens=investigation.answer_tokens,
    )


async def _decide(
    investigation: Investigation[R], caller: CallRunner, loop_state: _State, turn: Turn, *, last: bool
) -> R | GaveUp | None:
    """Run the calls of a turn. Returns how the loop ends, None for another turn.

    A report counts beside any call. What reads is run beside it: the conversation of the steps begins with the results.
    """
    loop_state.last_text = turn.text or loop_state.last_text
    left = max(0, investigation.limits.limit - loop_state.calls)
    if turn.report is not None:
        tools = investigation.limits.tools
        reads = [each for each in turn.calls if (tool := tools.get(each.name)) and tool.effect == "read"]
        if reads and investigation.opening is not None and not last:
            await run_calls(
                investigation.limits, caller, loop_state, turn._replace(calls=tuple(reads[:left]))
            )
        loop_state.last_text = json.dumps(turn.report, ensure_ascii=False)
        return _usable(investigation, loop_state, investigation.report.read(turn.report))
    if turn.question is not None and investigation.report.from_question is not None:
        return investigation.report.from_question(turn.question, turn.options)
    gave_up = loop_state.malformed(turn)
    if gave_up is not None:
        return gave_up
    if turn.calls and not last and left:
        outcome = await run_calls(
            investigation.limits, caller, loop_state, turn._replace(calls=turn.calls[:left])
        )
        loop_state.reminded = False
        return outcome if isinstance(outcome, GaveUp) else None
    if turn.malformed:
        return None
    return _in_words(investigation, loop_state, turn)


def _usable(investigation: Investigation[R], loop_state: _State, read: R | str) -> R | GaveUp | None:
    """A report as it was read; one that cannot be used is sent back, until that has been done too often."""
    if not isinstance(read, str):
        return read
    name = investigation.report.spec.name
    if loop_state.corrected == investigation.report.corrections:
        times = "twice" if loop_state.corrected == 1 else f"{loop_state.corrected + 1} times"
        return GaveUp(reason=f"The model's {name} could not be used, {times}: {read}.")
    loop_state.corrected += 1
    loop_state.conversation.tell(investigation.sentence(_UNUSABLE, problem=read))
    return None


def _in_words(investigation: Investigation[R], loop_state: _State, turn: Turn) -> R | GaveUp | None:
    """Prose instead of a report: a report printed in it counts; else one reminder, then the prose itself counts."""
    found = None if turn.cut else investigation.report.find(turn.text)
    if found is not None:
        return _usable(investigation, loop_state, found)
    if not loop_state.reminded and not loop_state.final:
        loop_state.reminded = True
        claims = turn.task_completed is not None or turn.final_answer is not None
        said = _TOO_LONG if turn.cut else _TOO_EARLY if claims else _IN_WORDS
        loop_state.conversation.tell(investigation.sentence(said))
        return None
    read = investigation.report.from_words(turn.text)
    return read if read is not None else GaveUp(reason=f"The model gave no {investigation.report.spec.name}.")
