"""A step can change the steps still to come: what narrows the plan is recorded, what widens it is not made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planloom.domain.events import catalog as ev
from planloom.models.offline.scripted import ScriptedModel, Turn, makes
from planloom.storage.ledger import Ledger
from tests.support.studio import studio

STEPS: list[Any] = [
    {"id": name, "description": f"Write {name}.txt", "instruction": f"Write {name}.txt."} for name in "abcd"
]
PLAN = makes(("submit_plan", {"summary": "Four files.", "steps": STEPS}))


def writes(name: str) -> Turn:
    return makes(
        ("write_file", {"path": f"{name}.txt", "content": name}),
        ("task_completed", {"summary": f"Wrote {name}."}),
    )


def revises(*steps: dict[str, Any]) -> Turn:
    return makes(("submit_plan", {"summary": "Less to do.", "steps": list(steps)}))


@pytest.mark.parametrize(
    ("rest", "order"),
    [
        ([{"id": "b"}, {"id": "d"}], "abd"),
        ([{"id": "d"}, {"id": "b"}, {"id": "c"}], "adbc"),
        ([{"id": "b", "description": "Write b.txt, shortly"}, {"id": "c"}, {"id": "d"}], "abcd"),
        ([], "a"),
    ],
)
async def test_what_narrows_the_rest_is_recorded_and_goes_on(
    tmp_path: Path, rest: list[dict[str, Any]], order: str
) -> None:
    model = ScriptedModel([PLAN, revises(*rest), *map(writes, order)])
    ledger = tmp_path / "ledger.db"
    async with studio(tmp_path, model=model, ledger=ledger) as at:
        plan = await at.run("Write a, b, c and d", mode="plan")
        assert plan.status == "completed" and "".join(step.step_id for step in plan.steps) == order
        assert sorted(path.stem for path in at.folder.glob("*.txt")) == sorted(order)
        (edited,) = (each.event for each in at.events if isinstance(each.event, ev.PlanEdited))
        assert (edited.by, edited.task_id, edited.version) == ("model", "a", 2)
        assert model.requests[2].messages[-1].text.startswith(
            "The rest of the plan is now as you wrote it."
        ) or ("The rest of the plan is now as you wrote it." in str(model.requests[2].messages))
        last = plan
    async with studio(tmp_path, ledger=Ledger(ledger)) as at:
        assert at.now(last).steps == last.steps


@pytest.mark.parametrize(
    ("rest", "why"),
    [
        ([{"id": "b"}, {"id": "n", "description": "Write n.txt"}], "Write n.txt is new."),
        ([{"id": "b", "instruction": "Delete all."}], "b has another instruction."),
        ([{"id": "b", "tool": "delete_path", "args": {"path": "a.txt"}}], "b makes another call."),
        ([{"id": "a"}, {"id": "b"}], "a: It is running and stays as it is"),
        ([{"id": "b", "done": "a did it."}], "a step ends only in its own turn"),
        ([{"id": 3}], "steps.0.id: Input should be a valid string"),
    ],
)
async def test_anything_else_leaves_the_plan_as_it_is_and_says_why(
    tmp_path: Path, rest: list[dict[str, Any]], why: str
) -> None:
    model = ScriptedModel([PLAN, revises(*rest), *map(writes, "abcd")])
    async with studio(tmp_path, model=model) as at:
        plan = await at.run("Write a, b, c and d", mode="plan")
        assert plan.status == "completed" and "".join(step.step_id for step in plan.steps) == "abcd"
        told = [message.text for message in model.requests[2].messages if message.role == "tool"]
        assert "The plan stays as it is" in told[-1] and why in told[-1]
