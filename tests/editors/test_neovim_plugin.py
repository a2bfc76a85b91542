"""Journeys in a real Neovim with the plugin of editors/nvim, and nothing else in its configuration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.editors.conftest import NEW, OLD, PLAN, ROOT
from tests.editors.terminal import Terminal

Start = Callable[..., None]
REVIEW = "Planloom has planned"
TRUST = "Planloom: do you trust"
REPLACE = "Planloom: Replace"
DONE = "3 of 3 steps done"


@pytest.fixture
def start(tools: Path, home: Path, environment: dict[str, str], workspace: Path, terminal: Terminal) -> Start:
    """Starts Neovim on files, or without one."""
    configuration = home / ".config" / "nvim"
    configuration.mkdir()
    (configuration / "init.lua").write_text(f"vim.opt.runtimepath:append('{ROOT / 'editors' / 'nvim'}')\n")

    def begin(*files: str, folder: Path = workspace) -> None:
        terminal.start([str(tools / "bin" / "nvim"), "-n", *files], folder, environment)
        terminal.until("~")

    return begin


def command(terminal: Terminal, text: str) -> None:
    """Give an Ex command."""
    terminal.type(f":{text}")
    terminal.keys("Enter")


def choose(terminal: Terminal, asked: str, title: str) -> None:
    """Answer the question about `asked` by the digit of a choice."""
    shown = terminal.until(asked, f"  {title}")
    line = next(each for each in shown.splitlines() if each.strip(" ~│").endswith(f"  {title}"))
    terminal.keys(line.strip(" ~│")[0])


def on_disk(terminal: Terminal, path: Path, text: str) -> None:
    """Wait until the file holds the text."""
    terminal.until_true(lambda _: path.is_file() and path.read_text().rstrip("\n") == text.rstrip("\n"), text)


def test_a_plan_is_reviewed_and_made_by_single_keys(
    start: Start, terminal: Terminal, workspace: Path
) -> None:
    start("a.py")
    command(terminal, f"Plan {PLAN}")
    terminal.until(REVIEW, "status: pending approval")
    terminal.keep("neovim-plugin-review")
    choose(terminal, REVIEW, "Start execution")
    choose(terminal, TRUST, "Trust")
    choose(terminal, REPLACE, "Allow for this plan")
    terminal.until(DONE, "status: completed")
    assert (workspace / "a.py").read_text() == OLD
    command(terminal, "wa")
    on_disk(terminal, workspace / "a.py", NEW)
    command(terminal, "PlanUndo")
    terminal.until_true(lambda _: not (workspace / "c.txt").exists(), "that c.txt is gone")
    command(terminal, "wa")
    on_disk(terminal, workspace / "a.py", OLD)


def test_a_window_without_a_file_and_a_folder_without_git_can_plan(
    start: Start, terminal: Terminal, tmp_path: Path
) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    start(folder=folder)
    command(terminal, 'Plan 1. Create file c.txt with content "hi"')
    choose(terminal, TRUST, "Trust")
    choose(terminal, "Planloom: Write c.txt", "Allow once")
    terminal.until("1 of 1 step done")
    assert (folder / "c.txt").read_text().rstrip("\n") == "hi"


@pytest.mark.usefixtures("every_call_is_asked")
def test_a_question_that_is_left_is_asked_again_by_its_plan(
    start: Start, terminal: Terminal, workspace: Path
) -> None:
    start("a.py")
    command(terminal, f"Plan {PLAN}")
    choose(terminal, REVIEW, "Start execution")
    choose(terminal, TRUST, "Trust")
    terminal.until(REPLACE)
    terminal.keys("q")
    terminal.until("- [?] Replace")
    command(terminal, "PlanPause")
    terminal.until("status: paused")
    command(terminal, "PlanResume")
    choose(terminal, REPLACE, "Allow for this plan")
    terminal.until(DONE, "status: completed")


def test_the_lines_of_a_range_are_what_the_request_is_about(start: Start, terminal: Terminal) -> None:
    start("a.py")
    command(terminal, f"1,2Plan {PLAN} near")
    terminal.until(REVIEW, "@a.py:1-2")


def test_references_are_completed(start: Start, terminal: Terminal) -> None:
    start("a.py")
    command(
        terminal, "lua print(vim.wait(30000, function() return #vim.lsp.get_clients() > 0 end) and 'ready')"
    )
    terminal.until("ready")
    terminal.type(":Plan look at @b.")
    terminal.keys("Tab")
    terminal.until(":Plan look at @b.py")


def test_a_program_that_is_missing_is_named(
    start: Start, terminal: Terminal, environment: dict[str, str]
) -> None:
    environment["PATH"] = "/usr/bin:/bin"
    start("a.py")
    command(terminal, "Plan list files")
    terminal.until("the server did not start: is `planloom` installed")
