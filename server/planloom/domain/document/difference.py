"""Tells what the user has changed in a document, as edits of the plan that it shows."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, get_args

from planloom.domain.document.fields import FIELDS
from planloom.domain.document.reader import Place, Trouble, Written, WrittenStep, key_of, values_of
from planloom.domain.document.render import MARKS, RESULT, result_text
from planloom.domain.plans.editing import (
    AddStep,
    Clearable,
    MoveStep,
    RemoveStep,
    SkipStep,
    StepChanges,
    StepEdit,
    UnskipStep,
    UpdateStep,
)
from planloom.domain.plans.plan import Step
from planloom.domain.plans.validation import Problem
from planloom.domain.values import StepId

_ATTRIBUTES: Final = ("description", *(field.attribute for field in FIELDS.values()))
_CLEARABLE: Final = frozenset(get_args(Clearable))
_NAMES: Final[Mapping[str, str]] = {
    "dependsOn": "after",
    "args": "tool",
    "forEach": "for each",
    "expectedFiles": "files",
    "checks": "check",
    "attachments": "attached",
    "description": "",
    "stepId": "id",
    "status": "mark",
}
"""The names of a document for fields of the wire, where they differ."""


class Difference(NamedTuple):
    """The edits that make the plan into what the document says. `ids` are those of the written steps, in their order;
    a new step gets one here. `troubles` are signs and results that only the server may write.
    """

    edits: tuple[StepEdit, ...]
    ids: tuple[StepId, ...]
    troubles: tuple[Trouble, ...]


def difference(steps: Sequence[Step], written: Written) -> Difference:
    """What a document says of a plan with these steps."""
    known = {step.step_id: step for step in steps}
    ids = _ids(known, written.steps)
    edits: list[StepEdit] = [RemoveStep(step_id=each) for each in known if each not in ids]
    troubles: list[Trouble] = []
    # Dependencies are set when all steps are there, in their places.
    later: list[StepEdit] = []
    stay = _longest_in_order([each for each in known if each in ids], ids)
    above: StepId | None = None
    for step_id, each in zip(ids, written.steps, strict=True):
        step = known.get(step_id)
        troubles += _typed_results(step, each)
        if step is None:
            edits.append(_added(step_id, above, each))
            if depends_on := each.values.get("depends_on"):
                later.append(UpdateStep(step_id=step_id, set=StepChanges(depends_on=depends_on)))
        else:
            if step_id not in stay:
                edits.append(MoveStep(step_id=step_id, after=above))
            later += _changed(step, each)
            later += _marked(step, each, troubles)
        above = step_id
    return Difference((*edits, *later), ids, tuple(troubles))


def place_of(problem: Problem, written: Written, ids: Sequence[StepId]) -> Place:
    """Where in the document a problem of the plan lies: its field, else its step, else the first line."""
    for step_id, step in zip(ids, written.steps, strict=True):
        if step_id != problem.step_id:
            continue
        name = problem.field
        while True:
            found = step.places.get(_NAMES.get(name, name)) or step.places.get(name)
            if found is not None:
                return found
            name, dot, _ = name.rpartition(".")
            if not dot:
                return step.places[""]
    return Place(0, 0, 0)


def notes_by_id(written: Written, ids: Sequence[StepId]) -> dict[str, str]:
    """The notes of a document by the ids that its steps have got."""
    names = {key_of(step): step_id for step, step_id in zip(written.steps, ids, strict=True)}
    return {names.get(above, above): text for above, text in written.notes.items()}


def _ids(known: Mapping[StepId, Step], written: Sequence[WrittenStep]) -> tuple[StepId, ...]:
    """The ids of the written steps; new ones for those that have none."""
    taken = {*known, *(step.step_id for step in written)}
    fresh = (
        StepId(name) for number in itertools.count(len(known) + 1) if (name := f"step_{number}") not in taken
    )
    return tuple(StepId(step.step_id) if step.step_id is not None else next(fresh) for step in written)


def _added(step_id: StepId, above: StepId | None, written: WrittenStep) -> AddStep:
    values = {
        name: value for name, value in written.values.items() if name != "depends_on" and value is not None
    }
    return AddStep(
        place="first" if above is None else "after",
        after=above,
        step_id=step_id,
        step=StepChanges.model_validate(values),
    )


def _changed(step: Step, written: WrittenStep) -> list[StepEdit]:
    said = values_of(written)
    news: dict[str, Any] = {
        name: said[name] for name in _ATTRIBUTES if said[name] != _as_authored(step, name)
    }
    cleared = tuple(name for name, value in news.items() if value is None and name in _CLEARABLE)
    values = {name: value for name, value in news.items() if value is not None}
    if not values and not cleared:
        return []
    return [UpdateStep(step_id=step.step_id, set=StepChanges.model_validate({**values, "cleared": cleared}))]


def _as_authored(step: Step, name: str) -> Any:
    if name == "checks":
        return tuple(check.model_copy(update={"outcome": None, "detail": None}) for check in step.checks)
    return getattr(step, name)


def _marked(step: Step, written: WrittenStep, troubles: list[Trouble]) -> list[StepEdit]:
    """What the sign in the box says: `-` skips a step that has not begun, a blank takes that back."""
    if step.status == "pending" and written.mark == MARKS["skipped"]:
        return [SkipStep(step_id=step.step_id)]
    if step.status == "skipped" and written.mark == " ":
        return [UnskipStep(step_id=step.step_id)]
    if step.status == "pending" and written.mark != " ":
        place = written.places.get("mark", written.places[""])
        troubles.append(Trouble(place, "Planloom sets this sign, as the step runs. “-” skips the step.", " "))
    return []


def _typed_results(step: Step | None, written: WrittenStep) -> list[Trouble]:
    """The results that are none of the step's: they would be lost when the step is written anew."""
    own = None if step is None else result_text(step)
    said = "Planloom writes this line, when the step has ended. “\\→” makes it text."
    sign = RESULT.rstrip()
    return [Trouble(each.place, said, "\\" + sign) for each in written.results if each.text != own]


def _longest_in_order(old: Sequence[StepId], new: Sequence[StepId]) -> set[StepId]:
    """The largest set of steps whose order has not changed, so that all others are moved."""
    place = {step_id: index for index, step_id in enumerate(old)}
    tails: list[int] = []
    chains: list[list[StepId]] = []
    for step_id in new:
        if step_id not in place:
            continue
        at = bisect.bisect_left(tails, place[step_id])
        chain = [*(chains[at - 1] if at else ()), step_id]
        tails[at : at + 1] = [place[step_id]]
        chains[at : at + 1] = [chain]
    return set(chains[-1]) if chains else set()
