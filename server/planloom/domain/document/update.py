"""Brings the text of a document up to date with its plan, without touching what the user is changing in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from planloom.domain.document.difference import difference
from planloom.domain.document.reader import Place, Written, read_document
from planloom.domain.document.render import (
    MARKS,
    RESULT,
    STEPS,
    head_values,
    render,
    result_lines,
    result_text,
)
from planloom.domain.events.folding import updated
from planloom.domain.plans.graph import shown_statuses
from planloom.domain.plans.indexed_tuple import IndexedTuple
from planloom.domain.plans.plan import RUN_STATE, Plan, Step
from planloom.domain.text.lines import split_lines
from planloom.domain.text.merge import merge
from planloom.domain.text.positions import dominant_eol
from planloom.domain.values import StepId

_TOP: Final = re.compile(rf"\A(?:---\n.*?^---\n)?(.*?)^{STEPS}$", re.DOTALL | re.MULTILINE)
"""What stands between the values at the top of a document and its steps."""
_LINE_END: Final = re.compile(r"\r\n|\r")


class Update(NamedTuple):
    """The new text, and the plan that it shows, but for what the user has changed in it."""

    text: str
    shows: Plan


def up_to_date(text: str, shown: Plan, plan: Plan) -> Update:
    """The text of a document that shows `shown`, made to show `plan`.

    While the user has changes in it that the plan does not have, only signs, results and the top of the document are
    written, each in its place. The text then shows the steps of `shown` in the state of `plan`.
    """
    written = read_document(text)
    found = difference(shown.steps, written)
    if not (found.edits or found.troubles or written.troubles):
        return Update(with_top(render(plan, written.notes), text, shown), plan)
    return Update(
        _patched(text, written, shown, plan), updated(shown, steps=IndexedTuple(_stated(shown.steps, plan)))
    )


def as_found(plan: Plan, written: Written) -> Plan:
    """A plan with the results that a document found by the server says of it, which may be those of an earlier run."""
    said = {each.step_id: each.results for each in written.steps if each.results}
    steps = []
    for step in plan.steps:
        results = [each.text for each in said.get(step.step_id, ())]
        own = result_text(step)
        if step.result is not None and own is not None and results and own not in results:
            earlier = step.result.model_copy(update={"summary": results[0].removeprefix(RESULT)})
            steps.append(step.model_copy(update={"result": earlier}))
        else:
            steps.append(step)
    return updated(plan, steps=IndexedTuple(steps))


def with_top(new: str, text: str, shown: Plan) -> str:
    """The new text of a document, with what the user has changed above the steps in `text`, which shows `shown`, and
    with the line ends of `text`.
    """
    eol = dominant_eol(text) or "\n"
    return _with_top(new, _LINE_END.sub("\n", text), shown).replace("\n", eol)


def _with_top(new: str, text: str, shown: Plan) -> str:
    theirs, mine, base = _TOP.search(new), _TOP.search(text), _TOP.search(render(shown))
    if theirs is None or mine is None or base is None or mine[1] == base[1]:
        return new
    merged = merge(base[1], mine[1], theirs[1])
    kept = merged.text if merged.kind == "merged" else mine[1]
    return new[: theirs.start(1)] + kept + new[theirs.end(1) :]


def _stated(steps: Sequence[Step], plan: Plan) -> list[Step]:
    """The steps as their author wrote them, in the state that they have in the plan."""
    found = []
    for step in steps:
        now = plan.step(step.step_id)
        state = {} if now is None else {name: getattr(now, name) for name in RUN_STATE}
        found.append(step.model_copy(update=state))
    return found


def _patched(text: str, written: Written, shown: Plan, plan: Plan) -> str:
    eol = dominant_eol(text) or "\n"
    lines = split_lines(text)
    before, marks = _marks(shown), _marks(plan)
    for name, value in head_values(plan).items():
        if place := written.head_places.get(name):
            lines[place.line] = _put(lines[place.line], place, value)
    for each in reversed(written.steps):
        step = None if each.step_id is None else plan.step(StepId(each.step_id))
        if step is None:
            continue
        first = each.places[""].line
        known = shown.step(step.step_id)
        # An editor may tell late of an edit, so that the text has the newer result already.
        own = (result_text(step), None if known is None else result_text(known))
        servers = {found.place.line for found in each.results if found.text in own}
        body = [lines[number] for number in range(first, each.last + 1) if number not in servers]
        results = [f"{line}{eol}" for line in result_lines(step)]
        if results and not body[-1].endswith(("\n", "\r")):
            body[-1] += eol
        lines[first : each.last + 1] = [*body, *results]
        place = each.places.get("mark")
        # A sign that the user has changed is theirs.
        if place is not None and each.mark == before.get(step.step_id, " "):
            lines[first] = _put(lines[first], place, marks[step.step_id])
    return "".join(lines)


def _marks(plan: Plan) -> dict[StepId, str]:
    """The sign in the box of each step."""
    statuses = zip(plan.steps, shown_statuses(plan), strict=True)
    return {step.step_id: MARKS.get(status, " ") for step, status in statuses}


def _put(line: str, place: Place, text: str) -> str:
    return line[: place.start] + text + line[place.end :]
