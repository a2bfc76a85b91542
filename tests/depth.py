"""How deep random and exhaustive tests go: `make test` tries a sample of them, `make campaigns` all of it.

A sample has fixed points, so that it is the same in every run. Tests that ask here are marked `deep`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

DEEP = os.environ.get("PLANLOOM_DEEP") == "1"
"""Whether this run is one of `make campaigns`."""

Points = TypeVar("Points", bound=Sequence[object])


def rounds(sample: int, deep: int) -> int:
    """How many random rounds a test has."""
    return deep if DEEP else sample


def points(every: Points, stride: int, start: int = 0) -> Points:
    """Each point, or each `stride`-th from one on, so that the cases of a test can try different ones."""
    return every if DEEP else every[start % stride :: stride]  # type: ignore[return-value]
