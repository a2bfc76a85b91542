"""A plan that was stopped, by the user or by a crash, continues without doing anything twice."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.domain.values import Args
from planloom.models.offline.scripted import ScriptedModel, makes
from tests.support.crash import DyingLedger, Job, begun, finished, killed, restarted
from tests.support.fake_editor import EVERYTHING, Instead, Refuse, Wait
from tests.support.ledgers import without_checksums
from tests.support.obedient_model import ObedientModel
from tests.support.studio import Studio, studio

FILES = {"a.txt": "one\ntwo\nthree\n"}
INSERT: Args = {"path": "a.txt", "old_text": "two", "new_text": "two INS"}
RUN: Args = {"command": "echo ran >> ran.log"}
DONE = ("task_completed", {"summary": "Done."})
INSERTED = "one\ntwo INS\nthree\n"
WORK = Job(
    "1. one thing\n2. another thing",
    {
        "Insert and run": (("edit_file", INSERT), ("run_command", RUN)),
        "Write it": (("write_file", {"path": "n.txt", "content": "n"}),),
    },
)


def ran(at: Studio) -> int:
    """How often the command ran."""
    log = at.path("ran.log")
    return len(log.read_text().split()) if log.exists() else 0


def commands(at: Studio) -> list[str]:
    """The warnings of the commands that were asked."""
    return [
        recorded.event.approval.warning or ""
        for recorded in at.events
        if isinstance(recorded.event, ev.ApprovalRequested) and recorded.event.approval.effect == "execute"
    ]


def prompts(at: Studio) -> list[str]:
    model = at.model.model
    assert isinstance(model, ObedientModel)
    return model.prompts


async def answered(at: Studio, plan: Plan) -> Plan:
    """Allow everything until the plan ends."""
    while plan.pending.approvals:
        plan = await at.respond(plan)
    return plan


async def test_a_step_whose_changes_were_made_before_its_command_is_not_staged(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await answered(at, await at.approve(await begun(at, WORK), review="end"))
        assert plan.status == "completed" and at.text("a.txt") == INSERTED and ran(at) == 1
        assert plan.execution_summary == "2 of 2 steps done. 3 files changed."


async def test_a_finished_step_does_not_run_again_after_a_restart(tmp_path: Path) -> None:
    """With the review mode `end`: one step's edit was made before its command, the next step's is only staged."""
    settings = {"execution.review": "end", "approvals.write": "allow", "approvals.execute": "allow"}

    def second_is_staged(event: ev.Event) -> bool:
        return isinstance(event, ev.StepCompleted) and event.step_id == "step_2"

    ledger = DyingLedger(tmp_path / "l.db", second_is_staged)
    before = Studio(tmp_path, FILES, settings=settings, ledger=ledger)
    await killed(before, ledger, WORK)
    assert before.text("a.txt") == INSERTED and ran(before) == 1
    after = restarted(before, tmp_path / "l.db", settings, WORK)
    try:
        (plan,) = after.app.plans.list(None, (), None, True)
        assert [step.status for step in after.now(plan).steps] == ["completed", "pending"]
        plan = await finished(after, plan)
        assert plan.status == "completed" and (after.text("a.txt"), after.text("n.txt")) == (INSERTED, "n")
        assert ran(after) == 1 and not any("Insert and run\nDo it." in prompt for prompt in prompts(after))
    finally:
        await after.app.close()


async def test_what_a_paused_step_has_staged_stays_and_is_not_staged_twice(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await at.approve(await begun(at, WORK), review="end")
        assert plan.pending.approvals[0].effect == "write"
        await at.app.plans.pause(plan.plan_id)
        await at.app.plans.resume(plan.plan_id)
        plan = await at.until(plan, lambda now: bool(now.pending.approvals))
        plan = await answered(at, plan)
        assert plan.status == "completed" and at.text("a.txt") == INSERTED and ran(at) == 1
        told = "\n".join(prompts(at))
        assert "Staged, and made once the user allows it: do not do it again" in told
        assert "Do it again" not in told and "do it again if" not in told


async def test_a_pause_just_as_everything_is_made_does_not_ask_for_it_again(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        text = '1. Replace "two" with "two INS" in a.txt\n2. Create file n.txt with content "n"'
        plan = await at.approve(await at.ask(text), review="end")
        release = asyncio.Event()
        at.editor.script.append(Wait(release))
        answering = asyncio.ensure_future(at.respond(plan))
        await at.editor.reached.wait()
        pausing = asyncio.ensure_future(at.app.plans.pause(plan.plan_id))
        await asyncio.sleep(0)
        release.set()
        await asyncio.gather(answering, pausing)
        assert at.text("a.txt") == INSERTED and not any(step.staged for step in at.now(plan).steps)
        await at.app.plans.resume(plan.plan_id)
        plan = await at.reach(plan, "attention")
        assert plan.status == "completed" and plan.execution_summary == "2 of 2 steps done. 2 files changed."
        assert at.types().count("approval_request") == 1


async def test_made_changes_of_a_step_that_waits_for_a_save_are_told_as_made(tmp_path: Path) -> None:
    capabilities = EVERYTHING._replace(save=False)
    async with studio(tmp_path, FILES, capabilities=capabilities) as at:
        plan = await answered(at, await at.approve(await begun(at, WORK), review="end"))
        assert plan.pause_reason == "unsaved_files" and at.text("a.txt") == INSERTED
        at.editor.save_file(at.path("a.txt"))
        plan = await at.until(plan, lambda now: bool(now.pending.approvals))
        plan = await answered(at, plan)
        assert plan.status == "completed" and at.text("a.txt") == INSERTED and ran(at) == 1
        assert "Made: do not do it again" in "\n".join(prompts(at))


@pytest.mark.parametrize("review", ["each", "auto"])
async def test_every_prompt_after_a_restart_tells_what_was_done_before(tmp_path: Path, review: str) -> None:
    tasks = {"Insert and run": (*WORK.tasks["Insert and run"], ("write_file", {"path": "x", "content": "x"}))}
    job = Job("1. one thing\n2. run `true`", tasks)
    settings = {"execution.review": review}
    ledger = DyingLedger(
        tmp_path / "l.db",
        lambda event: isinstance(event, ev.ApprovalRequested) and event.approval.effect == "execute",
    )
    before = Studio(tmp_path, FILES, settings=settings, ledger=ledger)
    await killed(before, ledger, job)
    assert before.text("a.txt") == INSERTED and ran(before) == 0
    after = restarted(before, tmp_path / "l.db", settings, job)
    try:
        (plan,) = after.app.plans.list(None, (), None, True)
        plan = await finished(after, plan)
        assert plan.status == "completed" and after.text("a.txt") == INSERTED and ran(after) == 1
        assert len(prompts(after)) >= 3
        assert all("Made: do not do it again" in prompt for prompt in prompts(after))
        # The command was asked for when the server ended, and never started.
        assert not any("cut off" in warning for warning in commands(after))
    finally:
        await after.app.close()


async def test_lost_changes_are_told_as_lost_and_are_made_once(tmp_path: Path) -> None:
    job = Job("1. one thing\n2. run `true`", {"Insert it": (("edit_file", INSERT), ("list_files", {}))})
    ledger = DyingLedger(
        tmp_path / "l.db", lambda event: isinstance(event, ev.ToolStarted) and event.tool == "list_files"
    )
    before = Studio(tmp_path, FILES, ledger=ledger)
    await killed(before, ledger, job)
    after = restarted(before, tmp_path / "l.db", {}, job)
    try:
        (plan,) = after.app.plans.list(None, (), None, True)
        plan = await finished(after, plan)
        assert plan.status == "completed" and after.text("a.txt") == INSERTED
        first = prompts(after)[0]
        assert (
            "edit_file [FAILED]" in first and "Not made, since the run was interrupted: do it again" in first
        )
    finally:
        await after.app.close()


async def test_a_step_of_which_the_editor_refuses_every_change_fails_with_its_reason(tmp_path: Path) -> None:
    job = Job(WORK.text, {"Insert it": (("edit_file", INSERT),)})
    async with studio(tmp_path, FILES, settings={"execution.review": "auto"}) as at:
        at.editor.script.extend([Refuse("the disk is full")] * 20)
        plan = await at.approve(await begun(at, job))
        assert plan.pause_reason == "recovery" and plan.steps[0].status == "failed"
        assert "the disk is full" in plan.pending.recoveries[0].error
        assert at.text("a.txt") == FILES["a.txt"]


async def test_changes_that_were_refused_are_made_when_the_step_is_tried_again(tmp_path: Path) -> None:
    """The conversation of the first try shows the edit as made, so that of the second does not begin with it."""
    job = Job(WORK.text, {"Insert it": (("edit_file", INSERT),)})
    async with studio(tmp_path, FILES, settings={"execution.review": "auto"}) as at:
        at.editor.script.extend([Refuse("the disk is full")] * 20)
        plan = await at.approve(await begun(at, job))
        at.editor.script.clear()
        told = len(prompts(at))
        await at.app.steps.recover(plan.plan_id, plan.steps[0].step_id, "retry", None)
        await at.until(plan, lambda now: now.steps[0].status == "completed")
        assert "edit_file [SUCCESS]" not in prompts(at)[told]
        assert at.text("a.txt") != FILES["a.txt"]


async def test_a_step_whose_changes_were_all_denied_is_skipped(tmp_path: Path) -> None:
    job = Job(WORK.text, {"Insert it": (("edit_file", INSERT),)})
    async with studio(tmp_path, FILES) as at:
        plan = await at.respond(await at.approve(await begun(at, job)), "deny", reason="not that")
        plan = await at.until(plan, lambda now: now.steps[0].status != "running")
        assert plan.steps[0].status == "skipped"
        assert [
            event.reason for recorded in at.events if isinstance(event := recorded.event, ev.StepSkipped)
        ] == ["approval_denied"]
        shown = [prompt for prompt in prompts(at) if "edit_file [SUCCESS]" in prompt]
        assert "The changes were not made: not that" in shown[-1].partition("edit_file [SUCCESS]")[2]
        assert "not made" not in at.text("a.txt") and at.text("a.txt") == FILES["a.txt"]


@pytest.mark.parametrize("review", ["each", "end"])
async def test_a_denial_outlives_the_server(tmp_path: Path, review: str) -> None:
    """A denied change is not asked for again, although the server ended before the step did."""
    settings = {"execution.review": review}
    job = Job('1. Replace "two" with "two INS" in a.txt\n2. Create folder z')

    def is_denied(event: ev.Event) -> bool:
        return isinstance(event, ev.ApprovalResolved) and event.decision == "deny"

    ledger = DyingLedger(tmp_path / "l.db", is_denied)
    before = Studio(tmp_path, FILES, settings=settings, ledger=ledger)
    plan = await before.approve(await begun(before, job))
    denying = asyncio.ensure_future(before.respond(plan, "deny", reason="not that"))
    await asyncio.wait({denying, asyncio.ensure_future(ledger.died.wait())}, return_when="FIRST_COMPLETED")
    denying.cancel()
    await asyncio.wait({denying})
    await before.app._jobs.stop("")
    ledger.release()
    after = restarted(before, tmp_path / "l.db", settings, job)
    try:
        plan = await finished(after, plan)
        assert plan.status == ("cancelled" if review == "end" else "completed")
        assert after.text("a.txt") == FILES["a.txt"]
        assert plan.steps[0].status == "skipped"
        asked = [
            [file.uri for file in event.approval.files]
            for recorded in after.events
            if isinstance(event := recorded.event, ev.ApprovalRequested)
        ]
        assert not any(after.uri("a.txt") in files for files in asked)
    finally:
        await after.app.close()


@pytest.mark.parametrize(("code", "status"), [(0, "completed"), (1, "failed")])
async def test_a_command_that_has_ended_is_not_run_again(tmp_path: Path, code: int, status: str) -> None:
    """The command's end is recorded, its step's end is not; the setting allows commands."""
    settings = {"approvals.execute": "allow"}
    job = Job(f"1. Run `echo ran >> ran.log; exit {code}`\n2. Create folder z")
    ledger = DyingLedger(tmp_path / "l.db", lambda event: isinstance(event, ev.ToolCompleted))
    before = Studio(tmp_path, FILES, settings=settings, ledger=ledger)
    await killed(before, ledger, job)
    after = restarted(before, tmp_path / "l.db", settings, job)
    try:
        (plan,) = after.app.plans.list(None, (), None, True)
        await after.app.plans.resume(plan.plan_id)
        plan = await after.until(plan, lambda now: now.steps[0].status == status)
        assert ran(after) == 1 and commands(after) == []
    finally:
        await after.app.close()


async def test_a_model_that_runs_a_command_of_an_earlier_run_again_is_asked(tmp_path: Path) -> None:
    settings = {"approvals.execute": "allow"}
    job = Job(WORK.text, {"Run it": (("run_command", RUN), ("list_files", {}))})
    ledger = DyingLedger(
        tmp_path / "l.db", lambda event: isinstance(event, ev.ToolStarted) and event.tool == "list_files"
    )
    before = Studio(tmp_path, FILES, settings=settings, ledger=ledger)
    await killed(before, ledger, job)
    after = restarted(before, tmp_path / "l.db", settings, job)
    after.model.model = ScriptedModel(
        [makes(("run_command", RUN)), makes(("run_command", {**RUN, "cwd": "."}))]
    )
    try:
        (plan,) = after.app.plans.list(None, (), None, True)
        await after.app.plans.resume(plan.plan_id)
        plan = await after.until(plan, lambda now: bool(now.pending.approvals))
        assert "ran to its end in an earlier run" in (plan.pending.approvals[0].warning or "")
        assert ran(after) == 1
    finally:
        await after.app.close()


@pytest.mark.parametrize("stored", [True, False])
async def test_a_model_is_told_what_a_command_printed_before_the_server_died(
    tmp_path: Path, stored: bool
) -> None:
    """The beginning and the end of it; of a ledger of an older server, that it is lost."""
    settings = {"approvals.execute": "allow"}
    line = {"command": "echo FIRST; seq 20000; echo LAST; exit 3"}
    job = Job(WORK.text, {"Run it": (("run_command", line), ("list_files", {}))})
    at_next = lambda event: isinstance(event, ev.ToolStarted) and event.tool == "list_files"  # noqa: E731
    ledger = DyingLedger(tmp_path / "l.db", at_next)
    before = Studio(tmp_path, FILES, settings=settings, ledger=ledger)
    await killed(before, ledger, job)
    if not stored:
        as_of_an_older_server(tmp_path / "l.db")
    after = restarted(before, tmp_path / "l.db", settings, job)
    after.model.model = model = ScriptedModel([makes(("list_files", {}), DONE), makes(DONE)])
    try:
        (plan,) = after.app.plans.list(None, (), None, True)
        await after.app.plans.resume(plan.plan_id)
        await after.until(plan, lambda now: now.steps[0].status == "completed")
        asked = model.requests[0].messages[-1].text
        assert ("FIRST" in asked.replace(line["command"], "")) == stored and "exit code 3" in asked
        assert ("\nLAST" in asked) == stored and ("What it printed is lost" in asked) != stored
    finally:
        await after.app.close()


def as_of_an_older_server(ledger: Path) -> None:
    """Take from the ledger what an older server did not write: the output of commands."""
    without_checksums(ledger)
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("UPDATE events SET body = json_remove(body, '$.output')")
        connection.commit()


async def cut_off(folder: Path) -> Studio:
    """A plan that was paused while a model's command ran; the setting allows commands."""
    line = "echo ran >> ran.log; test -e go || sleep 60"
    at = Studio(folder, FILES, settings={"approvals.execute": "allow"})
    plan = await begun(at, Job(WORK.text, {"Run it": (("run_command", {"command": line}),)}))
    other = ("run_command", {"command": "true"})
    again = ("run_command", {"command": line})
    at.model.model = ScriptedModel(
        [makes(again), makes(other), makes(again), makes(again, DONE), makes(DONE)]
    )
    heard = asyncio.Event()
    at.app.feed.subscribe(
        lambda recorded, _: (
            heard.set()
            if isinstance(event := recorded.event, ev.StepUpdate) and event.command_started
            else None
        )
    )
    await at.app.plans.approve(plan.plan_id, plan.version, None)
    async with asyncio.timeout(10):
        await heard.wait()
        while not at.path("ran.log").exists():
            await asyncio.sleep(0)
    await at.app.plans.pause(plan.plan_id)
    at.path("go").touch()
    return at


