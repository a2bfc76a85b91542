"""Whole journeys in a real Neovim, with the ten lines of docs/editors/neovim.md."""

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
DOCUMENT_CHANGES = """\
local able = vim.lsp.protocol.make_client_capabilities()
able.workspace.workspaceEdit.documentChanges = true
vim.lsp.config('*', { capabilities = able })"""
DONE = "3 of 3 steps done"


@pytest.fixture
def start(tools: Path, home: Path, environment: dict[str, str], workspace: Path, terminal: Terminal) -> Start:
    """Starts Neovim on a.py, and waits for the server."""
    configuration = home / ".config" / "nvim"
    configuration.mkdir()
    (configuration / "init.lua").write_text(configuration_of("neovim.md"))

    def begin() -> None:
        terminal.start([str(tools / "bin" / "nvim"), "-n", "a.py"], workspace, environment)
        terminal.until("def")
        command(
            terminal,
            "lua print(vim.wait(30000, function() return #vim.lsp.get_clients() > 0 end) and 'ready')",
        )
        terminal.until("ready")

    return begin


def command(terminal: Terminal, text: str) -> None:
    """Give an Ex command, which also leaves a message that only waits for a key."""
    terminal.type(f":{text}")
    terminal.keys("Enter")


def choose(terminal: Terminal, asked: str, title: str) -> None:
    """Answer the list of choices about `asked` by the number of one."""
    shown = terminal.until(asked, f": {title}", "Type number and <Enter>")
    number = next(line.split(":")[0] for line in shown.splitlines() if line.endswith(f": {title}"))
    terminal.type(number)
    terminal.keys("Enter")


def act(terminal: Terminal, title: str) -> None:
    """Choose a code action of the plan."""
    command(terminal, "lua vim.lsp.buf.code_action()")
    choose(terminal, "Code actions:", f"Planloom: {title}")


def dismiss(terminal: Terminal, asked: str) -> None:
    """Leave a message unanswered."""
    terminal.until(asked, "Type number and <Enter>")
    terminal.keys("Enter")


def planned(terminal: Terminal, start: Start) -> None:
    """Start, ask for a plan, and see its document."""
    start()
    command(terminal, f"Plan {PLAN}")
    dismiss(terminal, REVIEW)
    terminal.until("status: pending approval", "## Steps")


def ended(terminal: Terminal, said: str, *parts: str) -> None:
    """The message on the plan's end is there and, after a key, the document with its parts."""
    terminal.until(said)
    terminal.keys("Enter")
    terminal.until(*parts)


def trust(terminal: Terminal) -> None:
    """Trust the folder, which is asked before anything is done in it."""
    choose(terminal, "Planloom: do you trust", "Trust")


def saved(terminal: Terminal, path: Path, text: str) -> None:
    """The buffer holds the text, the disk does after all are saved."""
    command(terminal, "wa")
    terminal.until_true(lambda _: path.is_file() and path.read_text().rstrip("\n") == text.rstrip("\n"), text)


def test_a_plan_is_started_from_its_message(start: Start, terminal: Terminal, workspace: Path) -> None:
    start()
    command(terminal, f"Plan {PLAN}")
    terminal.until(REVIEW, "1: Later", "2: Start execution", "3: Reject", "4: Show")
    terminal.keep("neovim-review")
    choose(terminal, REVIEW, "Start execution")
    trust(terminal)
    terminal.until(REPLACE, "(+1 −1)")
    terminal.keep("neovim-approval")
    choose(terminal, REPLACE, "Allow for this plan")
    ended(terminal, DONE, "- [x] Replace", "- [x] Write c.txt", "- [x] List files", "status: completed")
    terminal.keep("neovim-done")
    # No sign of an error stands beside what the server itself has written.
    assert not re.search(r"^E ", terminal.screen(), re.MULTILINE)
    assert (workspace / "a.py").read_text() == OLD
    saved(terminal, workspace / "a.py", NEW)
    saved(terminal, workspace / "c.txt", "hi")


def test_the_document_is_changed_by_typing_and_approved_by_an_action(
    start: Start, terminal: Terminal, workspace: Path
) -> None:
    planned(terminal, start)
    command(terminal, "call search('content: hi')")
    terminal.type("$bcehello")
    terminal.keys("Escape")
    terminal.until("content: hello")
    command(terminal, "w")
    terminal.until("version: 2")
    act(terminal, "Start execution")
    trust(terminal)
    choose(terminal, REPLACE, "Allow for this plan")
    ended(terminal, DONE, "- [x] Write c.txt", "status: completed")
    saved(terminal, workspace / "c.txt", "hello")


def test_what_is_typed_and_not_saved_is_approved_too(
    start: Start, terminal: Terminal, workspace: Path
) -> None:
    planned(terminal, start)
    command(terminal, "%s/content: hi/content: hello/")
    act(terminal, "Start execution")
    trust(terminal)
    choose(terminal, REPLACE, "Allow for this plan")
    ended(terminal, DONE, "version: 2", "status: completed")
    saved(terminal, workspace / "c.txt", "hello")


