"""Finds the common lines of two texts, which are given as sequences of numbers.

`shortest` keeps as many lines as possible, for the smallest edits; `as_git` keeps the same lines as git, so that a
merge has git's result. Both end with `settled`: a changed block that could also lie a few lines up or down is joined
to its neighbours.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import accumulate, count
from typing import Final

from planloom.domain.text import myers
from planloom.domain.text.bit_parallel import longest
from planloom.domain.text.myers import Box, Kept

# The search needs one bit for each pair of lines: at this limit 32 MB and some 80 ms.
_MOST_PAIRS: Final = 1 << 28
_WIDEST_LANDMARK: Final = 64


def numbered(before: Sequence[str], after: Sequence[str]) -> tuple[list[int], list[int]]:
    """Both sequences of lines as numbers, equal for equal lines."""
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    return list(map(numbers.__getitem__, before)), list(map(numbers.__getitem__, after))


def shortest(before: Sequence[int], after: Sequence[int]) -> Kept:
    """As many common lines as possible; if that would take too long, many of them in bounded time."""
    return settled(before, after, _long(before, after))


def as_git(before: Sequence[int], after: Sequence[int]) -> Kept:
    """The common lines that git chooses by default; `shortest` beyond the cost at which git uses a heuristic."""
    inner = Box.of(before, after).without_equal_ends(before, after)
    left = _comparable(before, range(inner.x_start, inner.x_end), Counter(after))
    right = _comparable(after, range(inner.y_start, inner.y_end), Counter(before))
    kept = myers.common([before[index] for index in left], [after[index] for index in right])
    if kept is None:
        return shortest(before, after)
    return settled(before, after, _with_equal_ends(kept, left, right, inner, len(before)))


def settled(before: Sequence[int], after: Sequence[int], kept: Kept) -> Kept:
    """As many common lines, with movable changes joined to others or else moved down as far as possible."""
    upper = [-1, *kept.first, len(before)]
    lower = [-1, *kept.second, len(after)]
    _settle(before, upper, lower)
    _settle(after, lower, upper)
    return Kept(upper[1:-1], lower[1:-1])


def _settle(lines: Sequence[int], kept: list[int], other: list[int]) -> None:
    """Move the gaps between the common lines of one side; `other` are the common lines of the other side."""
    done = 0
    for gap in [gap for gap in range(1, len(kept)) if kept[gap] - kept[gap - 1] > 1]:
        # Gaps up to `done` have been merged into an earlier one.
        if gap > done:
            done = _settle_gap(lines, kept, other, gap)


def _settle_gap(lines: Sequence[int], kept: list[int], other: list[int], gap: int) -> int:
    """Move one gap up and down as far as possible, merging those it meets, then to a gap of the other side, if any.

    Returns its new index. A gap can move by one line if the line that enters it equals the line that leaves it.
    """
    while True:
        size = kept[gap] - kept[gap - 1]
        while gap > 1 and lines[kept[gap - 1]] == lines[kept[gap] - 1]:
            kept[gap - 1] = kept[gap] - 1
            gap -= 1
        highest = gap
        partnered = other[gap] - other[gap - 1] > 1
        while gap < len(kept) - 1 and lines[kept[gap - 1] + 1] == lines[kept[gap]]:
            kept[gap] = kept[gap - 1] + 1
            gap += 1
            partnered = partnered or other[gap] - other[gap - 1] > 1
        if kept[gap] - kept[gap - 1] == size:
            break
    while partnered and gap > highest and other[gap] - other[gap - 1] == 1:
        kept[gap - 1] = kept[gap] - 1
        gap -= 1
    return gap


def _with_equal_ends(kept: Kept, left: list[int], right: list[int], inner: Box, length: int) -> Kept:
    """The common lines of the whole: `kept` of the indices `left` and `right`, and the equal ends around `inner`."""
    whole = Kept([], [])
    whole.add(0, 0, inner.x_start)
    whole.first.extend([left[x] for x in kept.first])
    whole.second.extend([right[y] for y in kept.second])
    whole.add(inner.x_end, inner.y_end, length - inner.x_end)
    return whole


def _long(first: Sequence[int], second: Sequence[int], width: int = 1) -> Kept:
    """A longest common subsequence; a long one if the search would be too large.

    Such a search is divided at landmarks of `width` lines, then at wider ones. A part without landmarks that is
    still too large has no common lines.
    """
    inner = Box.of(first, second).without_equal_ends(first, second)
    left, right = _matchable(first, second, inner)
    kept = _search([first[index] for index in left], [second[index] for index in right], width)
    return _with_equal_ends(kept, left, right, inner, len(first))


def _search(first: list[int], second: list[int], width: int) -> Kept:
    if len(first) * len(second) <= _MOST_PAIRS:
        return longest(first, second)
    if width > _WIDEST_LANDMARK:
        return Kept([], [])
    kept = myers.common(first, second) if width == 1 else None
    return _by_parts(first, second, width) if kept is None else kept


def _by_parts(first: list[int], second: list[int], width: int) -> Kept:
    """The common lines of the parts between landmarks; each part begins with a landmark."""
    kept = Kept([], [])
    x, y = 0, 0
    for next_x, next_y in [*_landmarks(first, second, width), (len(first), len(second))]:
        if next_x == x + 1 and next_y == y + 1 and first[x] == second[y]:
            kept.add(x, y, 1)
        else:
            part = _long(first[x:next_x], second[y:next_y], 2 * width)
            kept.first.extend([x + index for index in part.first])
            kept.second.extend([y + index for index in part.second])
        x, y = next_x, next_y
    return kept


def _landmarks(first: list[int], second: list[int], width: int) -> list[tuple[int, int]]:
    """The starts of runs of `width` lines that occur once on both sides, in the same order on both."""
    runs = 1
    while runs < width:
        numbers: dict[tuple[int, int], int] = {}
        first, second = (
            [numbers.setdefault(pair, len(numbers)) for pair in zip(side, side[runs:], strict=False)]
            for side in (first, second)
        )
        runs *= 2
    once = {line for line, times in Counter(second).items() if times == 1}
    once &= {line for line, times in Counter(first).items() if times == 1}
    index_of = {line: index for index, line in enumerate(second) if line in once}
    return _ascending([(index, index_of[line]) for index, line in enumerate(first) if line in once])


def _matchable(first: Sequence[int], second: Sequence[int], box: Box) -> tuple[list[int], list[int]]:
    """The indices in a box whose line the other side has too."""
    shared = set(first[box.x_start : box.x_end]) & set(second[box.y_start : box.y_end])
    return (
        [index for index in range(box.x_start, box.x_end) if first[index] in shared],
        [index for index in range(box.y_start, box.y_end) if second[index] in shared],
    )


def _ascending(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """A longest subsequence of pairs that ascends on both sides; the pairs already ascend on the first."""
    ends: list[int] = []
    tails: list[int] = []
    previous: list[int] = []
    for number, (_, right) in enumerate(pairs):
        length = bisect_left(ends, right)
        previous.append(tails[length - 1] if length else -1)
        ends[length : length + 1] = [right]
        tails[length : length + 1] = [number]
    chain: list[tuple[int, int]] = []
    number = tails[-1] if tails else -1
    while number >= 0:
        chain.append(pairs[number])
        number = previous[number]
    return chain[::-1]


def _comparable(lines: Sequence[int], indices: range, matches: Counter[int]) -> list[int]:
    """The indices that git compares: lines with a match, but not frequent ones among lines without a match."""
    frequent = min(_rough_root(len(lines)), 1024)
    ranks = [min(matches[lines[index]], frequent) for index in indices]
    unmatched_before = [0, *accumulate(rank == 0 for rank in ranks)]
    rare = [number for number, rank in enumerate(ranks) if 0 < rank < frequent]

    def is_noise(number: int) -> bool:
        """Whether of up to 100 lines on each side, up to the next rare line, three in four have no match."""
        nearest = bisect_left(rare, number)
        start = max(number - 100, rare[nearest - 1] + 1 if nearest else 0)
        end = min(number + 101, rare[nearest] if nearest < len(rare) else len(ranks))
        above = unmatched_before[number] - unmatched_before[start]
        below = unmatched_before[end] - unmatched_before[number + 1]
        # The line itself counts once for each side.
        common = (end - start) - above - below + 1
        return above > 0 and below > 0 and 3 * common < above + below

    return [
        index
        for number, index in enumerate(indices)
        if 0 < ranks[number] < frequent or (ranks[number] and not is_noise(number))
    ]


def _rough_root(number: int) -> int:
    """A power of two near the square root."""
    return 1 << ((number.bit_length() + 1) // 2)
