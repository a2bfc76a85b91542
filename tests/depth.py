"""How deep random and exhaustive tests go: `make test` tries a sample of them, `make campaigns` all of it.

A sample has fixed points, so that it is the same in every run. Tests that ask here are marked `deep`. `make check`
tries two cases of each test with more, and fewer random rounds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import groupby
from typing import TypeVar

import pytest

DEEP = os.environ.get("PLANLOOM_DEEP") == "1"
"""Whether this run is one of `make campaigns`."""

QUICK = os.environ.get("PLANLOOM_QUICK") == "1"
"""Whether this run is `make check`."""

Points = TypeVar("Points", bound=Sequence[object])


def rounds(sample: int, deep: int) -> int:
    """How many random rounds a test has."""
    return deep if DEEP else max(1, sample // 4) if QUICK else sample


def points(every: Points, stride: int, start: int = 0) -> Points:
    """Each point, or each `stride`-th from one on, so that the cases of a test can try different ones."""
    return every if DEEP else every[start % stride :: stride]  # type: ignore[return-value]


def few(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The first and the last case of each test."""
    kept: list[pytest.Item] = []
    for _, group in groupby(items, key=lambda item: item.nodeid.partition("[")[0]):
        cases = [*group]
        kept += cases if len(cases) < 3 else (cases[0], cases[-1])
    return kept
