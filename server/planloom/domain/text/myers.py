"""Finds a longest common subsequence with Myers' algorithm, breaking ties as git does.

Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), section 4b: search from both ends at once, split
where the two searches meet, and repeat on either side. `x` is an index in the first sequence and `y` in the second; a
diagonal is `x - y`, and a search stores how far it came on each diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

# Above this cost of one search git uses a heuristic instead of finding the shortest path.
_MOST_COST: Final = 256
_MOST_STEPS: Final = 3_000_000
_FAR: Final = 1 << 62


class Box(NamedTuple):
    """The parts of both sequences that are compared, as half-open spans."""

    x_start: int
    x_end: int
    y_start: int
    y_end: int

    @classmethod
    def of(cls, first: Sequence[int], second: Sequence[int]) -> Box:
        """The box of both whole sequences."""
        return cls(0, len(first), 0, len(second))

    def without_equal_ends(self, first: Sequence[int], second: Sequence[int]) -> Box:
        """The box without the equal elements at its two ends."""
        x_start, x_end, y_start, y_end = self
        while x_start < x_end and y_start < y_end and first[x_start] == second[y_start]:
            x_start += 1
            y_start += 1
        while x_start < x_end and y_start < y_end and first[x_end - 1] == second[y_end - 1]:
            x_end -= 1
            y_end -= 1
        return Box(x_start, x_end, y_start, y_end)


class Kept(NamedTuple):
    """The indices of a common subsequence, ascending: the elements at `first[i]` and `second[i]` are equal."""

    first: list[int]
    second: list[int]

    def add(self, x: int, y: int, length: int) -> None:
        """Add `length` elements from `x` and `y` on."""
        self.first.extend(range(x, x + length))
        self.second.extend(range(y, y + length))


class _Meeting(NamedTuple):
    """The point where the searches from both ends met, and the number of steps."""

    x: int
    y: int
    steps: int


def common(first: Sequence[int], second: Sequence[int]) -> Kept | None:
    """A longest common subsequence; None if it cannot be found in bounded time."""
    runs: list[tuple[int, int, int]] = []
    diagonals = len(first) + len(second) + 3
    # Diagonals can be negative; as list indices those count from the end.
    reached = [0] * diagonals, [0] * diagonals
    steps = 0
    boxes = [Box.of(first, second)]
    while boxes:
        box = boxes.pop()
        inner = box.without_equal_ends(first, second)
        x_start, x_end, y_start, y_end = inner
        runs.append((box.x_start, box.y_start, x_start - box.x_start))
        runs.append((x_end, y_end, box.x_end - x_end))
        if x_start == x_end or y_start == y_end:
            continue
        meeting = _meeting(first, second, inner, reached, _MOST_STEPS - steps)
        if meeting is None:
            return None
        steps += meeting.steps
        boxes.append(Box(meeting.x, x_end, meeting.y, y_end))
        boxes.append(Box(x_start, meeting.x, y_start, meeting.y))
    kept = Kept([], [])
    for run in sorted(runs):
        kept.add(*run)
    return kept


def _meeting(
    first: Sequence[int],
    second: Sequence[int],
    box: Box,
    reached: tuple[list[int], list[int]],
    most_steps: int,
) -> _Meeting | None:
    """The point where the furthest paths from both corners first overlap; None if they are too far apart.

    `reached` are two buffers for the furthest `x` on each diagonal, one for each direction; their content is
    overwritten.
    """
    forth, back = reached
    x_start, x_end, y_start, y_end = box
    lowest, highest = x_start - y_end, x_end - y_start
    forth_low = forth_high = x_start - y_start
    back_low = back_high = x_end - y_end
    odd = (forth_low - back_low) % 2 == 1
    forth[forth_low], back[back_low] = x_start, x_end
    steps = 0
    for _ in range(_MOST_COST):
        forth_low, forth_high = _widened(forth, (forth_low, forth_high), lowest, highest, -1)
        for diagonal in range(forth_high, forth_low - 1, -2):
            x = begun = max(forth[diagonal - 1] + 1, forth[diagonal + 1])
            y = x - diagonal
            while x < x_end and y < y_end and first[x] == second[y]:
                x += 1
                y += 1
            forth[diagonal] = x
            steps += x - begun + 1
            if odd and back_low <= diagonal <= back_high and back[diagonal] <= x:
                return _Meeting(x, y, steps)
        back_low, back_high = _widened(back, (back_low, back_high), lowest, highest, _FAR)
        for diagonal in range(back_high, back_low - 1, -2):
            x = begun = min(back[diagonal - 1], back[diagonal + 1] - 1)
            y = x - diagonal
            while x > x_start and y > y_start and first[x - 1] == second[y - 1]:
                x -= 1
                y -= 1
            back[diagonal] = x
            steps += begun - x + 1
            if not odd and forth_low <= diagonal <= forth_high and x <= forth[diagonal]:
                return _Meeting(x, y, steps)
        if steps > most_steps:
            break
    return None


def _widened(
    reached: list[int], span: tuple[int, int], lowest: int, highest: int, nowhere: int
) -> tuple[int, int]:
    """The diagonals of the next round: one more on either side, or one less where the box ends."""
    low, high = span
    if low > lowest:
        low -= 1
        reached[low - 1] = nowhere
    else:
        low += 1
    if high < highest:
        high += 1
        reached[high + 1] = nowhere
    else:
        high -= 1
    return low, high
