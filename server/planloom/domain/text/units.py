"""Measures text in units of UTF-8, UTF-16 or UTF-32."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, Literal, assert_never

Encoding = Literal["utf-8", "utf-16", "utf-32"]

# Long lines are measured piece by piece, so that no copy of a whole line is made.
_PIECE: Final = 4096


def width(text: str, start: int, end: int, encoding: Encoding) -> int:
    """The length of `text[start:end]` in units; a lone surrogate counts too."""
    if encoding == "utf-32" or text.isascii():
        return end - start
    return sum(_length(text[at : min(at + _PIECE, end)], encoding) for at in range(start, end, _PIECE))


def advance(text: str, start: int, end: int, count: int, encoding: Encoding) -> int:
    """The offset `count` units after `start`, at most `end`; rounded down to the start of a character."""
    # Every character has at least one unit, so the offset cannot be greater than this.
    end = min(end, start + count)
    if encoding == "utf-32" or text.isascii():
        return end
    while start < end:
        piece = text[start : min(start + _PIECE, end)]
        length = _length(piece, encoding)
        if length > count:
            return start + _fitting(piece, count, encoding)
        start += len(piece)
        count -= length
        end = min(end, start + count)
    return start


def _length(text: str, encoding: Encoding) -> int:
    if text.isascii():
        return len(text)
    match encoding:
        case "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))
        case "utf-16":
            return len(text.encode("utf-16-le", "surrogatepass")) // 2
        case "utf-32":
            return len(text)
        case _:
            assert_never(encoding)


def _fitting(text: str, count: int, encoding: Encoding) -> int:
    """How many whole characters of a text fit into `count` units."""
    lengths = range(len(text) + 1)
    return bisect_right(lengths, count, key=lambda length: _length(text[:length], encoding)) - 1