async def test_a_cut_off_command_that_was_denied_stays_asked(tmp_path: Path) -> None:
    at = await cut_off(tmp_path)
    try:
        (plan,) = at.app.plans.list(None, (), None, True)
        await at.app.plans.resume(plan.plan_id)
        # The other command in between has never been cut off, and runs unasked.
        plan = await at.until(plan, lambda now: bool(now.pending.approvals))
        assert len(commands(at)) == 1 and "may have run already" in commands(at)[0]
        plan = await at.respond(plan, "deny")
        assert "may have run already" in (plan.pending.approvals[0].warning or "") and ran(at) == 1
        plan = await at.respond(plan, "allow")
        assert ran(at) == 2 and len(commands(at)) == 2
    finally:
        await at.app.close()


async def test_a_script_that_changes_while_its_command_waits_is_asked_again(tmp_path: Path) -> None:
    """The terminal is in use when the user allows the command, and free while the user is asked again."""
    async with studio(tmp_path, {"s.sh": "echo shown > out\n"}) as at:
        terminal = at.app._ownership._conductor._runner._literal_calls._context_factory._terminal._lock  # type: ignore[attr-defined]
        await terminal.acquire()
        plan = await at.approve(await at.ask("1. Run `sh s.sh`\n2. List files"))
        approval = plan.pending.approvals[0]
        await at.app.approvals.respond(approval.approval_id, "allow", None, None)
        async with asyncio.timeout(10):
            while not terminal._waiters:
                await asyncio.sleep(0)
        at.path("s.sh").write_text("echo changed > out\n")
        terminal.release()
        plan = await at.until(plan, lambda now: bool(now.pending.approvals))
        assert "changed since" in (plan.pending.approvals[0].warning or "")
        assert not at.path("out").exists() and not terminal.locked()
        await at.respond(plan, "deny")


