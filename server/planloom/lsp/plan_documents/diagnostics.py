"""The diagnostics of a plan's document, as the editor gets them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from planloom.domain.document.difference import Difference, refusals
from planloom.domain.document.reader import NEAR, Trouble, Written
from planloom.domain.document.top import Place
from planloom.domain.plans.validation import Problem
from planloom.domain.text.positions import Encoding, LineIndex
from planloom.domain.values import StepId
from planloom.tools.registry import builtin
from planloom.workspace.documents import Document

_ERROR, _INFORMATION = 1, 3
"""LSP's severities."""


def diagnostics(
    document: Document, encoding: Encoding, written: Written, troubles: Sequence[Trouble], said: str | None
) -> dict[str, Any]:
    """The params that show troubles at their places, and on the title what is `said` of the whole document."""
    index = LineIndex(document.text)
    found = [_diagnostic(index, encoding, each, _ERROR) for each in troubles]
    if said is not None:
        title = Place(written.title_line, 0, len(index.line_text(written.title_line)))
        found.append(_diagnostic(index, encoding, Trouble(title, said), _INFORMATION))
    return {"uri": document.client_uri, "version": document.version, "diagnostics": found}


def refused(problems: Sequence[Problem], written: Written, found: Difference) -> Iterator[Trouble]:
    """The problems of the plan that a document would make, as troubles of the document."""
    for problem, place in refusals(problems, written, found):
        yield Trouble(place, problem.sentence, _near_tool(problem, written, found.ids))


def _near_tool(problem: Problem, written: Written, ids: Sequence[StepId]) -> str | None:
    """The tool whose name is near the one that the problem is about."""
    said = dict(zip(ids, (str(each.values.get("tool")) for each in written.steps), strict=True))
    if problem.field != "tool" or problem.step_id is None or problem.step_id not in said:
        return None
    return next(iter(difflib.get_close_matches(said[problem.step_id], builtin().names(), 1, NEAR)), None)


def _diagnostic(index: LineIndex, encoding: Encoding, trouble: Trouble, severity: int) -> dict[str, Any]:
    start = index.line_start(trouble.place.line)
    ends = {"start": start + trouble.place.start, "end": start + trouble.place.end}
    places = {name: index.position(offset, encoding) for name, offset in ends.items()}
    return {
        "range": {name: {"line": each.line, "character": each.character} for name, each in places.items()},
        "severity": severity,
        "source": "planloom",
        "message": trouble.text,
        **({} if trouble.instead is None else {"data": {"instead": trouble.instead}}),
    }
