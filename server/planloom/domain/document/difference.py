"""Tells what the user has changed in a document, as edits of the plan that it shows."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, get_args

from planloom.domain.document.fields import FIELDS
from planloom.domain.document.reader import Trouble, Written, WrittenStep, authored, values_of
from planloom.domain.document.render import MARKS, RESULT, asking, marks, result_text
from planloom.domain.document.top import STEPS, Place, Top, head_values, top_of
from planloom.domain.plans.editing import (
    AddStep,
    Clearable,
    MoveStep,
    PlanWords,
    RemoveStep,
    SkipStep,
    StepChanges,
    StepEdit,
    UnskipStep,
    UpdateStep,
)
from planloom.domain.plans.plan import Plan, Step
from planloom.domain.plans.validation import Problem
from planloom.domain.values import StepId

_CLEARABLE: Final = frozenset(get_args(Clearable))
_NAMES: Final[Mapping[str, str]] = {
    "dependsOn": "after",
    "args": "tool",
    "forEach": "for each",
    "repeatUntil": "repeat until",
    "repeatMost": "at most",
    "templateId": "template",
    "expectedFiles": "files",
    "checks": "check",
    "attachments": "attached",
    "description": "",
    "stepId": "id",
    "status": "mark",
}
"""The names of a document for fields of the wire, where they differ."""
_BY_ATTRIBUTE: Final = {field.attribute: name for name, field in FIELDS.items()}
NO_REQUEST: Final = "What the plan is for is missing: a line “# …” above the steps."
TWO_REQUESTS: Final = "The quotation below begins with another line: which of them is the request?"


class Difference(NamedTuple):
    """The edits that make the plan into what the document says, and the `words` that its request or summary get.

    `edit_places` has for each edit the places of what is changed, `word_places` those of the words. `ids` are those of
    the written steps, in their order; a new step gets one here. `troubles` are signs, results and values that only the
    server may write, a kind that contradicts the tool or template, and a request that is missing or ambiguous.
    """

    edits: tuple[StepEdit, ...]
    ids: tuple[StepId, ...]
    troubles: tuple[Trouble, ...]
    words: PlanWords = PlanWords()
    edit_places: tuple[tuple[Place, ...], ...] = ()
    word_places: tuple[Place, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether the document says anything else than the plan."""
        return bool(self.edits or self.words)


def difference(
    shown: Plan | None, written: Written, earlier: Collection[str] = (), reserved: Collection[StepId] = ()
) -> Difference:
    """The changes that a document makes to the plan that it shows, or to a new plan if it shows none.

    `earlier` is what the server has written into it before (`signs_of`), which an undo of the editor may bring back.
    `reserved` are ids that no new step may get.
    """
    steps = () if shown is None else shown.steps
    known = {step.step_id: step for step in steps}
    ids = _ids({*known, *reserved}, written.steps)
    edits: list[tuple[StepEdit, tuple[Place, ...]]] = []
    left = set(ids)
    edits += (
        (RemoveStep(step_id=each), (_place_of_gone(number, [*known], written, ids),))
        for number, each in enumerate(known)
        if each not in left
    )
    own = frozenset() if shown is None else signs_of(shown)
    troubles = [
        each
        for each in (*_typed_values(shown, written), *_typed_results(written))
        if each.sign not in own and each.sign not in earlier
    ]
    contradictions: list[Trouble] = []
    # Dependencies are set when all steps are there, in their places.
    later: list[tuple[StepEdit, tuple[Place, ...]]] = []
    stay = _longest_in_order([each for each in known if each in left], ids)
    above: StepId | None = None
    for step_id, each in zip(ids, written.steps, strict=True):
        step = known.get(step_id)
        here = (each.places[""],)
        if step is None:
            edits.append((_added(step_id, above, each), here))
            if depends_on := each.values.get("depends_on"):
                change = UpdateStep(step_id=step_id, set=StepChanges(depends_on=depends_on))
                later.append((change, (each.places["after"],)))
            if each.mark == MARKS["skipped"]:
                later.append((SkipStep(step_id=step_id), here))
        else:
            if step_id not in stay:
                edits.append((MoveStep(step_id=step_id, after=above), here))
            later += _changed(step, each, written.lines)
            later += _marked(step, each)
        if typed := _typed_sign(step, each):
            troubles += [typed] if typed.sign not in own and typed.sign not in earlier else []
        if (contradiction := _contradiction(step, each)) is not None:
            contradictions.append(contradiction)
        above = step_id
    words, word_places, wrong = _words(None if shown is None else top_of(shown), written)
    every = (*edits, *later)
    return Difference(
        tuple(edit for edit, _ in every),
        ids,
        (*(Trouble(each.place, each.text, each.instead) for each in troubles), *contradictions, *wrong),
        words,
        tuple(places for _, places in every),
        word_places,
    )


