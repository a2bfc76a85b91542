"""The user's own figures on the command line, with the real server."""

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
