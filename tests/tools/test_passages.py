"""Runs of lines are found in linear time, even if they overlap themselves."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.tools.files.fuzzy_match import Lines, Match

two_kinds = st.lists(st.sampled_from(["a", "b", ""]), max_size=300)


@given(two_kinds, st.lists(st.sampled_from(["a", "b", ""]), min_size=1, max_size=5))
def test_every_place_is_found(lines: list[str], run: list[str]) -> None:
    there = tuple(n for n in range(len(lines) - len(run) + 1) if lines[n : n + len(run)] == run)
    found = Lines(lines).find(run)
    assert (found.starts if found is not None and found.grade == "exact" else ()) == there


def test_a_run_that_overlaps_itself_many_times() -> None:
    assert Lines(["x"] * 500).find(["x"] * 3) == Match(tuple(range(498)), "exact")


@pytest.mark.parametrize("lines", [["x"], ["x", "y"], ["x", "x", "y"]])
def test_time_is_linear_in_equal_lines(lines: list[str]) -> None:
    def seconds(count: int) -> float:
        text = lines * count
        begun = time.process_time()
        assert Lines(text).find(text[: len(text) // 2]) is not None
        return time.process_time() - begun

    small = min(seconds(2_000) for _ in range(3))
    assert min(seconds(16_000) for _ in range(3)) < 40 * small + 0.05
