"""The search finds a longest common subsequence, as the textbook's table does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.text.bit_parallel import longest

elements = st.lists(st.integers(0, 5), max_size=70)


def length(first: list[int], second: list[int]) -> int:
    """The length of a longest common subsequence, by dynamic programming."""
    row = [0] * (len(second) + 1)
    for x in first:
        above, row = row, [0]
        for index, y in enumerate(second):
            row.append(above[index] + 1 if x == y else max(above[index + 1], row[-1]))
    return row[-1]


@given(elements, elements)
def test_what_it_keeps_is_common_ascending_and_as_long_as_possible(
    first: list[int], second: list[int]
) -> None:
    kept = longest(first, second)
    assert [first[x] for x in kept.first] == [second[y] for y in kept.second]
    assert kept.first == sorted(set(kept.first)) and kept.second == sorted(set(kept.second))
    assert len(kept.first) == len(kept.second) == length(first, second)
