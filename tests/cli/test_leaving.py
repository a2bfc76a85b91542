"""Plans that are left at a real terminal, with the real server, and taken up again."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_history import STEPS, Machine, words
from tests.support import command_line
from tests.support.command_line import AtTerminal
from tests.support.model_server import model_process

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals"),
]
NEEDS_MODEL = "1. Explain the design\n2. Create file b.txt"


class Desk:
    """A machine, and the terminals that were opened on it."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.opened: list[AtTerminal] = []

    def start(self, *arguments: str, **more: Any) -> AtTerminal:
        self.opened.append(self.machine.at_terminal(*arguments, **more))
        return self.opened[-1]

    def status(self) -> str:
        """The state of the newest plan."""
        return str(self.machine.plans("--limit", "1")[0]["status"])


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(Machine(tmp_path / "one"))
    yield desk
    for terminal in desk.opened:
        terminal.close()


def test_a_plan_is_kept_at_its_review_left_at_an_approval_and_finished(desk: Desk) -> None:
    terminal = desk.start("run", STEPS)
    terminal.wait_for("Execute this plan?")
    terminal.type("l")
    kept = terminal.finish()
    assert (kept.code, desk.status()) == (4, "paused")
    assert "Kept for later." in kept.out
    assert "Kept for later" in desk.machine.run("plans").out

    terminal = desk.start("resume")
    terminal.wait_for("Execute this plan?")
    terminal.type("y")
    terminal.wait_for("Allow?")
    terminal.end_input()
    left = terminal.finish()
    assert (left.code, desk.status()) == (4, "paused")
    assert "Paused, 1 of 2 steps done." in left.out
    assert "Kept for later" not in desk.machine.run("plans").out

    terminal = desk.start("resume")
    terminal.wait_for("Allow?")
    terminal.type("p")
    assert terminal.finish().code == 0
    assert (desk.machine.work / "b.txt").read_text() == "bee"


def test_ctrl_c_pauses_and_the_plan_goes_back_to_review(desk: Desk) -> None:
    terminal = desk.start("run", STEPS)
    terminal.type("y")
    terminal.wait_for("Allow?")
    terminal.interrupt()
    terminal.wait_for("[b] back to review")
    terminal.type("b")
    terminal.wait_for("version 2")
    terminal.wait_for("Execute this plan?")
    terminal.interrupt()
    terminal.wait_for("[r] back to review")
    terminal.type("c")
    assert (terminal.finish().code, desk.status()) == (130, "cancelled")


def test_a_pause_for_the_model_offers_what_it_says(desk: Desk) -> None:
    terminal = desk.start("run", NEEDS_MODEL)
    terminal.type("y")
    terminal.wait_for("none is set up.")
    terminal.wait_for("[r] resume")
    terminal.type("s")
    terminal.wait_for("version 2")
    terminal.type("y")
    assert terminal.finish().code == 0
    assert (desk.machine.work / "b.txt").exists()


def test_a_pause_leaves_the_plan_where_nobody_can_be_asked(desk: Desk) -> None:
    ended = desk.machine.run("run", f"{NEEDS_MODEL}\n3. Ask me for the colour", "--yes")
    assert (ended.code, desk.status()) == (4, "paused")
    assert "3 steps, 1 of them by a model." in ended.out and "a model works it out" in words(ended.out)
    # What can be done about it is said with the plan.
    assert ended.out.count("To get a model: ") == 1


def test_resume_says_which_plan_it_takes_and_not_an_older_one_silently(desk: Desk) -> None:
    machine = desk.machine
    machine.run("plan", STEPS)
    machine.run("plan", "1. Create file c.txt\n2. Create file d.txt")
    newest, oldest = (plan["planId"] for plan in machine.plans())
    terminal = desk.start("resume")
    terminal.wait_for(f"Plan {newest[:8]}")
    terminal.wait_for("1 other plan can be resumed")
    terminal.wait_for("Execute this plan?")
    terminal.type("c")
    assert terminal.finish().code == 1

    ended = machine.run("resume", "--yes")
    assert ended.code == 1
    assert "The newest plan has ended, “1. Create file c.txt 2. Create file d.txt”" in words(ended.out)
    assert f"`planloom resume {oldest[:8]}`" in ended.out
    assert machine.run("resume", oldest[:8], "--yes").code == 0


PLAN = {"text": '{"steps": [{"description": "Look at the file"}]}', "repeat": True}


