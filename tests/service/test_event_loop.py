"""No path is looked up on the disk by the thread that answers requests: a network folder may take seconds."""

from __future__ import annotations

import os
import threading
import traceback
from pathlib import Path

import pytest

from planloom.domain.plans.editing import AddStep, StepChanges
from planloom.workspace.paths.links import RealDisk
from tests.support.studio import studio


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where this thread has asked the disk for the places of paths."""
    mine, asked, lstat = threading.current_thread(), list[str](), RealDisk.lstat

    def counted(self: RealDisk, path: str) -> os.stat_result:
        if threading.current_thread() is mine:
            asked.append("".join(traceback.format_stack(limit=12)))
        return lstat(self, path)

    monkeypatch.setattr(RealDisk, "lstat", counted)
    return asked


async def test_a_request_is_drafted_approved_and_carried_out(tmp_path: Path, looked_up: list[str]) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}, settings={"approvals.plan": "literal"}) as at:
        looked_up.clear()
        plan = await at.ask(
            '1. Create folder new\n2. Create file new/b.txt with content "b"\n3. Replace "old" with "now" in @a.txt'
        )
        assert [step.requires_approval for step in plan.steps] == [False, False, True]
        plan = await at.approve(plan)
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert plan.status == "completed" and not looked_up, looked_up[:1]


async def test_a_plan_of_the_users_own_steps_is_written_and_changed(
    tmp_path: Path, looked_up: list[str]
) -> None:
    step = AddStep(
        step=StepChanges(description="Write", tool="write_file", args={"path": "a.txt", "content": "a\n"})
    )
    async with studio(tmp_path, {}, settings={"approvals.plan": "literal"}) as at:
        looked_up.clear()
        plan = await at.app.plans.adopt("Do it", "", (step,))
        plan = await at.app.plans.edit(plan.plan_id, plan.version, (step,))
        assert [each.requires_approval for each in plan.steps] == [False, True]
        assert not looked_up, looked_up[:1]
