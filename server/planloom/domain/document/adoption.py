"""Reads a document that no ledger knows, as the request, the summary and the steps of a new plan."""

from __future__ import annotations

from typing import NamedTuple

from planloom.domain.document.difference import Difference, difference
from planloom.domain.document.reader import Place, Trouble, Written, read_document
from planloom.domain.document.render import MARKS, STEPS
from planloom.domain.plans.editing import SkipStep, StepEdit


class Adoption(NamedTuple):
    """What a document says of a new plan. `found` has the edits that make its steps out of none, `troubles` what keeps
    it from being one.
    """

    request: str
    summary: str
    written: Written
    found: Difference
    troubles: tuple[Trouble, ...]


def adoption(text: str) -> Adoption | None:
    """The plan that a document says; None for a text that has no steps and is no document of a plan."""
    written = read_document(text)
    lines = text.splitlines()
    steps_line = next((number for number, line in enumerate(lines) if line.rstrip() == STEPS), None)
    if not written.steps or steps_line is None:
        return None
    found = difference((), written)
    skips: tuple[StepEdit, ...] = tuple(
        SkipStep(step_id=step_id)
        for step_id, step in zip(found.ids, written.steps, strict=True)
        if step.mark == MARKS["skipped"]
    )
    request, summary = _top(lines[written.title_line : steps_line])
    # Results of an earlier run are dropped, so that those of `found` are no troubles.
    troubles = [*written.troubles]
    if not request:
        place = Place(steps_line, 0, len(STEPS))
        troubles.append(Trouble(place, "What the plan is for is missing: a line “# …” above the steps."))
    edits = (*found.edits, *skips)
    return Adoption(request, summary, written, found._replace(edits=edits, troubles=()), tuple(troubles))


def says_other(text: str, shown: str) -> bool:
    """Whether a document names another request or summary than the text of the server for the same plan."""
    return _top_of(text) != _top_of(shown)


def _top_of(text: str) -> tuple[str, str] | None:
    lines = text.splitlines()
    ends = [number for number, line in enumerate(lines) if line.rstrip() == STEPS]
    return _top(lines[read_document(text).title_line : ends[0]]) if ends else None


def _top(lines: list[str]) -> tuple[str, str]:
    """The request and the summary between the title, which is the first line, and the steps.

    A quotation right below the title is the whole request.
    """
    if not lines or not lines[0].startswith("# "):
        return "", ""
    title = lines[0][2:].strip()
    rest = "\n".join(lines[1:]).strip().split("\n")
    quoted = 0
    while quoted < len(rest) and rest[quoted].startswith(">"):
        quoted += 1
    request = "\n".join(line[1:].removeprefix(" ") for line in rest[:quoted]).strip()
    return request or title, "\n".join(rest[quoted:]).strip()
