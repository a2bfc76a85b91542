"""Journeys in a real Emacs with editors/emacs/planloom.el, and nothing else in its configuration."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.editors.conftest import NEW, OLD, PLAN, ROOT
from tests.editors.terminal import Terminal
from tests.editors.test_emacs import command, on_disk, save_all

Start = Callable[..., None]
REVIEW = "Planloom has planned"
TRUST = "Planloom: do you trust"
REPLACE = "Planloom: Replace"
DONE = "3 of 3 steps done"


@pytest.fixture
def start(tools: Path, home: Path, environment: dict[str, str], workspace: Path, terminal: Terminal) -> Start:
    """Starts Emacs on files, or without one."""
    (home / ".emacs.d").mkdir()
    lisp = f"(add-to-list 'load-path \"{ROOT / 'editors' / 'emacs'}\")\n(require 'planloom)\n"
    (home / ".emacs.d" / "init.el").write_text(f"{lisp}(setq planloom-typing-seconds 0.1)\n")
    (home / ".emacs.d" / "early-init.el").write_text("(setq native-comp-deferred-compilation nil)")

    def begin(*files: str, folder: Path = workspace) -> None:
        terminal.start(["emacs", "-nw", *files], folder, environment)
        terminal.until(files[0] if files else "*scratch*")

    return begin


def plan(terminal: Terminal, request: str) -> None:
    """Ask for a plan."""
    command(terminal, "planloom")
    terminal.until("Plan:")
    terminal.type(request)
    terminal.keys("Enter")


def choose(terminal: Terminal, asked: str, title: str) -> None:
    """Answer the question about `asked` by the digit of a choice."""
    shown = terminal.until(asked, f"  {title}", "*Planloom asks*")
    line = next(each for each in shown.splitlines() if each.strip().endswith(f"  {title}"))
    command(terminal, "planloom-answer")
    terminal.keys(line.strip()[0])


def test_a_plan_is_reviewed_and_made_by_single_keys(
    start: Start, terminal: Terminal, workspace: Path
) -> None:
    start("a.py")
    plan(terminal, PLAN)
    terminal.until(REVIEW, "status: pending approval")
    terminal.keep("emacs-plugin-review")
    choose(terminal, REVIEW, "Start execution")
    choose(terminal, TRUST, "Trust")
    choose(terminal, REPLACE, "Allow for this plan")
    terminal.until(DONE)
    assert (workspace / "a.py").read_text() == OLD
    save_all(terminal)
    on_disk(terminal, workspace / "a.py", NEW)
    command(terminal, "planloom-undo")
    terminal.until_true(lambda _: not (workspace / "c.txt").exists(), "that c.txt is gone")


def test_a_window_without_a_file_and_a_folder_without_git_can_plan(
    start: Start, terminal: Terminal, tmp_path: Path
) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    start(folder=folder)
    plan(terminal, '1. Create file c.txt with content "hi"')
    choose(terminal, TRUST, "Trust")
    choose(terminal, "Planloom: Write c.txt", "Allow once")
    terminal.until("1 of 1 step done")
    assert (folder / "c.txt").read_text().rstrip("\n") == "hi"


@pytest.mark.usefixtures("every_call_is_asked")
def test_what_is_typed_and_not_saved_stays_beside_an_edit(
    start: Start, terminal: Terminal, workspace: Path
) -> None:
    start("a.py")
    terminal.keys("M->")
    terminal.type("they(2)")
    plan(terminal, PLAN)
    choose(terminal, REVIEW, "Start execution")
    choose(terminal, TRUST, "Trust")
    choose(terminal, REPLACE, "Allow for this plan")
    terminal.until(DONE)
    assert (workspace / "a.py").read_text() == OLD
    save_all(terminal)
    on_disk(terminal, workspace / "a.py", f"{NEW}they(2)")


@pytest.mark.usefixtures("every_call_is_asked")
def test_a_question_that_is_left_is_asked_again_by_its_plan(
    start: Start, terminal: Terminal, workspace: Path
) -> None:
    start("a.py")
    plan(terminal, PLAN)
    choose(terminal, REVIEW, "Start execution")
    choose(terminal, TRUST, "Trust")
    terminal.until(REPLACE)
    command(terminal, "planloom-answer")
    terminal.keys("q")
    command(terminal, "planloom-pause")
    terminal.until("status: paused")
    command(terminal, "planloom-resume")
    choose(terminal, REPLACE, "Allow for this plan")
    terminal.until(DONE)


def test_a_document_is_changed_by_typing_and_started_by_an_action(
    start: Start, terminal: Terminal, workspace: Path
) -> None:
    start("a.py")
    plan(terminal, '1. Create file c.txt with content "hi" 2. List files')
    terminal.until(REVIEW)
    command(terminal, "planloom-answer")
    terminal.keys("q")
    terminal.until("status: pending approval")
    terminal.keys("C-s")
    terminal.type("content: hi")
    terminal.keys("Enter", "M-BSpace")
    terminal.type("hello")
    terminal.keys("C-x", "C-s")
    terminal.until("version: 2")
    terminal.keys("C-c", "C-c")
    terminal.until("Planloom:")
    terminal.type("Planloom: Start execution")
    terminal.keys("Enter")
    choose(terminal, TRUST, "Trust")
    terminal.until("2 of 2 steps done")
    assert (workspace / "c.txt").read_text().rstrip("\n") == "hello"


def test_a_program_that_is_missing_is_named(
    start: Start, terminal: Terminal, environment: dict[str, str]
) -> None:
    environment["PATH"] = "/usr/bin:/bin"
    start("a.py")
    command(terminal, "planloom")
    terminal.until("install Planloom, or set")


def test_it_compiles_without_a_warning(tools: Path, tmp_path: Path) -> None:
    source = tmp_path / "planloom.el"
    source.write_text((ROOT / "editors" / "emacs" / "planloom.el").read_text())
    strict = "(setq byte-compile-error-on-warn t byte-compile-docstring-max-column 120)"
    done = subprocess.run(
        ["emacs", "-Q", "--batch", "--eval", strict, "-f", "batch-byte-compile", str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
