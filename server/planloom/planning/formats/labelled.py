"""Steps written with labels: `STEP n: description` and `DO:` or `INSTRUCTION:`, inside markers or without."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from planloom.planning.formats.draft import DraftStep, draft
from planloom.planning.formats.fences import code_lines

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
_DIGITS = re.compile("[0-9]{1,6}")
_FRONT_SIZE = 60
"""Characters in which the word of a header or label must begin."""

_CLOSING_MARKS = re.compile(rf"[*_]{{1,3}}(?={_BLANK}|$)")
_PAIR = re.compile(r"(?<![\w*])\*\*(?=[^\s*])([^*\n]*[^\s*])\*\*(?![\w*])")


@dataclass(slots=True)
class Header:
    """A header line, taken apart."""

    description: str
    numbered: bool
    marked: bool


def header(line: str) -> Header | None:
    """The header that a line is (P3), or None."""
    bare = line.strip()
    found = _HEADER.match(bare) if "step" in bare[:_FRONT_SIZE].lower() else None
    if found is None:
        return None
    numbered = found["number"] is not None or found["word"] is not None
    separator, rest = found["separator"], found["description"]
    if not separator:
        # "STEP 2" alone on its line.
        return Header("", True, bool(found["marks"])) if numbered else None
    if not numbered and not _parts_without_number(separator, found["gap"], rest):
        return None
    if numbered and separator in ".)" and rest[:1].isalnum() and separator == "." and rest[:1].isdigit():
        return None
    return Header(_description(rest, found["marks"] + found["closing"]), numbered, bool(found["marks"]))


def _parts_without_number(separator: str, gap: str, rest: str) -> bool:
    """Without a number "Step-by-step" and "Step." must not be taken for headers."""
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
    """A title without the bold marks in it."""
    return _PAIR.sub(r"\1", text).strip()


def label(line: str) -> str | None:
    """What follows the label that a line begins with (DO, INSTRUCTION), or None (P3)."""
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


def parted(line: str) -> list[str]:
    """A header line with further headers and labels in capitals behind it, each on a line of its own."""
    if ("DO:" not in line and "STEP" not in line and "INSTRUCTION:" not in line) or header(line) is None:
        return [line]
    begins = line.lower().index("step") + len("step")
    first, *others = _SEVERAL.split(line[begins:])
    return [line[:begins] + first, *others]


@dataclass(slots=True)
class Open:
    """A step whose end has not been seen yet."""

    head: Header
    lines: list[str] = field(default_factory=list)
    label_line: int | None = None
    agent: str | None = None
    after: tuple[str, ...] | None = None

    @property
    def labelled(self) -> bool:
        """Whether a label was among the lines."""
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
        """Whether a line is nothing but the agent, or the steps that must be over before."""
        beginning = line[:_FRONT_SIZE].lower()
        found = _NAMED.match(line.strip()) if "agent" in beginning or "after" in beginning else None
        if found is None:
            return False
        self.agent = found["agent"] or self.agent
        if found["after"] is not None:
            self.after = tuple(_DIGITS.findall(found["after"]))
        return True

    def step(self) -> DraftStep | None:
        """The step that these lines are, with the agent and the dependencies that it names."""
        step = self._words()
        named = {"agent": self.agent, "depends_on": self.after}
        return (
            step
            if step is None or not any(value is not None for value in named.values())
            else (step.model_copy(update=named))
        )

    def _words(self) -> DraftStep | None:
        """A title may stand on the line below its header."""
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
class Labelled:
    """The steps read, how many had a label, how many headers a number, and the first header's line."""

    steps: list[DraftStep] = field(default_factory=list)
    labels: int = 0
    numbered: int = 0
    first_line: int = -1


def read_labelled(lines: Sequence[str]) -> Labelled:
    """The labelled steps of a text (P3 to P6). What stands before the first header is left out."""
    read = Labelled()
    code = code_lines(lines, holds_steps)
    if any(not code[number] and len(parted(line)) > 1 for number, line in enumerate(lines)):
        apart = [[line] if code[number] else parted(line) for number, line in enumerate(lines)]
        return read_labelled([line for lines_of_one in apart for line in lines_of_one])
    current: Open | None = None
    for number, line in enumerate(lines):
        head = None if code[number] else header(line)
        if head is not None:
            _close(read, current)
            current = Open(head)
            read.numbered += head.numbered
            if read.first_line < 0:
                read.first_line = number
        elif current is not None:
            current.add(line, code=code[number] and not _begins_code(code, number))
    _close(read, current)
    read.steps = _in_turn(read.steps)
    return read


def _in_turn(steps: list[DraftStep]) -> list[DraftStep]:
    """Where some steps name what they come after, one that does not comes after the step before it."""
    if all(step.depends_on is None for step in steps):
        return steps
    return [
        step
        if step.depends_on is not None
        else step.model_copy(update={"depends_on": (str(number),) if number else ()})
        for number, step in enumerate(steps)
    ]


def _begins_code(code: Sequence[bool], number: int) -> bool:
    """Whether a line only begins code: a label may stand in front of an opening fence."""
    return number == 0 or not code[number - 1]


def _close(read: Labelled, current: Open | None) -> None:
    if current is None:
        return
    read.labels += current.labelled
    step = current.step()
    if step is not None:
        read.steps.append(step)
