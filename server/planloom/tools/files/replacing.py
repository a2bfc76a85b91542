"""Replacing text in a file: what `old_text` and `new_text` of an edit come to."""

from __future__ import annotations

import difflib
from typing import NamedTuple

from planloom.tools.files.fuzzy_match import SAID, Grade, Lines, NoIndentation, plain_punctuation, reindented

CLOSEST = " The closest lines, with their numbers, are:"
_SHOWN = 20
_LONGEST_LINE = 300
_MOST_LINES = 5_000


class Replaced(NamedTuple):
    """The whole new text with LF line ends, in how many places it differs, and how the old text was found."""

    text: str
    places: int
    grade: Grade = "exact"


class NoMatch(NamedTuple):
    """Why nothing was replaced; the sentence tells the model what to do instead."""

    reason: str


def with_lf(text: str) -> str:
    """The text with LF line ends; what the file has is put back when the change is staged."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def replace(text: str, old: str, new: str, *, replace_all: bool = False) -> Replaced | NoMatch:
    """Replace `old` by `new`, once or everywhere. Without an exact match a looser one counts, if it is unique."""
    text, old, new = with_lf(text), with_lf(old), with_lf(new)
    if old == "":
        return NoMatch(
            "old_text is empty. Give the text to replace, or use write_file to set the whole file."
        )
    count = text.count(old)
    if count == 1 or (count and replace_all):
        return Replaced(text.replace(old, new), count)
    if count:
        return _several(_exact_lines(text, old), "exact")
    for attempt in (_punctuation(text, old, new), _whole_lines(text, old, new)):
        if attempt is not None:
            return attempt
    if new.strip() and text.count(new):
        return NoMatch(
            "old_text does not stand there, but new_text does: the edit seems to be made already. "
            "Read the file to see."
        )
    return NoMatch(not_found("old_text", text, old))


def _punctuation(text: str, old: str, new: str) -> Replaced | NoMatch | None:
    """The same text but for typographic signs, anywhere in a line."""
    plain, wanted = plain_punctuation(text), plain_punctuation(old)
    count = plain.count(wanted)
    if count == 0 or not wanted.strip():
        return None
    if count > 1:
        return _several(_exact_lines(plain, wanted), "punctuation")
    at = plain.index(wanted)
    return Replaced(text[:at] + new + text[at + len(old) :], 1, "punctuation")


def _whole_lines(text: str, old: str, new: str) -> Replaced | NoMatch | None:
    """The same lines but for white space at their ends, indentation, typographic signs."""
    ended = text.endswith("\n")
    lines = Lines(text.removesuffix("\n").split("\n"))
    closed = old.endswith("\n")
    wanted = old.removesuffix("\n").split("\n")
    found = lines.find(wanted)
    if found is None:
        return None
    if len(found.places) > 1:
        return _several([place + 1 for place in found.places], found.grade)
    start = found.places[0]
    actual = lines.lines[start : start + len(wanted)]
    # Whole lines that are replaced by nothing go away with their ends.
    put = [] if closed and not new else (new.removesuffix("\n") if closed else new).split("\n")
    placed = reindented(put, wanted, actual)
    if isinstance(placed, NoIndentation):
        return NoMatch(placed.reason)
    kept = (*lines.lines[:start], *placed, *lines.lines[start + len(wanted) :])
    end = "\n" if ended and kept else ""
    return Replaced("\n".join(kept) + end, 1, found.grade)


def _several(numbers: list[int], grade: Grade) -> NoMatch:
    shown = ", ".join(str(number) for number in numbers[:_SHOWN])
    more = " and more" if len(numbers) > _SHOWN else ""
    if grade == "exact":
        return NoMatch(
            f"old_text stands there {len(numbers)} times (lines {shown}{more}). "
            "Add lines around it to make it unique, or set replace_all."
        )
    return NoMatch(
        f"old_text does not stand there exactly; {SAID[grade]} it does {len(numbers)} times "
        f"(lines {shown}{more}). Copy it exactly, with enough lines around it to be unique."
    )


def _exact_lines(text: str, old: str) -> list[int]:
    """The line of every occurrence."""
    numbers: list[int] = []
    line, counted = 1, 0
    at = text.find(old)
    while at >= 0:
        line += text.count("\n", counted, at)
        counted = at
        numbers.append(line)
        at = text.find(old, at + len(old))
    return numbers


def not_found(name: str, text: str, old: str) -> str:
    """Say that exact text is needed, and show the stretch of the file that comes closest, at most 20 lines."""
    sentence = f"{name} does not stand there. It must be the file's text exactly, white space included."
    lines = text.split("\n")
    wanted = old.strip("\n").split("\n")
    first = next((number for number, line in enumerate(wanted) if line.strip()), 0)
    near = _nearest(lines, wanted[first].strip())
    if near is not None:
        start = max(0, near - first)
        end = min(len(lines), start + min(_SHOWN, len(wanted) + 2))
        shown = "\n".join(f"{n + 1}: {lines[n][:_LONGEST_LINE]}" for n in range(start, end))
        sentence += f"{CLOSEST}\n{shown}"
    return sentence + "\nRead the file again before the next try."


def _nearest(lines: list[str], wanted: str) -> int | None:
    if not wanted:
        return None
    places: dict[str, int] = {}
    for number, line in enumerate(lines[:_MOST_LINES]):
        places.setdefault(line.strip()[:_LONGEST_LINE], number)
    close = difflib.get_close_matches(wanted[:_LONGEST_LINE], list(places), n=1, cutoff=0.6)
    return places[close[0]] if close else None
