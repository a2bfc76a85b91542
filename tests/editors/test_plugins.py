"""Journeys in a real Emacs and a real Neovim with the plugins of editors, and nothing else in their configuration."""

from __future__ import annotations

import json
import subprocess
import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.editors.conftest import NEW, OLD, PLAN, ROOT
from tests.editors.terminal import Terminal

REVIEW = "Planloom has planned"
TRUST = "Planloom: do you trust"
REPLACE = "Planloom: Replace"
DONE = "3 of 3 steps done"


class Editor:
    """An editor with its plugin, and what a person does in it."""

    name: str
    missing: str
    """What it says if there is no `planloom`."""

    def __init__(self, terminal: Terminal, tools: Path, home: Path, environment: Mapping[str, str]) -> None:
        self.terminal = terminal
        self.tools = tools
        self.environment = environment
        self.configure(home)

    @abstractmethod
    def configure(self, home: Path) -> None:
        """Have it load its plugin, and nothing else."""

    @abstractmethod
    def configure_servers(self, home: Path, planloom: Sequence[str], words: Sequence[str]) -> None:
        """Have it start another program as Planloom's server, and beside it a language server for Python."""

    @abstractmethod
    def start(self, folder: Path, *files: str) -> None:
        """Start it in a folder on files, or without one."""

    @abstractmethod
    def command(self, text: str) -> None:
        """Give a command by its name."""

    @abstractmethod
    def plan(self, request: str) -> None:
        """Ask for a plan."""

    @abstractmethod
    def run(self, what: str) -> None:
        """`pause`, `resume` or `undo` the plan."""

    @abstractmethod
    def to_question(self) -> None:
        """Go to the question that waits."""

    @abstractmethod
    def visit(self, name: str) -> None:
        """Look at a file; a question stays open."""

    @abstractmethod
    def find(self, text: str) -> None:
        """Go to the end of the next place of a text."""

    @abstractmethod
    def retype(self, old: str, new: str) -> None:
        """Type a word in place of the last one of the next place of a text."""

    @abstractmethod
    def retype_all(self, text: str) -> None:
        """Type a text in place of all that is shown, and save it."""

    @abstractmethod
    def save_all(self) -> None:
        """Save every file."""

    @abstractmethod
    def act(self, title: str) -> None:
        """Choose what is done with the plan where the cursor is."""

    def choose(self, asked: str, title: str) -> None:
        """Answer the question about `asked` by the digit of a choice."""
        shown = self.terminal.until(asked, f"  {title}")
        line = next(each for each in shown.splitlines() if each.strip(" ~│").endswith(f"  {title}"))
        self.to_question()
        self.terminal.keys(line.strip(" ~│")[0])

    def leave(self, asked: str) -> None:
        """Leave the question about `asked` for later."""
        self.terminal.until(asked)
        self.to_question()
        self.terminal.keys("q")

    def on_disk(self, path: Path, text: str) -> None:
        """Wait until the file holds the text."""
        text = text.rstrip("\n")
        self.terminal.until_true(lambda _: path.is_file() and path.read_text().rstrip("\n") == text, text)


class Emacs(Editor):
    name, missing = "emacs", "install Planloom, or set"

    def configure(self, home: Path) -> None:
        (home / ".emacs.d").mkdir()
        lisp = f"(add-to-list 'load-path \"{ROOT / 'editors' / 'emacs'}\")\n(require 'planloom)\n"
        (home / ".emacs.d" / "init.el").write_text(
            f"{lisp}(setq planloom-typing-seconds 0.1 suggest-key-bindings nil)\n"
        )
        (home / ".emacs.d" / "early-init.el").write_text("(setq native-comp-deferred-compilation nil)")

    def configure_servers(self, home: Path, planloom: Sequence[str], words: Sequence[str]) -> None:
        with (home / ".emacs.d" / "init.el").open("a") as configuration:
            configuration.write(
                f"(setq planloom-command '({_quoted(planloom, ' ')}))\n(require 'eglot)\n"
                f"(add-to-list 'eglot-server-programs '(python-mode . ({_quoted(words, ' ')})))\n"
                "(add-hook 'python-mode-hook #'eglot-ensure)\n"
            )

    def start(self, folder: Path, *files: str) -> None:
        self.terminal.start(["emacs", "-nw", *files], folder, self.environment)
        self.terminal.until(files[0] if files else "*scratch*")

    def command(self, text: str) -> None:
        self.terminal.keys("M-x")
        self.terminal.until("M-x")
        self.terminal.type(text)
        self.terminal.keys("Enter")

    def plan(self, request: str) -> None:
        self.command("planloom")
        if request:
            self.terminal.until("Plan:")
            self.terminal.type(request)
            self.terminal.keys("Enter")

    def run(self, what: str) -> None:
        self.command(f"planloom-{what}")

    def to_question(self) -> None:
        self.terminal.until("*Planloom asks*")
        self.command("planloom-answer")

    def visit(self, name: str) -> None:
        if "*Planloom asks*" in self.terminal.screen():
            self.to_question()
            self.terminal.keys("C-x", "o")
        self.terminal.keys("C-x", "b")
        self.terminal.until("Switch to buffer")
        self.terminal.type(name)
        self.terminal.keys("Enter")

    def find(self, text: str) -> None:
        self.terminal.keys("C-s")
        self.terminal.type(text)
        self.terminal.keys("Enter")

    def retype(self, old: str, new: str) -> None:
        self.find(old)
        self.terminal.keys("M-BSpace")
        self.terminal.type(new)

    def retype_all(self, text: str) -> None:
        self.terminal.keys("C-x", "h", "C-w")
        self.terminal.type(text)
        self.terminal.keys("C-x", "C-s")

    def save_all(self) -> None:
        self.terminal.keys("C-x", "s")
        self.terminal.until("Save file")
        self.terminal.type("!")

    def act(self, title: str) -> None:
        self.command("planloom-act")
        self.terminal.until("Planloom:")
        self.terminal.type(f"Planloom: {title}")
        self.terminal.keys("Enter")