def signs_of(plan: Plan) -> frozenset[str]:
    """All that the server alone writes into the document of a plan: values, signs, results and lines for answers."""
    found = {sign_of("", name, value) for name, value in head_values(plan).items()}
    found |= {sign_of(step_id, "mark", mark) for step_id, mark in marks(plan).items()}
    for step in plan.steps:
        if said := result_text(step):
            found.add(sign_of(step.step_id, "result", said))
    found |= {sign_of(step_id, "answer", "") for step_id in asking(plan)}
    return frozenset(found)


def written_signs(written: Written) -> frozenset[str]:
    """Like `signs_of`, of a document that an earlier server has written. A step that `-` skips is the user's."""
    found = {sign_of("", name, value) for name, value in written.head.items()}
    for each in written.steps:
        step_id = each.step_id or ""
        found.add(sign_of(step_id, "mark", each.mark))
        found |= {sign_of(step_id, "result", result.text) for result in each.results}
    return frozenset(found)


def refusals(
    problems: Sequence[Problem], written: Written, found: Difference
) -> Iterator[tuple[Problem, Place]]:
    """The problems of a plan that a document would make, each with its places in the document.

    A plan or step that cannot be changed refuses each change of it where it stands. Any other problem lies in its
    field, else in its step, else in the first line.
    """
    for problem in problems:
        places: Sequence[Place] = ()
        if problem.field == "status" or problem.step_id not in found.ids:
            changed = zip(found.edits, found.edit_places, strict=True)
            places = [
                place
                for edit, of_edit in changed
                if problem.step_id in (None, edit.step_id)
                for place in of_edit
            ]
            places = [*(found.word_places if problem.step_id is None else ()), *places]
        for place in dict.fromkeys(places or [place_of(problem, written, found.ids)]):
            yield problem, place


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


def _ids(known: Collection[StepId], written: Sequence[WrittenStep]) -> tuple[StepId, ...]:
    """The ids of the written steps; new ones for those that have none."""
    taken = {*known, *(step.step_id for step in written)}
    fresh = (
        StepId(name) for number in itertools.count(len(known) + 1) if (name := f"step_{number}") not in taken
    )
    return tuple(StepId(step.step_id) if step.step_id is not None else next(fresh) for step in written)


def _place_of_gone(number: int, known: Sequence[StepId], written: Written, ids: Sequence[StepId]) -> Place:
    """Where a step that is known with this number is missing: at another id in its place, else at the step above."""
    left = set(ids)
    above = next((step_id for step_id in reversed(known[:number]) if step_id in left), None)
    at = -1 if above is None else ids.index(above)
    below = written.steps[at + 1] if at + 1 < len(ids) else None
    if below is not None and below.step_id is not None and ids[at + 1] not in known:
        return below.places["id"]
    return written.steps[at].places[""] if at >= 0 else Place(written.steps_line or 0, 0, len(STEPS))


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


def _changed(
    step: Step, written: WrittenStep, lines: Sequence[str]
) -> Iterator[tuple[StepEdit, tuple[Place, ...]]]:
    said, own = values_of(written), authored(step)
    news: dict[str, Any] = {name: said[name] for name, value in own.items() if said[name] != value}
    if not news:
        return
    cleared = tuple(name for name, value in news.items() if value is None and name in _CLEARABLE)
    values = {name: value for name, value in news.items() if value is not None}
    places = dict.fromkeys(_place_of_value(written, name, own, lines) for name in news)
    change = StepChanges.model_validate({**values, "cleared": cleared})
    yield UpdateStep(step_id=step.step_id, set=change), tuple(places)


def _place_of_value(written: WrittenStep, name: str, own: Mapping[str, Any], lines: Sequence[str]) -> Place:
    """Where a value stands: of arguments the first that is another, of a value left out the step."""
    if name == "args":
        said, known = written.values.get("args") or {}, own["args"] or {}
        for argument, value in said.items():
            place = written.places.get(f"args.{argument}")
            if place is not None and (argument not in known or known[argument] != value):
                return _first_change(place, known.get(argument), value, lines)
        if "arguments" not in written.places:
            name = "tool"
    place = written.places.get(_BY_ATTRIBUTE.get(name, name))
    if place is None:
        return written.places[""]
    return _first_change(place, own[name], written.values.get(name), lines)


def _first_change(place: Place, before: Any, after: Any, lines: Sequence[str]) -> Place:
    """The first line of a text that is not as it was; its `place` is that of its first line, or before its block."""
    if not isinstance(before, str) or not isinstance(after, str) or "\n" not in after:
        return place
    old, new = before.split("\n"), after.split("\n")
    same = next((number for number, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), None)
    same = min(len(old), len(new) - 1) if same is None else same
    same = next((number for number in range(same, len(new)) if new[number].strip()), same)
    number = place.line + same + (2 if place.start == place.end else 0)
    return (
        Place(number, min(place.start, len(lines[number])), len(lines[number]))
        if number < len(lines)
        else place
    )


