"""References from an argument to another step's result."""

from __future__ import annotations

import pytest

from planloom.domain.plans.outputs import OutputReference, in_words, literal, output_reference, renamed
from planloom.domain.values import StepId


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("$a", ("a", ())),
        ("$step_1.files[0].name", ("step_1", ("files", 0, "name"))),
        ("$a[2]", ("a", (2,))),
        ("$$a", None),
        ("$a is here", None),
        (" $a", None),
        ("$1", None),
        ("$", None),
        ("$a.", None),
        ("$a\n", None),
        ("US$5", None),
        (5, None),
        (["$a"], None),
        (None, None),
    ],
)
def test_only_a_whole_argument_is_a_reference(argument: object, expected: object) -> None:
    found = output_reference(argument)  # type: ignore[arg-type]
    assert found == (expected and OutputReference(step_id=StepId(expected[0]), path=expected[1]))  # type: ignore[index]


def test_an_escaped_dollar_is_a_dollar() -> None:
    assert literal("$$HOME") == "$HOME"
    assert literal("$HOME") == "$HOME"
    assert literal(3) == 3


def test_renaming_follows_ids_that_are_not_legal() -> None:
    ids = {"step-1": StepId("step_1"), "a.b": StepId("a_b"), "2": StepId("step_2")}
    args = {"x": "$step-1.text", "y": "$a.b[0]", "z": "$$step-1", "n": 1, "o": "$other", "p": "$2.path"}
    assert renamed(args, ids) == {  # type: ignore[arg-type]
        "x": "$step_1.text",
        "y": "$a_b[0]",
        "z": "$$step-1",
        "n": 1,
        "o": "$other",
        "p": "$step_2.path",
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Copy {{item}}", "Copy each item"),
        ("Copy “{{ item }}”, then {{item.name}}.", "Copy “each item”, then each name."),
        ("Write {{item.file.name}}.md for {{index}}", "Write <name>.md for each index"),
        ("Move src/{{item}} to {{item}}/src ({{item}})", "Move src/<item> to <item>/src (each item)"),
        ("Render {{name}} and {item}", "Render {{name}} and {item}"),
    ],
)
def test_placeholders_of_a_loop_are_read_as_words(text: str, words: str) -> None:
    assert in_words(text) == words
