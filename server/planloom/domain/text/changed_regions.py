"""Where two texts differ at all, found at memory speed, so that only those lines need to be compared as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from planloom.domain.text import line_matching as matching
from planloom.domain.text.lines import Block, split_lines

_PIECE: Final = 1 << 16
# Up to this length all lines from the first change to the last are compared, which gives the fewest changed lines.
_LARGE: Final = 1 << 20
_AHEAD: Final = 1 << 13
_LONG_RUN: Final = 32


def stretches(before: str, after: str) -> Iterator[Block]:
    """Whole lines, as code points, that hold everything that changed, in order.

    That is one stretch from the first change to the last. If it is large, it is divided at runs of equal lines
    that are so long that nobody would call them changed.
    """
    rest = between_equal_ends(before, after)
    while _length(rest) > _LARGE:
        found = _up_to_long_run(rest, before, after)
        yield found
        rest = _without_equal_start(
            rest._replace(before_start=found.before_end, after_start=found.after_end), before, after
        )
    if _length(rest):
        yield rest


def between_equal_ends(before: str, after: str) -> Block:
    """Whole lines, as code points, from the first change to the last; empty in both if the texts are equal."""
    rest = _without_equal_start(Block(0, len(before), 0, len(after)), before, after)
    most = min(rest.before_end - rest.before_start, rest.after_end - rest.after_start)
    tail = equal_end(before, after, len(before), len(after), most)
    if not (_starts_line(before, len(before) - tail) and _starts_line(after, len(after) - tail)):
        tail = len(before) - next_line(before, len(before) - tail)
    return rest._replace(before_end=len(before) - tail, after_end=len(after) - tail)


def equal_start(before: str, after: str, before_at: int, after_at: int, most: int) -> int:
    """How many code points are equal from two places on, at most so many."""
    done, size = 0, _PIECE
    while size and done < most:
        size = min(size, most - done)
        before_start, after_start = before_at + done, after_at + done
        if before[before_start : before_start + size] == after[after_start : after_start + size]:
            done += size
        else:
            size //= 2
    return done


def equal_end(before: str, after: str, before_at: int, after_at: int, most: int) -> int:
    """How many code points are equal up to two places, at most so many."""
    done, size = 0, _PIECE
    while size and done < most:
        size = min(size, most - done)
        before_end, after_end = before_at - done, after_at - done
        if before[before_end - size : before_end] == after[after_end - size : after_end]:
            done += size
        else:
            size //= 2
    return done


def in_crlf(text: str, place: int) -> bool:
    """Whether a place is between the two characters of one line end."""
    return 0 < place < len(text) and text[place - 1] == "\r" and text[place] == "\n"


def next_line(text: str, place: int) -> int:
    """Where the first line after a place begins, or the end of the text."""
    feed = text.find("\n", place)
    feed = len(text) if feed < 0 else feed
    carriage = text.find("\r", place, feed)
    if 0 <= carriage < feed - 1:
        return carriage + 1
    return min(feed + 1, len(text))


def _length(stretch: Block) -> int:
    return stretch.before_end - stretch.before_start + stretch.after_end - stretch.after_start


def _without_equal_start(rest: Block, before: str, after: str) -> Block:
    """The rest of both texts from their first lines on that differ; it begins at a line in both."""
    before_start, before_end, after_start, after_end = rest
    most = min(before_end - before_start, after_end - after_start)
    equal = equal_start(before, after, before_start, after_start, most)
    while equal and not (
        _starts_line(before, before_start + equal) and _starts_line(after, after_start + equal)
    ):
        place = before_start + equal - 1
        # A line that reaches back to the start of the rest has no end here: that is none of the equal lines.
        equal = max(before.rfind(end, before_start, place) for end in "\n\r") + 1 - before_start
        equal = max(equal, 0)
    return rest._replace(before_start=before_start + equal, after_start=after_start + equal)


def _up_to_long_run(rest: Block, before: str, after: str) -> Block:
    """The lines before the first long run of equal ones not too far ahead; all if there is none."""
    ahead = _AHEAD
    while ahead < _LARGE:
        old = _lines_ahead(before, rest.before_start, rest.before_end, ahead)
        new = _lines_ahead(after, rest.after_start, rest.after_end, ahead)
        run = _first_long_run(*matching.shortest(*matching.numbered(old, new)))
        if run:
            return Block(
                rest.before_start,
                rest.before_start + sum(map(len, old[: run[0]])),
                rest.after_start,
                rest.after_start + sum(map(len, new[: run[1]])),
            )
        ahead *= 8
    return rest


def _lines_ahead(text: str, start: int, end: int, ahead: int) -> list[str]:
    """The next whole lines; not very many, however short they are."""
    lines = split_lines(text[start : min(start + ahead, end)])
    return lines[: min(len(lines) - (start + ahead < end), ahead // 32)]


def _first_long_run(old: Sequence[int], new: Sequence[int]) -> tuple[int, int] | None:
    """Where as many kept lines as make a long run first follow one another on both sides."""
    begun = 0
    for number in range(len(old)):
        if number and (old[number] - old[number - 1] > 1 or new[number] - new[number - 1] > 1):
            begun = number
        if number - begun + 1 == _LONG_RUN:
            return old[begun], new[begun]
    return None


def _starts_line(text: str, place: int) -> bool:
    return place == 0 or (text[place - 1] in "\n\r" and not in_crlf(text, place))
