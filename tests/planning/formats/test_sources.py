"""Plans in every form that a model may write: what is read of them, and that each step is announced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planloom.models.offline.scripted import ScriptedModel, says
from planloom.models.port import Capabilities
from planloom.planning.formats.draft import PlanText
from planloom.planning.formats.reader import read_plan
from planloom.planning.model.planner import ModelPlanner
from planloom.planning.port import PlanDrafted, PlanningRequest, StepDrafted
from planloom.tools.registry import builtin

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "sources" / "plans.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
REQUEST = PlanningRequest(text="Do what the plan says.")


async def drafted(text: str) -> tuple[list[StepDrafted], PlanDrafted]:
    model = ScriptedModel([says(text)], capabilities=Capabilities())
    events = [event async for event in ModelPlanner(model, builtin()).draft(REQUEST)]
    plan = events[-1]
    assert isinstance(plan, PlanDrafted)
    return [event for event in events if isinstance(event, StepDrafted)], plan


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
async def test_a_plan_is_read_to_its_last_field(row: dict[str, Any]) -> None:
    read = read_plan(row["text"], builtin().names())
    assert isinstance(read, PlanText) and read.format == row["format"]
    announced, plan = await drafted(row["text"])
    assert [each.step.description for each in announced] == [step.description for step in plan.steps]
    shown = [
        {
            "description": step.description,
            "instruction": step.instruction,
            "activeForm": step.active_form,
            "agent": step.agent,
            "priority": step.priority,
            "kind": step.kind,
            "question": step.question,
            "dependsOn": [*step.depends_on],
            "toolsToExecute": [each.tool for each in step.tools_to_execute],
        }
        for step in plan.steps
    ]
    assert [
        {key: step[key] for key in wanted} for step, wanted in zip(shown, row["steps"], strict=True)
    ] == row["steps"]
    of_plan = {
        "overallRisk": plan.overall_risk,
        "statedDuration": plan.stated_duration,
        "summary": plan.summary,
    }
    assert {key: of_plan[key] for key in row.get("plan", {})} == row.get("plan", {})


async def test_a_model_cannot_call_its_plan_less_risky_than_it_is() -> None:
    step = {"description": "Delete", "tool": "delete_path", "args": {"path": "a.txt"}}
    _, plan = await drafted(json.dumps({"steps": [step], "overallRisk": "low"}))
    assert plan.overall_risk == "high"


@pytest.mark.parametrize(
    "plan", ["1. {} - x\n2. {} - y\n", '{{"steps": [{{"task": "{}"}}, {{"task": "{}"}}]}}\n']
)
async def test_what_may_be_reasoning_without_a_tag_in_front_is_not_announced(plan: str) -> None:
    text = f"The user wants two things.\nSo I first thought of this:\n{plan.format('no', 'no')}</think>\n1. A\n2. B"
    announced, _ = await drafted(text)
    assert [each.step.description for each in announced] == ["A", "B"]
