"""Which lines of two texts are the same line: sequences of numbers in, pairs of kept places out.

Two ways to choose, because two things are wanted: `shortest` keeps as many lines as possible, for the
smallest edits; `as_git` keeps the very lines that git keeps, so that a merge agrees with the one people know.
Both are then `settled`: a changed stretch that could as well lie a few lines up or down joins its neighbours.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from planloom.domain import myers
from planloom.domain.myers import Box

# The table of the C-backed search has one bit a pair of lines: this is 32 MB, and some 50 ms.
_MOST_PAIRS: Final = 1 << 28


class Kept(NamedTuple):
    """The places of the kept lines, ascending: `before[i]` and `after[i]` are the same line."""

    before: list[int]
    after: list[int]


def numbered(before: Sequence[str], after: Sequence[str]) -> tuple[list[int], list[int]]:
    """Both sequences of lines as numbers, equal for equal lines."""
    numbers: dict[str, int] = {}
    return (
        [numbers.setdefault(line, len(numbers)) for line in before],
        [numbers.setdefault(line, len(numbers)) for line in after],
    )


def shortest(before: Sequence[int], after: Sequence[int]) -> Kept:
    """As many kept lines as possible; where that would take too long, a good choice in bounded time."""
    whole = Box(0, len(before), 0, len(after))
    inner = whole.without_equal_ends(before, after)
    return settled(before, after, _framed(whole, inner, _longest(before, after, inner)))


def as_git(before: Sequence[int], after: Sequence[int]) -> Kept:
    """The kept lines that git chooses by default; `shortest` beyond the cost at which git guesses."""
    whole = Box(0, len(before), 0, len(after))
    inner = whole.without_equal_ends(before, after)
    left = _comparable(before, range(inner.x_start, inner.x_end), Counter(after))
    right = _comparable(after, range(inner.y_start, inner.y_end), Counter(before))
    pairs = myers.common([before[place] for place in left], [after[place] for place in right])
    if pairs is None:
        return shortest(before, after)
    return settled(before, after, _framed(whole, inner, ((left[x], right[y]) for x, y in pairs)))


def settled(before: Sequence[int], after: Sequence[int], kept: Kept) -> Kept:
    """The same number of kept lines, with movable changes joined to others or else as far down as they go."""
    upper = [-1, *kept.before, len(before)]
    lower = [-1, *kept.after, len(after)]
    _settle(before, upper, lower)
    _settle(after, lower, upper)
    return Kept(upper[1:-1], lower[1:-1])


def _settle(lines: Sequence[int], kept: list[int], other: list[int]) -> None:
    """Move the gaps between kept lines of one side; `other` are the partners, with as many gaps."""
    gap = 1
    while gap < len(kept):
        if kept[gap] - kept[gap - 1] > 1:
            gap = _settle_gap(lines, kept, other, gap)
        gap += 1


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


def _framed(whole: Box, inner: Box, pairs: Iterable[tuple[int, int]]) -> Kept:
    """The pairs found in an inner box together with the equal ends around it."""
    places = list(pairs)
    return Kept(
        [
            *range(whole.x_start, inner.x_start),
            *(x for x, _ in places),
            *range(inner.x_end, whole.x_end),
        ],
        [
            *range(whole.y_start, inner.y_start),
            *(y for _, y in places),
            *range(inner.y_end, whole.y_end),
        ],
    )


def _longest(before: Sequence[int], after: Sequence[int], box: Box) -> Iterable[tuple[int, int]]:
    """The pairs of a longest common subsequence inside a box, or of a long one if the box is too large."""
    left, right = _matchable(before, after, box)
    if not left or not right:
        return ()
    if len(left) * len(right) <= _MOST_PAIRS:
        return _longest_in_c(before, after, left, right)
    pairs = myers.common([before[place] for place in left], [after[place] for place in right])
    if pairs is not None:
        return ((left[x], right[y]) for x, y in pairs)
    return _longest_by_parts(before, after, left, right)


def _longest_by_parts(
    before: Sequence[int], after: Sequence[int], left: list[int], right: list[int]
) -> Iterator[tuple[int, int]]:
    for part in _between_landmarks(before, after, left, right):
        inner = part.without_equal_ends(before, after)
        within: Iterable[tuple[int, int]] = ()
        places = _matchable(before, after, inner)
        if 0 < len(places[0]) * len(places[1]) <= _MOST_PAIRS:
            within = _longest_in_c(before, after, *places)
        kept = _framed(part, inner, within)
        yield from zip(kept.before, kept.after, strict=True)


def _matchable(before: Sequence[int], after: Sequence[int], box: Box) -> tuple[list[int], list[int]]:
    """The places in a box whose line the other side has too."""
    known = set(before[box.x_start : box.x_end]) & set(after[box.y_start : box.y_end])
    return (
        [place for place in range(box.x_start, box.x_end) if before[place] in known],
        [place for place in range(box.y_start, box.y_end) if after[place] in known],
    )


def _longest_in_c(
    before: Sequence[int], after: Sequence[int], left: list[int], right: list[int]
) -> Iterator[tuple[int, int]]:
    # Most runs never differ texts this far: start-up should not pay for the library.
    from rapidfuzz.distance import LCSseq

    for step in LCSseq.opcodes([before[place] for place in left], [after[place] for place in right]):
        if step.tag == "equal":
            yield from zip(
                left[step.src_start : step.src_end], right[step.dest_start : step.dest_end], strict=True
            )


def _between_landmarks(
    before: Sequence[int], after: Sequence[int], left: list[int], right: list[int]
) -> Iterator[Box]:
    """Boxes that each end with a landmark: a line that occurs once on both sides, and in the same order."""
    left_counts = Counter(before[place] for place in left)
    right_counts = Counter(after[place] for place in right)
    at = {after[place]: place for place in right if right_counts[after[place]] == 1}
    singles = [
        (place, at[before[place]])
        for place in left
        if left_counts[before[place]] == 1 and before[place] in at
    ]
    start = left[0], right[0]
    for landmark in [*_ascending(singles), (left[-1], right[-1])]:
        end = landmark[0] + 1, landmark[1] + 1
        yield Box(start[0], end[0], start[1], end[1])
        start = end


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
    lonely = 0 in ranks
    return [
        place
        for number, place in enumerate(places)
        if ranks[number] and not (lonely and ranks[number] == frequent and _is_noise(ranks, number, frequent))
    ]


def _is_noise(ranks: list[int], number: int, frequent: int) -> bool:
    """Whether a frequent line stands among so many lines without a match that it says nothing."""
    lonely, common = 0, 0
    for step in (-1, 1):
        found = 0
        for place in range(number + step, number + step * 101, step):
            if not 0 <= place < len(ranks) or 0 < ranks[place] < frequent:
                break
            found += ranks[place] == 0
            common += ranks[place] != 0
        if not found:
            return False
        lonely += found
    common += 2
    return common * 4 < common + lonely


def _rough_root(number: int) -> int:
    """A power of two near the square root."""
    return 1 << ((number.bit_length() + 1) // 2)
