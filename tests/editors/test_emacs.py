"""Whole journeys in a real Emacs with eglot, with the ten lines of docs/editors/emacs.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.editors.conftest import NEW, OLD, PLAN, configuration_of
from tests.editors.terminal import Terminal

Start = Callable[[], None]
REVIEW = "Planloom has planned 3 steps"
REPLACE = "Planloom wants to change: Replace"
DONE = "3 of 3 steps done"


@pytest.fixture
def start(tools: Path, home: Path, environment: dict[str, str], workspace: Path, terminal: Terminal) -> Start:
    """Starts Emacs on a.py, and eglot in it."""
    (home / ".emacs.d").mkdir()
    (home / ".emacs.d" / "init.el").write_text(configuration_of("emacs.md"))

    # Compiling its own libraries in the background, Emacs opens windows with warnings.
    (home / ".emacs.d" / "early-init.el").write_text("(setq native-comp-deferred-compilation nil)")

    def begin() -> None:
        terminal.start(["emacs", "-nw", "a.py"], workspace, environment)
        terminal.until("def", "a.py")
        command(terminal, "eglot")
        terminal.until("[eglot:ws]")

    return begin


def command(terminal: Terminal, name: str) -> None:
    """Call a command by its name."""
    terminal.keys("M-x")
    terminal.until("M-x")
    terminal.type(name)
    terminal.keys("Enter")


def choose(terminal: Terminal, asked: str, title: str) -> None:
    """Answer a message by one of its choices; eglot puts the first there, which is removed."""
    terminal.until(asked, "Choose an option:")
    terminal.keys("C-a", "C-k")
    terminal.type(title)
    terminal.keys("Enter")


def planned(terminal: Terminal, start: Start) -> None:
    """Start, and ask for a plan."""
    start()
    command(terminal, "plan")
    terminal.until("Plan:")
    terminal.type(PLAN)
    terminal.keys("Enter")


def test_a_plan_is_started_from_its_message(start: Start, terminal: Terminal, workspace: Path) -> None:
    planned(terminal, start)
    terminal.until(REVIEW)
    terminal.keep("emacs-review")
    choose(terminal, REVIEW, "Start")
    terminal.until(REPLACE)
    terminal.keep("emacs-approval")
    choose(terminal, REPLACE, "Allow for plan")
    terminal.until(DONE)
    terminal.keep("emacs-done")
    assert (workspace / "a.py").read_text() == OLD
    terminal.keys("C-x", "s")
    terminal.until("Save file")
    terminal.type("!")
    terminal.until_true(lambda _: (workspace / "a.py").read_text() == NEW, NEW)
    assert (workspace / "c.txt").read_text().rstrip("\n") == "hi"
