"""Steps written as a numbered list, `1. description - instruction` (docs/model-text.md, P8)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from planloom.domain.model_text.fences import code_lines
from planloom.planning.formats.draft import DraftStep, draft, without_box
from planloom.planning.formats.labelled import plain

_SPACE = "[ \\t\\u00a0\\u1680\\u2000-\\u200b\\u202f\\u205f\\u3000]"
_ITEM = re.compile(
    rf"(?P<heading>\#{{1,6}}{_SPACE}{{0,12}})?(?P<marks>[*_]{{0,3}})(?:Task{_SPACE}{{1,4}})?(?P<number>[0-9]{{1,3}})"
    rf"\\?[.)](?P<closing>[*_]{{0,3}})(?:{_SPACE}+(?P<text>\S.*)|(?P<tight>[A-Z*].*))$"
)
_BULLET = re.compile(rf"[-*+•‣▪◦○●–—]{_SPACE}+\S")
_HEADING = re.compile(r"\#{1,6}[ \t]")
_RULE = re.compile(r"[ \t]*(?:[-*_=][ \t]*){3,}$")
_DASH_SPLIT = re.compile(rf"{_SPACE}[-‐‑‒–—―−]{{1,3}}{_SPACE}")
_BOLD_TITLE = re.compile(
    r"(?P<marks>\*\*\*|\*\*|__)(?=\S)(?P<title>(?:(?!(?P=marks)).){1,400}?)(?P=marks)(?P<after>.*)$"
)
_AFTER_TITLE = re.compile(rf"{_SPACE}{{0,12}}(?:[:：]|[-‐‑‒–—―−]{{1,3}}(?={_SPACE}|$))(?P<rest>.*)$")
_KINDS = {"processing": "processing", "clarification": "clarification", "toolcall": None, "tool call": None}
"""Titles that only say of which kind a step is, so that its work is its description."""
_CODE_SPAN = re.compile(r"`[^`\n]*`")


@dataclass(slots=True)
class ListItem:
    """An item of a list while its lines are collected."""

    number: int
    text: str
    heading: bool
    indent: int
    lines: list[str] = field(default_factory=list)

    def step(self) -> DraftStep | None:
        description, instruction = split_title(self.text)
        kind = _KINDS.get(description.lower(), "") if instruction else ""
        body = _dedented(self.lines)
        if body and not instruction and self.heading and _is_paragraph(self.lines):
            # The headline is the title of the work that the paragraph says.
            instruction = body
        elif body:
            instruction = f"{instruction or description}\n{body}"
        if kind == "":
            return draft(description, instruction)
        step = draft("", instruction)
        return None if step is None else step.model_copy(update={"kind": kind})


def _is_paragraph(lines: Sequence[str]) -> bool:
    """Whether the first words of some lines are neither indented nor an item of a list."""
    first = next(line for line in lines if line.strip())
    return not first[0].isspace() and _BULLET.match(first) is None


def item(line: str) -> ListItem | None:
    """The item that begins on a line, or None."""
    bare = line.strip()
    found = _ITEM.match(bare)
    if found is None:
        return None
    indent = line[: len(line) - len(line.lstrip())]
    text = without_box((found["text"] or found["tight"]).strip())
    marks = found["marks"]
    if marks and not found["closing"]:
        # Bold that began in front of the number: `**1. Title** - rest`.
        text = marks + text if marks in text else text
    return ListItem(
        number=int(found["number"]),
        text=text,
        heading=found["heading"] is not None,
        indent=len(indent.expandtabs(4)),
    )


def split_title(text: str) -> tuple[str, str]:
    """The title and the rest of an item; the rest is empty if there is no dash or colon between them."""
    bold = _BOLD_TITLE.match(text)
    if bold is not None:
        title, after = bold["title"].strip(), bold["after"]
        if title.endswith((":", "：")):
            return plain(title[:-1]), after.strip()
        rest = _AFTER_TITLE.match(after)
        if rest is not None:
            return plain(title), rest["rest"].strip()
        text = f"{title}{after}"
    spans = [found.span() for found in _CODE_SPAN.finditer(text)] if "`" in text else []
    for dash in _DASH_SPLIT.finditer(text):
        if not any(start < dash.start() < end for start, end in spans[:50]):
            return plain(text[: dash.start()]), text[dash.end() :].strip()
    return plain(text), ""


def _dedented(lines: Sequence[str]) -> str:
    """The lines below an item without their common indentation."""
    filled = [line for line in lines if line.strip()]
    if not filled:
        return ""
    indent = min(len(line) - len(line.lstrip()) for line in filled)
    return "\n".join(line[indent:].rstrip() if line.strip() else "" for line in lines).strip("\n")


@dataclass(frozen=True, slots=True)
class NumberedSteps:
    """The steps, the line of the first item and the line after the list."""

    steps: tuple[DraftStep, ...] = ()
    first_line: int = -1
    end_line: int = -1


def read_numbered(lines: Sequence[str]) -> NumberedSteps:
    """The steps of the first numbered list of a text.

    A list has two items or more, or one with the number 1. It ends at a headline, a rule, or prose after a blank
    line, unless the next item continues its numbers.
    """
    code = code_lines(lines, lambda rest: any(item(line) for line in rest))
    ahead = _numbers_ahead(lines, code)
    start = 0
    while True:
        found, first, start = _one_list(lines, code, ahead, start)
        if not found:
            return NumberedSteps()
        steps = tuple(step for entry in found if (step := entry.step()) is not None)
        if steps and (len(found) > 1 or found[0].number <= 1):
            return NumberedSteps(steps, first, start)


def _numbers_ahead(lines: Sequence[str], code: Sequence[bool]) -> list[int]:
    """For each line the number of the next item at or below it, -1 if there is none."""
    ahead = [-1] * (len(lines) + 1)
    for number in range(len(lines) - 1, -1, -1):
        entry = None if code[number] else item(lines[number])
        ahead[number] = ahead[number + 1] if entry is None else entry.number
    return ahead


def _one_list(
    lines: Sequence[str], code: Sequence[bool], ahead: Sequence[int], start: int
) -> tuple[list[ListItem], int, int]:
    """The first list at or after a line, with the line where it begins and the one where it ends."""
    items: list[ListItem] = []
    first = -1
    blank = False
    for number in range(start, len(lines)):
        line = lines[number]
        entry = None if code[number] else item(line)
        if entry is not None and (not items or entry.indent <= items[0].indent + 1):
            first = number if not items else first
            items.append(entry)
            blank = False
        elif not items:
            continue
        elif not line.strip():
            blank = True
            items[-1].lines.append("")
        elif not code[number] and _ends(line, items[-1], blank, ahead[number]):
            return items, first, number
        elif code[number] or items[-1].heading or not _HEADING.match(line):
            items[-1].lines.append(line)
            blank = False
    return items, first, len(lines)


def _ends(line: str, last: ListItem, blank: bool, next_number: int) -> bool:
    """Whether a line that begins no item ends the list."""
    continues = next_number == last.number + 1
    if _HEADING.match(line):
        return not continues
    if _RULE.match(line) and blank:
        return not continues
    if line[:1].isspace() or _BULLET.match(line.lstrip()):
        return False
    if last.heading and not split_title(last.text)[1]:
        # Text under the headline of an item belongs to it until the next headline.
        return False
    return blank and not continues
