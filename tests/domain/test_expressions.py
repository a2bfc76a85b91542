"""What expressions can say, what is refused with its column, and that none runs long."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.expressions import (
    EVERYWHERE,
    LONGEST,
    Facts,
    Malformed,
    Unanswerable,
    evaluated,
    holds,
    read,
)
from planloom.domain.values import Json

STEPS: Json = {
    "a": {"ok": True, "value": [{"name": "x", "size": 3, "is": True}, {"name": "y", "size": 9, "is": False}]},
    "b": {"ok": False, "value": {"true": "yes", "exit_code": 0}},
}
FACTS = Facts({"steps": STEPS, "env": {}, "platform": "linux"}, {"*.py": ("a.py",)}, {"a.py": True})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("!steps.a.ok", False),
        ("!steps.b.ok && steps.b.value.exit_code == 0", True),
        ("steps.b.value.true", "yes"),
        ("steps.a.value[?is == true].name", ["x"]),
        ("steps.a.value[?size > 5] | [0].name", "y"),
        ("!steps.a.value[?size > 99]", True),
        ("length(steps.a.value) >= 2 || false", True),
        ("glob('*.py')", ["a.py"]),
        ("exists('a.py') && platform == 'linux'", True),
        ("-1 < 0", True),
    ],
)
def test_an_expression_has_this_value(text: str, value: Json) -> None:
    assert evaluated(read(text), FACTS) == value


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        ("a ==", 5),
        ("steps.a.ok == \"yes\" && stepz", 15),
        ("steps", 1),
        ("true || steps.*.ok", 9),
        ("env.HOME", 5),
        ("glob(steps.a.value)", 1),
        ("steps.a.value[?glob('x')]", 16),
        ("[1]", 1),
        ("steps.a.value[]", 1),
        ("to_string(steps.a)", 1),
        ("length(steps.a, steps.b)", 1),
        ("steps.a.value[?`[1]`]", 16),
        ("'" + "x" * LONGEST + "'", LONGEST + 1),
        ("(" * 900, 1),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_with_its_column(text: str, column: int) -> None:
    with pytest.raises(Malformed) as refused:
        read(text)
    assert refused.value.column == column


@pytest.mark.parametrize("text", ["length(5)", "steps.a < 'x' || max(steps.a)", "length(steps.a.value)"])
def test_what_has_no_answer_says_so(text: str) -> None:
    with pytest.raises(Unanswerable):
        holds(read(text), FACTS)


def test_no_expression_of_the_greatest_length_runs_long() -> None:
    wide: Json = [[[index] * 10 for index in range(10)] for _ in range(100)]
    facts = Facts({"steps": {"a": {"value": wide}}, "env": {}, "platform": "linux"})
    began = time.process_time()
    for text in (
        "steps.a.value" + "[?@]" * 240,
        "steps.a.value" + "[*]" * 300,
        "steps.a.value[?" * 60 + "true" + "]" * 60,
        "steps.a.value[?" + "@[?" * 240 + "true" + "]" * 241,
        "!" * 900 + "true",
        "length(reverse(sort(" * 40 + "steps.a.value" + ")))" * 40,
    ):
        try:
            evaluated(read(text), facts)
        except (Malformed, Unanswerable):
            continue
    assert time.process_time() - began < 5


@given(st.text(alphabet="ab.[]?*()!&|=<>'`\"0, {}:@sptetrue", max_size=40))
def test_every_text_has_a_value_or_an_error_of_these(text: str) -> None:
    with suppress(Malformed, Unanswerable):
        evaluated(read(text, EVERYWHERE | {"item"}), FACTS)
