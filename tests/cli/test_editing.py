"""A plan, or a change, that a person edits in their own editor at a real terminal, with the real server."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import lists, sampled_from

from planloom.cli.terminal.chosen_text import hunks, with_hunks
from tests.cli.test_history import STEPS, words
from tests.cli.test_leaving import Desk, desk
from tests.support.command_line import AtTerminal, editor

__all__ = ["desk"]
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals"),
]


def test_a_plan_is_edited_as_a_document_and_shows_what_that_changed(desk: Desk, tmp_path: Path) -> None:
    change = (
        "text = text.replace('bee', 'wasp').replace('old_text: old', 'old_text: OLD') + '- [ ] List files\\n'"
    )
    terminal = desk.start("run", STEPS, EDITOR=editor(tmp_path, change), VISUAL="")
    terminal.type("e")
    terminal.wait_for("Version 2 of the plan, 3 steps, changed in 3 steps:")
    terminal.wait_for("wasp")
    terminal.wait_for("+ 3. List files")
    terminal.wait_for("[v] view the whole plan")
    terminal.type("v")
    terminal.wait_for("version 2")
    terminal.type("l")
    assert terminal.finish().code == 4


def test_a_fault_is_said_and_the_text_is_edited_again(desk: Desk, tmp_path: Path) -> None:
    wrong = "text = text.replace('tool: write_file', 'tool: write_fil')"
    right = "text = text.replace('tool: write_fil', 'tool: write_file').replace('bee', 'wasp')"
    terminal = desk.start("run", STEPS, EDITOR=editor(tmp_path, wrong, right), VISUAL="")
    terminal.type("e")
    terminal.wait_for("write_fil")
    terminal.wait_for("[e] edit it again")
    terminal.type("e")
    terminal.wait_for("Version 2 of the plan")
    terminal.type("y")
    terminal.wait_for("Allow?")
    terminal.type("p")
    assert terminal.finish().code == 0
    assert (desk.machine.work / "b.txt").read_text() == "wasp"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("text = text", "Nothing was changed."),
        ("path.write_text('typed'); sys.exit(1)", "The editor did not end well."),
        ("path.write_bytes(b'\\xff'); sys.exit(0)", "The text is not UTF-8."),
        ("", "cannot be started"),
    ],
)
def test_an_editor_that_changes_nothing_leaves_the_plan_as_it_is(
    desk: Desk, tmp_path: Path, command: str, said: str
) -> None:
    chosen = editor(tmp_path, command) if command else "no-such-editor"
    (tmp_path / "temporary").mkdir()
    more = {"VISUAL": "", "TMPDIR": str(tmp_path / "temporary"), "COLUMNS": "400"}
    terminal = desk.start("run", STEPS, EDITOR=chosen, **more)
    terminal.type("e")
    terminal.wait_for(said)
    terminal.wait_for("Execute this plan?")
    terminal.type("c")
    ended = terminal.finish()
    assert ended.code == 1
    # What was typed is not lost, and nothing else is left.
    for kept in (tmp_path / "temporary").rglob("text*"):
        assert str(kept) in ended.out and kept.read_bytes() in (b"typed", b"\xff")
    assert any((tmp_path / "temporary").iterdir()) == ("is kept in" in ended.out)


def test_a_long_plan_is_shown_a_screen_at_a_time(desk: Desk) -> None:
    steps = " ".join(f"{number}. Create folder f{number}" for number in range(1, 31))
    terminal = desk.start("run", steps, LINES="24", COLUMNS="80")
    terminal.wait_for("[v] view")
    assert "f30" not in terminal.seen.partition("Log:")[2]
    terminal.type("v")
    terminal.wait_for("Execute this plan?")
    terminal.type("v")
    terminal.wait_for("Execute this plan?")
    terminal.wait_for("> ")
    assert "Create folder f30" in words(terminal.seen)
    terminal.type("c", after="")
    assert terminal.finish().code == 1


TWO_PLACES = '1. Replace "old" with "new" everywhere in c.txt\n2. Create folder f'


def brought_to_the_change(desk: Desk, end: str = "\n", **more: str) -> AtTerminal:
    (desk.machine.work / "c.txt").write_bytes(f"old 1{end}kept{end}old 2{end}".encode())
    terminal = desk.start("run", TWO_PLACES, **more)
    terminal.type("y")
    terminal.wait_for("Allow?")
    return terminal


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_change_is_edited_before_it_is_allowed(desk: Desk, tmp_path: Path, end: str) -> None:
    change = "text = path.read_bytes().decode(); path.write_bytes(text.replace('new 2', 'mine').encode()); sys.exit(0)"
    chosen = editor(tmp_path, change)
    terminal = brought_to_the_change(desk, end, EDITOR=chosen, VISUAL="")
    terminal.type("e")
    terminal.wait_for("+ mine")
    terminal.wait_for("[y] allow it as it is now")
    terminal.type("y")
    assert terminal.finish().code == 0
    assert (desk.machine.work / "c.txt").read_bytes() == f"new 1{end}kept{end}mine{end}".encode()


def test_hunks_of_a_change_are_taken(desk: Desk) -> None:
    terminal = brought_to_the_change(desk)
    terminal.type("h")
    terminal.wait_for("c.txt, line 1")
    terminal.type("n")
    terminal.wait_for("c.txt, line 3")
    terminal.type("y")
    terminal.wait_for("[y] allow it as it is now")
    terminal.type("y")
    assert terminal.finish().code == 0
    assert (desk.machine.work / "c.txt").read_text() == "old 1\nkept\nnew 2\n"


def test_a_change_of_which_nothing_is_left_is_denied(desk: Desk) -> None:
    terminal = brought_to_the_change(desk)
    for key in ("h", "n", "n"):
        terminal.type(key)
    terminal.wait_for("Nothing of the change is left")
    assert terminal.finish().code == 0
    assert (desk.machine.work / "c.txt").read_text() == "old 1\nkept\nold 2\n"


@given(
    before=lists(sampled_from(["a\n", "b\n", "c\r\n", "d"])), after=lists(sampled_from(["a\n", "b\n", "e\n"]))
)
def test_all_hunks_make_the_change_and_none_leaves_the_text(before: list[str], after: list[str]) -> None:
    old, new = "".join(before), "".join(after)
    assert with_hunks(old, hunks(old, new)) == new
    assert with_hunks(old, ()) == old


def test_an_export_is_what_a_plan_is_taken_from(desk: Desk, tmp_path: Path) -> None:
    machine = desk.machine
    machine.executed()
    exported = machine.run("export", "-o", str(tmp_path / "port.plan.md"))
    assert exported.code == 0, exported.err
    assert machine.run("undo", "--yes").code == 0
    planned = machine.run("plan", "--from", str(tmp_path / "port.plan.md"))
    assert planned.code == 0, planned.out
    assert machine.run("resume", "--yes").code == 0
    assert (machine.work / "b.txt").read_text() == "bee"