def _contradiction(step: Step | None, written: WrittenStep) -> Trouble | None:
    """A typed kind that would take away the tool that is written too, or leave the template without effect."""
    kind = written.values["kind"]
    if "kind" not in written.places or (step is not None and kind == step.kind):
        return None
    if written.values.get("tool"):
        is_wrong = step is not None and kind != "tool_call"
        said, instead = "A step that calls a tool is a tool call.", "tool call"
    else:
        is_wrong = bool(written.values.get("template_id")) and kind != "sub_plan"
        said, instead = "A step that stands for a template is a sub plan.", "sub plan"
    return Trouble(written.places["kind"], said, instead) if is_wrong else None


def _marked(step: Step, written: WrittenStep) -> Iterator[tuple[StepEdit, tuple[Place, ...]]]:
    """The edit for the sign in the box: `-` skips a step that has not begun, a blank takes that back."""
    place = written.places.get("mark", written.places[""])
    if step.status == "pending" and written.mark == MARKS["skipped"]:
        yield SkipStep(step_id=step.step_id), (place,)
    if step.status == "skipped" and written.mark == " ":
        yield UnskipStep(step_id=step.step_id), (place,)


class _Typed(NamedTuple):
    """Something that only the server writes. `sign` is what it says there, as `signs_of` has it."""

    sign: str
    place: Place
    text: str
    instead: str | None


def sign_of(step_id: str, name: str, value: str) -> str:
    """The entry of one value, sign or result in `signs_of`."""
    return f"{step_id} {name} {value}"


def _typed_values(shown: Plan | None, written: Written) -> Iterator[_Typed]:
    own = {} if shown is None else head_values(shown)
    for name, value in own.items():
        if name in written.head:
            said = f"Planloom writes this value, which is {value}."
            yield _Typed(sign_of("", name, written.head[name]), written.head_places[name], said, value)


def _typed_sign(step: Step | None, written: WrittenStep) -> _Typed | None:
    """The sign of a step that has begun, or one that says that it has."""
    place = written.places.get("mark")
    status = "pending" if step is None else step.status
    free = {"pending": (" ", MARKS["skipped"]), "skipped": (" ",)}.get(status, ())
    if place is None or written.mark in free:
        return None
    said = "Planloom sets this sign, as the step runs. “-” skips the step."
    return _Typed(sign_of(written.step_id or "", "mark", written.mark), place, said, MARKS.get(status, " "))


def _typed_results(written: Written) -> Iterator[_Typed]:
    said = "Planloom writes this line, when the step has ended. “\\→” makes it text."
    for step in written.steps:
        for each in step.results:
            sign = sign_of(step.step_id or "", "result", each.text)
            yield _Typed(sign, each.place, said, "\\" + RESULT.rstrip())


def _words(base: Top | None, written: Written) -> tuple[PlanWords, tuple[Place, ...], list[Trouble]]:
    """The new words of a plan with their places, and what is wrong in them."""
    said = written.top
    if written.steps_line is None or (base is not None and said.says(base)):
        return PlanWords(), (), []
    first = Place(written.steps_line, 0, len(STEPS))
    if not said.request:
        return PlanWords(), (), [Trouble(said.places.get("title", first), NO_REQUEST)]
    summary = said.summary if base is None or said.summary != base.summary else None
    summary_at: tuple[Place, ...] = () if summary is None else (said.places.get("summary", first),)
    if base is not None and summary:
        summary_at = (_first_change(summary_at[0], base.summary, summary, written.lines),)
    if base is not None and (said.title, said.request) == (base.title, base.request):
        return PlanWords(summary=summary), summary_at, []
    request, at = said.request, said.places["title"]
    if base is not None and said.quoted and said.title != said.quoted.partition("\n")[0].strip():
        if said.quoted == base.quoted:
            request = "\n".join((said.title, *said.quoted.split("\n")[1:]))
        elif said.title == base.title:
            at = _first_change(said.places["request"], base.quoted, said.quoted, written.lines)
        else:
            return PlanWords(), (), [Trouble(at, TWO_REQUESTS)]
    elif base is not None and said.title == base.title:
        at = _first_change(said.places.get("request", at), base.request, request, written.lines)
    return PlanWords(request=request, summary=summary), (at, *summary_at), []


def _longest_in_order(old: Sequence[StepId], new: Sequence[StepId]) -> set[StepId]:
    """The largest set of steps whose order has not changed, so that all others are moved."""
    place = {step_id: index for index, step_id in enumerate(old)}
    if [*old] == [each for each in new if each in place]:
        return set(old)
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
