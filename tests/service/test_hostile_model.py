"""Plans with a model that misbehaves by a seed: each ends with the right bytes, or stops with a true reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.depth import rounds
from tests.support.hostile_model import EXPECTED, planloom_fate

CHANCE = 0.3


@pytest.mark.deep
@pytest.mark.slow
async def test_no_plan_loops_claims_falsely_or_repeats_an_effect(tmp_path: Path) -> None:
    kinds = []
    for seed in range(1_000, 1_000 + rounds(12, 80)):
        place = tmp_path / str(seed)
        place.mkdir()
        kinds.append((await planloom_fate(place, seed, CHANCE)).kind)
    assert set(kinds) <= {*EXPECTED} and kinds.count("right") >= 0.75 * len(kinds)
