"""An exit code is a result: a command that fails is told to the model, and else readably to the person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Check, summary
from planloom.domain.values import StepId
from planloom.models.offline.scripted import ScriptedModel, fails, makes
from planloom.view.plan_view import view
from planloom.view.questions import ended
from planloom.view.states import Around, summary_state
from planloom.view.words import Words
from tests.service.test_execution_rules import happened, tool_step, with_steps, work_step
from tests.service.test_model_work import allowed, asked
from tests.support.studio import studio

COMMANDS = {"approvals.execute": "allow", "approvals.write": "allow", "execution.review": "auto"}
SUITE = "i=1; while [ $i -le 60 ]; do echo line $i; i=$((i+1)); done; grep -q right code.txt"
TEST: tuple[str, dict[str, Any]] = ("run_command", {"command": SUITE})
LOOKED = ("task_completed", {"summary": "code.txt lacks the word right."})
PASSED = ("task_completed", {"summary": "The tests pass."})
MENDED = ("task_completed", {"summary": "Mended code.txt."})
FIX = ("edit_file", {"path": "code.txt", "old_text": "wrong", "new_text": "right"})
FILES = {"code.txt": "wrong\n"}


async def test_a_plan_that_tests_then_mends_then_tests_again_runs_to_its_end(tmp_path: Path) -> None:
    model = ScriptedModel([makes(LOOKED), makes(FIX, MENDED)])
    async with studio(tmp_path, FILES, settings=COMMANDS) as at:
        plan = await with_steps(
            at,
            tool_step(*TEST, description="Run the tests to see what to fix"),
            work_step("Fix code.txt", depends_on=("s1",)),
            tool_step(*TEST, description="Run the tests again", depends_on=("s2",)),
        )
        at.model.model = model
        plan = await allowed(at, plan)
        assert (plan.status, [step.status for step in plan.steps]) == ("completed", ["completed"] * 3)
        assert at.text("code.txt") == "right\n" and model.left == ()
        first = asked(model.requests[0])
        assert (
            "RESULT OF THE STEP'S COMMAND\nTask 1, run_command:\n```\nThe command ended with exit code 1."
            in first
        )
        assert "\nline 1\n" in first and "\nline 60\n" in first
        assert [call.ok for call in plan.steps[0].tools_executed] == [False]


async def test_the_model_may_mend_the_cause_in_the_step_of_the_command(tmp_path: Path) -> None:
    model = ScriptedModel([makes(FIX, TEST, MENDED)])
    async with studio(tmp_path, FILES, settings=COMMANDS) as at:
        plan = await with_steps(at, tool_step(*TEST))
        at.model.model = model
        plan = await allowed(at, plan)
        assert plan.status == "completed"
        assert [(call.tool, call.ok) for call in plan.steps[0].tools_executed] == [
            ("run_command", False),
            ("edit_file", True),
            ("run_command", True),
        ]


async def test_a_direct_run_of_a_failing_command_is_given_to_the_model(tmp_path: Path) -> None:
    model = ScriptedModel([makes(FIX, ("run_command", {"command": "grep right code.txt"}), MENDED)])
    async with studio(tmp_path, FILES, settings=COMMANDS, model=model) as at:
        plan = await at.run("Run `grep right code.txt`", mode="direct")
        assert (plan.status, at.text("code.txt")) == ("completed", "right\n")


async def test_a_plan_that_ends_with_a_failing_command_is_not_simply_done(tmp_path: Path) -> None:
    model = ScriptedModel([makes(TEST), makes(LOOKED)])
    async with studio(tmp_path, FILES, settings=COMMANDS) as at:
        plan = await with_steps(at, work_step("Look at code.txt"))
        at.model.model = model
        plan = await allowed(at, plan)
        shown = view(plan, Around(Words()))
        assert plan.status == "completed"
        assert (shown.state, shown.sign) == ("Done, but a command failed", "partly")
        assert (shown.steps[0].words, shown.steps[0].sign) == ("its last command failed", "warning")
        assert summary_state(summary(plan), Words()) == (shown.state, shown.sign)
        _, told = ended(shown, Words())
        assert told == "Done, but a command failed.\ncode.txt lacks the word right."
        _, told = ended(view(plan.model_copy(update={"answer": None}), Around(Words())), Words())
        assert told.startswith("Done, but a command failed. 1 of 1 step done. `i=1;")
        assert told.endswith("failed.") and "But" not in told


async def test_a_command_that_failed_and_then_succeeds_is_no_reservation(tmp_path: Path) -> None:
    model = ScriptedModel([makes(TEST), makes(LOOKED), makes(FIX, MENDED), makes(TEST, PASSED)])
    async with studio(tmp_path, FILES, settings=COMMANDS) as at:
        look, fix = work_step("Look at code.txt"), work_step("Fix code.txt", depends_on=("s1",))
        plan = await with_steps(at, look, fix, work_step("Run the tests", depends_on=("s2",)))
        at.model.model = model
        plan = await allowed(at, plan)
        shown = view(plan, Around(Words()))
        assert (shown.state, shown.sign) == ("Done", "completed")


async def test_without_a_model_the_person_reads_the_end_of_the_output(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES, settings=COMMANDS) as at:
        plan = await at.approve(await with_steps(at, tool_step(*TEST)))
        (request,) = happened(at, ev.RecoveryRequest)
        lines = request.error.splitlines()
        assert "exit code 1" in lines[0] and lines[1].startswith("[…") and lines[-1] == "line 60"
        assert len(lines) == 42 and plan.status == "paused"


async def test_a_failed_check_of_a_literal_call_is_given_to_the_model_with_its_output(tmp_path: Path) -> None:
    check = Check(kind="command", command=SUITE)
    model = ScriptedModel([makes(("write_file", {"path": "code.txt", "content": "right\n"}), MENDED)])
    async with studio(tmp_path, settings=COMMANDS) as at:
        step = tool_step("write_file", {"path": "code.txt", "content": "wrong\n"}, checks=(check,))
        plan = await with_steps(at, step)
        at.model.model = model
        plan = await allowed(at, plan)
        assert (plan.status, at.text("code.txt")) == ("completed", "right\n")
        assert "line 60" in asked(model.requests[0])


async def test_a_failed_check_tells_the_model_of_its_step_the_output(tmp_path: Path) -> None:
    model = ScriptedModel([makes(("read_file", {"path": "code.txt"}), MENDED), makes(FIX, MENDED)])
    async with studio(tmp_path, FILES, settings=COMMANDS) as at:
        plan = await with_steps(at, work_step("Look", checks=(Check(kind="command", command=SUITE),)))
        at.model.model = model
        plan = await allowed(at, plan)
        assert plan.status == "completed" and "line 60" in asked(model.requests[1])


@pytest.mark.parametrize("at_hand", [True, False])
async def test_a_command_that_ended_is_not_run_again_by_a_resumed_step(tmp_path: Path, at_hand: bool) -> None:
    count = ("run_command", {"command": "echo x >> log; exit 3"})
    model = ScriptedModel([fails("unavailable"), makes(("read_file", {"path": "log"}), LOOKED)])
    async with studio(tmp_path, settings=COMMANDS) as at:
        plan = await with_steps(at, tool_step(*count))
        at.model.model = model
        plan = await at.approve(plan)
        assert (plan.status, plan.pause_reason) == ("paused", "model_unavailable")
        at.model.model = model if at_hand else None
        await at.app.plans.resume(plan.plan_id)
        plan = await at.until(plan, lambda now: now.status == "completed" or bool(now.pending.recoveries))
        assert plan.status == ("completed" if at_hand else "paused")
        assert at.path("log").read_text() == "x\n"
        if at_hand:
            assert "exit code 3" in asked(model.requests[-1])


async def test_what_the_model_gives_up_is_asked_with_the_output_of_the_command(tmp_path: Path) -> None:
    model = ScriptedModel([makes(("no_such_tool", {}))] * 20)
    async with studio(tmp_path, FILES, settings=COMMANDS) as at:
        plan = await with_steps(at, tool_step(*TEST))
        at.model.model = model
        plan = await at.approve(plan)
        assert plan.pending.recoveries[0].step_id == StepId("s1")
        assert plan.pending.recoveries[0].error.endswith("line 60")


async def test_a_plan_with_no_completed_step_has_failed_with_the_reason(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES, settings=COMMANDS) as at:
        plan = await with_steps(at, tool_step(*TEST), work_step("Fix it", depends_on=("s1",)))
        plan = await at.approve(plan)
        await at.app.steps.recover(plan.plan_id, StepId("s1"), "skip", None)
        plan = await at.reach(plan, "ended")
        assert (plan.status, [step.status for step in plan.steps]) == ("failed", ["skipped"] * 2)
        assert plan.error is not None and "No step was completed" in plan.error.message
        assert "exit code 1" in plan.error.message


async def test_a_plan_whose_only_step_is_denied_is_cancelled(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await at.approve(await with_steps(at, tool_step(*TEST)))
        plan = await at.respond(plan, "deny")
        assert plan.status == "cancelled" and (plan.execution_summary or "").startswith("0 of 1 step done")


async def test_a_person_may_go_on_without_a_failed_step(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES, settings=COMMANDS) as at:
        made = ("write_file", {"path": "new.txt", "content": "new\n"})
        plan = await with_steps(at, tool_step(*TEST), tool_step(*made, depends_on=("s1",)))
        plan = await at.approve(plan)
        assert plan.pending.recoveries[0].options == ("retry", "skip", "go_on", "abort", "model")
        await at.app.steps.recover(plan.plan_id, StepId("s1"), "go_on", None)
        plan = await at.reach(plan, "ended")
        assert [step.status for step in plan.steps] == ["skipped", "completed"]
        assert (plan.status, at.text("new.txt")) == ("completed", "new\n")


async def test_a_repeated_write_is_told_as_one_that_changes_nothing(tmp_path: Path) -> None:
    write = ("write_file", {"path": "a.txt", "content": "a\n"})
    model = ScriptedModel([makes(write, ("list_files", {}), write), makes(MENDED)])
    async with studio(tmp_path, settings=COMMANDS) as at:
        plan = await with_steps(at, work_step("Write a.txt"))
        at.model.model = model
        assert (await at.approve(plan)).status == "completed"
        first, _, second = (each.text for each in model.requests[1].messages if each.role == "tool")
        assert first.startswith("Staged: Created a.txt") and second.startswith("Nothing was done")


async def test_a_step_at_its_limit_makes_what_it_has_staged_and_goes_on(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(
                ("write_file", {"path": "a.txt", "content": "a\n"}),
                ("read_file", {"path": "code.txt"}),
                ("search_text", {"pattern": "wrong"}),
            ),
            makes(("read_file", {"path": "a.txt"}), MENDED),
        ]
    )
    settings = {**COMMANDS, "execution.maxToolCallsPerStep": 2}
    async with studio(tmp_path, FILES, settings=settings) as at:
        plan = await with_steps(at, work_step("Work"))
        at.model.model = model
        plan = await at.approve(plan)
        assert (plan.status, plan.pause_reason) == ("paused", "budget")
        assert "Changed so far: a.txt." in (plan.pause_detail or "") and at.text("a.txt") == "a\n"
        await at.app.plans.resume(plan.plan_id)
        assert (await at.reach(plan, "ended")).status == "completed"


async def test_a_model_that_cannot_take_over_leaves_the_failure_of_the_step_itself_to_the_person(
    tmp_path: Path,
) -> None:
    async with studio(tmp_path, FILES, settings=COMMANDS) as at:
        plan = await with_steps(at, tool_step(*TEST))
        at.model.model = ScriptedModel([fails("refused")])
        plan = await at.until(await at.approve(plan), lambda now: bool(now.pending.recoveries))
        assert "line 60" in plan.pending.recoveries[0].error and plan.pause_reason == "recovery"
