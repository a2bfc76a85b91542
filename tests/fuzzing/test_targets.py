"""What must hold of every reader of models' and users' words, on examples as they are and changed."""

from __future__ import annotations

import random

import pytest

from tests.depth import rounds
from tests.fuzzing.targets import TARGETS
from tests.fuzzing.texts import chance_of, changed

EXAMPLES = 60
"""The first examples of each are read as they are."""


@pytest.mark.deep
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "plans" else ()) for name in TARGETS]
)
def test_texts_as_they_are_and_changed_are_read_soundly(name: str) -> None:
    target = TARGETS[name]
    seeds = tuple(target.seeds())
    chance = random.Random(name)
    texts = [
        *seeds[:EXAMPLES],
        *(changed(chance.choice(seeds), seeds, target.words, chance) for _ in range(rounds(60, 3_000))),
    ]
    for text in texts:
        target.check(text, chance_of(text))
