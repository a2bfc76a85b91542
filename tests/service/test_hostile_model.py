"""Plans with a model that misbehaves by a seed: each ends with the right bytes, or stops with a true reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hostile_model import EXPECTED, planloom_fate

CHANCE = 0.3


async def fates(folder: Path, seeds: range) -> list[str]:
    kinds = []
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        kinds.append((await planloom_fate(place, seed, CHANCE)).kind)
    return kinds


async def test_no_plan_loops_claims_falsely_or_repeats_an_effect(tmp_path: Path) -> None:
    kinds = await fates(tmp_path, range(1_000, 1_012))
    assert set(kinds) <= {*EXPECTED} and kinds.count("right") >= 9


@pytest.mark.slow
async def test_nor_do_many_plans(tmp_path: Path) -> None:
    kinds = await fates(tmp_path, range(2_000, 2_080))
    assert set(kinds) <= {*EXPECTED} and kinds.count("right") >= 68
