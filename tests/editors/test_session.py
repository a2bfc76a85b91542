"""The interactive session of the command line in real terminals, narrow and wide."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.editors.conftest import OLD, PLAN
from tests.editors.terminal import Terminal

SIZES = ((80, 24), (200, 50))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_session_completes_plans_pauses_and_takes_up(
    tools: Path, environment: dict[str, str], workspace: Path, terminal: Terminal, size: tuple[int, int]
) -> None:
    del tools  # Where they are, tmux is.
    name = f"session-{size[0]}"
    terminal.start([str(Path(sys.executable).parent / "planloom")], workspace, environment, size)
    terminal.until("Do you trust", "> ")
    terminal.type("y")
    terminal.keys("Enter")
    terminal.until("Say what is to be done", "ws")
    terminal.type("/")
    terminal.until("/resume", "/model")
    terminal.keep(f"{name}-commands")
    terminal.keys("BSpace")
    terminal.type("look at @a")
    terminal.until("a.py")
    terminal.keys("C-c")
    terminal.type(PLAN)
    terminal.keys("Enter")
    terminal.until("Execute this plan?")
    terminal.keep(f"{name}-review")
    terminal.keys("C-c")
    terminal.until("The plan is paused.", "leave it for later")
    terminal.type("l")
    terminal.keys("Enter")
    terminal.until("Kept for later", "/resume goes on")
    terminal.keep(f"{name}-left")
    assert (workspace / "a.py").read_text() == OLD
    terminal.keys("C-l")
    terminal.type("/resume")
    terminal.keys("Enter")
    terminal.until("Execute this plan?")
    terminal.type("y")
    terminal.keys("Enter")
    terminal.until("Allow?")
    terminal.type("p")
    terminal.keys("Enter")
    terminal.until("3 of 3 steps done", "goes on from the last plan")
    terminal.keep(f"{name}-done")
    terminal.keys("C-d")
    terminal.until_true(lambda shown: shown == "", "the end of the session")
