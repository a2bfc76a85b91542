"""Which lines of two texts are the same line: sequences of numbers in, the kept places out.

Two ways to choose, because two things are wanted: `shortest` keeps as many lines as possible, for the
smallest edits; `as_git` keeps the very lines that git keeps, so that a merge agrees with the one people know.
Both are then `settled`: a changed stretch that could as well lie a few lines up or down joins its neighbours.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import accumulate, count
from typing import Final

from planloom.domain.text import myers
from planloom.domain.text.myers import Box, Kept

# The table of the C-backed search has one bit a pair of lines: this is 32 MB, and some 50 ms.
_MOST_PAIRS: Final = 1 << 28
_WIDEST_LANDMARK: Final = 64


def numbered(before: Sequence[str], after: Sequence[str]) -> tuple[list[int], list[int]]:
    """Both sequences of lines as numbers, equal for equal lines."""
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    return list(map(numbers.__getitem__, before)), list(map(numbers.__getitem__, after))


def shortest(before: Sequence[int], after: Sequence[int]) -> Kept:
    """As many kept lines as possible; where that would take too long, a good choice in bounded time."""
    return settled(before, after, _long(before, after))


def as_git(before: Sequence[int], after: Sequence[int]) -> Kept:
    """The kept lines that git chooses by default; `shortest` beyond the cost at which git guesses."""
    inner = Box.of(before, after).without_equal_ends(before, after)
    left = _comparable(before, range(inner.x_start, inner.x_end), Counter(after))
    right = _comparable(after, range(inner.y_start, inner.y_end), Counter(before))
    kept = myers.common([before[place] for place in left], [after[place] for place in right])
    if kept is None:
        return shortest(before, after)
    return settled(before, after, _framed(kept, left, right, inner, len(before)))


def settled(before: Sequence[int], after: Sequence[int], kept: Kept) -> Kept:
    """The same number of kept lines, with movable changes joined to others or else as far down as they go."""
    upper = [-1, *kept.first, len(before)]
    lower = [-1, *kept.second, len(after)]
    _settle(before, upper, lower)
    _settle(after, lower, upper)
    return Kept(upper[1:-1], lower[1:-1])


def _settle(lines: Sequence[int], kept: list[int], other: list[int]) -> None:
    """Move the gaps between kept lines of one side; `other` are the partners, with as many gaps."""
    done = 0
    for gap in [gap for gap in range(1, len(kept)) if kept[gap] - kept[gap - 1] > 1]:
        # Gaps that an earlier one has met and taken in are gone.
        if gap > done:
            done = _settle_gap(lines, kept, other, gap)


def _settle_gap(lines: Sequence[int], kept: list[int], other: list[int], gap: int) -> int:
    """Move one gap up and down as far as it goes, growing by those it meets; then to a partner, if any.

    Returns its number then. A gap can move by one line when the line that comes in equals the one that goes.
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


def _framed(kept: Kept, left: list[int], right: list[int], inner: Box, length: int) -> Kept:
    """What was kept of the places `left` and `right` in an inner box, with the equal ends around it."""
    whole = Kept([], [])
    whole.add(0, 0, inner.x_start)
    whole.first.extend([left[x] for x in kept.first])
    whole.second.extend([right[y] for y in kept.second])
    whole.add(inner.x_end, inner.y_end, length - inner.x_end)
    return whole


def _long(first: Sequence[int], second: Sequence[int], width: int = 1) -> Kept:
    """A longest common subsequence; a long one where the search would be too large.

    Too large a search is divided at landmarks of `width` lines, then at wider ones; where no landmark divides
    it any more, nothing is kept.
    """
    inner = Box.of(first, second).without_equal_ends(first, second)
    left, right = _matchable(first, second, inner)
    kept = _search([first[place] for place in left], [second[place] for place in right], width)
    return _framed(kept, left, right, inner, len(first))


def _search(first: list[int], second: list[int], width: int) -> Kept:
    if len(first) * len(second) <= _MOST_PAIRS:
        return _longest_in_c(first, second)
    if width > _WIDEST_LANDMARK:
        return Kept([], [])
    kept = myers.common(first, second) if width == 1 else None
    return _by_parts(first, second, width) if kept is None else kept


def _by_parts(first: list[int], second: list[int], width: int) -> Kept:
    """What is kept of each part between landmarks; a part begins with one."""
    kept = Kept([], [])
    x, y = 0, 0
    for next_x, next_y in [*_landmarks(first, second, width), (len(first), len(second))]:
        if next_x == x + 1 and next_y == y + 1 and first[x] == second[y]:
            kept.add(x, y, 1)
        else:
            part = _long(first[x:next_x], second[y:next_y], 2 * width)
            kept.first.extend([x + place for place in part.first])
            kept.second.extend([y + place for place in part.second])
        x, y = next_x, next_y
    return kept


def _landmarks(first: list[int], second: list[int], width: int) -> list[tuple[int, int]]:
    """Where as many lines as `width`, which occur once on both sides, begin; in the same order on both."""
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
    at = {line: place for place, line in enumerate(second) if line in once}
    return _ascending([(place, at[line]) for place, line in enumerate(first) if line in once])


def _matchable(first: Sequence[int], second: Sequence[int], box: Box) -> tuple[list[int], list[int]]:
    """The places in a box whose line the other side has too."""
    known = set(first[box.x_start : box.x_end]) & set(second[box.y_start : box.y_end])
    return (
        [place for place in range(box.x_start, box.x_end) if first[place] in known],
        [place for place in range(box.y_start, box.y_end) if second[place] in known],
    )


def _longest_in_c(first: list[int], second: list[int]) -> Kept:
    # Most runs never differ texts this far: start-up should not pay for the library.
    from rapidfuzz.distance import LCSseq

    kept = Kept([], [])
    if not first or not second:
        return kept
    for step in LCSseq.opcodes(first, second):
        if step.tag == "equal":
            kept.add(step.src_start, step.dest_start, step.src_end - step.src_start)
    return kept


def _ascending(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """A longest run of pairs, ascending on both sides; the pairs come ascending on the first."""
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


def _comparable(lines: Sequence[int], places: range, matches: Counter[int]) -> list[int]:
    """The places that git compares: lines with a match, but not frequent ones among lines without any."""
    frequent = min(_rough_root(len(lines)), 1024)
    ranks = [min(matches[lines[place]], frequent) for place in places]
    lonely_above = [0, *accumulate(rank == 0 for rank in ranks)]
    telling = [number for number, rank in enumerate(ranks) if 0 < rank < frequent]

    def is_noise(number: int) -> bool:
        """Whether among up to 100 lines each way, as far as a telling one, three in four have no match."""
        nearest = bisect_left(telling, number)
        start = max(number - 100, telling[nearest - 1] + 1 if nearest else 0)
        end = min(number + 101, telling[nearest] if nearest < len(telling) else len(ranks))
        above = lonely_above[number] - lonely_above[start]
        below = lonely_above[end] - lonely_above[number + 1]
        # The line in question counts once for each way.
        common = (end - start) - above - below + 1
        return above > 0 and below > 0 and 3 * common < above + below

    return [
        place
        for number, place in enumerate(places)
        if 0 < ranks[number] < frequent or (ranks[number] and not is_noise(number))
    ]


def _rough_root(number: int) -> int:
    """A power of two near the square root."""
    return 1 << ((number.bit_length() + 1) // 2)
