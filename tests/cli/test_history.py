"""Plans of before on the command line, with the real server: listed, shown, resumed, taken back and moved."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support import command_line
from tests.support.command_line import AtTerminal, Finished
from tests.support.ledgers import cut_back
from tests.support.lsp_client import connected
from tests.support.real_application import real_application

pytestmark = pytest.mark.process

needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
STEPS = '1. Create file b.txt with content "bee"\n2. Replace "old" with "new" in a.txt'


class Machine:
    """A machine with a workspace and a ledger of its own, on which the command line runs without a model."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / "work"
        self.work.mkdir(parents=True)
        (self.work / "a.txt").write_text("old\n")
        self.ledger = root / "state" / "ledger.sqlite3"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that separate this machine from the one on which the tests run."""
        return {
            "PLANLOOM_STORAGE_PATH": str(self.ledger.parent),
            "PLANLOOM_MODEL_PROVIDER": "embedded",
            "PLANLOOM_CONFIG": str(self.root / "settings.json"),
        }

    def run(self, *arguments: str, typed: str | None = None, **more: str) -> Finished:
        """One command in the workspace."""
        words = [*arguments, "-w", str(self.work)]
        return command_line.run(self.root, words, None, typed, **self.environment, **more)

    def at_terminal(self, *arguments: str, **more: Any) -> AtTerminal:
        """One command at a terminal."""
        return AtTerminal(self.root, [*arguments, "-w", str(self.work)], None, **self.environment | more)

    def plans(self, *arguments: str) -> list[dict[str, Any]]:
        """The plans that are listed."""
        ended = self.run("plans", "--json", *arguments)
        assert ended.code == 0, ended.err
        listed: list[dict[str, Any]] = json.loads(ended.out)["plans"]
        return listed

    def shown(self, plan_id: str) -> dict[str, Any]:
        """A plan in the names of the wire."""
        plan: dict[str, Any] = json.loads(self.run("show", plan_id, "--json").out)["plan"]
        return plan

    def executed(self, request: str = STEPS) -> str:
        """The id of a plan that was executed."""
        assert self.run("run", request, "--yes").code == 0
        return str(self.plans("--limit", "1")[0]["planId"])

    async def left_at(self, request: str, waits: str) -> str:
        """The id of a plan whose server died when it had told of the event `waits`."""
        self.ledger.parent.mkdir(exist_ok=True)
        settings = {"model": {"provider": "embedded"}, "approvals": {"plan": "none"}}
        async with connected(real_application(self.ledger), folders=[self.work], settings=settings) as client:
            created = await client.request("planloom/plan/create", {"text": request, "mode": "plan"})
            plan_id: str = created["plan"]["planId"]
            version = (await client.wait_event("plan_ready", plan_id=plan_id))["plan"]["version"]
            await client.request("planloom/plan/approve", {"planId": plan_id, "version": version})
            event = await client.wait_event(waits, plan_id=plan_id)
        cut_back(self.ledger, event["seq"], "executing")
        return plan_id


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "one")


@pytest.fixture
def other(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "other")


def words(text: str) -> str:
    return " ".join(text.split())


def first_words(out: str) -> Sequence[str]:
    """The first word of each row of a table."""
    return [
        line.split()[0] for line in out.splitlines() if line.strip() and not line.lstrip().startswith("─")
    ][1:]


def test_plans_are_listed_the_newest_first_and_filtered(machine: Machine, tmp_path: Path) -> None:
    done = machine.executed()
    assert machine.run("plan", "1. Create file c.txt\n2. Create file d.txt").code == 0
    waits, also = (plan["planId"] for plan in machine.plans())
    assert also == done

    listed = machine.run("plans")
    assert (listed.code, listed.err) == (0, "")
    assert first_words(listed.out) == [waits[:8], done[:8]]
    assert "Ready for review" in listed.out and "Done" in listed.out and "2/2" in listed.out
    assert all(len(line) <= 80 for line in machine.run("plans", COLUMNS="80").out.splitlines())

    assert first_words(machine.run("plans", "--status", "completed").out) == [done[:8]]
    assert first_words(machine.run("plans", "-n", "1").out) == [waits[:8]]
    assert machine.run("plans", "--status", "nonsense").code == 2
    assert machine.run("plans", "--status", "pending approval").code == 0

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    here = command_line.run(tmp_path, ["plans", "-w", str(elsewhere)], None, **machine.environment)
    assert "There is no plan in this folder" in here.out
    everywhere = command_line.run(
        tmp_path, ["plans", "--all", "-w", str(elsewhere)], None, **machine.environment
    )
    assert first_words(everywhere.out) == [waits[:8], done[:8]]
    assert "work" in everywhere.out


def test_a_plan_is_shown_with_its_steps_results_and_report(machine: Machine) -> None:
    done = machine.executed()
    shown = machine.run("show")
    assert (shown.code, shown.err) == (0, "")
    for told in (
        f"Plan {done[:8]} Done",
        str(machine.work),
        'Replace "old" with "new" in a.txt',
        "✔ 1 Write b.txt",
        "✔ Done. 2 of 2 steps done.",
        "b.txt new file +1",
        f"All changes: planloom diff {done[:8]}",
    ):
        assert told in words(shown.out), shown.out
    assert machine.shown(done[:6])["planId"] == done

    missing = machine.run("show", "zzz")
    assert missing.code == 1
    assert "There is no plan whose id begins with 'zzz'." in missing.err


async def test_a_plan_whose_server_died_is_resumed_and_repeats_nothing(machine: Machine) -> None:
    plan_id = await machine.left_at(STEPS, "approval_request")
    shown = machine.run("show")
    assert "Paused" in shown.out
    assert f"Go on with it: planloom resume {plan_id[:8]}" in shown.out
    assert not (machine.work / "b.txt").exists()

    without = machine.run("resume")
    assert (without.code, "no terminal" in without.err) == (2, True)

    ended = machine.run("resume", "--yes")
    assert ended.code == 0, ended.out + ended.err
    assert (machine.work / "b.txt").read_text() == "bee"
    assert (machine.work / "a.txt").read_text() == "new\n"
    assert "✔ Done." in ended.out

    again = machine.run("resume", plan_id, "--yes")
    assert again.code == 1
    assert "The plan has ended (Done)" in again.out


@needs_terminal
async def test_resume_asks_what_the_plan_waits_for_once(machine: Machine) -> None:
    await machine.left_at(
        '1. Replace "nothing" with "new" in a.txt\n2. Create file b.txt', "recovery_request"
    )
    terminal = machine.at_terminal("resume")
    try:
        terminal.wait_for("nothing")
        terminal.type("s")
        terminal.wait_for("Allow?")
        terminal.type("y")
        ended = terminal.finish()
    finally:
        terminal.close()
    assert ended.out.count("[s] skip") == 1
    assert "does not contain" in ended.out or "not found" in ended.out, ended.out
    assert (machine.work / "b.txt").exists()


@needs_terminal
def test_a_plan_in_review_is_resumed_by_its_review(machine: Machine) -> None:
    assert machine.run("plan", STEPS).code == 0
    terminal = machine.at_terminal("resume")
    try:
        terminal.wait_for("Execute this plan?")
        terminal.type("y")
        terminal.wait_for("Allow?")
        terminal.type("p")
        ended = terminal.finish()
    finally:
        terminal.close()
    assert ended.code == 0, ended.out
    assert (machine.work / "a.txt").read_text() == "new\n"


def test_nothing_to_resume_is_said(machine: Machine) -> None:
    ended = machine.run("resume", "--yes")
    assert (ended.code, "There is no plan that could be resumed in this folder." in ended.out) == (1, True)


@needs_terminal
def test_a_plan_that_another_server_runs_is_neither_resumed_nor_undone(machine: Machine) -> None:
    terminal = machine.at_terminal("run", STEPS)
    try:
        terminal.type("y")
        terminal.wait_for("Allow?")
        ended = machine.run("resume", "--yes")
        assert ended.code == 1
        assert "Another Planloom server (process" in words(ended.out)
        plan_id = machine.plans()[0]["planId"]
        assert "at work" in machine.run("export", plan_id, "--format", "full").err
        terminal.type("p", after="> ")
        assert terminal.finish().code == 0
    finally:
        terminal.close()


def test_undo_shows_what_it_does_and_keeps_what_was_typed_since(machine: Machine) -> None:
    done = machine.executed()
    assert machine.run("undo").code == 2
    one = machine.run("undo", done[:8], "--step", "1", "--yes")
    assert one.code == 0, one.err
    assert "Takes back step 1 of plan" in one.out
    assert "b.txt is deleted" in words(one.out)
    assert not (machine.work / "b.txt").exists()
    assert (machine.work / "a.txt").read_text() == "new\n"
    assert "Partly undone" in machine.run("show").out
    assert machine.plans()[0]["reverted"] == "part"
    assert "Partly undone" in words(machine.run("plans").out)

    (machine.work / "a.txt").write_text("mine\n")
    rest = machine.run("undo", "--yes")
    assert rest.code == 1
    assert "✘ a.txt left as it is" in words(rest.out)
    assert (machine.work / "a.txt").read_text() == "mine\n"


def test_an_undo_is_made_again_and_each_says_what_has_become_of_a_file(machine: Machine) -> None:
    machine.executed()
    undone = machine.run("undo", "--yes")
    assert "✔ b.txt deleted" in words(undone.out) and "✔ a.txt old text restored" in words(undone.out)
    assert "Undone." in words(machine.run("show").out)
    exported = machine.run("export", "--format", "markdown").out
    assert "completed, taken back." in exported and "[x]" not in exported

    redone = machine.run("undo", "--redo", "--yes")
    assert (redone.code, "Makes again plan" in redone.out) == (0, True)
    assert "✔ b.txt made again" in words(redone.out) and "✔ a.txt changed again" in words(redone.out)
    assert (machine.work / "b.txt").read_text() == "bee"
    assert (machine.work / "a.txt").read_text() == "new\n"
    again = machine.run("undo", "--redo", "--yes")
    assert (again.code, "There is nothing to make again." in again.out) == (1, True)


@needs_terminal
def test_undo_asks(machine: Machine) -> None:
    machine.executed()
    for answer, text in (("n", "new\n"), ("y", "old\n")):
        terminal = machine.at_terminal("undo")
        try:
            terminal.wait_for("Take this back?")
            terminal.type(answer)
            terminal.finish()
        finally:
            terminal.close()
        assert (machine.work / "a.txt").read_text() == text
    nothing = machine.run("undo", "--yes")
    assert (nothing.code, "There is nothing to take back." in nothing.out) == (1, True)


def test_a_plan_of_another_folder_is_not_touched_from_here(machine: Machine, tmp_path: Path) -> None:
    done = machine.executed()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    arguments = ["undo", done, "--yes", "-w", str(elsewhere)]
    ended = command_line.run(tmp_path, arguments, None, **machine.environment)
    assert ended.code == 1
    assert f"This plan works in {machine.work}." in words(ended.err)
    assert (machine.work / "a.txt").read_text() == "new\n"


def test_a_plan_is_exported_to_be_read_and_for_programs(machine: Machine, tmp_path: Path) -> None:
    done = machine.executed()
    read = machine.run("export", "--format", "markdown")
    assert (read.code, read.err) == (0, "")
    assert read.out.startswith("# 1. Create file b.txt") and "[x] Write b.txt" in read.out
    assert json.loads(machine.run("export", done, "-f", "json").out) == machine.shown(done)
    there = tmp_path / "there.md"
    there.write_text("mine")
    assert machine.run("export", "-o", str(there)).code == 2
    assert there.read_text() == "mine"


def test_an_ended_plan_is_moved_to_another_machine_and_taken_back_there(
    machine: Machine, other: Machine
) -> None:
    done = machine.executed()
    document = machine.root / "full.json"
    exported = machine.run("export", "--format", "full", "-o", str(document))
    assert exported.code == 0
    assert "It holds the texts of the files" in exported.err
    if sys.platform != "win32":
        assert document.stat().st_mode & 0o077 == 0
    for name in ("a.txt", "b.txt"):
        (other.work / name).write_bytes((machine.work / name).read_bytes())

    imported = other.run("import", str(document))
    assert (imported.code, imported.err) == (0, "")
    assert f"Imported plan {done[:8]} (2 steps), which is done" in words(imported.out)
    there, here = other.shown(done), machine.shown(done)
    assert there["workspaceFolders"] == [other.work.as_uri()]
    # The import and the list of steps are events of their own.
    assert there.pop("seq") == here.pop("seq") + 2
    assert json.loads(json.dumps(there).replace(str(other.work), str(machine.work))) == here
    assert other.run("diff").out == machine.run("diff").out

    again = other.run("import", str(document))
    assert (again.code, "is here already" in again.err) == (1, True)
    assert other.run("undo", "--yes").code == 0
    assert (other.work / "a.txt").read_text() == "old\n"
    assert not (other.work / "b.txt").exists()
    assert (machine.work / "a.txt").read_text() == "new\n"


async def test_an_open_plan_runs_on_another_machine_only_after_its_approval_there(
    machine: Machine, other: Machine
) -> None:
    plan_id = await machine.left_at(STEPS, "approval_request")
    document = machine.root / "full.json"
    assert machine.run("export", plan_id, "-f", "full", "-o", str(document)).code == 0
    imported = other.run("import", "-", typed=document.read_text())
    assert imported.code == 0, imported.err
    assert "waits for your review" in words(imported.out)
    (listed,) = other.plans()
    assert (listed["planId"], listed["status"], listed["version"]) == (plan_id, "pending_approval", 2)
    assert sorted(path.name for path in other.work.iterdir()) == ["a.txt"]

    ended = other.run("resume", "--yes")
    assert ended.code == 0, ended.out
    assert "The plan is approved (--yes)." in ended.out
    assert (other.work / "b.txt").read_text() == "bee"
    assert not (machine.work / "b.txt").exists()


def test_a_damaged_or_newer_document_is_refused(machine: Machine, other: Machine, tmp_path: Path) -> None:
    machine.executed()
    text = machine.run("export", "-f", "full").out
    damaged = {
        "": "damaged",
        "{}": "not what a full export writes",
        text[:-40]: "was cut",
        text.replace("bee", "bear"): "changed or cut",
        json.dumps({**json.loads(text), "format": 99}): "newer Planloom",
        machine.run("export", "-f", "json").out: "not what a full export writes",
    }
    for document, told in damaged.items():
        ended = other.run("import", "-", typed=document)
        assert ended.code == 1, document
        assert told in words(ended.err)
    assert other.plans() == []
    assert other.run("import", str(tmp_path / "nowhere.json")).code == 2
