"""The rolling summary: within its budget at every turn, with everything important, in whole sentences."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.execution.prompting.compaction import accepted, merge_by_rules, names_in, paths_in, sentences

BUDGET = 200


def count(text: str) -> int:
    return -(-len(text) // 4)


def test_sentences_are_whole_and_paths_do_not_end_them() -> None:
    text = "Wrote src/a.py and docs/b.md. It failed!  Then?\nA line"
    assert sentences(text) == ["Wrote src/a.py and docs/b.md.", "It failed!", "Then?", "A line"]


@pytest.mark.parametrize(
    ("text", "paths", "names"),
    [
        ("Wrote src/app/main.py.", ("src/app/main.py",), ()),
        ("Changed package.json, then ran make.", ("package.json",), ()),
        ("Renamed `Old` to read_all() and parseDate.", (), ("Old", "parseDate")),
        ("Nothing here at all.", (), ()),
    ],
)
def test_paths_and_names(text: str, paths: tuple[str, ...], names: tuple[str, ...]) -> None:
    assert paths_in(text) == paths
    assert set(names) <= set(names_in(text))


def test_two_hundred_steps_stay_under_the_budget_at_every_turn() -> None:
    chance = random.Random(7)
    summary = ""
    known: set[str] = set()
    for number in range(200):
        path = f"src/part{number % 20}.py"
        notes = [f"{number}. Wrote {path} with {chance.randrange(100)} lines. All of it went well."]
        if number % 50 == 10:
            notes.append(f"Decided to keep the old API of module{number}, because tests need it.")
        summary = merge_by_rules(summary, notes, BUDGET, count)
        known |= set(sentences("\n".join(notes)))
        assert count(summary) <= BUDGET
        told = [line for line in summary.splitlines() if not line.startswith(("Files: ", "Names: "))]
        assert all(line in known for line in told), told
    assert "module160" in summary and "Decided" in summary
    assert all(f"src/part{n}.py" in summary for n in range(20))


def test_chatter_goes_before_errors_and_decisions() -> None:
    notes = [f"Looked at something number {n}, which was nice." for n in range(40)]
    notes.insert(3, "The build failed with exit code 2 in src/x.c.")
    summary = merge_by_rules("", notes, 60, count)
    assert "The build failed with exit code 2 in src/x.c." in summary


def test_a_model_that_forgets_a_path_is_helped() -> None:
    text = accepted(
        "The work went on.", "", ["Wrote src/kept.py.", "The tests failed: exit code 1."], BUDGET, count
    )
    assert text is not None and "src/kept.py" in text and "The tests failed: exit code 1." in text
    assert accepted("x" * 4_000, "", [], BUDGET, count) is None
    assert accepted("  ", "", [], BUDGET, count) is None


@given(st.lists(st.text(max_size=200), max_size=30), st.integers(0, 300))
def test_no_text_breaks_the_budget(notes: list[str], budget: int) -> None:
    summary = merge_by_rules("", notes, budget, count)
    assert count(summary) <= budget
    assert count(merge_by_rules(summary, notes, budget, count)) <= budget