def test_resume_asks_the_model_that_the_plan_was_written_with(desk: Desk, tmp_path: Path) -> None:
    machine = desk.machine
    # A variable of the environment is stronger than what is remembered.
    environment = {name: value for name, value in machine.environment.items() if "PROVIDER" not in name}
    run = partial(command_line.run, tmp_path, **environment)
    here = ("-w", str(machine.work))
    with model_process(tmp_path, [PLAN]) as url:
        planned = run(["plan", "Look at the file", "--base-url", url, "--model", "scripted", *here])
        assert planned.code == 0
        ended = run(["resume", "--yes", *here])
        assert f"The model is the one of the plan: {url}, scripted" in words(ended.out)
        assert "needs a language model" not in ended.out


def test_resume_asks_the_model_that_the_ledger_names(desk: Desk, tmp_path: Path) -> None:
    machine = desk.machine
    settings = tmp_path / "settings.json"
    environment = {name: value for name, value in machine.environment.items() if "PROVIDER" not in name}
    run = partial(command_line.run, tmp_path, **(environment | {"PLANLOOM_CONFIG": str(settings)}))
    here = ("-w", str(machine.work))
    with model_process(tmp_path, [PLAN]) as url:
        settings.write_text(json.dumps({"model": {"baseUrl": url, "name": "scripted"}}))
        assert run(["plan", "Look at the file", *here]).code == 0
        settings.write_text(json.dumps({"model": {"baseUrl": url, "name": "another"}}))
        ended = run(["resume", "--yes", *here])
        assert "The model is the one of the plan: openai, scripted" in words(ended.out)
        assert "another" not in ended.out


SIZES = [("80", "24"), ("200", "50")]
HANGS = {"text": "Let me see", "fault": {"kind": "hang"}, "repeat": True}
STAGES: dict[str, tuple[list[Any], str, list[tuple[str, str]], str]] = {
    "planning": ([HANGS], "Explain the design", [], "Thinking"),
    "execution": (
        [PLAN | {"repeat": False}, HANGS],
        "Explain it",
        [("Execute this plan?", "y")],
        "Working on",
    ),
    "review": ([PLAN], "Explain the design", [], "Execute this plan?"),
    "approval": ([], STEPS, [("Execute this plan?", "y")], "Allow?"),
    "question": (
        [],
        "1. Ask me for the colour\n2. Create file b.txt",
        [("Execute this plan?", "y")],
        "Answer (Ctrl-D",
    ),
    "recovery": (
        [],
        '1. Replace "absent" with "new" in a.txt\n2. Create file b.txt',
        [("Execute this plan?", "y")],
        "[s] skip it",
    ),
    "conflict": ([], STEPS, [("Execute this plan?", "y"), ("Allow?", "y")], "Keep which?"),
}
"""The turns of the model, the request, the answers that lead to a stage, and what is seen there."""


@pytest.mark.parametrize("size", SIZES, ids="x".join)
@pytest.mark.parametrize("stage", STAGES)
def test_ctrl_c_pauses_at_each_stage_and_the_plan_goes_on_there(
    desk: Desk, tmp_path: Path, stage: str, size: tuple[str, str]
) -> None:
    turns, request, answers, seen = STAGES[stage]
    with model_process(tmp_path, turns) as url:
        more = {"PLANLOOM_MODEL_PROVIDER": "openai"} if turns else {}
        model = ("--base-url", url, "--model", "scripted") if turns else ()
        terminal = desk.start(
            "run", "--mode", "plan", request, *model, **more, COLUMNS=size[0], LINES=size[1]
        )
        for question, answer in answers:
            terminal.wait_for(question)
            if question == "Allow?":
                (desk.machine.work / "a.txt").write_text("typed")
            terminal.type(answer)
        terminal.wait_for(seen)
        terminal.interrupt()
        terminal.wait_for("The plan is paused.")
        assert desk.status() == "paused"
        terminal.type("r")
        terminal.wait_for(seen)
        terminal.interrupt()
        terminal.wait_for("The plan is paused.")
        terminal.wait_for("> ")
        terminal.interrupt()
        assert (terminal.finish().code, desk.status()) == (130, "cancelled")


def test_ctrl_c_at_the_question_of_trust_starts_nothing(desk: Desk) -> None:
    terminal = desk.start("run", STEPS, trust=False)
    terminal.wait_for("Do you trust")
    terminal.interrupt()
    ended = terminal.finish()
    assert (ended.code, desk.machine.plans()) == (130, [])
    assert "Nothing was started." in ended.out
