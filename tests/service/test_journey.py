"""From a request to edits in the user's buffers, as an editor would see it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planloom.domain.errors import (
    InvalidParams,
    PlanloomError,
    ReferenceUnresolved,
    UnknownThing,
    UntrustedWorkspace,
    WorkspaceRequired,
    WrongState,
)
from planloom.domain.safety.approvals import Approval
from planloom.domain.values import ApprovalId, Uri
from planloom.models.offline.scripted import ScriptedModel, makes
from planloom.service.requests import CreateRequest
from planloom.workspace.paths.roots import Roots
from tests.support.fake_editor import Before, Refuse
from tests.support.ledgers import cut_back
from tests.support.studio import studio

THREE = '1. Create folder src\n2. Create file src/x.py with content "x = 1"\n3. Replace "old" with "new" in @a.txt'
EDIT = '1. Replace "old" with "new" in a.txt\n2. List files'


async def test_a_request_becomes_a_plan_becomes_edits(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.ask(THREE)
        assert plan.status == "pending_approval"
        assert [step.tool for step in plan.steps] == ["create_folder", "write_file", "edit_file"]
        assert all(step.requires_approval for step in plan.steps)
        assert [each.label for each in plan.attachments] == ["a.txt"]
        plan = await at.approve(plan)
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert plan.status == "completed"
        assert at.path("src").is_dir()
        assert (at.text("src/x.py"), at.text("a.txt")) == ("x = 1", "new\n")
        assert plan.execution_summary is not None
        assert plan.execution_summary.startswith("3 of 3 steps done")


async def test_names_are_told_as_people_write_them(tmp_path: Path) -> None:
    async with studio(tmp_path, {"my notes ü.txt": "old\n"}) as at:
        text = '1. Replace "old" with "new" in "my notes ü.txt"\n2. List files'
        plan = await at.respond(await at.approve(await at.ask(text)), "deny")
        assert "Not allowed: my notes ü.txt" in (plan.execution_summary or "")
        at.editor.open(at.path("my notes ü.txt"), "old and unsaved\n")
        deletion = await at.approve(await at.ask('1. Delete "my notes ü.txt"\n2. List files'))
        (asked,) = deletion.pending.approvals
        assert asked.warning == "my notes ü.txt has changes that are not saved."


async def test_what_is_read_and_edited_is_the_unsaved_text(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "on disk\n"}) as at:
        at.editor.open(at.path("a.txt"), "old and unsaved\n")
        plan = await at.run(EDIT)
        assert plan.status == "completed"
        assert at.text("a.txt") == "new and unsaved\n"
        assert at.path("a.txt").read_text() == "on disk\n"


async def test_an_approval_shows_what_is_before_and_after(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\nkept\n"}) as at:
        plan = await at.approve(await at.ask(EDIT))
        approval = plan.pending.approvals[0]
        assert [(file.uri, file.change, file.added, file.removed) for file in approval.files] == [
            (at.uri("a.txt"), "edit", 1, 1)
        ]
        assert approval.files[0].resolved_path == str(at.path("a.txt"))
        diff = await at.app.approvals.diff(approval.approval_id, approval.files[0].uri)
        assert (diff.before, diff.after) == ("old\nkept\n", "new\nkept\n")


async def test_nothing_is_touched_before_the_approval_and_by_a_denial(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.approve(await at.ask(EDIT))
        assert at.editor.received == []
        plan = await at.respond(plan, "deny", reason="not now")
        assert at.editor.received == []
        assert [step.status for step in plan.steps] == ["skipped", "completed"]
        assert any("not now" in str(recorded.event) for recorded in at.events)


async def test_a_folder_is_made_by_the_server_after_the_same_approval(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        plan = await at.approve(await at.ask("1. Create folder src\n2. List files"))
        (approval,) = plan.pending.approvals
        assert [(file.uri, file.change) for file in approval.files] == [(at.uri("src"), "createFolder")]
        assert not at.path("src").exists()
        plan = await at.respond(plan)
        assert at.path("src").is_dir() and at.editor.received == []


async def test_a_file_that_a_step_has_read_was_not_known_to_the_author_of_a_text(tmp_path: Path) -> None:
    request = '1. Read config.json\n2. Write "{}" to config.json'
    async with studio(tmp_path, {"config.json": '{"version": 1}\n'}) as at:
        plan = await at.approve(await at.ask(request))
        (approval,) = plan.pending.approvals
        assert plan.steps[0].status == "completed" and approval.effect == "destroy"
        assert "by a text whose author has not read it" in (approval.warning or "")


async def test_typing_elsewhere_while_the_question_stands_is_merged(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\ntwo\nthree\nold\n"}) as at:
        at.editor.open(at.path("a.txt"))
        plan = await at.approve(await at.ask(EDIT))
        at.editor.replace(at.path("a.txt"), "one", "ONE and more")
        plan = await at.respond(plan)
        assert plan.status == "completed"
        assert at.text("a.txt") == "ONE and more\ntwo\nthree\nnew\n"
        assert [edit.merged for edit in plan.edits] == [True]


async def test_typing_just_as_the_edit_arrives_loses_nothing(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\ntwo\nthree\nold\n"}) as at:
        at.editor.open(at.path("a.txt"))
        at.editor.script.append(Before(lambda: at.editor.replace(at.path("a.txt"), "one", "ONE")))
        plan = await at.run(EDIT)
        assert plan.status == "completed"
        assert at.text("a.txt") == "ONE\ntwo\nthree\nnew\n"


@pytest.mark.parametrize(
    ("choice", "text", "result", "status"),
    [
        ("mine", None, "old but mine\n", "skipped"),
        ("theirs", None, "new\n", "completed"),
        ("text", "both\n", "both\n", "completed"),
    ],
)
async def test_a_conflict_is_shown_and_a_person_decides(
    tmp_path: Path, choice: Any, text: str | None, result: str, status: str
) -> None:
    from planloom.domain.events.catalog import ConflictChoice

    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        at.editor.open(at.path("a.txt"))
        plan = await at.approve(await at.ask(EDIT))
        at.editor.replace(at.path("a.txt"), "old", "old but mine")
        plan = await at.respond(plan)
        assert (plan.status, plan.pause_reason) == ("paused", "conflict")
        conflict = plan.pending.conflicts[0]
        hunk = conflict.files[0].hunks[0]
        assert (hunk.base, hunk.mine, hunk.theirs) == ("old\n", "old but mine\n", "new\n")
        assert at.text("a.txt") == "old but mine\n"
        chosen = ConflictChoice(uri=conflict.files[0].uri, choice=choice, text=text)
        await at.app.approvals.resolve_conflict(plan.plan_id, conflict.edit_id, (chosen,))
        plan = await at.reach(plan, "ended")
        assert at.text("a.txt") == result
        assert plan.steps[0].status == status


@pytest.mark.parametrize("review", ["each", "end"])
@pytest.mark.parametrize("stopped", ["pause", "crash"])
async def test_a_conflict_that_a_stop_cut_off_is_shown_anew_and_the_old_one_is_gone(
    tmp_path: Path, stopped: str, review: Any
) -> None:
    from planloom.domain.events.catalog import ConflictChoice

    async with studio(tmp_path, {"a.txt": "old\n"}, ledger=tmp_path / "l.db") as at:
        at.editor.open(at.path("a.txt"))
        plan = await at.approve(await at.ask(EDIT), review=review)
        at.editor.replace(at.path("a.txt"), "old", "old but mine")
        plan = await at.respond(plan)
        plan = await at.until(plan, lambda now: bool(now.pending.conflicts))
        before = plan.pending.conflicts[0].edit_id
        if stopped == "pause":
            await at.app.plans.resume(plan.plan_id)
            plan = await at.app.plans.pause(plan.plan_id)
            assert plan.pending.conflicts == () and plan.pause_reason == "user"
    if stopped == "crash":
        cut_back(tmp_path / "l.db", plan.seq)
    async with studio(tmp_path, ledger=tmp_path / "l.db") as at:
        at.editor.open(at.path("a.txt"), "old but mine\n")
        plan = await at.app.plans.resume(plan.plan_id)
        assert plan.pending.conflicts == ()
        plan = await at.until(plan, lambda now: bool(now.pending.approvals))
        at.editor.replace(at.path("a.txt"), "mine", "still mine")
        plan = await at.respond(plan)
        plan = await at.until(plan, lambda now: bool(now.pending.conflicts))
        assert [each.edit_id == before for each in plan.pending.conflicts] == [False]
        conflict = plan.pending.conflicts[0]
        chosen = ConflictChoice(uri=conflict.files[0].uri, choice="theirs")
        await at.app.approvals.resolve_conflict(plan.plan_id, conflict.edit_id, (chosen,))
        assert (await at.until(plan, lambda now: now.status == "completed")).edits


async def test_a_text_that_stands_in_two_places_can_be_replaced_in_both(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\nold\n"}) as at:
        plan = await at.run('1. Replace "old" with "new" in @a.txt\n2. List files')
        (waiting,) = plan.pending.recoveries
        assert (
            waiting.error
            == "The text to replace stands at 2 places in a.txt, lines 1, 2: nothing was replaced."
        )
        assert waiting.options[0] == "accept" and waiting.proposal is not None
        await at.app.steps.recover(plan.plan_id, waiting.step_id, "accept", None)
        plan = await at.respond(await at.until(plan, lambda now: bool(now.pending.approvals)))
        assert plan.status == "completed" and at.text("a.txt") == "new\nnew\n"


async def test_a_copy_is_the_whole_file_with_its_unsaved_text(tmp_path: Path) -> None:
    lines = "".join(f"line {number}\n" for number in range(3_000))
    async with studio(tmp_path, {"a.txt": ""}) as at:
        at.editor.open(at.path("a.txt"), lines)
        plan = await at.run("1. Copy a.txt to b.txt\n2. List files")
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert plan.status == "completed" and at.text("b.txt") == lines


async def test_lines_are_added_at_either_end(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\ntwo\n"}) as at:
        plan = await at.run('1. Prepend "zero" to a.txt\n2. Add the line "three" at the end of a.txt')
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert plan.status == "completed" and at.text("a.txt") == "zero\none\ntwo\nthree\n"


async def test_a_name_in_the_workspace_is_a_path(tmp_path: Path) -> None:
    async with studio(tmp_path, {"old/a.txt": "x"}) as at:
        plan = await at.ask("1. Rename old to kept\n2. Rename lost to found")
        assert [step.tool for step in plan.steps] == ["rename_path", None]


async def test_an_editor_that_refuses_twice_fails_the_step_with_its_reason(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        at.editor.script.extend([Refuse("read-only editor"), Refuse("read-only editor")])
        plan = await at.run(EDIT)
        assert (plan.status, plan.pause_reason) == ("paused", "recovery")
        assert "read-only editor" in plan.pending.recoveries[0].error
        assert at.path("a.txt").read_text() == "old\n"
        await at.app.steps.recover(plan.plan_id, plan.steps[0].step_id, "retry", None)
        plan = await at.respond(await at.until(plan, lambda now: bool(now.pending.approvals)))
        assert plan.status == "completed" and at.text("a.txt") == "new\n"


@pytest.mark.parametrize("action", ["skip", "abort"])
async def test_a_failed_step_can_be_skipped_or_end_the_plan(tmp_path: Path, action: Any) -> None:
    async with studio(tmp_path) as at:
        plan = await at.approve(await at.ask(EDIT))
        assert "a.txt" in plan.pending.recoveries[0].error
        await at.app.steps.recover(plan.plan_id, plan.steps[0].step_id, action, None)
        plan = await at.reach(plan, "ended")
        assert plan.status == ("completed" if action == "skip" else "cancelled")


async def test_new_arguments_for_a_failed_step_raise_the_version(tmp_path: Path) -> None:
    async with studio(tmp_path, {"b.txt": "old\n"}) as at:
        plan = await at.approve(await at.ask(EDIT))
        step = plan.steps[0]
        args = {**(step.args or {}), "path": "b.txt"}
        after = await at.app.steps.recover(plan.plan_id, step.step_id, "retry", args)
        assert after.version == plan.version + 1
        plan = await at.respond(await at.until(plan, lambda now: bool(now.pending.approvals)))
        assert plan.status == "completed" and at.text("b.txt") == "new\n"


async def test_allow_for_plan_covers_further_writes_but_no_protected_name(tmp_path: Path) -> None:
    text = (
        '1. Create file a.txt with content "a"\n2. Create file b.txt with content "b"\n'
        '3. Create file package.json with content "{}"'
    )
    async with studio(tmp_path) as at:
        plan = await at.respond(await at.approve(await at.ask(text)), "allowForPlan")
        assert [step.status for step in plan.steps] == ["completed", "completed", "running"]
        approval = plan.pending.approvals[0]
        assert approval.protected and approval.warning
        plan = await at.respond(plan)
        assert plan.status == "completed"


async def test_auto_asks_only_for_what_is_protected_or_destroyed(tmp_path: Path) -> None:
    text = (
        '1. Create file a.txt with content "a"\n2. Create file Makefile with content "all:"\n'
        '3. Create file b.txt with content "other"'
    )
    async with studio(tmp_path, {"b.txt": "precious\n"}) as at:
        plan = await at.approve(await at.ask(text), review="auto")
        asked: list[Approval] = []
        while plan.pending.approvals:
            asked.append(plan.pending.approvals[0])
            plan = await at.respond(plan)
        assert [(a.effect, a.protected) for a in asked] == [("write", True), ("destroy", False)]
        assert asked[1].warning is not None and "b.txt" in asked[1].warning


@pytest.mark.parametrize("review", ["each", "end", "auto"])
async def test_a_direct_run_is_reviewed_as_the_user_has_set(tmp_path: Path, review: str) -> None:
    async with studio(tmp_path, settings={"execution.review": review}) as at:
        plan = await at.ask('Create file a.txt with content "a"', mode="direct")
        assert plan.review == review
        assert len(plan.pending.approvals) == (review != "auto")
        assert [each.step_id for each in plan.pending.approvals if review == "end"] == [None] * (
            review == "end"
        )
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert (plan.status, at.text("a.txt")) == ("completed", "a")


async def test_a_policy_of_deny_is_never_asked(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}, settings={"approvals.write": "deny"}) as at:
        plan = await at.approve(await at.ask(EDIT), review="auto")
        assert plan.steps[0].status == "skipped" and at.text("a.txt") == "old\n"
        assert "approval_request" not in at.types()


async def test_where_reading_is_denied_no_tool_reads(tmp_path: Path) -> None:
    model = ScriptedModel(
        [makes(("read_file", {"path": "a.txt"})), makes(("final_answer", {"text": "I cannot."}))]
    )
    settings = {"approvals.read": "deny"}
    async with studio(tmp_path, {"a.txt": "private\n"}, settings=settings) as at:
        plan = await at.run("1. Read a.txt\n2. Create folder b")
        assert [step.status for step in plan.steps] == ["skipped", "completed"]
        at.model.model = model
        await at.run("What does a.txt say?", mode="direct")
        offered = {tool.name for request in model.requests for tool in request.tools} - {"read_output"}
        assert not any(name.startswith(("read", "list", "find", "search")) for name in offered)
        assert not any(
            "private" in message.text for request in model.requests for message in request.messages
        )


async def test_cancel_as_an_answer_ends_the_plan(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.approve(await at.ask(EDIT))
        plan = await at.respond(plan, "cancel")
        assert plan.status == "cancelled" and at.text("a.txt") == "old\n"


async def test_a_pause_takes_the_question_back_and_a_resume_asks_anew(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.approve(await at.ask(EDIT))
        first = plan.pending.approvals[0]
        paused = await at.app.plans.pause(plan.plan_id)
        assert (paused.status, paused.pending.approvals) == ("paused", ())
        assert paused.steps[0].status == "pending"
        with pytest.raises(WrongState) as error:
            await at.app.approvals.respond(first.approval_id, "allow", None, None)
        assert error.value.details == {
            "status": "resolved",
            "allowed": [],
            "by": "server",
            "decision": "superseded",
        }
        await at.app.plans.resume(plan.plan_id)
        plan = await at.respond(await at.until(plan, lambda now: bool(now.pending.approvals)))
        assert plan.status == "completed" and at.text("a.txt") == "new\n"


async def test_a_cancel_leaves_nothing_open(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.approve(await at.ask(EDIT))
        await at.app.plans.cancel(plan.plan_id)
        plan = await at.reach(plan, "ended")
        assert plan.status == "cancelled" and plan.pending.approvals == () and plan.open_calls == ()
        assert at.types()[-1] == "plan_cancelled"


async def test_the_same_answer_twice_is_taken_once_and_another_is_refused(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.approve(await at.ask(EDIT))
        approval = plan.pending.approvals[0]
        await at.respond(plan)
        await at.app.approvals.respond(approval.approval_id, "allow", None, None)
        with pytest.raises(WrongState):
            await at.app.approvals.respond(approval.approval_id, "deny", None, None)
        assert at.types().count("approval_resolved") == 1


async def test_without_a_model_literal_steps_run_and_others_say_how_to_get_one(tmp_path: Path) -> None:
    text = (
        '1. Create file a.txt with content "a"\n2. Explain the design\n3. Create file b.txt with content "b"'
    )
    async with studio(tmp_path) as at:
        plan = await at.run(text)
        assert (plan.status, plan.pause_reason) == ("paused", "model_unavailable")
        assert plan.pause_detail is not None and "ollama" in plan.pause_detail
        assert [step.status for step in plan.steps] == ["completed", "pending", "pending"]
        from planloom.domain.plans.editing import SkipStep

        skip = SkipStep(step_id=plan.steps[1].step_id)
        plan = await at.app.plans.edit(plan.plan_id, plan.version, (skip,))
        plan = await at.approve(plan)
        plan = await at.respond(plan)
        assert [step.status for step in plan.steps] == ["completed", "skipped", "completed"]
        assert plan.status == "completed"


async def test_a_literal_request_runs_directly_and_is_asked_like_any_other(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        plan = await at.ask("Create folder Recipes")
        assert (plan.route, plan.status) == ("direct", "executing")
        assert not at.path("Recipes").exists()
        plan = await at.respond(plan)
        assert plan.status == "completed" and at.path("Recipes").is_dir()


@pytest.mark.parametrize(
    "path", ["../evil.txt", "/etc/evil.txt", ".git/hooks/post-commit", "a/../../evil.txt"]
)
async def test_a_path_outside_fails_the_step_with_a_sentence(tmp_path: Path, path: str) -> None:
    async with studio(tmp_path) as at:
        plan = await at.ask(f'1. Create file ok.txt with content "x"\n2. Create file {path} with content "x"')
        if plan.steps[1].kind != "tool_call":
            pytest.skip("the rules do not take this for a literal path")
        try:
            plan = await at.approve(plan)
        except PlanloomError as error:
            assert error.code == "invalid_plan"
            return
        plan = await at.respond(plan)
        assert plan.pause_reason == "recovery" and plan.pending.recoveries[0].error
        assert not (tmp_path / "evil.txt").exists()


async def test_bad_requests_have_their_errors(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        with pytest.raises(InvalidParams):
            await at.ask("  \n ")
        with pytest.raises(ReferenceUnresolved):
            await at.ask("Fix @nowhere.py")
        with pytest.raises(UnknownThing):
            await at.app.approvals.respond(ApprovalId("x"), "allow", None, None)
        with pytest.raises(UnknownThing):
            await at.app.approvals.diff(ApprovalId("x"), Uri("file:///x"))
        at.view.roots = Roots(())
        with pytest.raises(WorkspaceRequired):
            await at.app.plans.create(CreateRequest(text="Create folder x"))


async def test_an_untrusted_workspace_is_not_changed(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        at.app.set_trusted(False)
        plan = await at.approve(await at.ask(EDIT), review="auto")
        assert (
            plan.pending.recoveries[0].error
            == UntrustedWorkspace("The workspace is not trusted, so nothing in it is changed.").message
        )
        assert at.text("a.txt") == "old\n"
        assert plan.pending.recoveries[0].options == ("retry", "abort")


async def test_events_are_numbered_without_a_gap_and_fold_to_the_plan(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.run(THREE)
        assert [recorded.seq for recorded in at.events] == list(range(1, len(at.events) + 1))
        history = at.app.plans.events(plan.plan_id, 0, None)
        assert [recorded for recorded, _ in history] == at.events
        assert history[-1][1] == plan


async def test_what_is_allowed_for_the_plan_answers_the_questions_that_are_open(tmp_path: Path) -> None:
    steps = [
        {
            "id": name,
            "description": f"Write {name}",
            "tool": "write_file",
            "args": {"path": name, "content": "new\n"},
            "dependsOn": [],
        }
        for name in ("a.txt", "b.txt", "package.json")
    ]
    model = ScriptedModel([makes(("submit_plan", {"summary": "Three files.", "steps": steps}))])
    async with studio(tmp_path, model=model, settings={"approvals.plan": "none"}) as at:
        plan = await at.approve(await at.ask("Write three files", mode="plan"))
        plan = await at.until(plan, lambda now: len(now.pending.approvals) == 3)
        first, *_ = plan.pending.approvals
        await at.app.approvals.respond(first.approval_id, "allowForPlan", None, None)
        plan = await at.until(plan, lambda now: len(now.pending.approvals) == 1)
        assert plan.pending.approvals[0].protected
        plan = await at.respond(plan)
        assert plan.status == "completed" and at.text("b.txt") == "new\n"
        decided = [each.event for each in at.events if each.event.type == "approval_resolved"]
        assert [(each.decision, each.by) for each in decided] == [
            ("allowForPlan", "user"),
            ("allow", "policy"),
            ("allow", "user"),
        ]
