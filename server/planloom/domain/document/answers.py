"""The answers in a document: what stands behind `Answer:` below a step that asks.

The line is a note, so that nothing is done while it is typed. An answer that was given becomes a quotation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from planloom.domain.document.reader import Written, read_document
from planloom.domain.document.render import ANSWER_LINE, quotation
from planloom.domain.text.lines import split_lines
from planloom.domain.values import StepId

_BEGIN: Final = re.compile(rf"{ANSWER_LINE}[ \t]*", re.IGNORECASE)


def answers_in(written: Written) -> Mapping[StepId, str]:
    """The text behind `Answer:` below each step, up to the next blank line; no step where there is none."""
    found: dict[StepId, str] = {}
    for number, each in enumerate(written.steps):
        lines = _answer(written, number)
        text = "\n".join(written.lines[line] for line in lines)
        answer = _BEGIN.sub("", text, count=1).strip()
        if answer and each.step_id is not None:
            found[StepId(each.step_id)] = answer
    return found


def quoted(text: str, step_id: StepId) -> str:
    """The document with the answer below a step as a quotation, which is none any more."""
    written, lines = read_document(text), split_lines(text)
    for number, each in enumerate(written.steps):
        for line in _answer(written, number) if each.step_id == step_id else ():
            lines[line] = f"> {lines[line]}"
    return "".join(lines)


def with_answer_line(tail: Sequence[str], eol: str) -> list[str]:
    """The lines below a step that asks, with one for its answer."""
    if any(_BEGIN.match(line) for line in tail):
        return [*tail]
    return [eol, ANSWER_LINE + eol, *(tail if not tail or not tail[0].strip() else [eol, *tail])]


def answered(tail: Sequence[str], answer: str | None, eol: str) -> list[str]:
    """The lines below a step that asks nothing any more: a line of an answer in which nothing stands gets the answer as
    a quotation, or goes if there is none.
    """
    at = next((number for number, line in enumerate(tail) if line.rstrip() == ANSWER_LINE), None)
    if at is None or (at + 1 < len(tail) and tail[at + 1].strip()):
        return [*tail]
    above = tail[:at]
    if answer is not None:
        return [*above, *(line + eol for line in quotation(answer)), *tail[at + 1 :]]
    return [*(above[:-1] if above and not above[-1].strip() else above), *tail[at + 1 :]]


def paragraphs(lines: Sequence[str], among: range, begin: re.Pattern[str]) -> Iterator[range]:
    """Each run of lines that begins so and ends before a blank line."""
    line = among.start
    while line < among.stop:
        last = line + 1
        if begin.match(lines[line]):
            while last < among.stop and lines[last].strip():
                last += 1
            yield range(line, last)
        line = last


def _answer(written: Written, number: int) -> range:
    """The lines of the answer below a step."""
    first = written.steps[number].last + 1
    following = written.steps[number + 1 : number + 2]
    end = following[0].places[""].line if following else len(written.lines)
    return next(paragraphs(written.lines, range(first, end), _BEGIN), range(0))