class Neovim(Editor):
    name, missing = "neovim", "the server did not start: is `planloom` installed"

    def configure(self, home: Path) -> None:
        configuration = home / ".config" / "nvim"
        configuration.mkdir()
        (configuration / "init.lua").write_text(
            f"vim.opt.runtimepath:append('{ROOT / 'editors' / 'nvim'}')\n"
        )

    def configure_servers(self, home: Path, planloom: Sequence[str], words: Sequence[str]) -> None:
        with (home / ".config" / "nvim" / "init.lua").open("a") as configuration:
            configuration.write(
                f"vim.lsp.config('planloom', {{ cmd = {{ {_quoted(planloom, ', ')} }} }})\n"
                f"vim.lsp.config('words', {{ cmd = {{ {_quoted(words, ', ')} }}, filetypes = {{ 'python' }} }})\n"
                "vim.lsp.enable('words')\n"
            )

    def start(self, folder: Path, *files: str) -> None:
        self.terminal.start([str(self.tools / "bin" / "nvim"), "-n", *files], folder, self.environment)
        self.terminal.until("~")

    def command(self, text: str) -> None:
        self.terminal.type(f":{text}")
        self.terminal.keys("Enter")

    def plan(self, request: str) -> None:
        self.command(f"Plan {request or 'list files'}")

    def run(self, what: str) -> None:
        self.command(f"Plan{what.capitalize()}")

    def to_question(self) -> None:
        # It has the focus, unless another window was visited.
        self.command("if &buftype == '' | wincmd p | endif")

    def visit(self, name: str) -> None:
        self.command(f"if &buftype != '' | wincmd p | endif | b {name}")

    def find(self, text: str) -> None:
        self.command(rf"call search('\V{text}', 'ce')")

    def retype(self, old: str, new: str) -> None:
        self.find(old)
        self.terminal.type(f"bce{new}")
        self.terminal.keys("Escape")

    def retype_all(self, text: str) -> None:
        self.terminal.type(f"ggcG{text}")
        self.terminal.keys("Escape")
        self.command("w")

    def save_all(self) -> None:
        self.command("wa")

    def act(self, title: str) -> None:
        self.command("lua vim.lsp.buf.code_action()")
        shown = self.terminal.until(f": Planloom: {title}", "Type number and <Enter>")
        line = next(each for each in shown.splitlines() if each.endswith(f": Planloom: {title}"))
        self.terminal.type(line.split(":")[0])
        self.terminal.keys("Enter")


def _quoted(words: Sequence[str], between: str) -> str:
    return between.join(f'"{word}"' for word in words)


@pytest.fixture(params=[Emacs, Neovim], ids=lambda each: each.name)
def editor(
    request: pytest.FixtureRequest,
    tools: Path,
    home: Path,
    environment: dict[str, str],
    terminal: Terminal,
) -> Editor:
    made: Editor = request.param(terminal, tools, home, environment)
    return made


only_neovim = pytest.mark.parametrize("editor", [Neovim], ids=lambda each: each.name, indirect=True)


