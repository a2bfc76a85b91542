"""Untrusted JSON and fragmented calls are parsed however they are split, without exceptions."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planloom.domain.model_text.surrogates import Joiner
from planloom.models.http.json_text import Unreadable, read_arguments, read_json, read_object
from planloom.models.port import CallBroken, CallMade
from planloom.models.providers.call_fragments import CallFragments
from tests.depth import rounds
from tests.models.support import asks

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=6), values, max_size=4)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        '{"a":' * 100_000,
        "[" * 65 + "]" * 65,
        "NaN",
        "-Infinity",
        "1" * 10_000,
        "-" + "1" * 310,
        "[1, 1e999]",
        "\x00",
        '{"a": 1} x',
        '"\\ud83',
    ],
)
def test_text_that_is_not_json_is_a_problem(text: str) -> None:
    assert isinstance(read_json(text), Unreadable)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    read_json(text)
    read_object(text)
    read_arguments(text)


@given(values)
def test_json_is_read_as_it_is(value: object) -> None:
    assert read_json(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"\\ud83d\\ude00"', "\U0001f600"),
        ('"\\ud83d"', "\ufffd"),
        ('{"\\udc00": ["\\ud800x"]}', {"\ufffd": ["\ufffdx"]}),
    ],
)
def test_half_surrogate_pairs_are_replaced(text: str, value: object) -> None:
    assert read_json(text) == value


@given(st.text(alphabet="a\U0001f600é世", max_size=12), st.data())
def test_text_cut_between_its_utf_16_units_is_joined(text: str, data: st.DataObject) -> None:
    units = text.encode("utf-16-le", "surrogatepass")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(units) // 2), max_size=5)))
    joiner = Joiner()
    joined = ""
    for start, end in zip([0, *cuts], [*cuts, len(units) // 2], strict=True):
        joined += joiner.add(units[2 * start : 2 * end].decode("utf-16-le", "surrogatepass"))
    assert joined + joiner.rest() == text


def _cut(text: str, cuts: list[int]) -> list[str]:
    places = sorted(cut % (len(text) + 1) for cut in cuts)
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


@settings(max_examples=rounds(40, 400))
@given(
    st.lists(st.tuples(st.sampled_from(["f", "g"]), objects), min_size=1, max_size=4),
    st.lists(st.integers(0, 500), max_size=6),
    st.sampled_from(["plain", "no index", "index 0", "no id", "repeated"]),
    st.booleans(),
)
def test_fragments_come_to_the_same_calls_however_they_are_cut(
    calls: list[tuple[str, dict[str, object]]], cuts: list[int], habit: str, spaced: bool
) -> None:
    fragments = CallFragments(asks())
    for number, (name, arguments) in enumerate(calls):
        text = json.dumps(arguments, indent=1 if spaced else None)
        start = {"index": number, "id": f"id{number}", "function": {"name": name, "arguments": ""}}
        for position, part in enumerate(_cut(text, cuts)):
            fragment: dict[str, object] = {"index": number, "function": {"arguments": part}}
            if habit == "repeated" or position == 0:
                fragment = {**start, "function": {"name": name, "arguments": part}}
            if habit == "no index":
                fragment.pop("index")
            elif habit == "index 0":
                fragment["index"] = 0
            elif habit == "no id":
                fragment.pop("id", None)
            fragments.add(fragment)
    made = fragments.events(cut=False)
    assert [(event.call.name, event.call.arguments) for event in made if isinstance(event, CallMade)] == calls
    ids = [event.call.call_id for event in made if isinstance(event, CallMade)]
    assert all(ids)
    assert len(set(ids)) == len(calls)


@settings(max_examples=rounds(40, 400))
@given(
    st.lists(
        st.fixed_dictionaries({}, optional={"index": values, "id": values, "function": values}), max_size=6
    )
)
def test_fragments_of_any_form_are_no_exception(fragments: list[dict[str, object]]) -> None:
    joined = CallFragments(asks())
    for fragment in fragments:
        joined.add(fragment)
    joined.events(cut=True)


@settings(max_examples=rounds(40, 400))
@given(objects.filter(bool), st.integers(0, 200))
def test_a_call_that_is_cut_is_never_made(arguments: dict[str, object], cut: int) -> None:
    text = json.dumps(arguments)
    joined = CallFragments(asks())
    joined.add({"index": 0, "id": "a", "function": {"name": "f", "arguments": text[: cut % len(text)]}})
    (event,) = joined.events(cut=True)
    assert isinstance(event, CallBroken)
    assert "cut" in event.problem


def test_many_fragments_take_linear_time() -> None:
    joined = CallFragments(asks())
    for _ in range(20_000):
        joined.add({"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"a": "}"}, '}})
    assert len(joined.events(cut=False)) <= 256
