"""What the prompts of a small task cost is a count, so that a test can hold it."""

from __future__ import annotations

from bench.models.prompts import three_files


def test_three_files_cost_one_request_within_the_goal_whatever_the_engine() -> None:
    found = list(three_files())
    assert len(found) == 12
    misses = [each for each in found if each.misses]
    assert not misses, f"shorten what every prompt has, or raise GOALS in bench/models/prompts.py: {misses}"