def test_a_plan_is_reviewed_and_made_by_single_keys(
    editor: Editor, terminal: Terminal, workspace: Path
) -> None:
    editor.start(workspace, "a.py")
    editor.plan(PLAN)
    terminal.until(REVIEW, "status: pending approval")
    terminal.keep(f"{editor.name}-plugin-review")
    editor.choose(REVIEW, "Start execution")
    editor.choose(TRUST, "Trust")
    editor.choose(REPLACE, "Allow for this plan")
    terminal.until(DONE, "status: completed")
    assert (workspace / "a.py").read_text() == OLD
    editor.save_all()
    editor.on_disk(workspace / "a.py", NEW)
    editor.run("undo")
    terminal.until_true(lambda _: not (workspace / "c.txt").exists(), "that c.txt is gone")


def test_a_window_without_a_file_and_a_folder_without_git_can_plan(editor: Editor, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    editor.start(folder)
    editor.plan('1. Create file c.txt with content "hi"')
    editor.choose(TRUST, "Trust")
    editor.choose("Planloom: Write c.txt", "Allow once")
    editor.terminal.until("1 of 1 step done")
    assert (folder / "c.txt").read_text().rstrip("\n") == "hi"


@pytest.mark.usefixtures("every_call_is_asked")
def test_a_question_that_is_left_is_asked_again_by_its_plan(
    editor: Editor, terminal: Terminal, workspace: Path
) -> None:
    editor.start(workspace, "a.py")
    editor.plan(PLAN)
    editor.choose(REVIEW, "Start execution")
    editor.choose(TRUST, "Trust")
    editor.leave(REPLACE)
    terminal.until("- [?] Replace")
    editor.run("pause")
    terminal.until("status: paused")
    editor.run("resume")
    editor.choose(REPLACE, "Allow for this plan")
    terminal.until(DONE, "status: completed")


def test_a_document_is_changed_by_typing_and_started_by_an_action(
    editor: Editor, terminal: Terminal, workspace: Path
) -> None:
    editor.start(workspace, "a.py")
    editor.plan('1. Create file c.txt with content "hi" 2. List files')
    editor.leave(REVIEW)
    terminal.until("status: pending approval")
    editor.retype("content: hi", "hello")
    editor.save_all()
    terminal.until("version: 2")
    editor.act("Start execution")
    editor.choose(TRUST, "Trust")
    terminal.until("2 of 2 steps done")
    assert (workspace / "c.txt").read_text().rstrip("\n") == "hello"


@pytest.mark.usefixtures("every_call_is_asked")
def test_what_is_typed_and_not_saved_stays_beside_an_edit(
    editor: Editor, terminal: Terminal, workspace: Path
) -> None:
    editor.start(workspace, "a.py")
    editor.retype("return", "return they +")
    editor.plan(PLAN)
    editor.choose(REVIEW, "Start execution")
    editor.choose(TRUST, "Trust")
    editor.choose(REPLACE, "Allow for this plan")
    terminal.until(DONE)
    assert (workspace / "a.py").read_text() == OLD
    editor.save_all()
    editor.on_disk(workspace / "a.py", NEW.replace("return", "return they +"))


def brought_to_a_conflict(editor: Editor, workspace: Path) -> None:
    """The plan and the person have both changed the first line of a.py."""
    editor.start(workspace, "a.py")
    editor.plan(PLAN)
    editor.choose(REVIEW, "Start execution")
    editor.choose(TRUST, "Trust")
    editor.terminal.until(REPLACE)
    editor.visit("a.py")
    editor.retype("old", "mine")
    editor.terminal.until("def mine")
    editor.choose(REPLACE, "Allow for this plan")
    editor.terminal.until("Your typing and step 1 overlap: a.py", "<<<<<<< yours")


@pytest.mark.usefixtures("every_call_is_asked")
@pytest.mark.parametrize("place", ["a-both-*.py", "1-*.plan.md"], ids=["merged", "plan"])
def test_a_conflict_is_left_edited_and_taken_from_a_document(
    editor: Editor, terminal: Terminal, workspace: Path, place: str
) -> None:
    brought_to_a_conflict(editor, workspace)
    terminal.keep(f"{editor.name}-plugin-conflict")
    editor.leave("Your typing and step 1 overlap")
    merged, shown = (next((workspace / ".planloom").glob(each)).name for each in ("a-both-*.py", place))
    editor.visit(merged)
    editor.retype_all("def ours():")
    if shown != merged:
        editor.visit(shown)
        editor.find("[?] Replace")
    editor.act("Use the merged document")
    terminal.until(DONE)
    editor.save_all()
    editor.on_disk(workspace / "a.py", "def ours():")


@pytest.mark.usefixtures("every_call_is_asked")
def test_files_of_one_name_are_told_apart_and_their_diffs_can_be_applied(
    editor: Editor, terminal: Terminal, workspace: Path
) -> None:
    for folder in ("lib", "src"):
        (workspace / folder).mkdir()
        (workspace / folder / "calc.py").write_text(OLD)
    editor.start(workspace, "a.py")
    editor.plan('1. Replace "old" with "new" in lib/calc.py 2. Replace "old" with "new" in src/calc.py')
    editor.choose(REVIEW, "Start execution")
    editor.choose(TRUST, "Trust")
    for folder in ("lib", "src"):
        asked = f"--- a/{folder}/calc.py"
        terminal.until(asked, f"+++ b/{folder}/calc.py", REPLACE)
        (diff,) = (each for each in (workspace / ".planloom").glob("*.diff") if asked in each.read_text())
        subprocess.run(["git", "apply", "--check", str(diff)], cwd=workspace, check=True)
        editor.choose(REPLACE, "Allow once")
    terminal.until("2 of 2 steps done")
    editor.save_all()
    for folder in ("lib", "src"):
        editor.on_disk(workspace / folder / "calc.py", NEW)


def test_a_program_that_is_missing_is_named(
    editor: Editor, workspace: Path, environment: dict[str, str]
) -> None:
    environment["PATH"] = "/usr/bin:/bin"
    editor.start(workspace, "a.py")
    editor.plan("")
    editor.terminal.until(editor.missing)


def test_the_server_hears_what_the_users_language_server_knows(
    editor: Editor, home: Path, workspace: Path
) -> None:
    servers = (
        ROOT / "tests" / "support" / "scripted_server.py",
        Path(__file__).parent / "language_server.py",
    )
    editor.configure_servers(home, *([sys.executable, str(program)] for program in servers))
    # Its bytes, its code units and its characters are of three numbers.
    (workspace / "a.py").write_text("\N{PARTY POPPER}ä = 1; old = 2\n")
    (workspace / "b.py").write_text("from_a = old\n")
    (workspace / "x.plan.md").write_text("# old\n")
    uris = {name: (workspace / name).as_uri() for name in ("a.py", "b.py", "x.plan.md", "absent.py")}
    at = {
        name: {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 10}}
        for name, uri in uris.items()
    }
    asked = [
        ("textDocument/references", at["a.py"]),
        ("textDocument/references", at["b.py"]),
        ("textDocument/rename", {**at["a.py"], "newName": "new"}),
        ("textDocument/hover", at["a.py"]),
        ("textDocument/definition", at["a.py"]),
        ("textDocument/references", at["x.plan.md"]),
        ("textDocument/references", at["absent.py"]),
    ]
    (workspace / "asked.json").write_text(json.dumps(asked))
    editor.start(workspace, "b.py")
    editor.plan("Add language")
    answered = workspace / "answered.json"
    editor.terminal.until_true(lambda _: answered.is_file(), "the answers")

    def place(start: int) -> dict[str, object]:
        return {"start": {"line": 0, "character": start}, "end": {"line": 0, "character": start + 3}}

    found = [{"uri": uris["a.py"], "range": place(9)}, {"uri": uris["b.py"], "range": place(9)}]
    edits = {str(each["uri"]): [{"range": each["range"], "newText": "new"}] for each in found}
    *known, unknown, plan, absent = json.loads(answered.read_text())
    assert known == [found, found, {"changes": edits}, {"problem": "It knows no meaning."}]
    assert "textDocument/definition" in unknown["problem"]
    assert (
        plan
        == absent
        == {"problem": "Language servers are asked about files alone, and not about documents of plans."}
    )


@only_neovim
def test_the_lines_of_a_range_are_what_the_request_is_about(editor: Editor, workspace: Path) -> None:
    editor.start(workspace, "a.py")
    editor.command(f"1,2Plan {PLAN} near")
    editor.terminal.until(REVIEW, "@a.py:1-2")


@only_neovim
def test_references_are_completed(editor: Editor, terminal: Terminal, workspace: Path) -> None:
    editor.start(workspace, "a.py")
    editor.command("lua print(vim.wait(30000, function() return #vim.lsp.get_clients() > 0 end) and 'ready')")
    terminal.until("ready")
    terminal.type(":Plan look at @b.")
    terminal.keys("Tab")
    terminal.until(":Plan look at @b.py")


def test_the_plugin_of_emacs_compiles_without_a_warning(tools: Path, tmp_path: Path) -> None:
    del tools  # Where they are, Emacs is.
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
