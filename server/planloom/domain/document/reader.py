"""Reads a document: its steps with the place of each part, its notes, and what is wrong in it.

Any text can be read. What is no part of a plan is a note, and what cannot be read is a trouble at its place.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

from planloom.domain.document.fields import (
    FIELDS,
    HOLD_ARGUMENTS,
    MARGINAL,
    NAME,
    Unreadable,
    unescaped,
)
from planloom.domain.document.render import RESULT
from planloom.domain.document.scalars import read
from planloom.domain.document.top import LINE_END, STEPS, Place, Top, read_top
from planloom.domain.patterns import pattern
from planloom.domain.plans.editing import implied_kind
from planloom.domain.plans.outputs import STEP_ID
from planloom.domain.plans.plan import Step
from planloom.domain.values import Args, Json

_ITEM: Final = pattern(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[(.)\][ \t]+)?(.*?)(?:[ \t]+\^([^ \t^]+))?[ \t]*")
_FIELD: Final = pattern(r"[-*+][ \t]+([A-Za-z][A-Za-z ]*?)[ \t]*:[ \t]*(.*)")
_ARGUMENT: Final = pattern(rf"[-*+][ \t]+({NAME.pattern})[ \t]*:[ \t]*(.*)")
_HEAD: Final = pattern(r"([a-z]+): *(.*)")
_HEADING_OF_STEPS: Final = pattern(r"#+.*\bsteps?\b", re.IGNORECASE)
_CONFLICT: Final = pattern(r"(?:<{7}|={7}|>{7}|\|{7})(?: .*)?")
_TWICE: Final = "in this step already: one of the two would be lost."
NEAR: Final = 0.75
"""How alike a word must be to one that could stand there, by difflib's ratio, to be taken for it."""


class Trouble(NamedTuple):
    """Something that cannot be read. `instead` is what the place could hold, if something is near."""

    place: Place
    text: str
    instead: str | None = None


class WrittenResult(NamedTuple):
    """A line that says what came of a step; `place` is that of its first sign."""

    place: Place
    text: str


@dataclass
class WrittenStep:
    """One step as it is written. `values` are attributes of a `Step`; those that are not written are left out.

    `places` has the place of each by the field's name, of arguments as `args.NAME`; "" is the place of the first line,
    "mark" that of the sign in the box, "id" that of the id. `last` is the number of the step's last line. `results` are
    the lines that say what came of it, without their indentation.
    """

    step_id: str | None
    mark: str
    values: dict[str, Any]
    places: dict[str, Place]
    last: int
    results: list[WrittenResult] = field(default_factory=list)


@dataclass
class Written:
    """A document as it is written. `head` are the values at its top, `head_end` is the number of the line that ends
    them, -1 without any. `steps_line` is that of the heading of the steps, None without one. `notes` are the texts that
    are no part of a plan, by the id of the step above; "" before the first.
    """

    head: dict[str, str] = field(default_factory=dict)
    head_places: dict[str, Place] = field(default_factory=dict)
    head_end: int = -1
    top: Top = field(default_factory=Top)
    steps_line: int | None = None
    lines: Sequence[str] = ()
    steps: list[WrittenStep] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    troubles: list[Trouble] = field(default_factory=list)

    @property
    def title_line(self) -> int:
        """The number of the line with the title, or of the one where it could stand."""
        return self.top.first


@lru_cache(maxsize=4)
def read_document(text: str) -> Written:
    """The document of a text, which nobody may change. Never raises.

    After a keystroke an editor asks for lenses, symbols, folds, links and hints of the same text.
    """
    return _Reader(LINE_END.split(text)).read()


