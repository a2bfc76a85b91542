"""The user's own figures, and what earlier plans found and did, on the command line, with the real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_history import Machine

pytestmark = pytest.mark.process


def test_the_figures_of_ended_plans(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert "No plan has ended yet." in machine.run("stats").out
    machine.executed()
    shown = machine.run("stats")
    assert shown.code == 0 and "1 plan: 1 completed; 100 % completed, 0 % undone" in shown.out
    assert machine.run("undo", "--yes").code == 0
    told = json.loads(machine.run("stats", "--days", "1", "--json").out)
    assert (told["plans"], told["undone"], told["authors"]) == (1, 100, {"rules": 1})
    assert [(day["plans"], day["completed"]) for day in told["days"]] == [(1, 1)]


def test_the_trace_of_a_run_is_written_before_its_server_has_ended(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    file = tmp_path / "traces.jsonl"
    assert machine.run("run", "Create folder x", "--yes", PLANLOOM_STORAGE_TRACES=str(file)).code == 0
    (line,) = file.read_text().splitlines()
    assert json.loads(line)["resourceSpans"]


def test_what_earlier_plans_did_is_shown_searched_and_forgotten(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert "Nothing is kept of earlier plans of this folder." in machine.run("memory").out
    plan_id = machine.executed()
    machine.executed('Create file notes.txt with content "x"')
    shown = machine.run("memory")
    assert shown.code == 0 and shown.out.index("notes.txt") < shown.out.index(plan_id[:8])
    (found,) = json.loads(machine.run("memory", "b.txt", "--json").out)["entries"]
    assert (found["planId"], sorted(found["files"]), found["status"]) == (
        plan_id,
        ["a.txt", "b.txt"],
        "completed",
    )
    assert "with these words" in machine.run("memory", "elephants").out
    assert machine.run("memory", "--forget", "nope").code != 0
    assert "what was kept of 1 plan" in machine.run("memory", "--forget", plan_id[:8]).out
    assert plan_id[:8] not in machine.run("memory").out
    assert machine.run("memory", "--forget-all").code == 0
    assert "Nothing is kept" in machine.run("memory").out and len(machine.plans()) == 2
