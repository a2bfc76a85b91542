"""Applies the hunks of a patch to one text; overlapping hunks are an error."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from planloom.domain.text.positions import with_eol
from planloom.tools.files.fuzzy_match import GRADE_TEXT, GRADES, Grade, Lines, NoIndentation, reindented
from planloom.tools.files.hunks import Hunk
from planloom.tools.files.replacing import NoMatch, Replacement, not_found

_ORDER: dict[Grade, int] = {grade: number for number, (grade, _) in enumerate(GRADES)}


class _PlacedHunk(NamedTuple):
    start: int
    end: int
    lines: tuple[str, ...]
    grade: Grade
    number: int


def apply_hunks(text: str, hunks: Sequence[Hunk]) -> Replacement | NoMatch:
    """The whole new text with LF line ends; `grade` is that of the loosest match.

    The lines, headings, line number or order of each hunk must determine a single place for it.
    """
    text = with_eol(text, "\n")
    content = text.removesuffix("\n").split("\n") if text else []
    lines = Lines(content)
    placed: list[_PlacedHunk] = []
    after = 0
    for number, hunk in enumerate(hunks, 1):
        found = _place_hunk(lines, hunk, after, number)
        if isinstance(found, NoMatch):
            return found
        placed.append(found)
        after = found.end
    placed.sort(key=lambda each: (each.start, each.end))
    for before, behind in pairwise(placed):
        if behind.start < before.end or (behind.start == before.start == behind.end == before.end):
            return NoMatch(
                f"Hunks {min(before.number, behind.number)} and {max(before.number, behind.number)} of the patch "
                f"overlap at line {behind.start + 1}. Nothing was changed: join them into one."
            )
    result: list[str] = []
    done = 0
    for each in placed:
        result += (*content[done : each.start], *each.lines)
        done = each.end
    result += content[done:]
    stated = next((hunk.newline for hunk in reversed(hunks) if hunk.newline is not None), None)
    newline = stated if stated is not None else text.endswith("\n") or not text
    grade: Grade = max((each.grade for each in placed), key=_ORDER.__getitem__, default="exact")
    return Replacement("\n".join(result) + ("\n" if newline and result else ""), len(placed), grade)


def _place_hunk(lines: Lines, hunk: Hunk, after: int, number: int) -> _PlacedHunk | NoMatch:
    old = hunk.old
    if not old:
        return _insertion(lines, hunk, number)
    found = lines.find(old)
    if found is None:
        plain = hunk.unnumbered()
        if plain is not None:
            return _place_hunk(lines, plain, after, number)
        return NoMatch(not_found(f"Hunk {number} of the patch", "\n".join(lines.lines), "\n".join(old)))
    start = _choose_start(lines, hunk, found.starts, after)
    if start is None:
        shown = ", ".join(str(start + 1) for start in found.starts[:20])
        return NoMatch(
            f"Hunk {number} of the patch matches in {len(found.starts)} places (lines {shown}), "
            f"{GRADE_TEXT[found.grade]}. Add lines around it, or an @@ line with the function or class above it."
        )
    actual = lines.lines[start : start + len(old)]
    new = _new_lines(hunk, actual)
    if isinstance(new, NoIndentation):
        return NoMatch(f"Hunk {number}: {new.reason}")
    return _PlacedHunk(start, start + len(old), new, found.grade, number)


def _new_lines(hunk: Hunk, actual: Sequence[str]) -> tuple[str, ...] | NoIndentation:
    """The lines after the hunk: kept ones as in the file, new ones with the file's indentation."""
    added = reindented([line for sign, line in hunk.ops if sign == "+"], hunk.old, actual)
    if isinstance(added, NoIndentation):
        return added
    there, fresh = iter(actual), iter(added)
    result: list[str] = []
    for sign, _ in hunk.ops:
        if sign == "+":
            result.append(next(fresh))
        else:
            line = next(there)
            if sign == " ":
                result.append(line)
    return tuple(result)


def _choose_start(lines: Lines, hunk: Hunk, starts: tuple[int, ...], after: int) -> int | None:
    """Choose one of several matches by the hunk's hints; None if they do not decide."""
    if hunk.at_end and starts[-1] + len(hunk.old) == len(lines.lines):
        starts = starts[-1:]
    if len(starts) == 1:
        return starts[0]
    for heading in hunk.headings:
        above = _heading(lines, heading)
        if above is not None:
            below = bisect_right(starts, above)
            return starts[below] if below < len(starts) else None
    if hunk.line is not None:
        index = bisect_left(starts, hunk.line - 1)
        if starts[index : index + 1] == (hunk.line - 1,):
            return hunk.line - 1
    return starts[-1] if after and bisect_left(starts, after) == len(starts) - 1 else None


def _insertion(lines: Lines, hunk: Hunk, number: int) -> _PlacedHunk | NoMatch:
    """Place a hunk without old lines: below a heading, at its line number, else at the end."""
    new = tuple(line for _, line in hunk.ops)
    start = len(lines.lines)
    if not hunk.at_end:
        for heading in hunk.headings:
            above = _heading(lines, heading)
            if above is None:
                return NoMatch(
                    f"Hunk {number} of the patch: the line {heading[:100]!r} does not occur exactly once."
                )
            start = above + 1
        if hunk.line is not None and not hunk.headings:
            start = min(hunk.line, len(lines.lines))
    return _PlacedHunk(start, start, new, "exact", number)


def _heading(lines: Lines, heading: str) -> int | None:
    """The index of the only line that equals a heading, or begins with it, since git truncates headings."""
    whole = lines.find((heading,))
    if whole is not None and len(whole.starts) == 1:
        return whole.starts[0]
    begun = lines.beginning(heading.strip())
    return begun[0] if len(begun) == 1 else None
