"""The feedback in a document: notes that begin with `Feedback:`, below the step that they are about.

They stay where they are until the plan is made again with them; then they become quotations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from planloom.domain.document.answers import paragraphs
from planloom.domain.document.reader import Written, read_document
from planloom.domain.document.top import STEPS
from planloom.domain.plans.plan import Plan
from planloom.domain.text.lines import split_lines
from planloom.domain.values import StepId

_BEGIN: Final = re.compile(r"Feedback:[ \t]*", re.IGNORECASE)


class Feedback(NamedTuple):
    """The change that the user wants; `step_id` is None for the whole plan."""

    step_id: StepId | None
    text: str


def feedback_in(written: Written) -> tuple[Feedback, ...]:
    """The feedback below the steps and above the first, in its order; each ends at a blank line."""
    found = []
    for step_id, lines in _found(written):
        text = _BEGIN.sub("", "\n".join(written.lines[line] for line in lines), count=1).strip()
        if text:
            found.append(Feedback(step_id, text))
    return tuple(found)


def as_request(plan: Plan, found: tuple[Feedback, ...]) -> str | None:
    """The feedback for a planner, which names each step; None if there is none."""
    lines = []
    for each in found:
        step = None if each.step_id is None else plan.step(each.step_id)
        about = "" if step is None else f"{step.step_id} ({step.description}): "
        lines.append(f"{about}{each.text}")
    return "\n".join(lines) or None


def taken(text: str) -> str:
    """A document with its feedback as quotations, which are read no more."""
    written, lines = read_document(text), split_lines(text)
    for _, found in _found(written):
        for line in found:
            lines[line] = f"> {lines[line]}"
    return "".join(lines)


def _found(written: Written) -> Iterator[tuple[StepId | None, range]]:
    """The step and the lines of each piece of feedback."""
    heading = next((number for number, line in enumerate(written.lines) if line.rstrip() == STEPS), None)
    if heading is None:
        return
    above: StepId | None = None
    first = heading + 1
    for step in (*written.steps, None):
        end = len(written.lines) if step is None else step.places[""].line
        for lines in paragraphs(written.lines, range(first, end), _BEGIN):
            yield above, lines
        if step is not None:
            above, first = StepId(step.step_id) if step.step_id else None, step.last + 1