def test_a_plan_changes_a_buffer_that_is_not_saved(start: Start, terminal: Terminal, workspace: Path) -> None:
    start()
    command(terminal, "normal Gothey(2)")
    command(terminal, f"Plan {PLAN}")
    choose(terminal, REVIEW, "Start execution")
    trust(terminal)
    choose(terminal, REPLACE, "Allow for this plan")
    ended(terminal, DONE, "status: completed")
    assert (workspace / "a.py").read_text() == OLD
    saved(terminal, workspace / "a.py", f"{NEW}they(2)")


def test_a_new_file_of_the_editor_is_whole_on_disk_before_it_is_saved(
    start: Start, terminal: Terminal, workspace: Path, home: Path, environment: dict[str, str]
) -> None:
    """Neovim is sent operations on files only if it is made to declare `documentChanges`."""
    configuration = home / ".config" / "nvim" / "init.lua"
    configuration.write_text(f"{DOCUMENT_CHANGES}\n{configuration.read_text()}")
    Path(environment["PLANLOOM_CONFIG"]).write_text('{"edits": {"newFiles": "editor"}}')
    start()
    command(terminal, f"Plan {PLAN}")
    choose(terminal, REVIEW, "Start execution")
    trust(terminal)
    choose(terminal, REPLACE, "Allow for this plan")
    ended(terminal, DONE, "status: completed")
    assert (workspace / "c.txt").read_text() == "hi"
    command(terminal, "lua print(vim.fn.getbufline('c.txt', 1)[1], vim.bo[vim.fn.bufnr('c.txt')].modified)")
    terminal.until("hi true")


@pytest.mark.usefixtures("every_call_is_asked")
def test_a_denied_change_is_not_made_and_what_was_made_is_undone(
    start: Start, terminal: Terminal, workspace: Path
) -> None:
    planned(terminal, start)
    act(terminal, "Start execution")
    trust(terminal)
    choose(terminal, REPLACE, "Skip these changes")
    choose(terminal, WRITE, "Allow once")
    ended(terminal, "Partly done, 2 of 3", "- [-] Replace", "- [x] Write c.txt", "status: completed")
    terminal.keep("neovim-denied")
    saved(terminal, workspace / "c.txt", "hi")
    assert (workspace / "a.py").read_text() == OLD
    act(terminal, "Undo all edits of this plan")
    terminal.until_true(lambda _: not (workspace / "c.txt").exists(), "that c.txt is gone")


def test_a_plan_is_cancelled(start: Start, terminal: Terminal, workspace: Path) -> None:
    planned(terminal, start)
    act(terminal, "Start execution")
    trust(terminal)
    dismiss(terminal, REPLACE)
    act(terminal, "Cancel the plan")
    ended(terminal, "0 of 3 steps done", "status: cancelled")
    assert (workspace / "a.py").read_text() == OLD and not (workspace / "c.txt").exists()


def test_a_request_in_a_new_document_is_planned(start: Start, terminal: Terminal, workspace: Path) -> None:
    start()
    (workspace / "todo.plan.md").write_text(PLAN)
    command(terminal, "e todo.plan.md")
    terminal.until("3. List files")
    command(terminal, "lua vim.lsp.buf.code_action()")
    choose(terminal, "Code actions:", "Plan this with Planloom")
    dismiss(terminal, REVIEW)
    terminal.until("status: pending approval", "## Steps")


def test_an_error_is_a_diagnostic_on_its_word(start: Start, terminal: Terminal) -> None:
    planned(terminal, start)
    command(terminal, "%s/tool: list_files/tool: lst_files/")
    terminal.until("E   - tool: lst_files")
    command(terminal, "lua vim.diagnostic.setqflist()")
    terminal.until("There is no tool")
    terminal.keep("neovim-diagnostic")
    command(terminal, "cclose")
    command(terminal, "lua vim.lsp.buf.code_action()")
    choose(terminal, "Code actions:", "Write “list_files”")
    terminal.until("tool: list_files")


@pytest.mark.parametrize("waits", [True, False])
def test_a_plan_goes_on_in_a_new_neovim(
    start: Start, terminal: Terminal, workspace: Path, *, waits: bool
) -> None:
    """Also if it is started before the old server has ended."""
    planned(terminal, start)
    act(terminal, "Start execution")
    trust(terminal)
    terminal.until(REPLACE, "(+1 −1)")
    if waits:
        terminal.stop()
    else:
        terminal.abandon()
    start()
    terminal.until(PAUSED, "The server ended while the plan ran")
    terminal.keep("neovim-restarted")
    choose(terminal, PAUSED, "Later")
    # The document comes up beside what the user looks at.
    terminal.until("status: paused", "## Steps")
    terminal.keys("Enter", "C-w", "w")
    act(terminal, "Resume")
    choose(terminal, REPLACE, "Allow for this plan")
    ended(terminal, DONE, "status: completed")
    saved(terminal, workspace / "a.py", NEW)
