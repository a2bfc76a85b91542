"""Brings the text of a document up to date with its plan, without touching what the user has written in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

from planloom.domain.document.answers import answered, with_answer_line
from planloom.domain.document.difference import Difference, difference, sign_of, signs_of
from planloom.domain.document.reader import Written, WrittenStep, authored, read_document, values_of
from planloom.domain.document.render import (
    answers_of,
    asking,
    marks,
    result_lines,
    result_text,
    step_lines,
)
from planloom.domain.document.top import Place, head_lines, head_values, top_lines, top_of
from planloom.domain.events.folding import updated
from planloom.domain.indexed_tuple import IndexedTuple
from planloom.domain.plans.editing import SkipStep, UnskipStep, UpdateStep
from planloom.domain.plans.plan import RUN_STATE, Plan, Step
from planloom.domain.text.lines import split_lines
from planloom.domain.text.positions import dominant_eol
from planloom.domain.values import StepId

_ENDS: Final = ("\n", "\r")


class Update(NamedTuple):
    """The new text, and the plan that it shows, but for what the user has changed in it."""

    text: str
    shows: Plan


def up_to_date(text: str, shown: Plan, plan: Plan, earlier: Collection[str] = ()) -> Update:
    """The text of a document that shows `shown`, made to show `plan`; `earlier` as in `difference`.

    What the plan says anew is written where the user has changed nothing: each value, sign and result, each step, the
    words above the steps. While the user has changed which steps there are, or their order, that stays as it is. A
    text that says what the plan says is left as it is written.
    """
    written = read_document(text)
    found = difference(shown, written, earlier)
    # An editor may report an edit late, so that the text has the newer signs already.
    servers = signs_of(shown) | signs_of(plan) | frozenset(earlier)
    users = _users(shown, written, found)
    new = _Text(text, written, found.ids, plan, servers).new(users)
    return Update(new, _shows(shown, plan, users))


def taken(text: str, ids: Sequence[StepId], plan: Plan, earlier: Collection[str] = ()) -> str:
    """The text of which all has become part of a plan; `ids` are those of its steps, in their order."""
    servers = signs_of(plan) | frozenset(earlier)
    return _Text(text, read_document(text), ids, plan, servers).new(_Users())


class _Users(NamedTuple):
    """Parts that the user has written and the plan lacks: steps that are changed, those whose sign is, new ones, the
    order of all, and the text above them.
    """

    steps: Collection[StepId] = ()
    signs: Collection[StepId] = ()
    new: Collection[StepId] = ()
    order: bool = False
    top: bool = False


def _users(shown: Plan, written: Written, found: Difference) -> _Users:
    wrong = {each.place.line for each in (*written.troubles, *found.troubles)}
    changed = {edit.step_id for edit in found.edits if isinstance(edit, UpdateStep)}
    steps_line = -1 if written.steps_line is None else written.steps_line
    top = bool(found.words) or steps_line < 0 or any(line <= steps_line for line in wrong)
    for step_id, each in zip(found.ids, written.steps, strict=True):
        lines = wrong.intersection(range(each.places[""].line, each.last + 1)) if wrong else ()
        if lines:
            changed.add(step_id)
            wrong -= {*lines}
    return _Users(
        changed,
        {edit.step_id for edit in found.edits if isinstance(edit, SkipStep | UnskipStep)},
        {step_id for step_id in found.ids if shown.step(step_id) is None},
        found.ids != tuple(step.step_id for step in shown.steps) or any(line > steps_line for line in wrong),
        top,
    )


def _shows(shown: Plan, plan: Plan, users: _Users) -> Plan:
    """The plan that the new text shows: as the plan is, but what is the user's as it was shown before."""
    steps = []
    for step in shown.steps if users.order else plan.steps:
        was, now = shown.step(step.step_id), plan.step(step.step_id)
        if now is None or (was is not None and step.step_id in users.steps):
            steps.append(step if was is None else _stated(was, now))
        else:
            steps.append(now)
    words = shown if users.top else plan
    return updated(plan, steps=IndexedTuple(steps), request=words.request, summary=words.summary)


def _stated(step: Step, now: Step | None) -> Step:
    """A step as its author wrote it, in the state that it has."""
    state = {} if now is None else {name: getattr(now, name) for name in RUN_STATE}
    return step.model_copy(update=state)


