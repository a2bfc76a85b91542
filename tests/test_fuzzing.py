"""What must hold of every reader of models' and users' words, on the fuzzer's texts: as they are, changed, guided."""

from __future__ import annotations

import random
from importlib.util import find_spec

import pytest

from bench.fuzzing.fuzz import PACKAGES, run
from bench.fuzzing.targets import TARGETS
from bench.fuzzing.texts import chance_of, changed

ROUNDS = 60
MANY_ROUNDS = 3_000


def check_changed(name: str, rounds: int) -> None:
    """Every text that the fuzzer grows from, and so many changed ones."""
    target = TARGETS[name]
    seeds = tuple(target.seeds())
    chance = random.Random(name)
    texts = [
        *seeds[:ROUNDS],
        *(changed(chance.choice(seeds), seeds, target.words, chance) for _ in range(rounds)),
    ]
    for text in texts:
        target.check(text, chance_of(text))


def test_every_target_has_code_to_be_guided_by() -> None:
    assert set(PACKAGES) == set(TARGETS)
    assert [name for names in PACKAGES.values() for name in names if find_spec(name) is None] == []


@pytest.mark.parametrize("name", TARGETS)
def test_texts_that_were_changed_a_little_are_read_soundly(name: str) -> None:
    check_changed(name, ROUNDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_texts_that_were_changed_are_read_soundly(name: str) -> None:
    check_changed(name, MANY_ROUNDS)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(
    find_spec("atheris") is None, reason="guided fuzzing needs atheris: pip install -e '.[fuzz]'"
)
@pytest.mark.parametrize("name", TARGETS)
def test_guided_fuzzing_finds_nothing(name: str) -> None:
    assert run(name, seconds=20) == 0
