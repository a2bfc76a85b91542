"""Finding the text that an edit replaces: exactly, and only where it is unambiguous."""

from __future__ import annotations

import difflib
from typing import NamedTuple

from planloom.domain.text import LineIndex

_SHOWN = 20


class Replaced(NamedTuple):
    """The whole new text, and in how many places it differs."""

    text: str
    places: int


class NoMatch(NamedTuple):
    """Why nothing was replaced; the sentence tells the model what to do instead."""

    reason: str


def replace(text: str, old: str, new: str, *, replace_all: bool = False) -> Replaced | NoMatch:
    """Replace `old` by `new`, once or everywhere. Line ends of `old` and `new` follow those of the text."""
    if old == "":
        return NoMatch("old_text is empty. Use write_file to set a whole file.")
    old, new = _with_line_ends_of(text, old), _with_line_ends_of(text, new)
    count = text.count(old)
    if count == 0:
        return NoMatch(_not_found(text, old))
    if count > 1 and not replace_all:
        lines = ", ".join(str(number) for number in _line_numbers(text, old))
        return NoMatch(
            f"old_text stands there {count} times (lines {lines}). Add lines around it, or set replace_all."
        )
    return Replaced(text.replace(old, new), count)


def _with_line_ends_of(text: str, part: str) -> str:
    """A part as it would stand in the text: models write \\n, whatever the file has."""
    if "\r\n" in text and "\r\n" not in part and part not in text:
        return part.replace("\n", "\r\n")
    return part


def _line_numbers(text: str, old: str) -> list[int]:
    index = LineIndex(text)
    numbers: list[int] = []
    start = text.find(old)
    while start >= 0 and len(numbers) < _SHOWN:
        numbers.append(index.position(start, "utf-32").line + 1)
        start = text.find(old, start + len(old))
    return numbers


def _not_found(text: str, old: str) -> str:
    """Say that exact text is needed, and show the lines that come closest."""
    wanted = next((line.strip() for line in old.splitlines() if line.strip()), "")
    candidates = list({line.strip(): None for line in text.splitlines() if line.strip()})[:5_000]
    close = difflib.get_close_matches(wanted[:500], [line[:500] for line in candidates], n=3, cutoff=0.6)
    sentence = "old_text does not stand there. It must be the file's text exactly, white space included."
    if close:
        sentence += " Closest lines:\n" + "\n".join(close)
    return sentence + "\nRead the file again before the next try."
