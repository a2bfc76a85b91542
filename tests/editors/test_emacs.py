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


def test_the_document_is_changed_by_typing_and_approved_denied_and_undone_by_actions(
    start: Start, terminal: Terminal, workspace: Path
) -> None:
    planned(terminal, start)
    terminal.until(REVIEW, "Choose an option:")
    terminal.keys("C-g")
    document = next((workspace / ".planloom").glob("*.plan.md"))
    terminal.keys("C-x", "C-f")
    terminal.until("Find file:")
    terminal.type(f".planloom/{document.name}")
    terminal.keys("Enter")
    terminal.until("status: pending approval", "[eglot:ws]")
    terminal.keys("C-s")
    terminal.type("content: hi")
    terminal.keys("Enter", "M-BSpace")
    terminal.type("hello")
    terminal.keys("C-x", "C-s")
    terminal.until("version: 2")
    terminal.keep("emacs-document")
    command(terminal, "eglot-code-actions")
    terminal.until("[eglot] Pick an action")
    terminal.type("Planloom: Approve and start")
    terminal.keys("Enter")
    choose(terminal, REPLACE, "Deny")
    choose(terminal, "Planloom wants to change: Write c.txt", "Allow")
    terminal.until("2 of 3 steps done")
    terminal.until("- [-] Replace", "- [x] Write c.txt", "status: completed")
    assert (workspace / "a.py").read_text() == OLD
    assert (workspace / "c.txt").read_text().rstrip("\n") == "hello"
    command(terminal, "eglot-code-actions")
    terminal.until("[eglot] Pick an action")
    terminal.type("Planloom: Undo")
    terminal.keys("Enter")
    terminal.until_true(lambda _: not (workspace / "c.txt").exists(), "that c.txt is gone")
