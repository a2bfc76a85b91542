"""Lenient JSON: what both readers accept, what only plans may lose, and that missing parts are never guessed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.model_text.cursor import Cursor, NeedMoreText, ParseError
from planloom.domain.model_text.lenient_json import Parsed, Unreadable, read_container, read_value

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)
CONTAINERS = st.lists(VALUES, max_size=4) | st.dictionaries(st.text("abc", max_size=3), VALUES, max_size=4)


def whole(text: str) -> Any:
    cursor = Cursor(text, final=True)
    value = read_value(cursor)
    assert cursor.at_end()
    return value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1,}', {"a": 1}),
        ("{'a': 'it's'}", {"a": "it's"}),
        ("{“a”: “b”}", {"a": "b"}),
        ("{a: True, b: None}", {"a": True, "b": None}),
        ('{"a": 1, // why\n "b": 2 /* so */}', {"a": 1, "b": 2}),
        ('{"a": "x\n\ty"}', {"a": "x\n\ty"}),
        (r'{"a": "\d\u0041"}', {"a": r"\dA"}),
        ('{"a": "\\ud83d\\ude00 \\ud83d"}', {"a": "😀 \ufffd"}),
        ('[{"a": 1}}]', [{"a": 1}]),
        ('{"a": """x "y" z"""}', {"a": 'x "y" z'}),
        ('{a: <|"|>b<|"|>}', {"a": "b"}),
        ("[0x1F, .5, +2]", [31, 0.5, 2]),
    ],
)
def test_what_models_write_is_read_alike_in_calls_and_plans(text: str, value: Any) -> None:
    assert whole(text) == value
    parsed = read_container(text, 0)
    assert isinstance(parsed, Parsed) and (parsed.value, parsed.cut) == (value, False)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ('{"a": 1, "b": [1, 2', {"a": 1, "b": [1, 2]}),
        ('{"a": 1, "b": "x', {"a": 1}),
        ('[{"a": 1}, {"b"', [{"a": 1}, {}]),
        ('{"a": 1, "b" "x"}', {"a": 1}),
        ("[1, 1e999]", [1]),
        (f"[1, {'9' * 400}]", [1]),
        (f"[1, 1{'0' * 250}e99]", [1]),
        (f"[1, 0x{'f' * 5_000}]", [1]),
    ],
)
def test_only_a_plan_keeps_what_is_complete_of_damaged_json(text: str, complete: Any) -> None:
    with pytest.raises(ParseError):
        whole(text)
    parsed = read_container(text, 0)
    assert isinstance(parsed, Parsed) and (parsed.value, parsed.cut) == (complete, True)


@pytest.mark.parametrize(
    "text", ['{"a": 1 "b": 2}', "{a = 1}", '{"a": 1; "b": 2}', '["say "hi" to"]', "[1, …]"]
)
def test_a_call_is_not_guessed_at_where_a_plan_is_repaired(text: str) -> None:
    with pytest.raises(ParseError):
        whole(text)
    parsed = read_container(text, 0)
    assert isinstance(parsed, Parsed) and not parsed.cut


@given(VALUES)
def test_json_is_read_as_json(value: Any) -> None:
    assert whole(json.dumps(value)) == value


@given(CONTAINERS, st.integers(0, 400))
def test_the_beginning_of_json_waits_and_is_never_a_value(value: Any, length: int) -> None:
    text = json.dumps(value)
    part = text[: min(length, len(text) - 1)]
    with pytest.raises(NeedMoreText):
        read_value(Cursor(part, final=False))
    with pytest.raises(ParseError):
        read_value(Cursor(part, final=True))


@pytest.mark.parametrize("opening", ["[", '{"a":', "[{'a':"])
def test_no_depth_raises_another_error(opening: str) -> None:
    with pytest.raises(ParseError):
        whole(opening * 3_000)
    assert isinstance(read_container(opening * 3_000, 0), Parsed | Unreadable)
