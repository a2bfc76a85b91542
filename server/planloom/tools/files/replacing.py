"""Replaces `old_text` by `new_text` in a text, with looser matching if there is no exact match."""

from __future__ import annotations

import difflib
from typing import NamedTuple

from planloom.domain.text.positions import with_eol
from planloom.tools.files.fuzzy_match import (
    GRADE_TEXT,
    Grade,
    Lines,
    NoIndentation,
    plain_punctuation,
    reindented,
)
from planloom.tools.files.line_numbers import has_numbers, unnumbered_edit, unnumbered_text

CLOSEST = " The closest lines, with their numbers, are:"
_SHOWN = 20
_LONGEST_LINE = 300
_MOST_LINES = 5_000
_TELLING = 12
"""The least characters of a new text whose presence says that an edit has been made."""


class Replacement(NamedTuple):
    """The whole new text with LF line ends, the number of replaced occurrences, and how the old text was matched."""

    text: str
    occurrences: int
    grade: Grade = "exact"


class NoMatch(NamedTuple):
    """Why nothing was replaced; `reason` tells the model what to do instead. `lines`: each has the old text exactly."""

    reason: str
    lines: tuple[int, ...] = ()


def replace(text: str, old: str, new: str, *, replace_all: bool = False) -> Replacement | NoMatch:
    """Replace `old` by `new`, once or everywhere; without an exact match, a unique looser match is replaced.

    Line numbers that the model copied from `read_file` are removed.
    """
    text, old, new = (with_eol(each, "\n") for each in (text, old, new))
    found = _replace(text, old, _unnumbered_new(text, old, new), replace_all=replace_all)
    plain = unnumbered_edit(old.split("\n"), new.split("\n")) if isinstance(found, NoMatch) else None
    if plain is None:
        return found
    # A number stands at the beginning of a line, so only whole lines are meant.
    plain_old = "\n".join(plain.old)
    placed = _whole_lines(text, plain_old, "\n".join(plain.new))
    return placed if placed is not None else NoMatch(not_found("old_text", text, plain_old))


def _unnumbered_new(text: str, old: str, new: str) -> str:
    """The new text without line numbers if they begin with that of the old text's line.

    Other numbers are rows of data, and so may all be in a file that has lines which begin with a number.
    """
    offset = text.find(old)
    plain = unnumbered_text(new, text.count("\n", 0, offset) + 1) if offset >= 0 else None
    return new if plain is None or has_numbers(text) else plain


def _replace(text: str, old: str, new: str, *, replace_all: bool) -> Replacement | NoMatch:
    if old == "":
        return NoMatch(
            "old_text is empty. Give the text to replace, or use write_file to set the whole file."
        )
    count = text.count(old)
    if count == 1 or (count and replace_all):
        return Replacement(text.replace(old, new), count)
    if count:
        return _ambiguous(_exact_lines(text, old), "exact")
    for attempt in (_punctuation(text, old, new), _whole_lines(text, old, new)):
        if attempt is not None:
            return attempt
    if len(new.strip()) >= _TELLING and new in text:
        return NoMatch(
            "old_text was not found, but new_text was: the edit seems to be made already. Read the file to check."
        )
    return NoMatch(not_found("old_text", text, old))


def _punctuation(text: str, old: str, new: str) -> Replacement | NoMatch | None:
    """Replace a match that differs only in typographic characters; None if there is none."""
    plain, wanted = plain_punctuation(text), plain_punctuation(old)
    count = plain.count(wanted)
    if count == 0 or not wanted.strip():
        return None
    if count > 1:
        return _ambiguous(_exact_lines(plain, wanted), "punctuation")
    start = plain.index(wanted)
    return Replacement(text[:start] + new + text[start + len(old) :], 1, "punctuation")


def _whole_lines(text: str, old: str, new: str) -> Replacement | NoMatch | None:
    """Replace whole lines that differ only in white space or typographic characters; None if there are none."""
    ended = text.endswith("\n")
    lines = Lines(text.removesuffix("\n").split("\n"))
    closed = old.endswith("\n")
    wanted = old.removesuffix("\n").split("\n")
    found = lines.find(wanted)
    if found is None:
        return None
    if len(found.starts) > 1:
        return _ambiguous([place + 1 for place in found.starts], found.grade)
    start = found.starts[0]
    actual = lines.lines[start : start + len(wanted)]
    # Whole lines that are replaced by nothing are removed with their line ends.
    put = [] if closed and not new else (new.removesuffix("\n") if closed else new).split("\n")
    placed = reindented(put, wanted, actual)
    if isinstance(placed, NoIndentation):
        return NoMatch(placed.reason)
    kept = (*lines.lines[:start], *placed, *lines.lines[start + len(wanted) :])
    end = "\n" if ended and kept else ""
    return Replacement("\n".join(kept) + end, 1, found.grade)


def _ambiguous(numbers: list[int], grade: Grade) -> NoMatch:
    shown = ", ".join(str(number) for number in numbers[:_SHOWN])
    more = " and more" if len(numbers) > _SHOWN else ""
    if grade == "exact":
        return NoMatch(
            f"old_text occurs {len(numbers)} times (lines {shown}{more}). "
            "Add lines around it to make it unique, or set replace_all.",
            tuple(numbers),
        )
    return NoMatch(
        f"old_text was not found exactly; {GRADE_TEXT[grade]} it occurs {len(numbers)} times "
        f"(lines {shown}{more}). Copy it exactly, with enough lines around it to be unique."
    )


def _exact_lines(text: str, old: str) -> list[int]:
    """The line number of every occurrence."""
    numbers: list[int] = []
    line, counted = 1, 0
    offset = text.find(old)
    while offset >= 0:
        line += text.count("\n", counted, offset)
        counted = offset
        numbers.append(line)
        offset = text.find(old, offset + len(old))
    return numbers


def not_found(name: str, text: str, old: str) -> str:
    """A message that the text was not found, with at most 20 of the most similar lines of the file."""
    sentence = f"{name} was not found. It must be the file's text exactly, white space included."
    lines = text.split("\n")
    wanted = old.strip("\n").split("\n")
    first = next((number for number, line in enumerate(wanted) if line.strip()), 0)
    near = _nearest(lines, wanted[first].strip())
    if near is not None:
        start = max(0, near - first)
        end = min(len(lines), start + min(_SHOWN, len(wanted) + 2))
        shown = "\n".join(f"{n + 1}: {lines[n][:_LONGEST_LINE]}" for n in range(start, end))
        return f"{sentence}{CLOSEST}\n{shown}"
    return f"{sentence} Read the file again before the next try."


def _nearest(lines: list[str], wanted: str) -> int | None:
    if not wanted:
        return None
    places: dict[str, int] = {}
    for number, line in enumerate(lines[:_MOST_LINES]):
        places.setdefault(line.strip()[:_LONGEST_LINE], number)
    close = difflib.get_close_matches(wanted[:_LONGEST_LINE], list(places), n=1, cutoff=0.6)
    return places[close[0]] if close else None
