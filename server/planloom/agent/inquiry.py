"""The loop in which a model looks into something with tools that read, and ends with a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from planloom.agent.answer import Turn
from planloom.agent.prompts import tool_results
from planloom.agent.turns import Memory, run_calls, take_turn
from planloom.agent.work import Caller, Stuck, Terms
from planloom.domain.values import Args
from planloom.models.port import Model, ToolSpec
from planloom.tools.registry import Registry

MAX_TURNS = 10
"""Turns of one inquiry; in the last of them no tool is offered but the report."""
_READY = "Look up what you still need with the tools; once you know enough, call report."
_NOW = "Call report now, with what you know. No other tool can be called any more."
_TOO_LONG = "Your answer was cut at its length limit. Call report, shorter."
_IN_WORDS = "You answered in words. Call report, with every field that you can fill."

R = TypeVar("R")


class Report(NamedTuple, Generic[R]):
    """What an inquiry is to end in.

    `read` takes the arguments of a report, and says what is wrong where they are no report. `find` looks for
    a report printed in a text; `from_words` takes an answer in words for one. None where there is none.
    """

    spec: ToolSpec
    read: Callable[[Args], R | str]
    find: Callable[[str], R | None]
    from_words: Callable[[str], R | None]


class Inquiry(NamedTuple, Generic[R]):
    """One question. `system` never changes between questions of a kind; `question` is this one's own.

    An answer of more than `answer_tokens` is cut.
    """

    system: str
    question: str
    report: Report[R]
    terms: Terms
    answer_tokens: int


async def inquire(inquiry: Inquiry[R], model: Model, caller: Caller) -> R | Stuck:
    """Let the model look around until it reports. Raises ModelFailed and BudgetExhausted."""
    memory = _Memory()
    for number in range(1, MAX_TURNS + 1):
        last = number == MAX_TURNS or memory.calls >= inquiry.terms.limit
        turn = await _ask(inquiry, model, memory, last=last)
        memory.final = number == MAX_TURNS
        end = await _react(inquiry, caller, memory, turn, last=last)
        if end is not None:
            return end
    return Stuck(reason=f"There was no report after {MAX_TURNS} turns of the model.")


class _Memory(Memory):
    def __init__(self) -> None:
        super().__init__()
        self.reminded = False
        self.corrected = False
        self.final = False


async def _ask(inquiry: Inquiry[R], model: Model, memory: _Memory, *, last: bool) -> Turn:
    terms = inquiry.terms._replace(tools=Registry(())) if last else inquiry.terms
    terms.allow()
    memory.results = list(await terms.room.fit(memory.results))
    notes = "\n".join([*memory.notes, _NOW if last else _READY])
    memory.notes = []
    sections = [inquiry.question]
    if memory.results:
        sections.append(tool_results(memory.results))
    sections.append(f"INSTRUCTIONS\n{notes}")
    prompt = "\n\n".join(sections)
    return await take_turn(
        terms, model, inquiry.system, prompt, (inquiry.report.spec,), most_tokens=inquiry.answer_tokens
    )


async def _react(
    inquiry: Inquiry[R], caller: Caller, memory: _Memory, turn: Turn, *, last: bool
) -> R | Stuck | None:
    """The end that a turn makes; None means another turn. A report counts, whatever was called beside it."""
    if turn.report is not None:
        return _reported(inquiry, memory, turn.report)
    stuck = memory.malformed(turn)
    if stuck is not None:
        return stuck
    left = max(0, inquiry.terms.limit - memory.calls)
    if turn.calls and not last and left:
        went = await run_calls(
            inquiry.terms, caller, memory, turn.model_copy(update={"calls": turn.calls[:left]})
        )
        return went if isinstance(went, Stuck) else None
    if turn.malformed:
        return None
    return _in_words(inquiry, memory, turn)


def _reported(inquiry: Inquiry[R], memory: _Memory, args: Args) -> R | Stuck | None:
    read = inquiry.report.read(args)
    if not isinstance(read, str):
        return read
    if memory.corrected:
        return Stuck(reason=f"The model's report could not be used, twice: {read}.")
    memory.corrected = True
    memory.notes.append(f"Your report cannot be used: {read}. Call report again.")
    return None


def _in_words(inquiry: Inquiry[R], memory: _Memory, turn: Turn) -> R | Stuck | None:
    """Words instead of a report: one that is printed in them counts; else one reminder, then the words do."""
    found = None if turn.cut else inquiry.report.find(turn.text)
    if found is not None:
        return found
    if not memory.reminded and not memory.final:
        memory.reminded = True
        memory.notes.append(_TOO_LONG if turn.cut else _IN_WORDS)
        return None
    read = inquiry.report.from_words(turn.text)
    return read if read is not None else Stuck(reason="The model gave no report.")
