"""Finds the regions in which two texts differ quickly, so that only their lines need to be compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from planloom.domain.text import line_matching as matching
from planloom.domain.text.lines import Block, split_lines

_PIECE: Final = 1 << 16
# Up to this length all lines from the first change to the last are one region, which gives the fewest changed lines.
_LARGE: Final = 1 << 20
_AHEAD: Final = 1 << 13
_LONG_RUN: Final = 32


def changed_regions(before: str, after: str) -> Iterator[Block]:
    """The regions that contain all changes, in order: whole lines, as offsets in code points.

    This is one region from the first change to the last; a large one is divided at long runs of equal lines.
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
    """The whole lines from the first change to the last, in code points; empty if the texts are equal."""
    rest = _without_equal_start(Block(0, len(before), 0, len(after)), before, after)
    most = min(rest.before_end - rest.before_start, rest.after_end - rest.after_start)
    tail = equal_end(before, after, len(before), len(after), most)
    if not (_starts_line(before, len(before) - tail) and _starts_line(after, len(after) - tail)):
        tail = len(before) - next_line(before, len(before) - tail)
    return rest._replace(before_end=len(before) - tail, after_end=len(after) - tail)


def equal_start(before: str, after: str, before_at: int, after_at: int, most: int) -> int:
    """How many code points are equal from the two offsets on, at most `most`."""
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
    """How many code points are equal before the two offsets, at most `most`."""
    done, size = 0, _PIECE
    while size and done < most:
        size = min(size, most - done)
        before_end, after_end = before_at - done, after_at - done
        if before[before_end - size : before_end] == after[after_end - size : after_end]:
            done += size
        else:
            size //= 2
    return done


def in_crlf(text: str, offset: int) -> bool:
    """Whether an offset is between the CR and the LF of one line end."""
    return 0 < offset < len(text) and text[offset - 1] == "\r" and text[offset] == "\n"


def next_line(text: str, offset: int) -> int:
    """The offset of the first line that begins after an offset, or the end of the text."""
    feed = text.find("\n", offset)
    feed = len(text) if feed < 0 else feed
    carriage = text.find("\r", offset, feed)
    if 0 <= carriage < feed - 1:
        return carriage + 1
    return min(feed + 1, len(text))


def _length(region: Block) -> int:
    return region.before_end - region.before_start + region.after_end - region.after_start


def _without_equal_start(rest: Block, before: str, after: str) -> Block:
    """The rest of both texts without their equal first lines; it begins at a line in both."""
    before_start, before_end, after_start, after_end = rest
    most = min(before_end - before_start, after_end - after_start)
    equal = equal_start(before, after, before_start, after_start, most)
    while equal and not (
        _starts_line(before, before_start + equal) and _starts_line(after, after_start + equal)
    ):
        offset = before_start + equal - 1
        # If no line ends before this, no whole line is equal.
        equal = max(before.rfind(end, before_start, offset) for end in "\n\r") + 1 - before_start
        equal = max(equal, 0)
    return rest._replace(before_start=before_start + equal, after_start=after_start + equal)


def _up_to_long_run(rest: Block, before: str, after: str) -> Block:
    """The region before the first long run of equal lines, if there is one within reach; else all."""
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
    """The whole lines of the next `ahead` characters, limited in number."""
    lines = split_lines(text[start : min(start + ahead, end)])
    return lines[: min(len(lines) - (start + ahead < end), ahead // 32)]


def _first_long_run(old: Sequence[int], new: Sequence[int]) -> tuple[int, int] | None:
    """The start of the first long run of common lines on both sides."""
    start = 0
    for number in range(len(old)):
        if number and (old[number] - old[number - 1] > 1 or new[number] - new[number - 1] > 1):
            start = number
        if number - start + 1 == _LONG_RUN:
            return old[start], new[start]
    return None


def _starts_line(text: str, offset: int) -> bool:
    return offset == 0 or (text[offset - 1] in "\n\r" and not in_crlf(text, offset))
