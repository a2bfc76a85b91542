"""Commands of steps: approved as they were shown, run on saved files, and ended when the plan stops."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from planloom.domain.errors import InvalidParams
from planloom.domain.events import catalog as ev
from planloom.domain.plans.editing import StepChanges, UpdateStep
from planloom.domain.plans.plan import Plan
from planloom.domain.safety.confinement import Abilities, Confinement
from planloom.domain.values import PlanId
from planloom.execution.resources import TERMINAL, StepWait
from planloom.models.offline.scripted import ScriptedModel, makes
from planloom.settings import CommandSettings, Settings
from planloom.tools.confinement.abilities import means
from planloom.view.plan_view import view
from planloom.view.states import Around
from planloom.view.words import Words
from planloom.workspace.editor import EditorCapabilities
from tests.support.crash import DyingLedger
from tests.support.fake_editor import EVERYTHING
from tests.support.studio import Studio, studio


def approvals(room: Studio) -> list[str]:
    """The commands that were shown for approval."""
    return [
        recorded.event.approval.command or ""
        for recorded in room.events
        if isinstance(recorded.event, ev.ApprovalRequested)
    ]


def statuses(plan: Plan) -> list[str]:
    return [step.status for step in plan.steps]


async def test_a_command_is_asked_and_runs(tmp_path: Path) -> None:
    async with studio(tmp_path) as room:
        heard: list[tuple[str, str]] = []
        room.app.feed.subscribe_stream(lambda delta: heard.append((delta.kind, delta.delta)))
        plan = await room.run("run `echo hi; echo no >&2; touch made.txt`")
        assert plan.status == "completed"
        assert approvals(room) == ["echo hi; echo no >&2; touch made.txt"]
        assert sorted(heard) == [("stderr", "no\n"), ("stdout", "hi\n")]
        assert room.path("made.txt").exists()
        assert await room.app.index.current().below("", 9) == ("made.txt",)


@pytest.mark.parametrize(("decision", "status"), [("deny", "skipped"), ("cancel", "pending")])
async def test_a_denied_command_does_not_run(decision: str, status: str, tmp_path: Path) -> None:
    async with studio(tmp_path) as room:
        plan = await room.respond(await room.ask("run `touch made.txt`"), decision)
        assert statuses(plan) == [status]
        assert not room.path("made.txt").exists()


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("cat suite.log | tail -1", "failed"),
        ("cat suite.log || true", "failed"),
        ("cat suite.log; echo done", "failed"),
        ("false | cat", "failed"),
        ("yes | head -1", "completed"),
        ("echo '0 failed, 3 passed'", "completed"),
    ],
)
async def test_a_step_is_done_only_if_its_command_succeeded(
    command: str, status: str, tmp_path: Path
) -> None:
    async with studio(tmp_path, {"suite.log": "1 failed, 2 passed in 0.1s\n"}) as room:
        assert statuses(await room.run(f"run `{command}`")) == [status]


@pytest.mark.parametrize(("verdict", "asked"), [("allow", 0), ("deny", 0), ("ask", 1)])
async def test_the_policy_decides(verdict: str, asked: int, tmp_path: Path) -> None:
    async with studio(tmp_path, settings={"approvals.execute": verdict}) as room:
        plan = await room.run("run `touch made.txt`")
        assert len(approvals(room)) == asked
        assert room.path("made.txt").exists() == (verdict != "deny")
        assert statuses(plan) == ["skipped" if verdict == "deny" else "completed"]


async def test_only_the_exact_repeat_of_a_command_is_allowed_ahead(tmp_path: Path) -> None:
    commands = ["echo a", "echo a", "echo  a", "echo a ; id", "echo a"]
    text = " then ".join(f"run `{command}`" for command in commands)
    async with studio(tmp_path) as room:
        plan = await room.ask(text)
        if plan.status == "pending_approval":
            plan = await room.approve(plan)
        while plan.pending.approvals:
            plan = await room.respond(plan, "allowForPlan")
        assert statuses(plan) == ["completed"] * 5
        assert approvals(room) == ["echo a", "echo  a", "echo a ; id"]


@pytest.mark.parametrize(
    ("chosen", "asked"),
    [(Confinement(network="loopback"), 1), (Confinement(confined=False), 2)],
)
async def test_what_runs_without_confinement_is_never_remembered(
    chosen: Confinement, asked: int, tmp_path: Path
) -> None:
    async with studio(tmp_path) as room:
        plan = await room.ask("run `echo a` then run `echo a`")
        if plan.status == "pending_approval":
            plan = await room.approve(plan)
        while plan.pending.approvals:
            plan = await room.respond(plan, "allowForPlan", confinement=chosen)
        assert statuses(plan) == ["completed"] * 2 and len(approvals(room)) == asked


@pytest.mark.parametrize(
    ("setting", "answer", "recorded"),
    [
        ("none", None, Confinement()),
        ("loopback", None, Confinement(network="loopback")),
        ("none", Confinement(network="all"), Confinement(network="all")),
        ("all", Confinement(confined=False), Confinement(confined=False)),
    ],
)
async def test_what_the_user_has_chosen_for_a_command_is_recorded(
    setting: str, answer: Confinement | None, recorded: Confinement, tmp_path: Path
) -> None:
    async with studio(tmp_path, settings={"commands.network": setting}) as room:
        plan = await room.respond(await room.ask("run `echo a`"), confinement=answer)
        assert statuses(plan) == ["completed"]
        (resolved,) = [each.event for each in room.events if isinstance(each.event, ev.ApprovalResolved)]
        assert resolved.confinement == recorded


async def test_the_folders_that_commands_may_also_write_are_named_in_the_approval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not means().namespaces:
        pytest.skip("no user namespaces here")
    monkeypatch.setattr("planloom.execution.commands.running.abilities", lambda: WHOLE)
    other = tmp_path / "other"
    for folder in (other, tmp_path / "w"):
        folder.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    async with studio(tmp_path / "w", settings={"commands.writable": ["~/other"]}) as room:
        plan = await room.ask(f"run `touch {other}/made`")
        confinement = plan.pending.approvals[0].confinement
        assert confinement is not None
        assert confinement.line == "Confined: writes only in the workspace and ~/other, no network."
        assert (await room.app.command_abilities()).writable == ("~/other",)
        plan = await room.respond(plan)
        assert statuses(plan) == ["completed"] and (other / "made").exists()


async def test_an_approval_covers_the_folders_that_it_names(tmp_path: Path) -> None:
    async with studio(tmp_path) as room:
        plan = await room.ask("run `echo a` then run `echo a`")
        if plan.status == "pending_approval":
            plan = await room.approve(plan)
        room.app.configure(Settings(commands=CommandSettings(writable=("/opt",))))
        plan = await room.respond(plan, "allowForPlan")
        assert len(approvals(room)) == 2 and statuses(plan) != ["completed"] * 2


@pytest.mark.parametrize("verdict", ["ask", "allow"])
@pytest.mark.parametrize(
    "confinement", [Confinement(), Confinement(network="all"), Confinement(confined=False)]
)
async def test_the_confinement_with_which_a_command_has_started_is_recorded_and_told(
    verdict: str, confinement: Confinement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if verdict == "allow" and not confinement.confined:
        pytest.skip("no setting lets a command run without confinement")
    monkeypatch.setattr("planloom.execution.commands.running.abilities", lambda: WHOLE)
    settings = {
        "approvals.execute": verdict,
        "commands.network": confinement.network if verdict == "allow" else "none",
    }
    async with studio(tmp_path, settings=settings) as room:
        plan = await room.ask("run `echo a`")
        if verdict == "ask":
            plan = await room.respond(plan, confinement=confinement)
        (started,) = [
            each.event
            for each in room.events
            if isinstance(each.event, ev.StepUpdate) and each.event.command_started
        ]
        given = started.command_confinement
        assert given is not None
        assert (given.confined, given.network) == (confinement.confined, confinement.network)
        (call,) = plan.steps[0].tools_executed
        assert plan.report is not None
        (reported,) = plan.report.commands
        assert call.confinement == given and reported.confinement == given.line
        assert given.line.startswith("Confined: " if confinement.confined else "Not confined: ")


async def test_only_a_command_has_a_confinement(tmp_path: Path) -> None:
    async with studio(tmp_path) as room:
        plan = await room.ask('Create file "a.txt" with content "x"')
        assert plan.pending.approvals[0].confinement is None
        with pytest.raises(InvalidParams):
            await room.respond(plan, confinement=Confinement())
        await room.respond(plan, "deny")


async def test_a_command_that_may_not_write_says_so(tmp_path: Path) -> None:
    if not means().namespaces:
        pytest.skip("no user namespaces here")
    async with studio(tmp_path, settings={"approvals.execute": "allow"}) as room:
        room.path(".vscode").mkdir()
        plan = await room.ask("run `echo x > .vscode/tasks.json`")
        (call,) = plan.steps[0].tools_executed
        # The line that states the outcome is the command's own.
        assert "It ran confined" not in call.summary
        assert "It ran confined" in (call.output or "") and not room.path(".vscode/tasks.json").exists()


async def test_a_script_that_changes_after_the_question_is_asked_again(tmp_path: Path) -> None:
    async with studio(tmp_path, {"build.sh": "echo good > out\n"}) as room:
        plan = await room.ask("run `sh build.sh`")
        assert plan.pending.approvals[0].warning is None
        room.path("build.sh").write_text("echo evil > out\n")
        plan = await room.respond(plan)
        assert not room.path("out").exists()
        assert "changed since" in (plan.pending.approvals[0].warning or "")
        plan = await room.respond(plan, "deny")
        assert statuses(plan) == ["skipped"] and not room.path("out").exists()


async def test_a_script_that_the_plan_has_changed_is_named_before_it_runs(tmp_path: Path) -> None:
    async with studio(tmp_path, {"build.sh": "echo good > out\n"}) as room:
        text = '1. Replace "good" with "better" in build.sh\n2. run `sh build.sh`'
        plan = await room.respond(await room.approve(await room.ask(text)))
        (asked,) = plan.pending.approvals
        assert asked.warning == "It names or runs what this plan has changed: build.sh."
        await room.respond(plan, "deny")


async def test_invisible_characters_of_a_command_are_written_out(tmp_path: Path) -> None:
    async with studio(tmp_path) as room:
        plan = await room.ask("run `echo a\u202eb #\u200b`")
        approval = plan.pending.approvals[0]
        assert approval.command == "echo a<U+202E>b #<U+200B>" and approval.effect == "execute"
        assert "invisible characters" in (approval.warning or "") and approval.cwd == "."
        await room.respond(plan, "deny")


async def test_an_untrusted_workspace_runs_nothing(tmp_path: Path) -> None:
    async with studio(tmp_path) as room:
        room.app.set_trusted(False)
        plan = await room.ask("run `touch made.txt`")
        assert statuses(plan) == ["failed"] and not room.path("made.txt").exists()


async def test_a_command_outside_the_workspace_is_refused(tmp_path: Path) -> None:
    async with studio(tmp_path) as room:
        plan = await room.ask("run the command `ls` in ../")
        assert approvals(room) == [] and plan.status != "completed"


async def test_cancelling_ends_the_command(tmp_path: Path) -> None:
    async with studio(tmp_path) as room:
        heard = asyncio.Event()
        room.app.feed.subscribe_stream(lambda _: heard.set())
        plan = await room.ask("run `echo $$; exec sleep 60`")
        await room.app.approvals.respond(plan.pending.approvals[0].approval_id, "allow", None, None)
        async with asyncio.timeout(10):
            await heard.wait()
        began = time.monotonic()
        await room.app.plans.cancel(plan.plan_id)
        plan = await room.until(plan, lambda now: now.status == "cancelled")
        assert time.monotonic() - began < 5


async def test_what_was_cut_off_is_asked_again_even_where_commands_are_allowed(tmp_path: Path) -> None:
    async with studio(tmp_path, settings={"approvals.execute": "allow"}) as room:
        heard = asyncio.Event()
        room.app.feed.subscribe_stream(lambda _: heard.set())
        created = asyncio.create_task(room.ask("run `echo started; test -e go || sleep 60`"))
        async with asyncio.timeout(10):
            await heard.wait()
        (plan_id,) = {recorded.plan_id for recorded in room.events}
        await room.app.plans.pause(plan_id)
        plan = await created
        room.path("go").touch()
        await room.app.plans.resume(plan_id)
        plan = await room.until(plan, lambda now: bool(now.pending.approvals))
        assert "may have run already" in (plan.pending.approvals[0].warning or "")
        assert (await room.respond(plan)).status == "completed"


async def test_our_own_edits_are_saved_before_a_command(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\n"}) as room:
        room.editor.open(room.path("a.txt"))
        plan = await room.run('replace "one" with "two" in a.txt then run `cat a.txt > seen.txt`')
        assert plan.status == "completed"
        assert room.path("seen.txt").read_text() == "two\n"


async def test_what_the_user_typed_is_left_to_the_user(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\n", "b.txt": "b\n"}) as room:
        room.editor.open(room.path("a.txt"), "one\ntyped\n")
        plan = await room.run('replace "one" with "two" in a.txt then run `cat a.txt > seen.txt`')
        assert (plan.status, plan.pause_reason) == ("paused", "unsaved_files")
        paused = [recorded.event for recorded in room.events if isinstance(recorded.event, ev.PlanPaused)]
        assert "a.txt" in (paused[-1].detail or "") and "b.txt" not in (paused[-1].detail or "")
        assert room.path("a.txt").read_text() == "one\n"
        room.editor.save_file(room.path("a.txt"))
        plan = await room.until(plan, lambda now: bool(now.pending.approvals))
        assert (await room.respond(plan)).status == "completed"
        assert room.path("seen.txt").read_text() == "two\ntyped\n"


async def test_a_plan_goes_on_once_the_editor_has_saved_at_the_users_request(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\n"}) as room:
        room.editor.open(room.path("a.txt"), "typed\n")
        plan = await room.run("run `cat a.txt > seen.txt`")
        shown = view(plan, Around(Words(), can_save=True))
        titles = [each.title for each in shown.actions if each.cause is not None]
        assert titles == ["Save and go on", "Run without saving"]
        await room.app.save_and_resume(plan.plan_id)
        plan = await room.until(plan, lambda now: bool(now.pending.approvals))
        assert (await room.respond(plan)).status == "completed"
        assert room.path("seen.txt").read_text() == "typed\n"


async def test_files_are_saved_at_the_users_request_for_a_plan_of_a_dead_server_too(tmp_path: Path) -> None:
    ledger = DyingLedger(tmp_path / "l.db")
    before = Studio(tmp_path, {"a.txt": "one\n"}, ledger=ledger)
    before.editor.open(before.path("a.txt"), "typed\n")
    plan = await before.run("run `cat a.txt > seen.txt`")
    assert plan.pause_reason == "unsaved_files"
    ledger.dead = True
    await before.app._jobs.stop("")
    ledger.release()
    async with studio(tmp_path, ledger=tmp_path / "l.db") as room:
        room.editor.open(room.path("a.txt"), "typed\n")
        assert room.now(plan).pause_reason == "unsaved_files"
        await room.app.save_and_resume(plan.plan_id)
        plan = await room.until(plan, lambda now: bool(now.pending.approvals))
        assert (await room.respond(plan)).status == "completed"
        assert room.path("seen.txt").read_text() == "typed\n"


async def test_a_pause_says_that_it_stops_a_command(tmp_path: Path) -> None:
    async with studio(tmp_path) as room:
        plan = await room.ask("run `sleep 30`")
        await room.app.approvals.respond(plan.pending.approvals[0].approval_id, "allow", None, None)
        plan = await room.until(plan, lambda now: any(call.running for call in now.open_calls))
        assert "Pause and stop the command" in [each.title for each in view(plan, Around(Words())).actions]
        await room.app.plans.pause(plan.plan_id)


async def test_resuming_runs_a_command_without_what_is_unsaved(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\n"}) as room:
        room.editor.open(room.path("a.txt"), "typed\n")
        plan = await room.run("run `cat a.txt > seen.txt`")
        assert plan.pause_reason == "unsaved_files"
        await room.app.plans.resume(plan.plan_id)
        plan = await room.until(plan, lambda now: bool(now.pending.approvals))
        assert (await room.respond(plan)).status == "completed"
        assert room.path("seen.txt").read_text() == "one\n"


async def test_each_unsaved_file_is_asked_for_once_before_a_command(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "a\n", "b.txt": "b\n"}) as room:
        room.editor.open(room.path("a.txt"), "mine\n")
        plan = await room.run("run `cat a.txt b.txt > seen.txt`")
        assert plan.pause_reason == "unsaved_files"
        room.editor.open(room.path("b.txt"), "mine too\n")
        before = len(room.events)
        await room.app.plans.resume(plan.plan_id)
        plan = await room.until(plan, lambda now: len(room.events) > before + 1 and now.status == "paused")
        assert (plan.pause_reason, "b.txt" in str(room.events[-1].event)) == ("unsaved_files", True)
        await room.app.plans.resume(plan.plan_id)
        plan = await room.until(plan, lambda now: bool(now.pending.approvals))
        assert (await room.respond(plan)).status == "completed"
        assert room.path("seen.txt").read_text() == "a\nb\n"


async def test_staged_changes_that_a_save_alone_lets_be_made_wait_for_the_user(tmp_path: Path) -> None:
    """The editor takes no edits, and the user has typed into the file: nothing that a model does would help."""
    able = EVERYTHING._replace(apply_edit=False)
    settings = {"execution.review": "end"}
    async with studio(tmp_path, {"a.txt": "one\n"}, settings=settings, capabilities=able) as room:
        room.editor.open(room.path("a.txt"), "one\ntyped\n")
        plan = await room.run('replace "one" with "two" in a.txt then run `cat a.txt > seen.txt`')
        plan = await room.respond(plan) if plan.pending.approvals else plan
        plan = await room.until(plan, lambda now: now.status == "paused")
        paused = [recorded.event for recorded in room.events if isinstance(recorded.event, ev.PlanPaused)]
        assert plan.pause_reason == "unsaved_files" and "save it, then try again" in (paused[-1].detail or "")
        assert not room.path("seen.txt").exists()
        room.editor.save_file(room.path("a.txt"))
        await room.app.plans.resume(plan.plan_id) if room.now(plan).status == "paused" else None
        while plan.status not in ("completed", "failed"):
            plan = await room.until(
                plan, lambda now: bool(now.pending.approvals) or now.status in ("completed", "failed")
            )
            plan = await room.respond(plan) if plan.pending.approvals else plan
        assert plan.status == "completed" and room.path("seen.txt").read_text() == "two\ntyped\n"


async def test_a_plan_that_waits_goes_on_when_the_editor_has_reloaded_the_file(tmp_path: Path) -> None:
    """An editor that reloads a file reports a change, not a save."""
    async with studio(tmp_path, {"a.txt": "one\n"}) as room:
        room.editor.open(room.path("a.txt"), "typed\n")
        plan = await room.run("run `cat a.txt > seen.txt`")
        assert plan.pause_reason == "unsaved_files"
        room.path("a.txt").write_text("as checked out\n")
        room.editor.type(room.path("a.txt"), 0, len("typed\n"), "as checked out\n")
        plan = await room.until(plan, lambda now: bool(now.pending.approvals))
        assert (await room.respond(plan)).status == "completed"


async def test_a_file_that_was_reloaded_is_not_unsaved(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\n"}) as room:
        room.editor.open(room.path("a.txt"))
        room.path("a.txt").write_text("as checked out\n")
        room.editor.type(room.path("a.txt"), 0, len("one\n"), "as checked out\n")
        assert (await room.run("run `cat a.txt`")).status == "completed"


@pytest.mark.parametrize(
    ("settings", "capabilities"),
    [({"edits.save": "never"}, EVERYTHING), ({}, EVERYTHING._replace(save=False))],
)
async def test_without_leave_to_save_the_plan_waits(
    settings: dict[str, str], capabilities: EditorCapabilities, tmp_path: Path
) -> None:
    async with studio(tmp_path, {"a.txt": "one\n"}, settings=settings, capabilities=capabilities) as room:
        room.editor.open(room.path("a.txt"))
        plan = await room.run('replace "one" with "two" in a.txt then run `cat a.txt`')
        assert plan.pause_reason == "unsaved_files" and room.path("a.txt").read_text() == "one\n"


async def test_edits_are_saved_at_once_where_the_user_wants_it(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\n"}, settings={"edits.save": "always"}) as room:
        room.editor.open(room.path("a.txt"))
        assert (await room.run('replace "one" with "two" in a.txt')).status == "completed"
        assert room.path("a.txt").read_text() == "two\n"


@pytest.mark.parametrize("decision", ["allow", "deny"])
async def test_a_models_writes_are_made_before_its_command(decision: str, tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(
                ("write_file", {"path": "new.txt", "content": "made\n"}),
                ("run_command", {"command": "cat new.txt > seen.txt"}),
            ),
            makes(("task_completed", {"summary": "done"})),
            makes(("final_answer", {"text": "done"})),
        ]
    )
    async with studio(tmp_path) as room:
        plan = await room.ask("Deploy it", mode="plan")
        room.model.model = model
        step = UpdateStep(step_id=plan.steps[0].step_id, set=StepChanges(agent="devo", kind="processing"))
        plan = await room.app.plans.edit(plan.plan_id, plan.version, [step])
        plan = await room.approve(plan)
        assert plan.pending.approvals[0].effect == "write"
        plan = await room.respond(plan)
        assert plan.pending.approvals[0].command == "cat new.txt > seen.txt"
        plan = await room.respond(plan, decision)
        assert plan.status == "completed" and room.text("new.txt") == "made\n"
        assert room.path("seen.txt").exists() == (decision == "allow")


@pytest.mark.slow
async def test_commands_of_models_and_checks_have_the_terminal_one_after_another(tmp_path: Path) -> None:
    """The model accepts several requests at a time, the terminal one command of all plans."""
    line = "mkdir busy && sleep 0.1 && rmdir busy"
    done = ("task_completed", {"summary": "Ran it."})
    model = ScriptedModel([makes(("run_command", {"command": line}), done, repeat=True)])
    async with studio(tmp_path, settings={"approvals.execute": "allow"}) as room:
        plans = []
        for _ in range(2):
            plan = await room.ask("1. one thing\n2. another thing", mode="plan")
            changes = [
                UpdateStep(step_id=step.step_id, set=StepChanges(kind="processing", agent="devo"))
                for step in plan.steps
            ]
            plans.append(await room.app.plans.edit(plan.plan_id, plan.version, changes))
        room.model.model = model
        told: list[tuple[PlanId, tuple[StepWait, ...]]] = []
        room.app.feed.waits.listen(lambda plan_id, waits: told.append((plan_id, waits)))
        for plan in plans:
            await room.app.plans.approve(plan.plan_id, plan.version, None)
        for plan in plans:
            ended = await room.reach(plan, "ended")
            assert [call.ok for step in ended.steps for call in step.tools_executed] == [True, True]
        waited = [wait for _, waits in told for wait in waits if wait.resource == TERMINAL]
        assert waited and all(wait.used_by_plan in {plan.plan_id for plan in plans} for wait in waited)
        assert dict(told) == {plan_id: () for plan_id, _ in told}, "none waits at the end"


@pytest.mark.slow
async def test_who_waits_for_the_terminal_is_told_who_has_it_then(tmp_path: Path) -> None:
    done = ("task_completed", {"summary": "Ran it."})
    model = ScriptedModel([makes(("run_command", {"command": "sleep 0.3"}), done, repeat=True)])
    async with studio(tmp_path, settings={"approvals.execute": "allow"}) as room:
        plans = []
        for _ in range(3):
            plan = await room.ask("one thing", mode="plan")
            change = UpdateStep(
                step_id=plan.steps[0].step_id, set=StepChanges(kind="processing", agent="devo")
            )
            plans.append(await room.app.plans.edit(plan.plan_id, plan.version, [change]))
        room.model.model = model
        used: dict[PlanId, list[PlanId]] = {}
        room.app.feed.waits.listen(
            lambda plan_id, waits: used.setdefault(plan_id, []).extend(each.used_by_plan for each in waits)
        )
        for plan in plans:
            await room.app.plans.approve(plan.plan_id, plan.version, None)
        for plan in plans:
            await room.reach(plan, "ended")
        longest = max(used.values(), key=len)
        assert len(longest) == 2 and len(set(longest)) == 2, "each that has had it meanwhile, once"


WHOLE = Abilities(files=True, network=True, processes=True, how="all means")
OFFLINE = "echo 'Could not resolve host: example.org' >&2; exit 6"


@pytest.fixture
def _confines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that can confine commands."""
    monkeypatch.setattr("planloom.execution.commands.running.abilities", lambda: WHOLE)


@pytest.mark.usefixtures("_confines")
async def test_a_command_that_needs_the_network_asks_for_it(tmp_path: Path) -> None:
    async with studio(tmp_path) as room:
        plan = await room.ask("run `curl https://example.org`")
        confinement = plan.pending.approvals[0].confinement
        assert confinement is not None and confinement.asks_network and confinement.network == "all"
        await room.respond(plan, "deny")


@pytest.mark.usefixtures("_confines")
async def test_what_failed_without_the_network_is_asked_again_with_it(tmp_path: Path) -> None:
    async with studio(tmp_path) as room:
        plan = await room.respond(await room.ask(f"run `{OFFLINE}`"), "allowForPlan")
        (recovery,) = plan.pending.recoveries
        assert "It ran without the network, which it seems to need" in recovery.error
        assert recovery.code == "lacked_network"
        await room.app.steps.recover(plan.plan_id, recovery.step_id, "retry", None)
        plan = await room.until(plan, lambda now: bool(now.pending.approvals))
        (asked,) = plan.pending.approvals
        assert "for want of the network" in (asked.warning or "")
        assert asked.confinement is not None and asked.confinement.asks_network
        await room.respond(plan, "cancel")
