"""The commands of one answer are asked as a list; each has an answer of its own, for exactly what was asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.events import catalog as ev
from planloom.domain.plans.editing import StepChanges, UpdateStep
from planloom.domain.plans.plan import Plan
from planloom.models.offline.scripted import ScriptedModel, makes
from tests.support.studio import Studio, studio

ENDS = [makes(("task_completed", {"summary": "done"})), makes(("final_answer", {"text": "done"}))]


def runs(command: str) -> tuple[str, dict[str, Any]]:
    return "run_command", {"command": command}


@asynccontextmanager
async def working(
    folder: Path, *answers: Sequence[tuple[str, dict[str, Any]]], **more: Any
) -> AsyncIterator[tuple[Studio, Plan]]:
    """A plan whose one step is a model's, which gives these answers; it waits for the user."""
    async with studio(folder, **more) as room:
        plan = await room.ask("Deploy it", mode="plan")
        room.model.model = ScriptedModel([*(makes(*calls) for calls in answers), *ENDS])
        step = UpdateStep(step_id=plan.steps[0].step_id, set=StepChanges(agent="devo", kind="processing"))
        plan = await room.app.plans.edit(plan.plan_id, plan.version, [step])
        yield room, await room.approve(plan)


def asked(plan: Plan) -> list[tuple[str | None, int | None]]:
    """The commands that wait, each with its place in the list."""
    return [
        (each.command, each.listed.position if each.listed is not None else None)
        for each in plan.pending.approvals
    ]


def decisions(room: Studio) -> list[str]:
    return [each.event.decision for each in room.events if isinstance(each.event, ev.ApprovalResolved)]


async def answer(room: Studio, plan: Plan, command: str, decision: Any) -> None:
    (approval,) = [each for each in plan.pending.approvals if each.command == command]
    await room.app.approvals.respond(approval.approval_id, decision, None, None)


THREE = [runs(f"touch {name}") for name in "abc"]


async def test_the_commands_of_one_answer_are_asked_at_once_and_answered_each(tmp_path: Path) -> None:
    async with working(tmp_path, THREE) as (room, started):
        plan = started
        assert asked(plan) == [("touch a", 1), ("touch b", 2), ("touch c", 3)]
        listed = [each.listed for each in plan.pending.approvals]
        assert len({each.list_id for each in listed if each}) == 1 and {e.size for e in listed if e} == {3}
        # In any order; nothing runs before its turn, and a denial is for its own command.
        await answer(room, plan, "touch c", "allow")
        await answer(room, plan, "touch b", "deny")
        assert not room.path("c").exists()
        await answer(room, plan, "touch a", "allow")
        plan = await room.reach(plan, "ended")
        assert plan.status == "completed"
        assert [room.path(name).exists() for name in "abc"] == [True, False, True]
        assert [call.command for call in plan.steps[0].tools_executed] == ["ended", "denied", "ended"]


async def test_cancelling_one_of_a_list_cancels_the_plan_at_once(tmp_path: Path) -> None:
    async with working(tmp_path, THREE) as (room, started):
        plan = started
        await answer(room, plan, "touch b", "cancel")
        plan = await room.reach(plan, "ended")
        assert plan.status == "cancelled" and plan.pending.approvals == ()
        assert not any(room.path(name).exists() for name in "abc")


async def test_what_a_command_changes_is_asked_again_for_those_behind_it(tmp_path: Path) -> None:
    answers = [runs("echo 'touch evil' > run.sh"), runs("sh run.sh"), runs("touch z")]
    async with working(tmp_path, answers, files={"run.sh": "touch good\n"}) as (room, started):
        plan = started
        first, second, third = plan.pending.approvals
        for approval in (first, second, third):
            await room.app.approvals.respond(approval.approval_id, "allow", None, None)
        plan = await room.settled(plan, third)
        (again,) = plan.pending.approvals
        assert again.command == "sh run.sh" and again.proposal != second.proposal
        assert "has changed since you were asked" in (again.warning or "")
        assert not room.path("evil").exists() and not room.path("good").exists()
        await answer(room, plan, "sh run.sh", "deny")
        # What was allowed of the list and has not changed is not asked again.
        plan = await room.reach(plan, "ended")
        assert room.path("z").exists() and not room.path("evil").exists()


async def test_a_list_ends_before_a_change(tmp_path: Path) -> None:
    write = ("write_file", {"path": "new.txt", "content": "x\n"})
    read = ("list_directory", {"path": "."})
    answers = [runs("touch a"), read, runs("touch b"), write, runs("cat new.txt")]
    async with working(tmp_path, answers) as (room, started):
        plan = started
        assert asked(plan) == [("touch a", 1), ("touch b", 2)]
        while plan.pending.approvals:
            plan = await room.respond(plan)
        assert plan.status == "completed" and decisions(room) == ["allow"] * 4


async def test_what_is_allowed_for_the_plan_is_not_asked_in_a_list_twice(tmp_path: Path) -> None:
    async with working(tmp_path, [runs("echo a"), runs("echo a"), runs("touch b")]) as (room, started):
        plan = started
        assert len(plan.pending.approvals) == 3
        first = plan.pending.approvals[0]
        await room.app.approvals.respond(first.approval_id, "allowForPlan", None, None)
        plan = await room.until(plan, lambda now: asked(now) == [("touch b", 3)])
        plan = await room.respond(plan, "deny")
        assert plan.status == "completed" and decisions(room) == ["allowForPlan", "allow", "deny"]


async def test_a_denial_in_a_list_holds_against_what_is_allowed_for_the_plan(tmp_path: Path) -> None:
    # The folder is named by no word of the command, so that nothing of it changes its approval.
    add = "for f in *.log; do echo x >> $f; done"
    async with working(tmp_path, [runs(add), runs(add)], files={"a.log": ""}) as (room, started):
        plan = started
        first, second = plan.pending.approvals
        await room.app.approvals.respond(second.approval_id, "deny", None, None)
        await room.app.approvals.respond(first.approval_id, "allowForPlan", None, None)
        plan = await room.reach(plan, "ended")
        assert room.text("a.log") == "x\n"


@pytest.mark.parametrize("verdict", ["allow", "deny"])
async def test_what_the_policy_decides_is_in_no_list(verdict: str, tmp_path: Path) -> None:
    async with working(tmp_path, THREE, settings={"approvals.execute": verdict}) as (room, plan):
        assert asked(plan) == [] and plan.status == "completed"
        assert room.path("c").exists() == (verdict == "allow")


async def test_one_command_alone_is_no_list(tmp_path: Path) -> None:
    async with working(tmp_path, [runs("touch a")]) as (room, plan):
        assert asked(plan) == [("touch a", None)]
        await room.respond(plan, "deny")


async def test_a_pause_withdraws_the_whole_list(tmp_path: Path) -> None:
    async with working(tmp_path, THREE) as (room, started):
        plan = started
        await room.app.plans.cancel(plan.plan_id)
        plan = await room.reach(plan, "ended")
        assert plan.pending.approvals == () and plan.status == "cancelled"
