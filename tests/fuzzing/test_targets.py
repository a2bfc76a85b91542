"""What must hold of every reader of models' and users' words, on examples as they are and changed."""

from __future__ import annotations

import random

import pytest

from tests.fuzzing.targets import TARGETS
from tests.fuzzing.texts import chance_of, changed

ROUNDS = 60
MANY_ROUNDS = 3_000


def check_changed(name: str, rounds: int) -> None:
    """The first examples, and so many changed ones."""
    target = TARGETS[name]
    seeds = tuple(target.seeds())
    chance = random.Random(name)
    texts = [
        *seeds[:ROUNDS],
        *(changed(chance.choice(seeds), seeds, target.words, chance) for _ in range(rounds)),
    ]
    for text in texts:
        target.check(text, chance_of(text))


@pytest.mark.parametrize("name", TARGETS)
def test_texts_that_were_changed_a_little_are_read_soundly(name: str) -> None:
    check_changed(name, ROUNDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_texts_that_were_changed_are_read_soundly(name: str) -> None:
    check_changed(name, MANY_ROUNDS)
