"""An interactive session at a real terminal, with the real server and without a model."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.mcp_servers.support import PYTHON, SCRIPT
from tests.support.command_line import AtTerminal, run
from tests.support.model_server import model_process

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals"),
]

Start = Callable[..., AtTerminal]
TWO = '1. Create file a.txt with content "a" 2. Create file b.txt with content "b"'
ENTER = "\r"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def start(tmp_path: Path, work: Path) -> Iterator[Start]:
    """Start a session; one test may start several, which share their home."""
    started: list[AtTerminal] = []

    def begin(*words: str) -> AtTerminal:
        # A pseudo-terminal does not answer where its cursor is.
        more = {
            "HOME": str(tmp_path),
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "PROMPT_TOOLKIT_NO_CPR": "1",
        }
        started.append(AtTerminal(tmp_path, ["session", "-w", str(work), *words], None, **more))
        return started[-1]

    yield begin
    for terminal in started:
        terminal.close()


def say(terminal: AtTerminal, text: str) -> None:
    """Write a line where the session waits for one."""
    terminal.wait_for("> ")
    terminal.press(f"{text}{ENTER}")


def test_requests_follow_each_other_and_are_taken_back(start: Start, work: Path) -> None:
    terminal = start()
    terminal.wait_for("Say what is to be done.")
    say(terminal, TWO)
    terminal.wait_for("Execute this plan?")
    terminal.type("y")
    terminal.wait_for("2 of 2 steps done.")
    say(terminal, "/plans")
    terminal.wait_for("2/2")
    say(terminal, "/undo")
    terminal.wait_for("Take this back?")
    terminal.type("y")
    say(terminal, "/quit")
    assert terminal.finish().code == 0
    assert list(work.glob("*.txt")) == []


def test_a_plan_that_is_left_is_taken_up_in_the_next_session(start: Start, work: Path) -> None:
    terminal = start()
    say(terminal, TWO)
    terminal.wait_for("Execute this plan?")
    terminal.type("l")
    terminal.wait_for("Kept for later.")
    say(terminal, "/exit")
    assert terminal.finish().code == 0
    terminal = start()
    say(terminal, "/resume")
    terminal.wait_for("Execute this plan?")
    terminal.type("y")
    terminal.wait_for("2 of 2 steps done.")
    say(terminal, "/quit")
    assert terminal.finish().code == 0
    assert (work / "b.txt").read_text() == "b"


def test_ctrl_c_at_a_question_pauses_and_the_session_goes_on(start: Start, work: Path) -> None:
    terminal = start()
    say(terminal, TWO)
    terminal.wait_for("Execute this plan?")
    terminal.wait_for("> ")
    terminal.interrupt()
    terminal.wait_for("The plan is paused.")
    terminal.type("c")
    terminal.wait_for("cancelled")
    say(terminal, "/new")
    terminal.wait_for("begins anew")
    say(terminal, "/quit")
    assert terminal.finish().code == 0
    assert list(work.iterdir()) == []


def test_esc_pauses_a_plan_that_runs(start: Start, tmp_path: Path) -> None:
    hangs = {"text": "Let me see", "fault": {"kind": "hang"}, "repeat": True}
    with model_process(tmp_path, [hangs]) as address:
        terminal = start("--base-url", address, "--model", "scripted")
        say(terminal, "Explain the design")
        terminal.wait_for("Let me see")
        terminal.press("\x1b")
        terminal.wait_for("The plan is paused.")
        terminal.type("c")
        terminal.wait_for("cancelled")
        say(terminal, "/quit")
        assert terminal.finish().code == 0


def test_what_is_no_command_is_said_and_what_is_typed_is_kept(start: Start, tmp_path: Path) -> None:
    terminal = start()
    say(terminal, "/plan")
    terminal.wait_for("There is no command /plan")
    say(terminal, "/undo --step none")
    terminal.wait_for("is not a whole number")
    say(terminal, "/help")
    terminal.wait_for("/resume")
    terminal.wait_for("Ctrl-C pauses it.")
    terminal.wait_for("> ")
    terminal.press("\x04")
    assert terminal.finish().code == 0
    (history,) = (tmp_path / "state").rglob("requests")
    assert "+/help" in history.read_text() and history.stat().st_mode & 0o077 == 0


def test_a_prompt_of_an_mcp_server_is_a_command(start: Start, work: Path, tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_bytes(SCRIPT.read_bytes())
    servers = json.dumps([f"box: {PYTHON} {program} good"])
    terminal = start("--set", f"mcp.servers={servers}", "--trust")
    say(terminal, "/box:tidy what=shelf")
    terminal.wait_for("Tidy shelf up: look into the box.")
    terminal.wait_for("Execute this plan?")
    terminal.press("\x04")
    terminal.wait_for("Kept for later.")
    say(terminal, "/quit")
    assert terminal.finish().code == 0


def test_lines_that_are_pasted_are_one_request(start: Start, work: Path) -> None:
    terminal = start()
    terminal.wait_for("> ")
    terminal.press(f"\x1b[200~{TWO.replace(' 2.', chr(10) + '2.')}\x1b[201~")
    terminal.wait_for("b.txt")
    terminal.press(ENTER)
    terminal.wait_for("Execute this plan?")
    terminal.type("y")
    terminal.wait_for("2 of 2 steps done.")
    say(terminal, "/quit")
    assert terminal.finish().code == 0
    assert (work / "a.txt").read_text() == "a"


def test_a_model_is_chosen_by_its_number_or_its_name(start: Start, tmp_path: Path) -> None:
    with model_process(tmp_path, []) as address:
        terminal = start("--base-url", address)
        say(terminal, "/model")
        terminal.wait_for("1  openai scripted")
        terminal.type("1", after="keeps the model): ")
        terminal.wait_for("Model: openai scripted")
        say(terminal, "/model nowhere")
        terminal.wait_for("No model that can be used is called nowhere.")
        say(terminal, "/model openai scripted")
        terminal.wait_for("Model: openai scripted")
        say(terminal, "/quit")
        assert terminal.finish().code == 0


def test_without_a_terminal_it_says_what_works_there(tmp_path: Path) -> None:
    assert "planloom run TEXT" in run(tmp_path, ["session"]).err
    done = run(tmp_path, [])
    assert done.code == 2 and "usage" in done.err
    assert list(tmp_path.iterdir()) == []
