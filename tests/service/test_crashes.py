"""A server that dies at any moment loses no approved edit and makes none twice."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.errors import WrongState
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan, Review
from planloom.execution.effects.reconcile import reconcile_intents
from planloom.execution.plan_store import PlanStore
from planloom.models.offline.scripted import ScriptedModel, fails, makes
from planloom.service.requests import CreateRequest
from planloom.storage.ledger import Ledger
from tests.depth import points
from tests.support.crash import Crash, DyingLedger, Job, begun, finished, killed, restarted
from tests.support.fake_editor import After, Before
from tests.support.ledgers import cut_back
from tests.support.studio import Studio, studio
from tests.workspace.room import tree

EDIT = '1. Replace "old" with "new" in a.txt\n2. Create file b.txt with content "b"'


FILES = {"a.txt": "one\ntwo\nthree\n", "c.txt": "old\n"}
LITERAL = Job(
    '1. Replace "two" with "two INS" in a.txt\n2. Create folder made\n3. Run `echo ran >> ran.log`\n'
    '4. Create file b.txt with content "b"'
)
OBEDIENT = Job(
    "1. one thing\n2. another thing",
    {
        "Insert and run": (
            ("edit_file", {"path": "a.txt", "old_text": "two", "new_text": "two INS"}),
            ("create_folder", {"path": "made"}),
            ("run_command", {"command": "echo ran >> ran.log"}),
            ("edit_file", {"path": "c.txt", "old_text": "old", "new_text": "old INS"}),
        ),
        "Write it": (("write_file", {"path": "b.txt", "content": "b"}),),
    },
)


def proved(after: Studio, plan: Plan, job: Job, where: str) -> None:
    """Every effect has happened exactly once, or the user was asked before it could happen again."""
    assert plan.status == "completed", (where, plan.error, [step.result for step in plan.steps])
    assert [step.status for step in plan.steps] == ["completed"] * len(plan.steps), where
    assert after.text("a.txt") == "one\ntwo INS\nthree\n", where
    assert after.text("b.txt") == "b" and after.path("made").is_dir(), where
    assert after.text("c.txt") == ("old INS\n" if job.tasks else "old\n"), where
    warned = [
        recorded.event.approval
        for recorded in after.events
        if isinstance(recorded.event, ev.ApprovalRequested)
        and recorded.event.approval.effect == "execute"
        and "may have run already" in (recorded.event.approval.warning or "")
    ]
    ran = after.path("ran.log").read_text().split()
    assert 1 <= len(ran) <= 1 + len(warned), where
    assert (plan.execution_summary or "").startswith(f"{len(plan.steps)} of {len(plan.steps)} step"), where
    assert "ever made" not in (plan.execution_summary or ""), where


async def events_of_a_run(folder: Path, job: Job, settings: Mapping[str, Any]) -> tuple[int, int]:
    """The events of a run without a crash: the first with an effect, and the last."""
    async with studio(folder, FILES, settings=settings, ledger=folder / "count.db") as at:
        plan = await at.approve(await begun(at, job))
        first = next(recorded.seq for recorded in at.events if recorded.event.type == "plan_approved")
        while plan.pending.approvals:
            plan = await at.respond(plan)
        proved(at, plan, job, "not killed")
        return first, plan.seq


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.parametrize("execute", ["ask", "allow"])
@pytest.mark.parametrize("review", ["each", "end", "auto"])
@pytest.mark.parametrize("job", [LITERAL, OBEDIENT], ids=["literal", "obedient model"])
async def test_killed_at_every_event_each_effect_happens_once(
    tmp_path: Path, job: Job, review: Review, execute: str
) -> None:
    """Assert after a crash at any point: nothing is lost or done twice, and the final summary is true."""
    settings = {"execution.review": review, "approvals.execute": execute}
    (tmp_path / "first").mkdir()
    first, last = await events_of_a_run(tmp_path / "first", job, settings)
    for number in points(range(first, last + 1), 6, len(review + execute)):
        for written in (False, True) if job is LITERAL else (True,):
            folder = tmp_path / f"{number}-{written}"
            folder.mkdir()
            await killed_and_resumed(folder, number, job, settings, written=written)


async def killed_and_resumed(
    folder: Path, number: int, job: Job, settings: Mapping[str, Any], *, written: bool
) -> None:
    """Kill the server at one event, and let the next server finish the plan."""
    ledger = DyingLedger(folder / "l.db", number, written=written)
    before = Studio(folder, FILES, settings=settings, ledger=ledger)
    await killed(before, ledger, job)
    after = restarted(before, folder / "l.db", settings, job)
    try:
        (plan,) = after.app.plans.list(None, (), None, True)
        where = f"killed at event {number}, written={written}"
        proved(after, await finished(after, plan), job, where)
    finally:
        await after.app.close()
        shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.parametrize("review", ["each", "end", "auto"])
@pytest.mark.parametrize("job", [LITERAL, OBEDIENT], ids=["literal", "obedient model"])
async def test_paused_at_every_event_each_effect_happens_once(
    tmp_path: Path, job: Job, review: Review
) -> None:
    settings = {"execution.review": review}
    (tmp_path / "first").mkdir()
    first, last = await events_of_a_run(tmp_path / "first", job, settings)
    for number in points(range(first, last), 5, len(review)):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        async with studio(folder, FILES, settings=settings) as at:
            plan = await begun(at, job)
            pauses: list[asyncio.Task[object]] = []
            at.app.feed.subscribe(partial(_paused_at, at, number, pauses))
            await at.app.plans.approve(plan.plan_id, plan.version, None)
            proved(at, await finished(at, plan), job, f"paused at event {number}")
            await asyncio.gather(*pauses, return_exceptions=True)


def _paused_at(
    at: Studio, number: int, pauses: list[asyncio.Task[object]], recorded: ev.Recorded, _: Plan
) -> None:
    if recorded.seq == number:
        pauses.append(asyncio.create_task(at.app.plans.pause(recorded.plan_id)))


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.parametrize("review", ["each", "end", "auto"])
async def test_killed_twice_each_effect_happens_once(tmp_path: Path, review: Review) -> None:
    """The second server crashes, too, a few events after it has resumed."""
    settings = {"execution.review": review}
    (tmp_path / "first").mkdir()
    first, last = await events_of_a_run(tmp_path / "first", OBEDIENT, settings)
    for number in points(range(first, last, 2), 6, len(review)):
        for more in (3, 6, 9):
            folder = tmp_path / f"{number}-{more}"
            folder.mkdir()
            ledger = DyingLedger(folder / "l.db", number)
            before = Studio(folder, FILES, settings=settings, ledger=ledger)
            await killed(before, ledger, OBEDIENT)
            second = DyingLedger(folder / "l.db", more)
            between = before
            with suppress(Crash):
                between = restarted(before, second, settings, OBEDIENT)
                (plan,) = between.app.plans.list(None, (), None, True)
                await killed(between, second, OBEDIENT, plan)
            second.release()
            after = restarted(between, folder / "l.db", settings, OBEDIENT)
            try:
                (plan,) = after.app.plans.list(None, (), None, True)
                plan = await finished(after, plan)
                proved(after, plan, OBEDIENT, f"killed at {number} and {more} later")
            finally:
                await after.app.close()
                shutil.rmtree(folder)


@pytest.mark.parametrize("made", [True, False], ids=["after the editor's part", "before it"])
@pytest.mark.parametrize("review", ["each", "end", "auto"])
@pytest.mark.parametrize("job", [LITERAL, OBEDIENT], ids=["literal", "obedient model"])
async def test_killed_between_the_editors_part_and_the_servers(
    tmp_path: Path, job: Job, review: Review, made: bool
) -> None:
    """Files already changed are recorded as such and can be reverted; the others are changed after the restart."""
    settings = {"execution.review": review, "approvals.execute": "allow"}
    ledger = DyingLedger(tmp_path / "l.db")
    before = Studio(tmp_path, FILES, settings=settings, ledger=ledger)

    before.editor.script.append(After(ledger.die) if made else Before(ledger.die))
    await killed(before, ledger, job)
    assert before.text("a.txt") == ("one\ntwo INS\nthree\n" if made else FILES["a.txt"])
    after = restarted(before, tmp_path / "l.db", settings, job)
    try:
        (plan,) = after.app.plans.list(None, (), None, True)
        await after.app._ownership.reconcile_adopted()
        plan = after.now(plan)
        states = [edit.state for edit in plan.edits]
        assert states == (["applied"] if made else ["rejected"])
        told = [
            recorded.event.reason for recorded in after.events if isinstance(recorded.event, ev.EditRejected)
        ]
        if made:
            assert all("a.txt: made" in reason for reason in told)
        else:
            assert told == ["The server ended before the edit was made."]
        plan = await finished(after, plan)
        proved(after, plan, job, "half made")
        await after.app.plans.undo(plan.plan_id, None, False)
        assert after.text("a.txt") == FILES["a.txt"] and not after.path("made").exists()
    finally:
        await after.app.close()


@pytest.mark.parametrize("known", ["ours", "untrusted", "imported"])
@pytest.mark.parametrize("review", ["each", "end", "auto"])
async def test_a_new_file_that_was_left_empty_gets_its_text_at_the_restart(
    tmp_path: Path, review: Review, known: str
) -> None:
    """The editor has created it, and died with the server before it had the text.

    Nothing is written where the folder is not trusted, nor for a plan of another machine.
    """
    settings = {"execution.review": review}
    job = Job('1. Create file in/new.txt with content "whole"\n2. Create folder made')
    ledger = DyingLedger(tmp_path / "l.db")
    before = Studio(tmp_path, settings=settings, ledger=ledger)

    def half() -> None:
        before.path("in").mkdir()
        before.path("in/new.txt").touch()
        ledger.die()

    before.editor.script.append(Before(half))
    await killed(before, ledger, job)
    after = restarted(before, tmp_path / "l.db", settings, job)
    try:
        after.app.set_trusted(known == "ours")
        (plan,) = after.app.plans.list(None, (), None, True)
        if known == "imported":
            plan = after.now(plan)
            plan = plan.model_copy(update={"made_elsewhere": frozenset(edit.edit_id for edit in plan.edits)})
            plan = await reconcile_intents(after.app._plan_store, after.view, plan)
        else:
            await after.app._ownership.reconcile_adopted()
            plan = after.now(plan)
        assert after.path("in/new.txt").read_text() == ("whole" if known == "ours" else "")
        made = [file.uri for file in plan.edits[0].files]
        assert (after.uri("in/new.txt") in made) == (known == "ours")
        if known == "ours":
            plan = await finished(after, plan)
            assert plan.status == "completed" and after.path("made").is_dir()
            await after.app.plans.undo(plan.plan_id, None, False)
            assert not after.path("in").exists()
    finally:
        await after.app.close()


@pytest.mark.parametrize("review", ["each", "end", "auto"])
async def test_where_the_text_does_not_tell_a_person_is_asked_and_told_why(
    tmp_path: Path, review: Review
) -> None:
    """The user typed into the same line while the server was down."""
    settings = {"execution.review": review}
    job = Job('1. Replace "two" with "two\\nINS" in a.txt\n2. Create folder made'.replace("\\n", "\n"))
    ledger = DyingLedger(tmp_path / "l.db")
    before = Studio(tmp_path, FILES, settings=settings, ledger=ledger)

    before.editor.script.append(After(ledger.die))
    await killed(before, ledger, job)
    before.editor.replace(before.path("a.txt"), "INS", "INS and mine")
    after = restarted(before, tmp_path / "l.db", settings, job)
    try:
        (plan,) = after.app.plans.list(None, (), None, True)
        await after.app._ownership.reconcile_adopted()
        await after.app.plans.resume(plan.plan_id)
        plan = await after.until(plan, lambda now: bool(now.pending.approvals))
        approval = plan.pending.approvals[0]
        assert any(file.uri == after.uri("a.txt") for file in approval.files)
        assert "does not show whether the change was made" in (approval.warning or "")
        assert after.text("a.txt") == "one\ntwo\nINS and mine\nthree\n"
        plan = await after.respond(plan, "deny")
        while plan.pending.approvals:
            plan = await after.respond(plan)
        assert plan.steps[0].status == "skipped"
        assert after.text("a.txt") == "one\ntwo\nINS and mine\nthree\n"
    finally:
        await after.app.close()


@pytest.mark.parametrize(
    ("typed", "state"),
    [(("one", "one and mine"), "applied"), (("three", "three and mine"), "applied")],
)
async def test_typing_beside_the_change_does_not_hide_that_it_was_made(
    tmp_path: Path, typed: tuple[str, str], state: str
) -> None:
    settings = {"execution.review": "auto"}
    job = Job('1. Replace "two" with "TWO" in a.txt\n2. Create folder made')
    for made in (True, False):
        folder = tmp_path / str(made)
        folder.mkdir()
        ledger = DyingLedger(folder / "l.db")
        lines = {"a.txt": "one\n\n\ntwo\n\n\nthree\n"}
        before = Studio(folder, lines, settings=settings, ledger=ledger)
        before.editor.open(before.path("a.txt"))

        before.editor.script.append(After(ledger.die) if made else Before(ledger.die))
        await killed(before, ledger, job)
        before.editor.replace(before.path("a.txt"), *typed)
        after = restarted(before, folder / "l.db", settings, job)
        try:
            (plan,) = after.app.plans.list(None, (), None, True)
            plan = await finished(after, plan)
            assert plan.status == "completed" and "approval_request" not in after.types()
            assert plan.edits[0].state == (state if made else "rejected")
            assert after.text("a.txt") == lines["a.txt"].replace("two", "TWO").replace(*typed)
        finally:
            await after.app.close()


async def test_an_edit_that_was_made_but_not_recorded_is_not_made_again(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}, ledger=tmp_path / "l.db") as at:
        plan = await at.respond(await at.approve(await at.ask(EDIT)))
    history = PlanStore(Ledger(tmp_path / "l.db")).history(plan.plan_id)
    applied = next(recorded.seq for recorded, _ in history if recorded.event.type == "edit_applied")
    cut_back(tmp_path / "l.db", applied - 1, "executing")
    async with studio(tmp_path, ledger=tmp_path / "l.db") as at:
        at.editor.open(at.path("a.txt"), "new\n")
        await at.app._ownership.reconcile_adopted()
        found = at.now(plan)
        assert found.edits[0].state == "applied"
        found = await finished(at, found)
        assert found.status == "completed"
        assert [edit.files[0].uri for edit in found.edits] == [at.uri("a.txt"), at.uri("b.txt")]


@pytest.mark.parametrize("together", [False, True])
async def test_an_undo_whose_server_died_after_the_editor_leaves_no_empty_folder(
    tmp_path: Path, together: bool
) -> None:
    job = Job('1. Create file new/a.txt with content "A"\n2. Create file new/b.txt with content "B"')
    settings = {"execution.review": "auto"}
    ledger = DyingLedger(tmp_path / "l.db")
    before = Studio(tmp_path, {}, settings=settings, ledger=ledger)
    plan = await finished(before, await before.approve(await begun(before, job)))
    if not together:
        await before.app.plans.undo(plan.plan_id, plan.steps[0].step_id, redo=False)
    before.editor.script.append(After(ledger.die))
    with suppress(Crash):
        await before.app.plans.undo(plan.plan_id, None, redo=False)
    await before.app._jobs.stop("")
    ledger.release()
    after = restarted(before, tmp_path / "l.db", settings, job)
    try:
        with nullcontext() if together else pytest.raises(WrongState, match="nothing to take back"):
            await after.app.plans.undo(plan.plan_id, None, redo=False)
        assert tree(after.folder) == {}
    finally:
        await after.app.close()


async def test_a_first_draft_that_is_cut_off_is_paused_and_drafted_anew_on_a_resume(tmp_path: Path) -> None:
    ledger = tmp_path / "plans.sqlite"
    async with studio(tmp_path, FILES, ledger=ledger, model=ScriptedModel([fails("hang")])) as at:
        request = CreateRequest(text="Say hello in all the files", mode="plan")
        plan = (await at.app.plans.create(request)).plan
    step = {"id": "one", "description": "Say it", "instruction": "Say hello."}
    model = ScriptedModel([makes(("submit_plan", {"summary": "Hello.", "steps": [step]}), repeat=True)])
    async with studio(tmp_path, ledger=Ledger(ledger), model=model) as after:
        plan = await after.until(plan, lambda now: now.status != "draft")
        assert (plan.status, plan.pause_reason) == ("paused", "restart")
        assert plan.pause_detail == "The server ended while the plan was being drafted."
        await after.app.plans.resume(plan.plan_id)
        plan = await after.until(plan, lambda now: now.status == "pending_approval")
        assert [step.description for step in plan.steps] == ["Say it"]
