"""The report at the end of a plan: computed once from what was recorded, the same for every client."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from planloom.domain.plans.plan import Plan
from planloom.domain.plans.report import Report
from planloom.domain.values import Uri
from planloom.models.offline.scripted import ScriptedModel, makes
from tests.support.fake_editor import Lie
from tests.support.studio import studio

ALLOWED = {"approvals.write": "allow", "approvals.execute": "allow", "execution.review": "auto"}
TESTS = "echo; echo '== 81 passed in 2 s =='"
FAILS = "echo '3 f1'; exit 4"


def reported(plan: Plan) -> Report:
    assert plan.report is not None
    return plan.report


async def test_a_plan_reports_its_steps_and_files_with_counts_and_its_diff(tmp_path: Path) -> None:
    text = (
        '1. Create file new.txt with content "a"\n'
        '2. Replace "old" with "new" in a.txt\n'
        '3. Replace "new" with "newer" in a.txt'
    )
    async with studio(tmp_path, {"a.txt": "one\nold\n"}) as at:
        plan = await at.run(text)
        report = reported(plan)
        assert [(step.step_id, bool(step.summary)) for step in report.done] == [
            (step.step_id, True) for step in plan.steps
        ]
        assert [(file.uri, file.change, file.added, file.removed) for file in report.files] == [
            (at.uri("new.txt"), "create", 1, 0),
            (at.uri("a.txt"), "edit", 1, 1),
        ]
        assert (report.commands, report.left, report.closing, report.answered) == ((), (), None, False)
        whole = at.app.plans.diff(plan.plan_id, Uri(at.uri("a.txt")), None)
        assert (whole.before, whole.after) == ("one\nold\n", "one\nnewer\n")
        last = at.app.plans.diff(plan.plan_id, Uri(at.uri("a.txt")), plan.edits[-1].edit_id)
        assert (last.before, last.after) == ("one\nnew\n", "one\nnewer\n")
        assert at.events[-1].event.type == "plan_completed"
        markdown = at.app.plans.markdown(plan.plan_id)
        assert "- a.txt: edit, +1 −1" in markdown


async def test_what_was_changed_back_is_no_change_and_a_renamed_file_keeps_its_text(tmp_path: Path) -> None:
    text = (
        '1. Replace "one" with "two" in a.txt\n2. Replace "two" with "one" in a.txt\n3. Rename b.txt to c.txt'
    )
    async with studio(tmp_path, {"a.txt": "one\n", "b.txt": "b\n"}) as at:
        (file,) = reported(await at.run(text)).files
        assert (file.uri, file.change, file.old_uri) == (at.uri("c.txt"), "rename", at.uri("b.txt"))
        assert (file.added, file.removed) == (0, 0)


async def test_a_file_renamed_over_a_deleted_one_is_reported_with_both(tmp_path: Path) -> None:
    text = "1. Delete b.txt\n2. Rename a.txt to b.txt\n3. List files"
    async with studio(tmp_path, {"a.txt": "one\ntwo\n", "b.txt": "old\n"}) as at:
        plan = await at.run(text)
        files = [(file.uri, file.change, file.added, file.removed) for file in reported(plan).files]
        assert files == [(at.uri("b.txt"), "edit", 2, 1), (at.uri("a.txt"), "delete", 0, 2)]
        over = at.app.plans.diff(plan.plan_id, Uri(at.uri("b.txt")), None)
        assert (over.before, over.after) == ("old\n", "one\ntwo\n")
        gone = at.app.plans.diff(plan.plan_id, Uri(at.uri("a.txt")), None)
        assert (gone.before, gone.after) == ("one\ntwo\n", None)


async def test_a_denied_step_is_left_with_the_reason(tmp_path: Path) -> None:
    text = '1. Replace "old" with "new" in a.txt\n2. List files'
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.respond(await at.approve(await at.ask(text)), "deny", reason="3.10 must stay")
        report = reported(plan)
        assert [(step.status, step.reason) for step in report.left] == [
            ("skipped", "it was not allowed: 3.10 must stay")
        ]
        assert report.not_allowed == (at.uri("a.txt"),)
        assert [step.description for step in report.done] == [plan.steps[1].description]


async def test_a_cancelled_plan_reports_what_it_did_not_reach(tmp_path: Path) -> None:
    text = '1. Create file b.txt with content "b"\n2. Replace "old" with "new" in a.txt'
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.respond(await at.approve(await at.ask(text)))
        await at.app.plans.cancel(plan.plan_id)
        report = reported(await at.reach(plan, "ended"))
        assert [step.status for step in report.left] == ["not_run"]
        assert len(report.done) == len(report.files) == 1


async def test_a_plan_that_never_ran_has_no_report(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        plan = await at.ask('1. Create file b.txt with content "b"\n2. List files')
        await at.app.plans.cancel(plan.plan_id)
        assert (await at.reach(plan, "ended")).report is None


async def test_commands_are_reported_with_their_last_outcome_and_the_model_has_the_last_word(
    tmp_path: Path,
) -> None:
    model = ScriptedModel(
        [
            makes(("run_command", {"command": FAILS})),
            makes(("run_command", {"command": TESTS})),
            makes(("edit_file", {"path": "a.txt", "old_text": "old", "new_text": "new"})),
            makes(("run_command", {"command": TESTS})),
            makes(("final_answer", {"answer": "The condition was inverted. All tests pass."})),
        ]
    )
    async with studio(tmp_path, {"a.txt": "old\n"}, model=model, settings=ALLOWED) as at:
        report = reported(await at.ask("Fix the bug in a.txt", mode="direct"))
        assert [(each.command, each.exit_code, each.outcome, each.runs) for each in report.commands] == [
            (FAILS, 4, "3 f1", 1),
            (TESTS, 0, "81 passed in 2 s", 2),
        ]
        assert (report.closing, report.answered) == ("The condition was inverted. All tests pass.", True)
        assert [step.summary for step in report.done] == [None]
        assert [file.change for file in report.files] == ["edit"]


async def test_the_last_summary_is_the_answer(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(("edit_file", {"path": "a.txt", "old_text": "old", "new_text": "new"})),
            makes(("task_completed", {"summary": "It says new now."})),
        ]
    )
    async with studio(tmp_path, {"a.txt": "old\n"}, model=model, settings=ALLOWED) as at:
        report = reported(await at.ask("Change old to new in a.txt please", mode="direct"))
        assert (report.closing, report.answered) == ("It says new now.", True)


async def test_a_summary_before_the_last_step_stays_with_its_step(tmp_path: Path) -> None:
    """It speaks of that step alone, so it is not the outcome of the plan."""
    steps = [
        {"id": "edit", "description": "Edit a.txt", "instruction": "Change old to new in a.txt."},
        {"id": "run", "description": "Run the tests", "tool": "run_command", "args": {"command": TESTS}},
    ]
    model = ScriptedModel(
        [
            makes(("submit_plan", {"summary": "Edit, then test.", "steps": steps})),
            makes(("edit_file", {"path": "a.txt", "old_text": "old", "new_text": "new"})),
            makes(("task_completed", {"summary": "It says new now."})),
        ]
    )
    async with studio(tmp_path, {"a.txt": "old\n"}, model=model, settings=ALLOWED) as at:
        report = reported(await at.run("Change old to new in a.txt and test it", mode="plan"))
        assert (report.closing, report.answered) == (None, False)
        assert report.done[0].summary == "It says new now."


async def test_a_file_changed_back_below_a_renamed_folder_is_no_change(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(("edit_file", {"path": "src/a.txt", "old_text": "one", "new_text": "two"})),
            makes(("run_command", {"command": "true"})),
            makes(("rename_path", {"path": "src", "new_path": "lib"})),
            makes(("run_command", {"command": "true"})),
            makes(("edit_file", {"path": "lib/a.txt", "old_text": "two", "new_text": "one"})),
            makes(("edit_file", {"path": "lib/b.txt", "old_text": "b", "new_text": "c"})),
            makes(("task_completed", {"summary": "It is called lib now."})),
        ]
    )
    files = {"src/a.txt": "one\n", "src/b.txt": "b\n"}
    async with studio(tmp_path, files, model=model, settings=ALLOWED) as at:
        plan = await at.ask("Rename src to lib please and tidy up", mode="direct")
        changed = reported(plan).files
        assert [(file.uri, file.change) for file in changed] == [
            (at.uri("lib"), "rename"),
            (at.uri("lib/b.txt"), "edit"),
        ]
        shown = at.app.plans.diff(plan.plan_id, changed[1].uri, None)
        assert (shown.before, shown.after) == ("b\n", "c\n")


OLDER = Path(__file__).parents[1] / "data" / "ledgers" / "before_reports.sql"
"""The ledger of a server that wrote no reports, with one plan."""


async def test_a_plan_of_an_older_server_has_the_report_that_its_events_tell(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw, raw:
        raw.executescript(OLDER.read_text(encoding="utf-8"))
    async with studio(tmp_path, ledger=tmp_path / "l.db") as at:
        plans = at.app.plans.among(all_workspaces=True)
        (listed,) = plans.list(None, (), None, True)
        report = reported(plans.get(listed.plan_id, None))
        files = [
            (file.uri.removeprefix("file:///workspace/"), file.change, file.added, file.removed)
            for file in report.files
        ]
        assert files == [
            ("new.txt", "create", 1, 0),
            ("a.txt", "edit", 1, 1),
            ("b.txt", "edit", 2, 1),
            ("c.txt", "delete", 0, 2),
        ]
        (command,) = report.commands
        assert command.exit_code is None and "ended with exit code 3" in command.outcome
        assert [(left.status, left.reason) for left in report.left] == [("skipped", "skipped, as chosen")]
        assert len(report.done) == 5
        diff = plans.diff(listed.plan_id, Uri("file:///workspace/a.txt"), None)
        assert (diff.before, diff.after) == ("one\nold\n", "one\nnew\n")
        assert "- a.txt: edit, +1 −1" in plans.markdown(listed.plan_id)


async def test_what_an_older_ledger_does_not_tell_is_not_known(tmp_path: Path) -> None:
    """A text that is gone leaves its lines uncounted; a command without an end and a summary, its outcome."""
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw, raw:
        raw.executescript(OLDER.read_text(encoding="utf-8"))
        raw.execute("DELETE FROM blobs")
        raw.execute(
            "UPDATE events SET body = json_set(json_remove(body, '$.command'), '$.summary', '') "
            "WHERE type = 'tool_completed' AND json_extract(body, '$.command') IS NOT NULL"
        )
    async with studio(tmp_path, ledger=tmp_path / "l.db") as at:
        plans = at.app.plans.among(all_workspaces=True)
        (listed,) = plans.list(None, (), None, True)
        report = reported(plans.get(listed.plan_id, None))
        assert {(file.added, file.removed) for file in report.files} == {(None, None)}
        assert [command.outcome for command in report.commands] == ["how it ended is not known"]


@pytest.mark.parametrize("made_later", [False, True])
async def test_a_change_that_only_the_editor_reports_is_named_as_not_verified(
    tmp_path: Path, made_later: bool
) -> None:
    files = {"a.txt": "old\n", "b.txt": "old\n"}
    async with studio(tmp_path, files) as at:
        plan = await at.approve(
            await at.ask('1. Replace "old" with "new" in a.txt\n2. Replace "old" with "new" in b.txt')
        )
        at.editor.script += [Lie()]
        plan = await at.respond(plan)
        if made_later:
            at.path("a.txt").write_bytes(b"new\n")
        plan = await at.respond(plan)
        assert plan.status == "completed" and plan.report is not None
        names = "not verified, since the files do not show what the editor reports: a.txt"
        assert plan.report.caveats == (() if made_later else (names,))
        assert plan.execution_summary == (
            "2 of 2 steps done. 2 files changed."
            if made_later
            else f"2 of 2 steps done. 1 file changed. N{names[1:]}."
        )
        at.editor.open(at.path("a.txt"))
        assert [step.reverted for step in at.now(plan).steps] == [None if made_later else "whole", None]


async def test_a_step_that_was_undone_while_the_plan_was_paused_is_not_done(tmp_path: Path) -> None:
    files = {"a.txt": "old\n", "b.txt": "old\n"}
    async with studio(tmp_path, files) as at:
        plan = await at.approve(
            await at.ask('1. Replace "old" with "new" in a.txt\n2. Replace "old" with "new" in b.txt')
        )
        plan = await at.respond(plan)
        await at.app.plans.pause(plan.plan_id)
        await at.app.plans.undo(plan.plan_id, plan.steps[0].step_id, False)
        await at.app.plans.resume(plan.plan_id)
        plan = await at.reach(plan, "attention")
        while plan.pending.approvals:
            plan = await at.respond(plan)
        report = reported(plan)
        assert [step.step_id for step in report.done] == [plan.steps[1].step_id]
        assert [(step.step_id, step.reason) for step in report.left] == [
            (plan.steps[0].step_id, "its changes were undone")
        ]
        assert plan.execution_summary is not None
        assert plan.execution_summary.startswith("1 of 2 steps done. 1 file changed. Undone: ")
