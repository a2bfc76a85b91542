"""An IndexedTuple behaves like a tuple of the same values, through any history of changes."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.indexed_tuple import IndexedTuple
from planloom.domain.plans.plan import Step
from planloom.domain.values import StepId, Value


@dataclass(frozen=True)
class Named:
    key: str
    references: tuple[str, ...] = ()


class Kept(Value):
    steps: IndexedTuple[Step]


KEYS = st.sampled_from([f"k{n}" for n in range(8)])
VALUES = st.builds(Named, KEYS, st.lists(KEYS, max_size=2).map(tuple))
MANY = st.lists(VALUES, max_size=12)
CHANGES = st.lists(
    st.tuples(st.sampled_from(["add", "replace", "look", "back"]), st.integers(0, 10_000), VALUES),
    max_size=30,
)


def check(indexed: IndexedTuple[Named], values: tuple[Named, ...]) -> None:
    """Everything that can be asked of both gets the same answer."""
    assert tuple(indexed) == values and len(indexed) == len(values) and bool(indexed) == bool(values)
    assert indexed == values and values == indexed and indexed == IndexedTuple(values)
    assert hash(indexed) == hash(values)
    assert (
        tuple(reversed(indexed)) == values[::-1]
        and indexed[-3:] == values[-3:]
        and indexed[1:9:2] == values[1:9:2]
    )
    for index in range(-len(values), len(values)):
        assert indexed[index] is values[index]
    for key in (*(f"k{n}" for n in range(8)), "none"):
        first = next((index for index, value in enumerate(values) if value.key == key), None)
        assert indexed.index_of(key) == first
        assert indexed.find(key) is (None if first is None else values[first])
        assert indexed.referencing(key) == tuple(
            n for n, value in enumerate(values) if key in value.references
        )


@given(MANY, CHANGES)
def test_it_is_a_tuple_through_any_history(
    values: list[Named], changes: list[tuple[str, int, Named]]
) -> None:
    """`back` goes on from an earlier copy, so that two of them grow from one."""
    past: list[tuple[IndexedTuple[Named], tuple[Named, ...]]] = [(IndexedTuple(values), tuple(values))]
    for change, number, value in changes:
        indexed, twin = past[-1]
        if change == "add":
            past.append((indexed.appended(value), (*twin, value)))
        elif change == "replace" and twin:
            index = number % len(twin)
            past.append((indexed.replaced({index: value}), (*twin[:index], value, *twin[index + 1 :])))
        elif change == "look":
            assert indexed.index_of(value.key) == IndexedTuple(twin).index_of(value.key)
            assert indexed.referencing(value.key) == IndexedTuple(twin).referencing(value.key)
        elif change == "back":
            past.append(past[number % len(past)])
    for indexed, twin in past:
        check(indexed, twin)


@given(MANY, st.dictionaries(st.integers(0, 11), VALUES, max_size=20))
def test_many_are_replaced_at_once(values: list[Named], changes: dict[int, Named]) -> None:
    held = {index: value for index, value in changes.items() if index < len(values)}
    check(IndexedTuple(values).replaced(held), tuple(held.get(n, value) for n, value in enumerate(values)))


@pytest.mark.parametrize("index", [-1, 3])
def test_a_place_that_is_not_there_is_refused(index: int) -> None:
    three = IndexedTuple([Named("a"), Named("b"), Named("c")])
    with pytest.raises(IndexError):
        three.replaced({index: Named("d")})
    with pytest.raises(IndexError):
        three[index if index > 0 else -4]


def test_other_values_and_other_sequences_are_not_equal() -> None:
    one = IndexedTuple([Named("a")])
    assert (
        one != IndexedTuple([Named("a", ("b",))])
        and one != IndexedTuple()
        and one != ()
        and one != [Named("a")]
    )


def test_it_is_copied_and_pickled() -> None:
    many = IndexedTuple(Named(f"k{n}") for n in range(100))
    for again in (pickle.loads(pickle.dumps(many)), copy.copy(many), copy.deepcopy(many)):
        assert again == many and again.index_of("k70") == 70


def step(number: int) -> dict[str, Any]:
    return {"step_id": f"s{number}", "description": f"step {number}", "instruction": "work"}


def test_pydantic_reads_and_writes_it_as_a_tuple() -> None:
    kept = Kept.model_validate({"steps": [step(n) for n in range(70)]})
    assert isinstance(kept.steps, IndexedTuple) and kept.steps.index_of("s65") == 65
    assert Kept.model_validate_json(kept.model_dump_json()) == kept
    assert kept.model_dump()["steps"] == tuple(each.model_dump() for each in kept.steps)
    assert Kept(steps=kept.steps).steps is kept.steps
    assert Kept.model_json_schema()["properties"]["steps"]["type"] == "array"
    with pytest.raises(ValueError, match="description"):
        Kept.model_validate({"steps": [{"step_id": StepId("s")}]})
