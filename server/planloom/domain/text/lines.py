"""Splits text into lines and finds the blocks of lines that differ between two texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from planloom.domain.text import line_matching as matching
from planloom.domain.text.myers import Kept

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_ENDS_FOR_PYTHON_ONLY: Final = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"


class Block(NamedTuple):
    """Lines `before_start:before_end` of one text became lines `after_start:after_end` of another."""

    before_start: int
    before_end: int
    after_start: int
    after_end: int


def split_lines(text: str) -> list[str]:
    """The lines of a text with their terminators, which are LF, CRLF and CR; joined they are the text."""
    # `str.splitlines` is several times faster; it is right unless the text has one of its other line ends.
    if any(end in text for end in _ENDS_FOR_PYTHON_ONLY):
        return _LINE.findall(text)
    return text.splitlines(keepends=True)


def changed_blocks(before: Sequence[str], after: Sequence[str]) -> tuple[Block, ...]:
    """The smallest blocks of changed lines between two sequences, in order; no two of them touch."""
    return blocks(matching.shortest(*matching.numbered(before, after)), len(before), len(after))


def blocks(kept: Kept, before_length: int, after_length: int) -> tuple[Block, ...]:
    """The blocks between the common lines."""
    upper = (-1, *kept.first, before_length)
    lower = (-1, *kept.second, after_length)
    return tuple(
        Block(upper[gap] + 1, upper[gap + 1], lower[gap] + 1, lower[gap + 1])
        for gap in range(len(upper) - 1)
        if upper[gap + 1] - upper[gap] > 1 or lower[gap + 1] - lower[gap] > 1
    )
