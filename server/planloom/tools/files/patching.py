"""Applying a patch to one text: every hunk is placed in the same text, and two that meet are an error."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from planloom.tools.files.fuzzy_match import GRADES, SAID, Grade, Lines, NoIndentation, reindented
from planloom.tools.files.patches import Hunk
from planloom.tools.files.replacing import NoMatch, Replaced, not_found, with_lf

_ORDER: dict[Grade, int] = {grade: number for number, (grade, _) in enumerate(GRADES)}


class _Placed(NamedTuple):
    start: int
    end: int
    lines: tuple[str, ...]
    grade: Grade
    number: int


def apply_hunks(text: str, hunks: Sequence[Hunk]) -> Replaced | NoMatch:
    """The whole new text with LF line ends. Each hunk must have one place alone, by its lines, its heading, its
    number or its order; `grade` is that of the loosest."""
    text = with_lf(text)
    content = text.removesuffix("\n").split("\n") if text else []
    lines = Lines(content)
    placed: list[_Placed] = []
    after = 0
    for number, hunk in enumerate(hunks, 1):
        found = _place(lines, hunk, after, number)
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
    said = next((hunk.newline for hunk in reversed(hunks) if hunk.newline is not None), None)
    newline = said if said is not None else text.endswith("\n") or not text
    grade: Grade = max((each.grade for each in placed), key=_ORDER.__getitem__, default="exact")
    return Replaced("\n".join(result) + ("\n" if newline and result else ""), len(placed), grade)


def _place(lines: Lines, hunk: Hunk, after: int, number: int) -> _Placed | NoMatch:
    old = hunk.old
    if not old:
        return _insertion(lines, hunk, number)
    found = lines.find(old)
    if found is None:
        return NoMatch(not_found(f"Hunk {number} of the patch", "\n".join(lines.lines), "\n".join(old)))
    start = _chosen(lines, hunk, found.places, after)
    if start is None:
        shown = ", ".join(str(place + 1) for place in found.places[:20])
        return NoMatch(
            f"Hunk {number} of the patch fits in {len(found.places)} places (lines {shown}), {SAID[found.grade]}. "
            "Add lines around it, or an @@ line with the function or class above it."
        )
    actual = lines.lines[start : start + len(old)]
    new = _new_lines(hunk, actual)
    if isinstance(new, NoIndentation):
        return NoMatch(f"Hunk {number}: {new.reason}")
    return _Placed(start, start + len(old), new, found.grade, number)


def _new_lines(hunk: Hunk, actual: Sequence[str]) -> tuple[str, ...] | NoIndentation:
    """The lines that the hunk leaves: kept ones as the file has them, new ones indented as the file is."""
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


def _chosen(lines: Lines, hunk: Hunk, places: tuple[int, ...], after: int) -> int | None:
    """The one place of these, in order, that is meant; None if that cannot be told."""
    if hunk.at_end and places[-1] + len(hunk.old) == len(lines.lines):
        places = places[-1:]
    if len(places) == 1:
        return places[0]
    for heading in hunk.headings:
        above = _heading(lines, heading)
        if above is not None:
            below = bisect_right(places, above)
            return places[below] if below < len(places) else None
    if hunk.line is not None:
        said = bisect_left(places, hunk.line - 1)
        if places[said : said + 1] == (hunk.line - 1,):
            return hunk.line - 1
    return places[-1] if after and bisect_left(places, after) == len(places) - 1 else None


def _insertion(lines: Lines, hunk: Hunk, number: int) -> _Placed | NoMatch:
    """Where lines go that have none around them: below a heading, at the number given, else at the end."""
    new = tuple(line for _, line in hunk.ops)
    start = len(lines.lines)
    if not hunk.at_end:
        for heading in hunk.headings:
            above = _heading(lines, heading)
            if above is None:
                return NoMatch(
                    f"Hunk {number} of the patch: the line {heading[:100]!r} does not stand there once."
                )
            start = above + 1
        if hunk.line is not None and not hunk.headings:
            start = min(hunk.line, len(lines.lines))
    return _Placed(start, start, new, "exact", number)


def _heading(lines: Lines, heading: str) -> int | None:
    """The one line that a heading is, whole or at its beginning, as git cuts them."""
    whole = lines.find((heading,))
    if whole is not None and len(whole.places) == 1:
        return whole.places[0]
    begun = lines.beginning(heading.strip())
    return begun[0] if len(begun) == 1 else None
