"""Requests as people write them, divided by the rules into the tasks that they name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planloom.planning.rules.planner import plan_by_rules
from planloom.tools.registry import builtin

FILE = Path(__file__).parents[1] / "data" / "sources" / "requests.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=[row["request"][:40] for row in ROWS])
def test_each_task_of_a_request_is_a_step(row: dict[str, Any]) -> None:
    steps = plan_by_rules(row["request"], builtin())
    assert [step.description for step in steps] == row["steps"]
    assert [step.tool for step in steps if step.tool] == row.get("tools", [])
