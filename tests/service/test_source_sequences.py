"""Plans run to their end in the sequences that the rules promise: each event in order, then each step's status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.plans.editing import AddStep, RemoveStep, StepChanges
from planloom.domain.plans.plan import ENDED, Plan
from planloom.models.offline.scripted import ScriptedModel, makes
from tests.support.studio import Studio, studio

FILE = Path(__file__).parents[1] / "data" / "sources" / "sequences.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
OF_STEPS = (
    "task_started",
    "task_completed",
    "task_failed",
    "task_skipped",
    "clarification_",
    "approval_",
    "recovery_",
)
OF_PLAN = ("plan_executing", "plan_paused", "plan_resumed", "plan_completed", "plan_failed", "plan_cancelled")


def told(at: Studio) -> list[str]:
    """The events that a row lists, each with its step if it names one."""
    events = [recorded.event for recorded in at.events if recorded.event.type.startswith(OF_STEPS + OF_PLAN)]
    return [f"{event.type} {getattr(event, 'step_id', '')}".strip() for event in events]


def add(step: dict[str, Any]) -> AddStep:
    fields = {name: value for name, value in step.items() if name != "id"}
    return AddStep(place="last", step_id=step["id"], step=StepChanges.model_validate(fields))


async def acts(at: Studio, plan: Plan, act: str) -> None:
    """What the person does about what waits."""
    name, _, words = act.partition(" ")
    if name in ("allow", "deny"):
        await at.respond(plan, name)
    elif name == "answer":
        await at.app.steps.answer(plan.plan_id, plan.pending.questions[0].step_id, words)
    else:
        await at.app.steps.recover(plan.plan_id, plan.pending.recoveries[0].step_id, name, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
async def test_a_plan_runs_in_the_promised_sequence(row: dict[str, Any], tmp_path: Path) -> None:
    async with studio(tmp_path, row.get("files", {}), settings=row.get("settings", {})) as at:
        plan = await at.ask("1. one thing\n2. another thing", mode="plan")
        gone = [RemoveStep(step_id=step.step_id) for step in plan.steps]
        edits = [*map(add, row["steps"]), *gone]
        plan = await at.app.plans.edit(plan.plan_id, plan.version, edits)
        turns = [makes(*((name, args) for name, args in turn)) for turn in row.get("model", [])]
        at.model.model = ScriptedModel(turns)
        at.events.clear()
        await at.app.plans.approve(plan.plan_id, plan.version, None)
        for act in [*row["person"], None]:
            plan = await at.until(
                plan,
                lambda now: (
                    now.status in ENDED
                    or bool(now.pending.approvals or now.pending.questions or now.pending.recoveries)
                ),
            )
            if act is not None:
                await acts(at, plan, act)
        assert told(at) == row["events"]
        assert (plan.status, [step.status for step in plan.steps]) == (row["ends"], row["statuses"])
        assert {name: at.text(name) for name in row.get("texts", {})} == row.get("texts", {})
