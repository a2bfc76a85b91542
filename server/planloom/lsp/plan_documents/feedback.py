"""The feedback in a plan's document: lines that begin with `Feedback:`, below the step that they are about.

They are notes, so that they stay where they are until the plan is made again with them; then they become quotations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from planloom.domain.document.reader import Written, read_document
from planloom.domain.plans.plan import Plan
from planloom.domain.values import StepId

_LINE: Final = re.compile(r"^Feedback:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE | re.IGNORECASE)


class Feedback(NamedTuple):
    """What the user wants changed; `step_id` is None for the whole plan."""

    step_id: StepId | None
    text: str


def feedback_in(written: Written) -> tuple[Feedback, ...]:
    """The feedback in a document, in its order."""
    return tuple(_found(written))


def _found(written: Written) -> Iterator[Feedback]:
    ids = {each.step_id for each in written.steps}
    for above, note in written.notes.items():
        for match in _LINE.finditer(note):
            yield Feedback(StepId(above) if above in ids else None, match[1])


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
    notes = "\n".join(read_document(text).notes.values()).split("\n")
    lines = {line for line in notes if _LINE.match(line)}
    return "".join(
        f"> {line}" if line.rstrip("\r\n") in lines else line for line in text.splitlines(keepends=True)
    )
