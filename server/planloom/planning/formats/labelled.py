"""Steps written with labels, `STEP n: …` and `DO: …` (docs/model-text.md, P3 to P6), inside markers or without."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from planloom.domain.model_text.fences import code_lines
from planloom.planning.formats.draft import DraftStep, draft

_BLANK = "[ \\t\\u00a0\\u2000-\\u200b\\u202f\\u3000]"
_SPACE = f"{_BLANK}{{0,12}}"
_SOME_SPACE = f"{_BLANK}{{1,12}}"
_QUOTE = rf"{_SPACE}(?:>{_SPACE}){{0,4}}(?:\#{{1,6}}{_SPACE})?(?:[-*+•]{_SOME_SPACE})?"
_FRONT = rf"{_QUOTE}(?:[0-9]{{1,4}}\\?[.)]{_SPACE})?"
_DASH = "[-‐‑‒–—―−]"
_HEADER = re.compile(
    rf"{_FRONT}(?P<marks>[*_]{{0,3}}){_SPACE}STEP{_SPACE}[#№]?{_SPACE}"
    rf"(?:(?P<number>[0-9]{{1,6}}(?:\.[0-9]{{1,4}})*)(?:{_SPACE}(?:/|of){_SPACE}[0-9]{{1,6}})?"
    rf"|(?P<word>one|two|three|four|five|six|seven|eight|nine|ten)\b)?"
    rf"(?P<closing>[*_]{{0,3}})(?P<gap>{_SPACE})(?P<separator>[:：.)]|{_DASH}{{1,3}}|$)"
    rf"(?P<description>.*)$",
    re.IGNORECASE,
)
_LABEL = re.compile(
    rf"{_QUOTE}(?P<marks>[*_`]{{0,3}})(?:DO|INSTRUCTIONS?)"
    rf"[*_`]{{0,3}}(?:{_SPACE}[:：]|{_SPACE}[–—―]|{_SOME_SPACE}-(?={_BLANK}|$))(?P<value>.*)$",
    re.IGNORECASE,
)
_NUMBERS = rf"(?:steps?{_SPACE})?[#№]?[0-9]{{1,6}}"
_NAMED = re.compile(
    rf"{_QUOTE}[*_`]{{0,3}}(?:AGENT[*_`]{{0,3}}{_SPACE}[:：]{_SPACE}[*_`]{{0,3}}{_SPACE}(?P<agent>chapo|koda|devo)"
    rf"|AFTER[*_`]{{0,3}}{_SPACE}[:：]{_SPACE}[*_`]{{0,3}}{_SPACE}"
    rf"(?P<after>none|{_NUMBERS}(?:{_SPACE}(?:,|;|and|&){_SPACE}{_NUMBERS}){{0,40}}))[*_`]{{0,3}}[.]?{_SPACE}$",
    re.IGNORECASE,
)
_TITLED = re.compile(
    rf"{_SPACE}(?P<title>[^*_\s][^*_]{{0,200}}?)(?::[*_]{{1,3}}|[*_]{{1,3}}{_SPACE}(?:[:：]|{_DASH}{{1,3}}(?={_BLANK})))"
    rf"(?P<work>.*\S)$"
)
"""The rest of a bold header whose bold ends before the line does: `**Step 1: Read** — open it`."""
_DIGITS = re.compile("[0-9]{1,6}")
_FRONT_SIZE = 60
"""Characters in which the word of a header or label must begin."""

_CLOSING_MARKS = re.compile(rf"[*_]{{1,3}}(?={_BLANK}|$)")
_PAIR = re.compile(r"(?<![\w*])\*\*(?=[^\s*])([^*\n]*[^\s*])\*\*(?![\w*])")


@dataclass(slots=True)
class StepHeader:
    """The parts of a header line. `work` is what follows a bold title on it."""

    description: str
    numbered: bool
    marked: bool
    work: str = ""


def header(line: str) -> StepHeader | None:
    """The header on a line (P3), or None."""
    bare = line.strip()
    found = _HEADER.match(bare) if "step" in bare[:_FRONT_SIZE].lower() else None
    if found is None:
        return None
    numbered = found["number"] is not None or found["word"] is not None
    separator, rest = found["separator"], found["description"]
    if not separator:
        # "STEP 2" alone on its line.
        return StepHeader("", True, bool(found["marks"])) if numbered else None
    if not numbered and not _parts_without_number(separator, found["gap"], rest):
        return None
    if numbered and separator in ".)" and rest[:1].isalnum() and separator == "." and rest[:1].isdigit():
        return None
    titled = _TITLED.match(rest) if found["marks"] and not found["closing"] else None
    if titled is not None and numbered:
        return StepHeader(plain(titled["title"]), numbered, True, titled["work"].strip())
    return StepHeader(_description(rest, found["marks"] + found["closing"]), numbered, bool(found["marks"]))


def _parts_without_number(separator: str, gap: str, rest: str) -> bool:
    """Whether a separator makes a header of STEP without a number; in "Step-by-step" and "Step." it does not."""
    if separator in ":：":
        return True
    return separator not in ".)" and bool(gap) and (not rest or rest[0].isspace())


def _description(rest: str, marks: str) -> str:
    text = rest.strip()
    closing = _CLOSING_MARKS.match(text)
    if marks and closing is not None:
        text = text[closing.end() :].lstrip()
        marks = ""
    if marks:
        # The bold began before the word STEP and ends with the line.
        for sign in ("***", "**", "__", "*", "_"):
            if text.endswith(sign):
                text = text[: -len(sign)].rstrip()
                break
    return plain(text)


def plain(text: str) -> str:
    """A title without bold marks."""
    return _PAIR.sub(r"\1", text).strip()


def label(line: str) -> str | None:
    """The text after the label (DO, INSTRUCTION) at the start of a line (P3), or None."""
    bare = line.strip()
    beginning = bare[:_FRONT_SIZE].lower()
    found = _LABEL.match(bare) if "do" in beginning or "instruction" in beginning else None
    if found is None:
        return None
    value: str = found["value"]
    if found["marks"]:
        closing = re.match(rf"{_SPACE}[*_`]{{1,3}}(?={_BLANK}|$)", value)
        value = value[closing.end() :] if closing is not None else value
    return value


_SEVERAL = re.compile(
    r"(?<=\S)[ \t]{1,8}(?=[*_]{0,2}(?:STEP[ \t]{1,4}[0-9]{1,4}[ \t]{0,4}[:.)–—-][*_ \t]|(?:DO|INSTRUCTION):[*_ \t]))"
)


def split_headers(line: str) -> list[str]:
    """A header line, split before each further header or label in capitals on it."""
    if ("DO:" not in line and "STEP" not in line and "INSTRUCTION:" not in line) or header(line) is None:
        return [line]
    begins = line.lower().index("step") + len("step")
    first, *others = _SEVERAL.split(line[begins:])
    return [line[:begins] + first, *others]


@dataclass(slots=True)
class OpenStep:
    """A step while its lines are collected."""

    head: StepHeader
    lines: list[str] = field(default_factory=list)
    label_line: int | None = None
    agent: str | None = None
    after: tuple[str, ...] | None = None

    @property
    def labelled(self) -> bool:
        """Whether one of the lines had a label."""
        return self.label_line is not None

    def add(self, line: str, *, code: bool) -> None:
        value = None if code else label(line)
        if value is None and not code and self._named(line):
            return
        if value is None:
            self.lines.append(line)
        else:
            if self.label_line is None:
                self.label_line = len(self.lines)
            self.lines.append(value.strip(" \t"))

    def _named(self, line: str) -> bool:
        """Whether a line holds only the agent, or the steps that this one depends on; both are kept."""
        beginning = line[:_FRONT_SIZE].lower()
        found = _NAMED.match(line.strip()) if "agent" in beginning or "after" in beginning else None
        if found is None:
            return False
        self.agent = found["agent"] or self.agent
        if found["after"] is not None:
            self.after = tuple(_DIGITS.findall(found["after"]))
        return True

    def step(self) -> DraftStep | None:
        """The step that the lines make up, with its agent and its dependencies."""
        step = self._without_names()
        if step is None or (self.agent is None and self.after is None):
            return step
        return step.model_copy(update={"agent": self.agent, "depends_on": self.after})

    def _without_names(self) -> DraftStep | None:
        """The description is on the header, or else on the first line below it."""
        description = self.head.description
        before = self.lines[: self.label_line]
        if description or not any(line.strip() for line in before):
            return draft(description, "\n".join(self.lines))
        number = next(n for n, line in enumerate(before) if line.strip())
        return draft(plain(before[number]), "\n".join(self.lines[number + 1 :]))


def holds_steps(lines: Sequence[str]) -> bool:
    """Whether lines hold both a header and a label."""
    return any(header(line) is not None for line in lines) and any(label(line) is not None for line in lines)


@dataclass(slots=True)
class LabelledSteps:
    """The steps, the number of those with a label, of numbered headers, and the line of the first header."""

    steps: list[DraftStep] = field(default_factory=list)
    labels: int = 0
    numbered: int = 0
    first_line: int = -1


def read_labelled(lines: Sequence[str]) -> LabelledSteps:
    """The labelled steps of a text, from the first header on."""
    read = LabelledSteps()
    code = code_lines(lines, holds_steps)
    if any(not code[number] and len(split_headers(line)) > 1 for number, line in enumerate(lines)):
        apart = [[line] if code[number] else split_headers(line) for number, line in enumerate(lines)]
        return read_labelled([line for lines_of_one in apart for line in lines_of_one])
    current: OpenStep | None = None
    for number, line in enumerate(lines):
        head = None if code[number] else header(line)
        if head is not None:
            _close(read, current)
            current = OpenStep(head, [head.work] if head.work else [])
            read.numbered += head.numbered
            if read.first_line < 0:
                read.first_line = number
        elif current is not None:
            current.add(line, code=code[number] and not _begins_code(code, number))
    _close(read, current)
    read.steps = _in_sequence(read.steps)
    return read


def _in_sequence(steps: list[DraftStep]) -> list[DraftStep]:
    """If any step names its dependencies, a step that names none depends on the step before it."""
    if all(step.depends_on is None for step in steps):
        return steps
    return [
        step
        if step.depends_on is not None
        else step.model_copy(update={"depends_on": (str(number),) if number else ()})
        for number, step in enumerate(steps)
    ]


def _begins_code(code: Sequence[bool], number: int) -> bool:
    """Whether a line opens a fence, in front of which a label may stand."""
    return number == 0 or not code[number - 1]


def _close(read: LabelledSteps, current: OpenStep | None) -> None:
    if current is None:
        return
    read.labels += current.labelled
    step = current.step()
    if step is not None:
        read.steps.append(step)
