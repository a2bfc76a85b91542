"""Writes the words of a plan into Markdown so that whatever renders it shows them and loads nothing."""

from __future__ import annotations

import re
from typing import Final

from planloom.domain.model_text.fences import fenced
from planloom.domain.text.hidden_characters import visible

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)\Z")
_CODE: Final = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_ACTIVE: Final = re.compile(r"[\\`~\[\]<>&]")
"""The characters that begin a link, an image, a tag, an entity or code."""


def as_text(text: str) -> str:
    """The text with every image, link and tag in it as plain characters, and hidden characters written out.

    Code stays code. A bare address may be shown as a link, whose words are then its target.
    """
    lines = visible(text.replace("\r\n", "\n"), keep="\n\t").split("\n")
    written: list[str] = []
    never_closed: set[str] = set()
    at = 0
    while at < len(lines):
        opened = _FENCE.match(lines[at])
        end = _closing(lines, at + 1, opened[1]) if opened and opened[1] not in never_closed else None
        if opened is None or end is None:
            # Of many fences that are not closed, each is looked for once: time stays linear.
            never_closed |= {opened[1]} if opened else set()
            written.append(_line(lines[at]))
            at += 1
            continue
        written.append(fenced("\n".join(lines[at + 1 : end]), opened[2].strip()))
        at = end + 1
    return "\n".join(written)


def as_line(text: str) -> str:
    """The text on one line, as `as_text` writes it."""
    return _line(visible(" ".join(text.split())))


def code(text: str) -> str:
    """The text on one line as code, whatever backticks it has."""
    line = visible(" ".join(text.split()))
    mark = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    gap = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{mark}{gap}{line}{gap}{mark}"


def _closing(lines: list[str], first: int, mark: str) -> int | None:
    for number in range(first, len(lines)):
        found = _FENCE.match(lines[number])
        if found and found[1].startswith(mark) and not found[2].strip():
            return number
    return None


def _line(line: str) -> str:
    pieces: list[str] = []
    at = 0
    for found in _CODE.finditer(line):
        pieces += [_escaped(line[at : found.start()]), found[0]]
        at = found.end()
    return "".join((*pieces, _escaped(line[at:])))


def _escaped(text: str) -> str:
    return _ACTIVE.sub(lambda found: f"\\{found[0]}", text)