async def test_a_paused_plan_no_longer_asks_what_a_dead_server_had_asked(tmp_path: Path) -> None:
    ledger = DyingLedger(tmp_path / "l.db")
    before = Studio(tmp_path, FILES, ledger=ledger)
    plan = await before.approve(await before.ask('1. Create file n.txt with content "n"', mode="plan"))
    assert plan.pending.approvals
    before.app._plan_store.record(plan.plan_id, ev.PlanPaused(reason="unsaved_files", detail="Save a.txt."))
    ledger.dead = True
    await before.app._jobs.stop("")
    ledger.release()
    async with studio(tmp_path, ledger=tmp_path / "l.db") as at:
        assert at.now(plan).status == "paused" and not at.now(plan).pending.approvals
        plan = await at.app.plans.resume(plan.plan_id)
        plan = await at.respond(await at.reach(plan, "attention"))
        assert plan.status == "completed" and at.text("n.txt") == "n"


INTO_OTHERS = Instead(lambda text: text.replace("two", "two, INS"))
"""The editor reports success, but the file has neither the old text nor the new one."""
ONE_EDIT = Job("1. one thing", {"Insert": (("edit_file", INSERT),)})


@pytest.mark.parametrize("job", [Job('1. Replace "two" with "two INS" in a.txt'), ONE_EDIT])
@pytest.mark.slow
async def test_an_edit_that_may_have_been_made_is_asked_with_a_warning_before_it_is_made_again(
    tmp_path: Path, job: Job
) -> None:
    """Whatever the policy: a second `two INS` beside the first was not approved."""
    settings = {"execution.review": "auto", "approvals.write": "allow", "loop.maxTurns": 3}
    async with studio(tmp_path, FILES, settings=settings) as at:
        at.editor.open(at.path("a.txt"))
        at.editor.script.append(INTO_OTHERS)
        plan = await at.approve(await begun(at, job))
        if plan.pending.recoveries:
            await at.app.steps.recover(plan.plan_id, plan.steps[0].step_id, "retry", None)
            plan = await at.until(plan, lambda now: now.status != "paused" and bool(now.pending.approvals))
        (asked,) = plan.pending.approvals
        assert "An earlier change of a.txt was interrupted" in (asked.warning or "")
        assert at.text("a.txt") == "one\ntwo, INS\nthree\n"
        plan = await at.respond(plan, "deny")
        assert at.text("a.txt") == "one\ntwo, INS\nthree\n"


@pytest.mark.slow
async def test_a_model_may_not_call_a_step_done_that_left_a_file_in_doubt_unread(tmp_path: Path) -> None:
    settings = {"execution.review": "auto", "approvals.write": "allow"}
    model = ScriptedModel([makes(("edit_file", INSERT)), makes(DONE), makes(DONE), makes(DONE)])
    async with studio(tmp_path, FILES, settings=settings) as at:
        at.editor.open(at.path("a.txt"))
        at.editor.script.append(INTO_OTHERS)
        plan = await begun(at, ONE_EDIT)
        at.model.model = model
        plan = await at.approve(plan)
        told = "\n".join(message.text for message in model.requests[-1].messages)
        assert "a.txt: read it, since it is unknown whether your change of it was made" in told
