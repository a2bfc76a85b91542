"""Whole journeys in a real Emacs with eglot, with the ten lines of docs/editors/emacs.md."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.editors.conftest import NEW, OLD, PLAN, configuration_of
from tests.editors.terminal import Terminal

Start = Callable[[], None]
REVIEW = "Planloom has planned 3 steps"
REPLACE = "Planloom: Replace"
WRITE = "Planloom: Write c.txt"
PAUSED = "Planloom has paused"
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
        terminal.until_true(
            lambda shown: re.search(r"\[eglot:ws|Choose an option", shown) is not None, "eglot"
        )

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


def trust(terminal: Terminal) -> None:
    """Trust the folder, which is asked before anything is done in it."""
    choose(terminal, "Planloom: do you trust", "Trust")


def show_document(terminal: Terminal, workspace: Path) -> None:
    """Open the document of the plan."""
    document = next((workspace / ".planloom").glob("*.plan.md"))
    terminal.keys("C-x", "C-f")
    terminal.until("Find file:")
    terminal.type(f".planloom/{document.name}")
    terminal.keys("Enter")
    terminal.until("status: ", "[eglot:ws]")


def act(terminal: Terminal, title: str) -> None:
    """Choose a code action of the plan."""
    command(terminal, "eglot-code-actions")
    terminal.until("[eglot] Pick an action")
    terminal.type(f"Planloom: {title}")
    terminal.keys("Enter")


def save_all(terminal: Terminal) -> None:
    """Save every buffer."""
    terminal.keys("C-x", "s")
    terminal.until("Save file")
    terminal.type("!")


def on_disk(terminal: Terminal, path: Path, text: str) -> None:
    """Wait until the file holds the text."""
    terminal.until_true(lambda _: path.is_file() and path.read_text().rstrip("\n") == text.rstrip("\n"), text)


def test_a_plan_is_started_from_its_message(start: Start, terminal: Terminal, workspace: Path) -> None:
    planned(terminal, start)
    terminal.until(REVIEW)
    terminal.keep("emacs-review")
    choose(terminal, REVIEW, "Start execution")
    terminal.until("Planloom: do you trust", "Choose an option:")
    terminal.keep("emacs-trust")
    trust(terminal)
    terminal.until(REPLACE)
    terminal.keep("emacs-approval")
    choose(terminal, REPLACE, "Allow for this plan")
    terminal.until(DONE)
    terminal.keep("emacs-done")
    assert (workspace / "a.py").read_text() == OLD
    save_all(terminal)
    on_disk(terminal, workspace / "a.py", NEW)
    assert (workspace / "c.txt").read_text().rstrip("\n") == "hi"


@pytest.mark.usefixtures("every_call_is_asked")
def test_the_document_is_changed_by_typing_and_approved_denied_and_undone_by_actions(
    start: Start, terminal: Terminal, workspace: Path
) -> None:
    planned(terminal, start)
    terminal.until(REVIEW, "Choose an option:")
    # Enter alone takes the first choice, which must change nothing.
    terminal.keys("Enter")
    show_document(terminal, workspace)
    terminal.until("status: pending approval")
    terminal.keys("C-s")
    terminal.type("content: hi")
    terminal.keys("Enter", "M-BSpace")
    terminal.type("hello")
    terminal.keys("C-x", "C-s")
    terminal.until("version: 2")
    terminal.keep("emacs-document")
    act(terminal, "Start execution")
    trust(terminal)
    choose(terminal, REPLACE, "Skip these changes")
    choose(terminal, WRITE, "Allow once")
    terminal.until("Partly done, 2 of 3")
    terminal.until("- [-] Replace", "- [x] Write c.txt", "status: completed")
    assert (workspace / "a.py").read_text() == OLD
    assert (workspace / "c.txt").read_text().rstrip("\n") == "hello"
    act(terminal, "Undo all edits of this plan")
    terminal.until_true(lambda _: not (workspace / "c.txt").exists(), "that c.txt is gone")


def test_a_plan_is_cancelled(start: Start, terminal: Terminal, workspace: Path) -> None:
    planned(terminal, start)
    choose(terminal, REVIEW, "Start execution")
    trust(terminal)
    terminal.until(REPLACE, "Choose an option:")
    terminal.keys("Enter")
    show_document(terminal, workspace)
    act(terminal, "Cancel the plan")
    terminal.until("0 of 3 steps done")
    terminal.until("status: cancelled")
    terminal.keep("emacs-cancelled")
    assert (workspace / "a.py").read_text() == OLD and not (workspace / "c.txt").exists()


@pytest.mark.usefixtures("every_call_is_asked")
def test_a_plan_changes_a_buffer_that_is_not_saved(start: Start, terminal: Terminal, workspace: Path) -> None:
    planned(terminal, start)
    choose(terminal, REVIEW, "Start execution")
    trust(terminal)
    terminal.until(REPLACE, "Choose an option:")
    terminal.keys("Enter")
    # The answer comes from the document, while what was typed is neither saved nor told.
    terminal.keys("M->")
    terminal.type("they(2)")
    show_document(terminal, workspace)
    terminal.keys("C-s")
    terminal.type("Replace 'old'")
    terminal.keys("Enter")
    act(terminal, "Allow once")
    choose(terminal, WRITE, "Allow once")
    terminal.until(DONE)
    assert (workspace / "a.py").read_text() == OLD
    save_all(terminal)
    on_disk(terminal, workspace / "a.py", f"{NEW}they(2)")


@pytest.mark.parametrize("waits", [True, False])
def test_a_plan_goes_on_in_a_new_emacs(
    start: Start, terminal: Terminal, workspace: Path, *, waits: bool
) -> None:
    """Also if it is started before the old server has ended."""
    planned(terminal, start)
    choose(terminal, REVIEW, "Start execution")
    trust(terminal)
    terminal.until(REPLACE, "Choose an option:")
    if waits:
        terminal.stop()
    else:
        terminal.abandon()
    start()
    terminal.until(PAUSED)
    terminal.keep("emacs-restarted")
    choose(terminal, PAUSED, "Resume")
    choose(terminal, REPLACE, "Allow for this plan")
    terminal.until(DONE)
    save_all(terminal)
    on_disk(terminal, workspace / "a.py", NEW)
