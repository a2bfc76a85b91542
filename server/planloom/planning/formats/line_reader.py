"""Plans in lines: labelled steps, `STEP n: …` and `DO: …`, and numbered lists (docs/model-text.md, P3 to P6, P8).

Both are read by one scan: a line may begin an item, whose lines extend to the next item or to the end of its list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import inf
from textwrap import dedent
from typing import Any, NamedTuple

from planloom.domain.model_text.fences import code_lines
from planloom.planning.formats.draft import DraftStep, draft, without_box

_BLANK = "[ \\t\\u00a0\\u1680\\u2000-\\u200b\\u202f\\u205f\\u3000]"
_GAP = f"{_BLANK}{{0,12}}"
_DASH = "[-‐‑‒–—―−]{1,3}"
_FRONT = rf"(?:>{_GAP}){{0,4}}(?:\#{{1,6}}{_GAP})?(?:[-*+•]{_BLANK}{{1,12}})?"
_TEXT = rf"(?P<closed>[*_]{{1,3}}(?={_BLANK}|$))?{_GAP}(?P<text>.*)$"
_HEADER = re.compile(
    rf"{_FRONT}(?:[0-9]{{1,4}}\\?[.)]{_GAP})?(?P<marks>[*_]{{0,3}}){_GAP}(?P<word>STEP){_GAP}[#№]?{_GAP}"
    rf"(?:(?P<number>[0-9]{{1,6}}(?:\.[0-9]{{1,4}})*(?:{_GAP}(?:/|of){_GAP}[0-9]{{1,6}})?"
    r"|one|two|three|four|five|six|seven|eight|nine|ten)"
    rf"(?P<early>[*_]{{1,3}})?{_GAP}(?:[:：)]|\.(?![0-9])|{_DASH}|$)"
    rf"|[*_]{{0,3}}{_GAP}[:：]|[*_]{{1,3}}{_GAP}{_DASH}(?={_BLANK}|$)){_TEXT}",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    rf"(?P<heading>\#{{1,6}}{_GAP})?(?P<marks>[*_]{{0,3}})(?:Task{_BLANK}{{1,4}})?(?P<number>[0-9]{{1,3}})"
    rf"\\?[.)](?=[*_]{{0,3}}{_BLANK}+\S|[A-Z*]){_TEXT}"
)
_MARKS = "[*_`]{0,3}"
_LABEL = re.compile(
    rf"{_FRONT}(?P<marks>[*_`]{{1,3}})?(?:DO|INSTRUCTIONS?){_MARKS}"
    rf"(?:{_GAP}[:：]|{_GAP}[–—―]|{_BLANK}{{1,12}}-(?={_BLANK}|$))"
    rf"(?(marks)(?:{_GAP}[*_`]{{1,3}}(?={_BLANK}|$))?)(?P<value>.*)$",
    re.IGNORECASE,
)
_COLON = rf"{_MARKS}{_GAP}[:：]{_GAP}{_MARKS}{_GAP}"
_NUMBER = rf"(?:steps?{_GAP})?[#№]?[0-9]{{1,6}}"
_NAMED = re.compile(
    rf"{_FRONT}{_MARKS}(?:AGENT{_COLON}(?P<agent>chapo|koda|devo)"
    rf"|AFTER{_COLON}(?P<after>none|{_NUMBER}(?:{_GAP}(?:,|;|and|&){_GAP}{_NUMBER}){{0,40}})){_MARKS}\.?{_GAP}$",
    re.IGNORECASE,
)
_FURTHER = re.compile(
    r"(?<=\S)[ \t]{1,8}(?=[*_]{0,2}"
    r"(?:STEP[ \t]{1,4}[0-9]{1,4}[ \t]{0,4}[:.)–—-][*_ \t]|(?:DO|INSTRUCTION):(?:[*_ \t]|$)))"
)
"""The gap before a further header or label in capitals on the line of a header."""
_BULLET = re.compile(rf"[-*+•‣▪◦○●–—]{_BLANK}+\S")
_HEADING = re.compile(r"\#{1,6}[ \t]")
_RULE = re.compile(r"[ \t]*(?:[-*_=][ \t]*){3,}$")
_BOLD = re.compile(r"(?:\*{2,3}|__)(?=\S)")
_PAIR = re.compile(r"(?<![\w*])(\*{2,3})(?=[^\s*])([^*\n]*[^\s*])\1(?![\w*])")
_AFTER_BOLD = re.compile(rf"{_GAP}(?:[:：]|{_DASH}(?={_BLANK}|$))(?P<work>.*)$")
_CODE_SPAN = re.compile(r"`[^`\n]*`")
_BETWEEN = re.compile(f"{_BLANK}{_DASH}{_BLANK}")
_KINDS = {"processing": "processing", "clarification": "clarification", "toolcall": None, "tool call": None}
"""Titles that only say of which kind a step is, so that its work is its description."""


@dataclass(slots=True)
class _Item:
    """A step from the line `first` up to the line `end`. `work` is what follows the title on its line.

    `header`: it begins with STEP, whose `number` may be missing. `indent` is that of a numbered item, in columns.
    """

    title: str
    work: str
    header: bool
    number: str
    heading: bool
    indent: int
    first: int
    end: int = 0


class Steps(NamedTuple):
    """Steps and the lines where they begin and end. `labelled`: one has a label; `numbered`: how many have a number."""

    steps: tuple[DraftStep, ...] = ()
    labelled: bool = False
    numbered: int = 0
    first: float = inf
    end: int = 0


def begins_step(line: str) -> bool:
    """Whether a line is a header or an item of a numbered list."""
    return _item(_HEADER, line) is not None or _item(_NUMBERED, line) is not None


def hold_labelled(lines: Sequence[str]) -> bool:
    """Whether lines hold both a header and a label; headers alone may be comments of a program."""
    return any(_item(_HEADER, line) for line in lines) and any(_LABEL.match(line.strip()) for line in lines)


def read_lines(lines: Sequence[str]) -> tuple[Steps, Steps]:
    """The labelled steps of a text, and those of its first numbered list.

    A list has two items or more, or one with the number 1. It ends at a headline, a rule, or prose after a blank
    line, unless the next item continues its numbers.
    """
    code = code_lines(lines, hold_labelled)
    apart = "\n".join(line if code[number] else _apart(line) for number, line in enumerate(lines))
    return _steps(_HEADER, apart.split("\n")), _steps(_NUMBERED, lines)


def _apart(line: str) -> str:
    """A header line, parted before each further header or label on it."""
    match = _HEADER.match(line.strip())
    if match is None:
        return line
    start = match.end("word")
    return match.string[:start] + _FURTHER.sub("\n", match.string[start:])


def _steps(form: re.Pattern[str], lines: Sequence[str]) -> Steps:
    """The steps of all headers, or of the first list of numbered items."""
    hold_steps = hold_labelled if form is _HEADER else lambda rest: any(_item(form, line) for line in rest)
    code = code_lines(lines, hold_steps)
    lists = _lists(form, lines, code)
    items = next((each for each in lists if each[0].header or len(each) > 1 or int(each[0].number) <= 1), [])
    read = [_step(item, lines, code) for item in items]
    steps = tuple(step for step, _ in read if step is not None)
    if not steps:
        return Steps()
    labelled, numbered = any(labelled for _, labelled in read), sum(bool(item.number) for item in items)
    return Steps(_in_sequence(steps), labelled, numbered, items[0].first, items[-1].end)


def _in_sequence(steps: tuple[DraftStep, ...]) -> tuple[DraftStep, ...]:
    """If any step names its dependencies, a step that names none depends on the step before it."""
    if all(step.depends_on is None for step in steps):
        return steps
    return tuple(
        step.model_copy(update={"depends_on": (str(number),) if number else ()})
        if step.depends_on is None
        else step
        for number, step in enumerate(steps)
    )


def _lists(form: re.Pattern[str], lines: Sequence[str], code: Sequence[bool]) -> Iterator[list[_Item]]:
    """The lists of a text. An item that is indented further belongs to the lines of the item above it."""
    begun = [
        item
        for first, line in enumerate(lines)
        if not code[first] and (item := _item(form, line, first)) is not None
    ]
    items: list[_Item] = []
    for item, following in zip_longest(begun, begun[1:]):
        if not items or item.indent <= items[0].indent + 1:
            items.append(item)
        last = items[-1]
        last.end = len(lines) if following is None else following.first
        if last.header or (following is not None and int(following.number) == int(last.number) + 1):
            continue
        end = _end(last, item.first + 1, lines, code)
        if end < last.end:
            last.end = end
            yield items
            items = []
    if items:
        yield items


def _end(item: _Item, start: int, lines: Sequence[str], code: Sequence[bool]) -> int:
    """The line from `start` on at which a list ends after its item, if no further item continues its numbers."""
    blank = False
    for number in range(start, item.end):
        line = lines[number]
        if line.strip() and not code[number]:
            prose = not _is_nested(line) and not (item.heading and not item.work)
            if _HEADING.match(line) or (blank and (prose or _RULE.match(line))):
                return number
        blank = not line.strip()
    return item.end


def _is_nested(line: str) -> bool:
    return line[:1].isspace() or _BULLET.match(line) is not None


def _item(form: re.Pattern[str], line: str, first: int = 0) -> _Item | None:
    """The item that begins on a line, which is the line `first` of its text."""
    match = form.match(line.strip())
    if match is None:
        return None
    part = match.groupdict("")
    header = form is _HEADER
    marks = "" if part["closed"] or part.get("early") else part["marks"]
    title, work = _parted(without_box(part["text"].strip()), marks, header=header)
    indent = 0 if header else len(line[: len(line) - len(line.lstrip())].expandtabs(4))
    heading = bool(part.get("heading"))
    return _Item(_plain(title), work.strip(), header, part["number"], heading, indent, first)


def _parted(text: str, marks: str, *, header: bool) -> tuple[str, str]:
    """The title of an item and the work behind it. `marks` in front of the number have opened bold text."""
    bold = None if header else _BOLD.match(text)
    opening = marks or (bold[0] if bold is not None else "")
    if opening:
        text = text if marks else text[len(opening) :]
        title, closing, after = text.partition(opening)
        if closing and title.endswith((":", "：")):
            return title[:-1], after
        if (work := _AFTER_BOLD.match(after)) is not None:
            return title, work["work"]
        # Marks behind a blank do not close bold text: `**STEP 2: Use **kwargs**`.
        text = text.removesuffix(opening) if marks and title[-1:].isspace() else title + after
    # A dash in inline code parts nothing.
    dash = None if header else _BETWEEN.search(_CODE_SPAN.sub(lambda span: "`" * len(span[0]), text))
    return (text, "") if dash is None else (text[: dash.start()], text[dash.end() :])


def _plain(title: str) -> str:
    """A title without bold marks."""
    return _PAIR.sub(r"\2", title).strip()


def _step(item: _Item, lines: Sequence[str], code: Sequence[bool]) -> tuple[DraftStep | None, bool]:
    """The step that an item is, and whether one of its lines has a label."""
    title, work = item.title, item.work
    body: list[str] = []
    fields: dict[str, Any] = {}
    labelled = False
    for number in range(item.first + 1, item.end):
        line = lines[number]
        # A label may stand in front of a fence.
        words = "" if code[number] and code[number - 1] else line.strip()
        if (label := _LABEL.match(words)) is not None:
            labelled = True
            body.append(label["value"].strip(" \t"))
        elif (named := _NAMED.match(words)) is not None:
            if named["agent"] is not None:
                fields["agent"] = named["agent"]
            else:
                fields["depends_on"] = tuple(re.findall("[0-9]+", named["after"]))
        elif not title and not labelled and words:
            title = _plain(line)
        elif item.header or item.heading or code[number] or not _HEADING.match(line):
            body.append(line)
    first = next((line for line in body if line.strip()), "")
    if work and title.lower() in _KINDS:
        fields["kind"], title = _KINDS[title.lower()], ""
    elif first and not work and not item.header and not labelled:
        # A paragraph below a headline says the work of which the headline is the title.
        work = "" if item.heading and not _is_nested(first) else title
    text = dedent("\n".join(body)).strip("\n")
    return draft(title, "\n".join(filter(None, (work, text))), **fields), labelled
