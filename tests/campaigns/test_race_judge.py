"""The judge of `race` blames the server for what it did, and not for what the user did."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, cast

import pytest

from tests.campaigns.circumstances import Circumstances
from tests.campaigns.desk import Desk
from tests.campaigns.race import Answers, judge_effects
from tests.campaigns.reports import Report, Trouble
from tests.campaigns.typist import Typist
from tests.campaigns.worlds import Effect, World

BEFORE = "first\nanchor\nlast\n"
AFTER = BEFORE.replace("anchor", "WORD anchor")


def seat(folder: Path) -> tuple[Desk, Answers]:
    """A desk without a server, at which one step edits one open file."""
    effect = Effect("edit", "s1", "WORD", "edit_file", {"path": "f.txt"}, "f.txt", "anchor", "WORD anchor")
    world = World("w", {"f.txt": BEFORE}, effects=[effect])
    rng = random.Random(0)
    at = Desk(cast(Any, None), folder, world, Circumstances(), rng)
    at.editor.open(at.uri("f.txt"))
    return at, Answers(at, Typist(at, rng, 0))


def troubles(at: Desk, answers: Answers) -> list[Trouble]:
    report = Report("race", 0)
    judge_effects(at, report, {"s1": "completed"}, answers)
    return [trouble for trouble, _ in report.troubles]


def test_an_edit_on_disk_under_a_buffer_typed_in_before_it_was_reloaded_was_made(tmp_path: Path) -> None:
    at, answers = seat(tmp_path)
    (at.root / "f.txt").write_text(AFTER)
    answers.typist.insert(at.uri("f.txt"), 0, whole_line=False)
    assert troubles(at, answers) == []


def test_an_edit_that_is_nowhere_was_not_made(tmp_path: Path) -> None:
    at, answers = seat(tmp_path)
    answers.typist.insert(at.uri("f.txt"), 0, whole_line=False)
    assert troubles(at, answers) == ["wrong_status"]


@pytest.mark.parametrize(("base", "blamed"), [("WORD anchor\n", []), ("anchor\n", ["doubled"])])
@pytest.mark.parametrize("choice", ["both", "text"])
def test_a_line_kept_in_two_versions_holds_twice_what_it_held_before(
    tmp_path: Path, choice: str, base: str, blamed: list[Trouble]
) -> None:
    at, answers = seat(tmp_path)
    hunk = {"base": base, "mine": "WORD anchor mine\n", "theirs": "WORD anchor theirs\n"}
    answers.to_file({"uri": at.uri("f.txt"), "hunks": [hunk]}, choice)
    at.editor.type(at.uri("f.txt"), None, f"first\n{hunk['mine']}{hunk['theirs']}last\n")
    assert troubles(at, answers) == blamed
