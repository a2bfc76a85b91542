"""Which problems of a changed text are new: a table of texts before and after, with what a checker says of each."""

from __future__ import annotations

import pytest

from planloom.domain.text.positions import Position, Range
from planloom.domain.values import Uri
from planloom.languages.comparing import Side, new_problems, touched_lines
from planloom.workspace.editor import Diagnostic

URI = Uri("file:///work/a.py")
Said = dict[int, str]
"""What is said of each line, counted from 0, as `severity code message`."""


def side(text: str, said: Said) -> Side:
    problems = []
    for line, words in said.items():
        severity, code, message = words.split(" ", 2)
        where = Range(start=Position(line=line, character=0), end=Position(line=line, character=1))
        problems.append(
            Diagnostic.model_validate(
                {"range": where, "severity": severity, "code": code, "message": message}
            )
        )
    return Side(text, tuple(problems))


CASES: dict[str, tuple[str, Said, str, Said, list[int]]] = {
    "nothing is said": ("a\n", {}, "a\nb\n", {}, []),
    "one is new": ("a\n", {}, "a\nb\n", {1: "error e1 bad b"}, [1]),
    "one has moved": ("a\nb\n", {1: "error e1 bad b"}, "x\ny\na\nb\n", {3: "error e1 bad b"}, []),
    "one has moved and one like it is new": (
        "a\nb\n",
        {1: "error e1 bad b"},
        "a\nb\nb\n",
        {1: "error e1 bad b", 2: "error e1 bad b"},
        [2],
    ),
    "one names another line": (
        "a\nb\n",
        {1: "error e1 declared on line 1"},
        "x\na\nb\n",
        {2: "error e1 declared on line 2"},
        [],
    ),
    "an unchanged line has the same rule in other words": (
        "a\nb\n",
        {1: "warning w1 type is A"},
        "c\nb\n",
        {1: "warning w1 type is B"},
        [],
    ),
    "an unchanged line has one more": (
        "a\nb\n",
        {},
        "c\nb\n",
        {1: "error e2 unknown a"},
        [1],
    ),
    "a changed line has other words": ("a\n", {0: "error e1 bad a"}, "b\n", {0: "error e1 bad b"}, [0]),
    "one is mended": ("a\nb\n", {0: "error e1 bad a"}, "x\nb\n", {}, []),
    "hints are nobody's business": (
        "a\n",
        {},
        "b\n",
        {0: "hint h1 unused"},
        [],
    ),
    "errors come first": ("", {}, "a\nb\n", {0: "warning w1 odd", 1: "error e1 bad"}, [1, 0]),
}


@pytest.mark.parametrize("case", CASES)
def test_new_problems(case: str) -> None:
    before, said_before, after, said_after, expected = CASES[case]
    found = new_problems(URI, side(before, said_before), side(after, said_after))
    assert [each.line for each in found] == expected


def test_a_line_that_names_a_file_that_is_not_there_yet_is_not_blamed() -> None:
    before, after = (
        side("a\n", {}),
        side("import more\nb\n", {0: "error e1 no module more", 1: "error e1 bad"}),
    )
    assert [each.line for each in new_problems(URI, before, after, {"more"})] == [1]


def test_touched_lines_are_empty_where_lines_are_only_added() -> None:
    assert [*touched_lines("a\nb\nc\n", "a\nx\nc\n")] == [range(1, 2)]
    assert [*touched_lines("a\nb\n", "a\nx\nb\n")] == [range(1, 1)]
