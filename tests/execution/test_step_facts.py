"""What the events tell of a step's run: its number, how far it has come, what it cost, and why it failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from planloom.domain.events import catalog as ev
from planloom.domain.plans.commands import PercentReader
from planloom.domain.plans.editing import AddStep, RemoveStep, StepChanges
from planloom.domain.plans.plan import Plan, Usage, progress
from planloom.domain.values import StepId
from planloom.models.offline.scripted import ScriptedModel, makes, says
from tests.support.studio import Studio, studio

BOTH = (
    makes(("write_file", {"path": "a.txt", "content": "a\n"})),
    makes(("write_file", {"path": "b.txt", "content": "b\n"})),
    makes(("task_completed", {"summary": "Wrote both."})),
)
COST = {"prompt_tokens": 10, "completion_tokens": 2}


async def one_step(at: Studio, **step: object) -> Plan:
    """A plan with this step alone, for review."""
    plan = await at.ask("Create the folder x, create the folder y", mode="plan")
    added = StepChanges.model_validate({"description": "Write both", "kind": "processing", **step})
    edits = [AddStep(place="last", step_id=StepId("both"), step=added)]
    gone = [RemoveStep(step_id=each.step_id) for each in plan.steps]
    return await at.app.plans.edit(plan.plan_id, plan.version, [*edits, *gone])


async def run(at: Studio, plan: Plan) -> Plan:
    plan = await at.approve(plan)
    while plan.pending.approvals:
        plan = await at.respond(plan)
    return plan


def updates(at: Studio) -> list[ev.StepUpdate]:
    return [each.event for each in at.events if isinstance(each.event, ev.StepUpdate)]


async def test_a_run_reports_the_expected_files_that_it_has_written(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        plan = await one_step(at, instruction="Write them.", expected_files=("a.txt", "./b.txt"))
        at.model.model = ScriptedModel(list(BOTH))
        plan = await run(at, plan)
        assert plan.status == "completed"
        reported = [event.progress for event in updates(at) if event.progress is not None]
        assert reported == [50, 100]
        assert plan.steps[0].progress == 100


async def test_a_run_without_expected_files_reports_no_percentage(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        plan = await one_step(at, instruction="Write them.", expected_files=("a.txt",))
        at.model.model = ScriptedModel([BOTH[0], BOTH[2]])
        await run(at, plan)
        assert {event.progress for event in updates(at)} == {None}


async def test_every_update_names_the_run_and_what_it_is_doing(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        plan = await one_step(
            at, instruction="Write it.", active_form="Writing both", expected_files=("a.txt",)
        )
        at.model.model = ScriptedModel([says("I did it."), says("I did it."), BOTH[0], BOTH[2]])
        plan = await run(at, plan)
        assert plan.pending.recoveries
        await at.app.steps.recover(plan.plan_id, StepId("both"), "retry", None)
        plan = await at.until(plan, lambda now: bool(now.pending.approvals))
        plan = await at.respond(plan)
        assert plan.status == "completed"
        running = [event for event in updates(at) if event.status == "running"]
        assert {event.active_form for event in running} == {"Writing both"}
        assert [event.attempt for event in running] == sorted(event.attempt or 0 for event in running)
        assert {event.attempt for event in running} == {1, 2}


async def test_the_end_of_a_step_names_the_tokens_that_it_used(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        plan = await one_step(at, instruction="Write them.", expected_files=("a.txt", "b.txt"))
        at.model.model = ScriptedModel([turn.model_copy(update=COST) for turn in BOTH])
        plan = await run(at, plan)
        (done,) = [each.event for each in at.events if isinstance(each.event, ev.StepCompleted)]
        assert done.usage == Usage(requests=3, prompt_tokens=30, completion_tokens=6)
        assert plan.usage == done.usage == plan.steps[0].usage


async def test_a_recovery_names_the_code_of_the_failure(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        check = {"kind": "file_exists", "path": "none.txt"}
        call = {"kind": "tool_call", "tool": "create_folder", "args": {"path": "y"}, "checks": (check,)}
        plan = await run(at, await one_step(at, instruction="Make it.", **call))
        (recovery,) = plan.pending.recoveries
        assert recovery.code == "check_failed"


@pytest.mark.parametrize("policy", ["skip", "ask"])
async def test_a_step_that_the_policy_passes_over_has_failed_and_one_that_a_person_skips_is_skipped(
    tmp_path: Path, policy: str
) -> None:
    async with studio(tmp_path, settings={"execution.onFailure": policy}) as at:
        plan = await one_step(
            at, kind="tool_call", tool="read_file", instruction="x", args={"path": "none.txt"}
        )
        plan = await run(at, plan)
        if policy == "ask":
            await at.app.steps.recover(plan.plan_id, StepId("both"), "skip", None)
            plan = await at.reach(plan, "ended")
        assert "Failed: Write both" in (plan.execution_summary or "") if policy == "skip" else True
        assert plan.report is not None and plan.report.left[0].status == (
            "failed" if policy == "skip" else "skipped"
        )
        ends = "failed" if policy == "skip" else "skipped"
        _, listed = at.app.plans.tasks(plan.plan_id, None, (ends,), None)
        assert [step.step_id for step in listed] == ["both"]
        counted = progress(plan)
        assert (counted.failed, counted.skipped) == ((1, 0) if policy == "skip" else (0, 1))
        chosen = [each.event for each in at.events if isinstance(each.event, ev.RecoveryChosen)]
        assert [(each.action, each.by) for each in chosen] == [
            ("skip", "policy" if policy == "skip" else "user")
        ]


async def test_a_run_reports_the_expected_calls_that_it_has_made(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        expected = [{"tool": "write_file"}, {"tool": "write_file"}, {"tool": "list_files"}]
        plan = await one_step(at, instruction="Write them.", tools_to_execute=expected)
        listed = makes(("list_files", {}))
        at.model.model = ScriptedModel(
            [BOTH[0], makes(("list_files", {"path": "x"})), listed, BOTH[1], BOTH[2]]
        )
        plan = await run(at, plan)
        reported = [event.progress for event in updates(at) if event.progress is not None]
        assert reported == [33, 66, 100]


@pytest.mark.parametrize(
    ("output", "told"),
    [
        (["[ 10%] a\n", "[ 1", "2%] b\n[ 60%] c\n", "[100%] d\n"], [60, 100]),
        (["10%\r11%\r12%\r13%\r16%\r"], [16]),
        (["TOTAL 10 2 87%\n"], []),
        (["a.py 100%\nb.py 75%\nTOTAL 87%\n90%\n"], []),
        (["1.5% 20.25 % 40%"], [40]),
        (["one 1% two 2%", " 300% 50%"], []),
    ],
)
def test_percentages_in_the_output_of_a_command(output: list[str], told: list[int]) -> None:
    reader = PercentReader()
    assert [percent for text in output if (percent := reader.feed(text)) is not None] == told
    fine = PercentReader()
    assert bool([1 for sign in "".join(output) if fine.feed(sign) is not None]) == bool(told)


async def test_the_command_of_a_step_reports_how_far_it_has_come(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        command = """printf '[ 20%%]\n'; printf '[ 40%%]\n'; printf '[ 90%%]\n'"""
        call = {"kind": "tool_call", "tool": "run_command", "args": {"command": command}}
        plan = await run(at, await one_step(at, instruction="Build.", **call))
        assert plan.status == "completed"
        reported = [event.progress for event in updates(at) if event.progress is not None]
        assert reported[-1:] == [90] and reported == sorted(reported)


async def test_an_edit_is_followed_by_the_list_of_steps(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        await one_step(at, instruction="Write them.")
        assert at.types()[-2:] == ["plan_edited", "tasks_list"]
