"""Review mode `end`: everything is staged, seen by later steps, and asked for once, as one edit."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.errors import WrongState
from planloom.domain.events.catalog import ConflictChoice
from planloom.domain.plans.editing import AddStep, StepChanges
from planloom.domain.plans.plan import Plan
from planloom.domain.values import Args
from planloom.models.offline.scripted import ScriptedModel, makes
from tests.service.test_model_work import WEBAPP, planned
from tests.support.crash import finished
from tests.support.fake_editor import Before, Refuse
from tests.support.studio import Studio, studio

THREE = (
    '1. Create file new.txt with content "old"\n'
    '2. Replace "old" with "new" in new.txt\n'
    '3. Replace "one" with "two" in a.txt'
)


async def at_the_end(at: Studio, text: str = THREE) -> Plan:
    """The plan when it asks for its one approval."""
    plan = await at.approve(await at.ask(text), review="end")
    assert len(plan.pending.approvals) == 1, plan
    return plan


async def test_everything_is_asked_once_and_made_as_one_edit(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\n"}) as at:
        plan = await at_the_end(at)
        approval = plan.pending.approvals[0]
        assert approval.step_id is None
        assert [(file.uri, file.change) for file in approval.files] == [
            (at.uri("new.txt"), "create"),
            (at.uri("a.txt"), "edit"),
        ]
        assert at.editor.received == [] and not at.path("new.txt").exists()
        assert [step.status for step in plan.steps] == ["completed"] * 3
        assert [step.staged for step in plan.steps] == [True] * 3
        diff = await at.app.approvals.diff(approval.approval_id, approval.files[0].uri)
        assert (diff.before, diff.after) == (None, "new")
        plan = await at.respond(plan)
        assert plan.status == "completed"
        assert (at.text("new.txt"), at.text("a.txt")) == ("new", "two\n")
        assert len(at.editor.received) == 1
        assert at.editor.received[0].label == "Planloom: all changes of the plan (2 files)"
        assert not any(step.staged for step in plan.steps)
        assert (plan.execution_summary or "").startswith("3 of 3 steps done. 2 files changed")
        assert at.types().count("approval_request") == 1


async def test_a_denial_leaves_every_file_and_says_what_was_left_out(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\n"}) as at:
        plan = await at.respond(await at_the_end(at), "deny", reason="not now")
        assert plan.status == "cancelled"
        assert at.editor.received == [] and at.path("a.txt").read_text() == "one\n"
        assert [step.status for step in plan.steps] == ["skipped"] * 3
        summary = plan.execution_summary or ""
        assert summary.startswith("0 of 3 steps done") and "Not allowed: new.txt; a.txt" in summary
        assert any("not now" in str(recorded.event) for recorded in at.events)


async def test_files_can_be_allowed_one_by_one(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\n"}) as at:
        plan = await at_the_end(at)
        plan = await at.respond(plan, "allow", files=(at.uri("a.txt"),))
        assert plan.status == "completed"
        assert at.text("a.txt") == "two\n" and not at.path("new.txt").exists()
        assert [step.status for step in plan.steps] == ["skipped", "skipped", "completed"]
        assert "Not allowed: new.txt" in (plan.execution_summary or "")


async def test_an_answer_of_cancel_ends_the_plan_with_nothing_made(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\n"}) as at:
        plan = await at.respond(await at_the_end(at), "cancel")
        assert plan.status == "cancelled" and at.editor.received == []
        assert not any(step.staged for step in plan.steps)
        assert "Never made, since the plan ended first" in (plan.execution_summary or "")


async def test_a_pause_takes_the_question_back_and_a_resume_asks_the_same_again(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\n"}) as at:
        plan = await at_the_end(at)
        paused = await at.app.plans.pause(plan.plan_id)
        assert (paused.status, paused.pending.approvals) == ("paused", ())
        await at.app.plans.resume(plan.plan_id)
        again = await at.until(plan, lambda now: bool(now.pending.approvals))
        assert again.pending.approvals[0].proposal == plan.pending.approvals[0].proposal
        plan = await at.respond(again)
        assert plan.status == "completed" and at.text("a.txt") == "two\n"


async def test_a_cancel_while_the_question_stands_leaves_nothing_open(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\n"}) as at:
        plan = await at_the_end(at)
        await at.app.plans.cancel(plan.plan_id)
        plan = await at.reach(plan, "ended")
        assert plan.status == "cancelled" and plan.pending.approvals == ()
        assert at.types()[-1] == "plan_cancelled" and at.editor.received == []


async def test_typing_after_a_step_has_read_is_kept(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "first\n\n\none\n"}) as at:
        at.editor.open(at.path("a.txt"))
        plan = await at_the_end(at)
        at.editor.replace(at.path("a.txt"), "first", "FIRST")
        at.editor.script.append(Before(lambda: at.editor.replace(at.path("a.txt"), "FIRST", "FIRST!")))
        plan = await at.respond(plan)
        assert plan.status == "completed"
        assert at.text("a.txt") == "FIRST!\n\n\ntwo\n"


@pytest.mark.parametrize(
    ("choice", "text", "result", "statuses"),
    [
        ("mine", None, "one by me\n", ["completed", "completed", "skipped"]),
        ("theirs", None, "two\n", ["completed", "completed", "completed"]),
        ("text", "both\n", "both\n", ["completed", "completed", "completed"]),
    ],
)
async def test_a_conflict_at_the_end_is_shown_and_a_person_decides(
    tmp_path: Path, choice: Any, text: str | None, result: str, statuses: list[str]
) -> None:
    async with studio(tmp_path, {"a.txt": "one\n"}) as at:
        at.editor.open(at.path("a.txt"))
        plan = await at_the_end(at)
        at.editor.replace(at.path("a.txt"), "one", "one by me")
        plan = await at.respond(plan)
        assert (plan.status, plan.pause_reason) == ("paused", "conflict")
        conflict = plan.pending.conflicts[0]
        assert conflict.files[0].hunks[0].mine == "one by me\n"
        chosen = ConflictChoice(uri=conflict.files[0].uri, choice=choice, text=text)
        await at.app.approvals.resolve_conflict(plan.plan_id, conflict.edit_id, (chosen,))
        plan = await at.reach(plan, "ended")
        assert plan.status == "completed"
        assert (at.text("a.txt"), at.text("new.txt")) == (result, "new")
        assert [step.status for step in plan.steps] == statuses


async def test_an_editor_that_refuses_loses_nothing_that_was_staged(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\n"}) as at:
        at.editor.script.extend([Refuse("busy"), Refuse("busy")])
        plan = await at.respond(await at_the_end(at))
        assert plan.status == "paused" and "busy" in (plan.pause_detail or "")
        assert all(step.staged for step in plan.steps)
        await at.app.plans.resume(plan.plan_id)
        plan = await at.respond(await at.until(plan, lambda now: bool(now.pending.approvals)))
        assert plan.status == "completed" and at.text("a.txt") == "two\n"


async def test_an_untrusted_workspace_fails_the_step_before_anything_is_staged(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\n"}) as at:
        at.app.set_trusted(False)
        plan = await at.approve(await at.ask(THREE), review="end")
        assert plan.pause_reason == "recovery" and "trusted" in plan.pending.recoveries[0].error


async def test_a_policy_of_deny_is_never_asked(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\n"}, settings={"approvals.write": "deny"}) as at:
        text = '1. Replace "one" with "two" in a.txt\n2. List files'
        plan = await at.approve(await at.ask(text), review="end")
        assert [step.status for step in plan.steps] == ["skipped", "completed"]
        assert "approval_request" not in at.types()


async def test_a_protected_name_is_asked_for_even_if_writes_are_allowed(tmp_path: Path) -> None:
    text = '1. Create file Makefile with content "all:"\n2. List files'
    async with studio(tmp_path, settings={"approvals.write": "allow"}) as at:
        plan = await at_the_end(at, text)
        assert plan.pending.approvals[0].protected
        assert (await at.respond(plan)).status == "completed" and at.text("Makefile") == "all:"


async def test_what_steps_take_back_from_each_other_is_not_asked(tmp_path: Path) -> None:
    text = '1. Replace "one" with "two" in a.txt\n2. Replace "two" with "one" in a.txt'
    async with studio(tmp_path, {"a.txt": "one\n"}) as at:
        plan = await at.approve(await at.ask(text), review="end")
        assert plan.status == "completed" and at.editor.received == []
        assert not any(step.staged for step in plan.steps)


async def test_the_whole_is_undone_and_redone(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "first\n\n\none\n"}) as at:
        at.editor.open(at.path("a.txt"))
        plan = await at.respond(await at_the_end(at))
        at.editor.replace(at.path("a.txt"), "first", "FIRST")
        with pytest.raises(WrongState, match="one edit"):
            await at.app.plans.undo(plan.plan_id, plan.steps[0].step_id, False)
        undone = await at.app.plans.undo(plan.plan_id, None, False)
        assert at.text("a.txt") == "FIRST\n\n\none\n" and not at.path("new.txt").exists()
        assert [step.reverted for step in undone.plan.steps] == ["whole"] * 3
        redone = await at.app.plans.undo(plan.plan_id, None, True)
        assert at.text("a.txt") == "FIRST\n\n\ntwo\n" and at.text("new.txt") == "new"
        assert [step.reverted for step in redone.plan.steps] == [None] * 3


async def test_a_step_that_needs_the_files_can_ask_for_what_is_staged(tmp_path: Path) -> None:
    """Commits as a command does before it runs."""
    async with studio(tmp_path, {"a.txt": "one\n"}) as at:
        staging = at.app._ownership._conductor._runner._staging  # type: ignore[attr-defined]
        plan = await at_the_end(at)
        await at.app.plans.pause(plan.plan_id)
        committing = asyncio.ensure_future(staging.commit_staged(plan.plan_id))
        asked = await at.until(plan, lambda now: bool(now.pending.approvals))
        await at.app.approvals.respond(asked.pending.approvals[0].approval_id, "allow", None, None)
        verdict = await committing
        assert verdict.kind == "committed" and at.text("a.txt") == "two\n"
        assert await staging.commit_staged(plan.plan_id) is None
        await at.app.plans.resume(plan.plan_id)
        assert (await at.reach(plan, "ended")).status == "completed"
        assert len(at.editor.received) == 1


async def test_another_review_mode_makes_what_was_staged_with_the_next_step(tmp_path: Path) -> None:
    text = f'{THREE}\n4. Replace "two" with "three" in a.txt'
    async with studio(tmp_path, {"a.txt": "one\n"}) as at:
        plan = await at_the_end(at, text)
        await at.app.plans.pause(plan.plan_id)
        args: Args = {"path": "a.txt", "old_text": "three", "new_text": "four"}
        more = StepChanges(description="Again", instruction="", kind="tool_call", tool="edit_file", args=args)
        plan = await at.app.plans.edit(plan.plan_id, plan.version, (AddStep(step=more),))
        plan = await at.approve(plan, review="each")
        assert plan.pending.approvals[0].step_id is None
        plan = await at.respond(plan)
        assert plan.status == "completed" and at.text("a.txt") == "four\n" and at.text("new.txt") == "new"
        assert len(at.editor.received) == 1


async def test_a_model_sees_what_earlier_steps_have_staged(tmp_path: Path) -> None:
    first: Args = {"path": "a.txt", "old_text": "one", "new_text": "two"}
    second: Args = {"path": "a.txt", "old_text": "two", "new_text": "three"}
    model = ScriptedModel(
        [
            makes(("edit_file", first), ("task_completed", {"summary": "Made it two."})),
            makes(("read_file", {"path": "a.txt"})),
            makes(("edit_file", second), ("task_completed", {"summary": "Made it three."})),
        ]
    )
    async with studio(tmp_path, {"a.txt": "one\n"}) as at:
        plan = await planned(at, WEBAPP, ("Two", "Write two into a.txt"), ("Three", "Make it one higher"))
        at.model.model = model
        plan = await at.approve(plan, review="end")
        assert at.editor.received == [] and [step.staged for step in plan.steps] == [True, True]
        plan = await at.respond(plan)
        assert plan.status == "completed" and at.text("a.txt") == "three\n"


async def test_a_command_finds_the_files_as_the_plan_has_left_them(tmp_path: Path) -> None:
    text = '1. Replace "one" with "two" in a.txt\n2. Run `cat a.txt`\n3. Create file b.txt with content "b"'
    async with studio(tmp_path, {"a.txt": "one\n"}) as at:
        plan = await at.approve(await at.ask(text), review="end")
        asked = []
        while plan.pending.approvals:
            asked.append(plan.pending.approvals[0])
            plan = await at.respond(plan)
        assert [approval.effect for approval in asked] == ["write", "execute", "write"]
        assert [approval.step_id is None for approval in asked] == [True, False, True]
        assert plan.status == "completed"
        assert "two" in str(plan.steps[1].result)
        assert at.text("b.txt") == "b" and len(at.editor.received) == 2


async def test_a_command_is_not_run_on_changes_that_are_denied(tmp_path: Path) -> None:
    text = '1. Replace "one" with "two" in a.txt\n2. Run `touch ran.txt`'
    async with studio(tmp_path, {"a.txt": "one\n"}) as at:
        plan = await at.respond(await at.approve(await at.ask(text), review="end"), "deny", reason="no")
        assert not at.path("ran.txt").exists() and at.editor.received == []
        assert plan.steps[0].status == "skipped"


@pytest.mark.parametrize("clean", [True, False])
async def test_staged_changes_of_a_server_that_ended_are_made_again_and_that_is_said(
    tmp_path: Path, clean: bool
) -> None:
    ledger = tmp_path / "l.db"
    at = Studio(tmp_path, {"a.txt": "one\n"}, ledger=ledger)
    plan = await at_the_end(at)
    if clean:
        await at.app.close()
    else:
        await at.app._jobs.stop("")
        at.app._ledger.release()
        at.app._ledger.close()
    async with studio(tmp_path, ledger=ledger) as after:
        found = after.now(plan)
        assert found.status == "paused"
        assert [step.status for step in found.steps] == ["pending"] * 3
        assert any("run again" in str(recorded.event) for recorded in after.events)
        found = await finished(after, found)
        assert found.status == "completed"
        assert (after.text("new.txt"), after.text("a.txt")) == ("new", "two\n")