class _Reader:
    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.at = 0
        self.ids: set[str] = set()
        self.found = Written(lines=lines)

    def read(self) -> Written:
        self._head()
        below = range(self.at, len(self.lines))
        steps_line = next((number for number in below if self.lines[number].rstrip() == STEPS), None)
        self.found.top = read_top(self.lines, min(self.at, len(self.lines) - 1), steps_line)
        if steps_line is None:
            headings = [number for number in below if _HEADING_OF_STEPS.match(self.lines[number])]
            number = [*headings, self.found.title_line][0]
            place = Place(number, 0, len(self.lines[number]))
            said = f"The line “{STEPS}” is missing, below which the steps stand."
            self._trouble(place, said, STEPS if headings else None)
        self._conflicts()
        self.found.steps_line = steps_line
        self.at = len(self.lines) if steps_line is None else steps_line + 1
        note: list[str] = []
        above = ""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            item = _ITEM.fullmatch(line)
            if item is None or not item[2]:
                self._parting(note, line)
                note.append(line)
                self.at += 1
                continue
            self._keep_note(above, note)
            note = []
            step = self._step(item)
            self.found.steps.append(step)
            above = key_of(step)
        self._keep_note(above, note)
        return self.found

    def _parting(self, note: Sequence[str], line: str) -> None:
        """Mark a line right below a step's that parts it from `line`, one of its fields."""
        first = self.at - len(note)
        last = self.found.steps[-1].last if self.found.steps else -1
        match = _FIELD.fullmatch(line[2:]) if line.startswith("  ") else None
        if (
            match is None
            or match[1].lower() not in FIELDS
            or first != last + 1
            or not note
            or not note[0].strip()
        ):
            return
        place = Place(first, 0, len(self.lines[first]))
        said = "This line parts the step from its fields below: indent it, or put it after them."
        if all(each.place != place for each in self.found.troubles):
            self._trouble(place, said)

    def _conflicts(self) -> None:
        """Mark what a merge has left: both sides would be read as steps."""
        if not any(line.startswith("<<<<<<<") for line in self.lines):
            return
        for number, line in enumerate(self.lines):
            if _CONFLICT.fullmatch(line):
                self._trouble(Place(number, 0, len(line)), "A merge has left this: choose one of the sides.")

    def _head(self) -> None:
        if self.lines[0].rstrip() != "---":
            if len(self.lines) > 1 and self.lines[1].startswith("plan: "):
                place = Place(0, 0, len(self.lines[0]))
                self._trouble(place, "The values at the top do not begin: this line is to be “---”.", "---")
            return
        for number, line in enumerate(self.lines[1:], start=1):
            if line.rstrip() == "---":
                self.found.head_end = number
                self.at = number + 1
                return
            if match := _HEAD.fullmatch(line.rstrip()):
                self.found.head[match[1]] = match[2]
                self.found.head_places[match[1]] = Place(number, match.start(2), match.end(2))
        if self.found.head_places:
            end = next(
                number
                for number, line in enumerate(self.lines)
                if number and not _HEAD.fullmatch(line.rstrip())
            )
            place = Place(end, 0, len(self.lines[end]))
            self._trouble(place, "The values at the top do not end: a line “---” is missing here.")
        self.found.head.clear()
        self.found.head_places.clear()

    def _keep_note(self, above: str, lines: list[str]) -> None:
        text = "\n".join(lines).strip("\n")
        if text.strip():
            earlier = self.found.notes.get(above)
            self.found.notes[above] = text if earlier is None else f"{earlier}\n\n{text}"

    def _trouble(self, place: Place, text: str, instead: str | None = None) -> None:
        self.found.troubles.append(Trouble(place, text, instead))

    def _step(self, item: re.Match[str]) -> WrittenStep:
        first = self.at
        described = read(item[2]).value
        description = described if isinstance(described, str) else item[2]
        places = {"": Place(first, item.start(2), item.end(2))}
        if item[1] is not None:
            places["mark"] = Place(first, item.start(1), item.end(1))
        step_id = item[3]
        if step_id is not None:
            places["id"] = Place(first, item.start(3), item.end(3))
            if not STEP_ID.fullmatch(step_id):
                self._trouble(places["id"], "An id is a letter, then letters, digits and underscores.")
            elif step_id in self.ids:
                self._trouble(places["id"], f"There is a step ^{step_id} already.")
                step_id = None
            if step_id is not None:
                self.ids.add(step_id)
        step = WrittenStep(step_id, item[1] or " ", {"description": description}, places, first)
        self.at += 1
        self._body(step)
        return step

    def _body(self, step: WrittenStep) -> None:
        """Read the lines of a step, which are indented, and the blank lines between them."""
        instruction: list[str] = []
        words: Place | None = None
        blank = 0
        while self.at < len(self.lines):
            line = (
                self.lines[self.at].expandtabs(2)
                if self.lines[self.at].startswith("\t")
                else self.lines[self.at]
            )
            if not line.strip():
                blank += 1
                self.at += 1
                continue
            if not line.startswith("  "):
                break
            step.last = self.at
            text = line[2:]
            is_result = text.startswith(RESULT)
            if is_result:
                start = self.lines[self.at].index(RESULT)
                place = Place(self.at, start, start + len(RESULT.rstrip()))
                step.results.append(WrittenResult(place, text.rstrip()))
            if is_result or self._field(step, text):
                blank = 0
                step.last = max(step.last, self.at)
                self.at += 1
                continue
            if (word := MARGINAL.match(text)) is not None:
                self._indented(word[0])
            instruction += [""] * (blank if instruction else 0)
            blank = 0
            instruction.append(unescaped(text))
            words = words or Place(self.at, 2, len(line))
            self.at += 1
        # Blank lines after a step are no part of it.
        self.at -= blank if self.at == len(self.lines) or blank else 0
        if words is not None:
            if "instruction" in step.values:
                second = max(words, step.places["instruction"])
                self._trouble(second, f"The instruction stands {_TWICE}")
            step.places.setdefault("instruction", words)
            step.values.setdefault("instruction", "\n".join(instruction))
        step.values.setdefault("instruction", step.values["description"])
        if "tool" in step.values:
            step.values.setdefault("args", {})
        implied = implied_kind(step.values.get("tool"), step.values.get("template_id"))
        step.values.setdefault("kind", implied)

    def _indented(self, word: str) -> None:
        """Mark an answer or feedback that would be read as part of the instruction."""
        rest = (line for line in self.lines[self.at + 1 :] if line.strip())
        is_last = not next(rest, "").startswith((" ", "\t"))
        line = self.lines[self.at]
        place = Place(self.at, 0, line.index(word) + len(word))
        text = f"“{word}” stands at the margin, below the whole step: here it is read as the instruction."
        self._trouble(place, text, word if is_last else None)

    def _field(self, step: WrittenStep, text: str) -> bool:
        """Read a field that begins in this line, with its block and arguments. Leaves `at` at its last line."""
        match = _FIELD.fullmatch(text)
        name = match[1].lower() if match is not None else ""
        if match is None or name not in FIELDS:
            if match is not None and (near := difflib.get_close_matches(name, FIELDS, 1, NEAR)):
                place = Place(self.at, 2 + match.start(1), 2 + match.end(1))
                self._trouble(place, f"Did you mean “{near[0]}”? This line is read as text.", near[0])
            return False
        place = Place(self.at, 2 + match.start(2), 2 + match.end(2))
        own = Place(self.at, 2 + match.start(1), 2 + match.end(1))
        value = self._value(match[2], place)
        described = FIELDS[name]
        is_second = name in step.places and not described.repeats
        step.places.setdefault(name, place)
        below = self._arguments(step) if name in HOLD_ARGUMENTS else {}
        if is_second:
            self._trouble(own, f"“{name}” stands {_TWICE}")
            return True
        try:
            held = described.read(value, match[2])
        except Unreadable as error:
            self._trouble(place, str(error))
            return True
        if described.repeats:
            held = (*step.values.get(described.attribute, ()), held)
        if (below or name == "arguments") and "args" in step.values:
            self._trouble(own, f"The arguments stand {_TWICE}")
            return True
        step.values[described.attribute] = held
        if below:
            step.values["args"] = below
        return True

    def _arguments(self, step: WrittenStep) -> Args:
        """The arguments that stand below a tool, or the parameters below a template, one a line."""
        args: Args = {}
        while self.at + 1 < len(self.lines):
            line = self.lines[self.at + 1]
            match = _ARGUMENT.fullmatch(line[4:]) if line.startswith("    ") else None
            if match is None:
                break
            self.at += 1
            place = Place(self.at, 4 + match.start(2), 4 + match.end(2))
            if match[1] in args:
                own = Place(self.at, 4 + match.start(1), 4 + match.end(1))
                self._trouble(own, f"“{match[1]}” stands {_TWICE}")
            step.places.setdefault(f"args.{match[1]}", place)
            args[match[1]] = self._value(match[2], place)
        return args

    def _value(self, rest: str, place: Place) -> Json:
        try:
            found = read(rest, self.lines, self.at + 1)
        except ValueError as error:
            self._trouble(place, str(error))
            return ""
        self.at += found.lines
        return found.value


def key_of(written: WrittenStep) -> str:
    """The key of a step in the notes: its id, or its line while it has none."""
    return written.step_id or f"line {written.places[''].line}"


_AUTHORED: Final = ("description", *(each.attribute for each in FIELDS.values()))
_DEFAULTS: Final[Mapping[str, Any]] = {
    name: Step.model_fields[name].get_default()
    for name in _AUTHORED
    if name not in ("description", "instruction")
}


def values_of(written: WrittenStep) -> Mapping[str, Any]:
    """The attributes of the step that is written, with the defaults of those that are not."""
    return {**_DEFAULTS, **written.values}


def authored(step: Step) -> Mapping[str, Any]:
    """The attributes of a step that a document says, as `values_of` has them."""
    checks = tuple(check.model_copy(update={"outcome": None, "detail": None}) for check in step.checks)
    shown = {"checks": checks, "description": step.title}
    return {name: shown[name] if name in shown else getattr(step, name) for name in _AUTHORED}
