"""The loop in which a model investigates a question with read-only tools and ends with a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from planloom.agent.answer import Turn
from planloom.agent.prompts import tool_results
from planloom.agent.task import CallRunner, GaveUp, RunLimits
from planloom.agent.turns import LoopState, ask_model, run_calls
from planloom.domain.values import Args
from planloom.models.port import Model, ToolSpec
from planloom.tools.registry import Registry

MAX_TURNS = 10
"""Turns of one investigation; the last one offers only the report tool."""
_READY = "Look up what you still need with the tools; once you know enough, call report."
_NOW = "Call report now, with what you know. No other tool can be called any more."
_TOO_LONG = "Your answer was cut at its length limit. Call report, shorter."
_IN_WORDS = "You answered in words. Call report, with every field that you can fill."

R = TypeVar("R")


class Report(NamedTuple, Generic[R]):
    """The kind of report that ends an investigation.

    `read` parses the tool's arguments into a report, or returns the problem as a phrase. `find` looks for a report
    printed in a text, `from_words` makes one out of prose; both return None if there is none.
    """

    spec: ToolSpec
    read: Callable[[Args], R | str]
    find: Callable[[str], R | None]
    from_words: Callable[[str], R | None]


class Investigation(NamedTuple, Generic[R]):
    """One question. `system` is the same for all questions of a kind, so that prefix caches hit.

    An answer is cut off after `answer_tokens`.
    """

    system: str
    question: str
    report: Report[R]
    limits: RunLimits
    answer_tokens: int


async def investigate(investigation: Investigation[R], model: Model, caller: CallRunner) -> R | GaveUp:
    """Let the model investigate until it reports. Raises ModelFailed and BudgetExhausted."""
    loop_state = _State()
    for number in range(1, MAX_TURNS + 1):
        last = number == MAX_TURNS or loop_state.calls >= investigation.limits.limit
        turn = await _ask(investigation, model, loop_state, last=last)
        loop_state.final = number == MAX_TURNS
        end = await _decide(investigation, caller, loop_state, turn, last=last)
        if end is not None:
            return end
    return GaveUp(reason=f"There was no report after {MAX_TURNS} turns of the model.")


class _State(LoopState):
    def __init__(self) -> None:
        super().__init__()
        self.reminded = False
        self.corrected = False
        self.final = False


async def _ask(investigation: Investigation[R], model: Model, loop_state: _State, *, last: bool) -> Turn:
    limits = investigation.limits._replace(tools=Registry(())) if last else investigation.limits
    limits.allow()
    loop_state.results = list(await limits.window.fit(loop_state.results))
    notes = "\n".join([*loop_state.notes, _NOW if last else _READY])
    loop_state.notes = []
    sections = [investigation.question]
    if loop_state.results:
        sections.append(tool_results(loop_state.results))
    sections.append(f"INSTRUCTIONS\n{notes}")
    prompt = "\n\n".join(sections)
    return await ask_model(
        limits,
        model,
        investigation.system,
        prompt,
        (investigation.report.spec,),
        most_tokens=investigation.answer_tokens,
    )


async def _decide(
    investigation: Investigation[R], caller: CallRunner, loop_state: _State, turn: Turn, *, last: bool
) -> R | GaveUp | None:
    """Run the calls of a turn. Returns how the loop ends, None for another turn. A report counts beside any call."""
    if turn.report is not None:
        return _read_report(investigation, loop_state, turn.report)
    gave_up = loop_state.malformed(turn)
    if gave_up is not None:
        return gave_up
    left = max(0, investigation.limits.limit - loop_state.calls)
    if turn.calls and not last and left:
        outcome = await run_calls(
            investigation.limits, caller, loop_state, turn.model_copy(update={"calls": turn.calls[:left]})
        )
        return outcome if isinstance(outcome, GaveUp) else None
    if turn.malformed:
        return None
    return _in_words(investigation, loop_state, turn)


def _read_report(investigation: Investigation[R], loop_state: _State, args: Args) -> R | GaveUp | None:
    read = investigation.report.read(args)
    if not isinstance(read, str):
        return read
    if loop_state.corrected:
        return GaveUp(reason=f"The model's report could not be used, twice: {read}.")
    loop_state.corrected = True
    loop_state.notes.append(f"Your report cannot be used: {read}. Call report again.")
    return None


def _in_words(investigation: Investigation[R], loop_state: _State, turn: Turn) -> R | GaveUp | None:
    """Prose instead of a report: a report printed in it counts; else one reminder, then the prose itself counts."""
    found = None if turn.cut else investigation.report.find(turn.text)
    if found is not None:
        return found
    if not loop_state.reminded and not loop_state.final:
        loop_state.reminded = True
        loop_state.notes.append(_TOO_LONG if turn.cut else _IN_WORDS)
        return None
    read = investigation.report.from_words(turn.text)
    return read if read is not None else GaveUp(reason="The model gave no report.")