class _Text:
    """A text in its parts, put together anew for a plan. `servers` are the signs that the server may replace."""

    def __init__(
        self, text: str, written: Written, ids: Sequence[StepId], plan: Plan, servers: Collection[str]
    ) -> None:
        self.lines = split_lines(text)
        self.eol = dominant_eol(text) or "\n"
        self.written = written
        self.ids = ids
        self.plan = plan
        self.servers = servers
        self.asking = asking(plan)
        self.answers = answers_of(plan)
        self.marks = marks(plan)

    def new(self, users: _Users) -> str:
        """The text for the plan."""
        written = self.written
        starts = [each.places[""].line for each in written.steps]
        begin = len(self.lines) if written.steps_line is None else written.steps_line + 1
        above = [*self._above(begin, is_users=users.top), *self.lines[begin : [*starts, len(self.lines)][0]]]
        ends = [*starts, len(self.lines)][1:]
        bodies = {}
        tails: dict[StepId, Sequence[str]] = {}
        for step_id, each, end in zip(self.ids, written.steps, ends, strict=True):
            own = self.lines[each.places[""].line : each.last + 1]
            bodies[step_id] = own if step_id in users.new else self._body(step_id, each, users)
            tails[step_id] = self._below(step_id, self.lines[each.last + 1 : end])
        order = tuple(step.step_id for step in self.plan.steps)
        if users.order or order == tuple(self.ids):
            parts = [line for step_id in self.ids for line in (*bodies[step_id], *tails[step_id])]
            return self._joined([*above, *parts])
        return self._joined([*above, *self._arranged(above, order, bodies, tails)])

    def _arranged(
        self,
        above: Sequence[str],
        order: Sequence[StepId],
        bodies: dict[StepId, list[str]],
        tails: dict[StepId, Sequence[str]],
    ) -> Iterator[str]:
        """The steps in another order, each with what stands below it, then the notes of those that are gone."""
        if above and above[-1].strip():
            yield self.eol
        remaining = set(order)
        gone = [
            note for step_id in self.ids if step_id not in remaining and (note := _stripped(tails[step_id]))
        ]
        parts = []
        for step_id in order:
            step = self.plan.step(step_id)
            body = bodies.get(step_id)
            if body is None and step is not None:
                body = self._ended(step_lines(step, self.marks[step_id]))
            parts.append([*(body or ()), *_kept(tails.get(step_id) or self._below(step_id, ()))])
        for number, part in enumerate((*parts, *gone)):
            if number:
                yield self.eol
            yield from part

    def _above(self, begin: int, *, is_users: bool) -> Iterator[str]:
        """The values, the title, the request and the summary, with the heading of the steps."""
        written, plan = self.written, self.plan
        lines = self.lines[:begin]
        for name, value in head_values(plan).items():
            place = written.head_places.get(name)
            if place is not None and sign_of("", name, written.head[name]) in self.servers:
                lines[place.line] = _put(lines[place.line], place, value)
        own = written.head_end + 1
        values = lines[:own]
        if not is_users and own:
            missing = [
                f"{name}: {value}" for name, value in head_values(plan).items() if name not in written.head
            ]
            values[-1:-1] = self._ended(missing)
        if not is_users and not own:
            values = [*self._ended(head_lines(plan)), *([] if lines and not lines[0].strip() else [self.eol])]
        yield from values
        first = written.top.first
        if is_users or written.steps_line is None or written.top.says(top_of(plan)):
            yield from lines[own:]
            return
        yield from lines[own:first]
        yield from self._ended([*top_lines(plan), ""])
        yield lines[written.steps_line]

    def _body(self, step_id: StepId, each: WrittenStep, users: _Users) -> list[str]:
        """The lines of a step: its own where they say what the plan says or are the user's."""
        first = each.places[""].line
        step = self.plan.step(step_id)
        if step is None:
            return self.lines[first : each.last + 1]
        if step_id not in users.steps and values_of(each) != authored(step):
            return self._ended(step_lines(step, self.marks[step_id]))
        own = result_text(step)
        stays = next((found.place.line for found in each.results if found.text == own), None)
        gone = {
            found.place.line
            for found in each.results
            if found.place.line != stays and sign_of(each.step_id or "", "result", found.text) in self.servers
        }
        # A line in which something was typed may part a step from its end: no result is put between.
        is_parted = step_id in users.steps and self._is_parted(each)
        is_users = step_id in users.signs or (step_id in users.steps and "mark" not in each.places)
        head = self._first_line(self.lines[first], step_id, each, is_users=is_users)
        body = [self.lines[number] for number in range(first + 1, each.last + 1) if number not in gone]
        return [head, *body, *(self._ended(result_lines(step)) if stays is None and not is_parted else ())]

    def _is_parted(self, each: WrittenStep) -> bool:
        """Whether a line stands right below a step, or lines that are indented as its own among the notes."""
        starts = [other.places[""].line for other in self.written.steps]
        end = next((start for start in starts if start > each.last), len(self.lines))
        below = self.lines[each.last + 1 : end]
        return any(
            line.strip() and (not number or line.startswith("  ")) for number, line in enumerate(below)
        )

    def _below(self, step_id: StepId, tail: Sequence[str]) -> Sequence[str]:
        """The lines below a step, with one for the answer while it asks."""
        if step_id in self.asking:
            return with_answer_line(tail, self.eol)
        if sign_of(step_id, "answer", "") not in self.servers:
            return tail
        return answered(tail, self.answers.get(step_id), self.eol)

    def _first_line(self, line: str, step_id: StepId, each: WrittenStep, *, is_users: bool) -> str:
        """The first line of a step with its sign and id."""
        mark, place = self.marks[step_id], each.places.get("mark")
        is_servers = sign_of(each.step_id or "", "mark", each.mark) in self.servers
        if place is not None and (is_users or not is_servers):
            mark = each.mark
        if place is None and is_users:
            return line
        if place is None or each.step_id is None:
            text = line[each.places[""].start : each.places[""].end]
            return f"- [{mark}] {text} ^{step_id}{self.eol}"
        return _put(line, place, mark)

    def _ended(self, lines: Sequence[str] | Iterator[str]) -> list[str]:
        return [f"{line}{self.eol}" for line in lines]

    def _joined(self, lines: Sequence[str]) -> str:
        """The text of lines of which the last alone may have no end."""
        *before, last = lines or [""]
        return "".join([*(line if line.endswith(_ENDS) else line + self.eol for line in before), last])


def _kept(tail: Sequence[str]) -> list[str]:
    """The lines below a step, without the blank ones at their end."""
    last = max((number for number, line in enumerate(tail) if line.strip()), default=-1)
    return [*tail[: last + 1]]


def _stripped(tail: Sequence[str]) -> list[str]:
    kept = _kept(tail)
    first = next((number for number, line in enumerate(kept) if line.strip()), len(kept))
    return kept[first:]


def _put(line: str, place: Place, text: str) -> str:
    return line[: place.start] + text + line[place.end :]
