"""Finds a longest common subsequence with the bits of large integers, a row of the search at a time.

Hyyrö, "Bit-Parallel LCS-length Computation Revisited" (2004): bit `x` of a row is 0 where the longest common
subsequence of the rows so far and of the elements up to `x` is longer than without element `x`. All bits of a row
follow from the row before by one addition, which Python makes a machine word at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

from planloom.domain.text.myers import Box, Kept


def longest(first: Sequence[int], second: Sequence[int]) -> Kept:
    """As many common elements as possible. It takes a bit of memory for each pair of elements."""
    inner = Box.of(first, second).without_equal_ends(first, second)
    middle = _between(first[inner.x_start : inner.x_end], second[inner.y_start : inner.y_end])
    kept = Kept([], [])
    kept.add(0, 0, inner.x_start)
    kept.first.extend(inner.x_start + x for x in middle.first)
    kept.second.extend(inner.y_start + y for y in middle.second)
    kept.add(inner.x_end, inner.y_end, len(first) - inner.x_end)
    return kept


def _between(first: Sequence[int], second: Sequence[int]) -> Kept:
    """Walk back through the rows, from the ends of both."""
    rows = _rows(first, second)
    kept = Kept([], [])
    x, y = len(first) - 1, len(second)
    while x >= 0 and y > 0:
        at, bit = x >> 3, 1 << (x & 7)
        if rows[y][at] & bit:
            x -= 1
        else:
            y -= 1
            if rows[y][at] & bit:
                kept.first.append(x)
                kept.second.append(y)
                x -= 1
    kept.first.reverse()
    kept.second.reverse()
    return kept


def _rows(first: Sequence[int], second: Sequence[int]) -> list[bytes]:
    """The row before any element of `second` and the rows after each, with one bit for each element of `first`."""
    places: dict[int, int] = {}
    for x, element in enumerate(first):
        places[element] = places.get(element, 0) | 1 << x
    row = all_ones = (1 << len(first)) - 1
    size = (len(first) + 7) // 8
    rows = [row.to_bytes(size, "little")]
    for element in second:
        matching = row & places.get(element, 0)
        row = (row + matching | row - matching) & all_ones
        rows.append(row.to_bytes(size, "little"))
    return rows
