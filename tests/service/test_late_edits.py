"""An edit that the editor makes after the server gave it up is found, claimed, and never made twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from planloom.domain.plans.plan import ENDED, Plan
from planloom.domain.values import StepId
from planloom.workspace.editor import EditorCapabilities
from tests.support.fake_editor import EVERYTHING, Closed, Hang
from tests.support.studio import Studio, studio

TEXT = "one\ntwo\nthree\n"
MADE = "one\ntwo\nINS\nthree\n"
INSERT = '1. Replace "two" with "two\nINS" in a.txt'
UNASKED = {"execution.review": "auto"}
VERSIONLESS = EVERYTHING._replace(document_changes=False, rename_files=False, delete_files=False)


class Client(NamedTuple):
    """What an editor can do, whether the file is open in it, and what it does with edits of closed files."""

    can: EditorCapabilities = EVERYTHING
    opened: bool = False
    closed: Closed = "open"


CLIENTS = {
    "open": Client(opened=True),
    "opens": Client(),
    "writes": Client(closed="disk"),
    "versionless open": Client(VERSIONLESS, opened=True),
    "versionless opens": Client(VERSIONLESS),
    "versionless writes": Client(VERSIONLESS, closed="disk"),
}
every_client = pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS.keys())


@asynccontextmanager
async def given_up(
    folder: Path, client: Client, hang: Hang, text: str = INSERT, ledger: Path | None = None
) -> AsyncIterator[tuple[Studio, Plan]]:
    """A studio whose editor hangs on the first edit of a plan, and the plan when the edit was given up."""
    files = {"a.txt": TEXT}
    async with studio(
        folder, files, settings=UNASKED, capabilities=client.can, script=[hang], ledger=ledger
    ) as at:
        at.editor.closed = client.closed
        if client.opened:
            at.editor.open(at.path("a.txt"))
        plan = await at.run(text)
        assert (plan.pause_reason, plan.steps[0].status) == ("recovery", "failed")
        assert plan.steps[0].in_doubt == (at.uri("a.txt"),)
        yield at, plan


async def retried(at: Studio, plan: Plan) -> Plan:
    """The plan when its failed step was retried, and a person is asked or the plan has ended."""
    await at.app.steps.recover(plan.plan_id, StepId("step_1"), "retry", None)
    return await at.until(
        plan,
        lambda now: now.status in ENDED or bool(now.pending.approvals) or bool(now.pending.recoveries),
    )


async def done_once(at: Studio, plan: Plan, *, sent: int) -> None:
    """The change is there once, the plan says so, and one undo takes it back."""
    assert at.text("a.txt") == MADE
    assert len(at.editor.received) == sent
    assert (plan.status, plan.pending.approvals) == ("completed", ())
    assert at.types().count("edit_applied") == 1
    assert (await at.app.plans.undo(plan.plan_id, None, False)).conflicts == ()
    assert at.text("a.txt") == TEXT


@every_client
@pytest.mark.parametrize("answers", [True, False], ids=["answered", "unanswered"])
async def test_an_edit_made_late_is_claimed_and_its_retry_makes_nothing(
    tmp_path: Path, client: Client, answers: bool
) -> None:
    async with given_up(tmp_path, client, Hang()) as (at, plan):
        at.editor.wake(answers=answers)
        await done_once(at, await retried(at, plan), sent=1)


@every_client
async def test_a_retry_waits_for_the_edit_that_is_out(tmp_path: Path, client: Client) -> None:
    async with given_up(tmp_path, client, Hang(waited=10)) as (at, plan):
        await at.app.steps.recover(plan.plan_id, StepId("step_1"), "retry", None)
        await at.until(plan, lambda now: now.steps[0].status == "running")
        at.editor.wake()
        await done_once(at, await at.reach(plan, "attention"), sent=1)


@every_client
async def test_an_edit_that_was_not_made_is_made_by_the_retry_without_a_question(
    tmp_path: Path, client: Client
) -> None:
    async with given_up(tmp_path, client, Hang()) as (at, plan):
        at.editor.wake(makes=False)
        await at.until(plan, lambda now: not now.steps[0].is_doubtful)
        await done_once(at, await retried(at, plan), sent=2)


async def test_an_edit_of_a_version_is_sent_again_since_only_one_of_both_can_be_made(tmp_path: Path) -> None:
    async with given_up(tmp_path, CLIENTS["open"], Hang()) as (at, failed):
        plan = await retried(at, failed)
        at.editor.wake()
        await done_once(at, plan, sent=2)


async def test_both_given_up_are_claimed_as_one(tmp_path: Path) -> None:
    async with given_up(tmp_path, CLIENTS["open"], Hang()) as (at, failed):
        at.editor.script.append(Hang())
        plan = await retried(at, failed)
        assert plan.steps[0].status == "failed"
        at.editor.wake()
        await done_once(at, await retried(at, plan), sent=2)


@pytest.mark.parametrize("name", ["opens", "writes"])
async def test_nothing_is_sent_over_an_edit_without_a_version(tmp_path: Path, name: str) -> None:
    async with given_up(tmp_path, CLIENTS[name], Hang()) as (at, failed):
        plan = await retried(at, failed)
        assert plan.steps[0].status == "failed" and len(at.editor.received) == 1
        assert "open the file" in plan.pending.recoveries[0].error
        at.editor.wake()
        await done_once(at, await retried(at, plan), sent=1)


@pytest.mark.parametrize("makes", [True, False])
async def test_a_rename_that_is_out_is_made_once(tmp_path: Path, makes: bool) -> None:
    async with studio(tmp_path, {"a.txt": TEXT}, settings=UNASKED, script=[Hang()]) as at:
        failed = await at.run("1. Rename a.txt to b.txt")
        plan = await retried(at, failed)
        at.editor.wake(makes=makes)
        plan = await at.respond(plan) if plan.pending.approvals else plan
        assert plan.status == "completed" and len(at.editor.received) == (1 if makes else 2)
        assert not at.path("a.txt").exists() and at.text("b.txt") == TEXT


async def test_opening_the_file_lets_the_edit_be_sent_again_with_a_version(tmp_path: Path) -> None:
    async with given_up(tmp_path, CLIENTS["opens"], Hang()) as (at, failed):
        at.editor.open(at.path("a.txt"))
        at.editor.script.append(Hang())
        plan = await retried(at, failed)
        # The first of the two could be made on any text, so a person is asked.
        assert "may still make it" in (plan.pending.approvals[0].warning or "")
        plan = await at.respond(plan)
        at.editor.wake()
        await done_once(at, await retried(at, plan), sent=2)


@pytest.mark.parametrize("name", ["versionless open", "versionless opens", "versionless writes"])
async def test_a_person_decides_where_the_client_has_no_versions(tmp_path: Path, name: str) -> None:
    async with given_up(tmp_path, CLIENTS[name], Hang()) as (at, failed):
        plan = await retried(at, failed)
        assert len(at.editor.received) == 1
        assert "may still make it" in (plan.pending.approvals[0].warning or "")
        # It makes the edit while the question is open: then allowing it makes nothing.
        at.editor.wake()
        await done_once(at, await at.respond(plan), sent=1)


async def test_another_plan_waits_for_the_file_too(tmp_path: Path) -> None:
    async with given_up(tmp_path, CLIENTS["opens"], Hang()) as (at, _):
        other = await at.run('1. Replace "three" with "THREE" in a.txt')
        assert "may still make it" in other.pending.recoveries[0].error
        at.editor.wake()
        assert (await retried(at, other)).status == "completed"
        assert at.text("a.txt") == MADE.replace("three", "THREE")


@pytest.mark.slow
async def test_a_late_yes_without_the_change_is_not_believed(tmp_path: Path) -> None:
    async with given_up(tmp_path, CLIENTS["open"], Hang()) as (at, plan):
        at.editor.wake(makes=False, says=True)
        at.editor.type(at.path("a.txt"), 0, 0, "mine\n")
        at.editor.type(at.path("a.txt"), 0, 5, "")
        await done_once(at, await retried(at, plan), sent=2)


async def test_the_undo_of_a_plan_takes_a_late_edit_along(tmp_path: Path) -> None:
    async with given_up(tmp_path, CLIENTS["writes"], Hang()) as (at, plan):
        at.editor.wake(answers=False)
        await at.app.plans.cancel(plan.plan_id)
        await at.until(plan, lambda now: now.status == "cancelled")
        await at.app.plans.undo(plan.plan_id, None, False)
        assert at.text("a.txt") == TEXT


@pytest.mark.parametrize("made", [True, False])
async def test_a_restart_looks_again_at_what_was_in_doubt(tmp_path: Path, made: bool) -> None:
    ledger = tmp_path / "ledger.db"
    async with given_up(tmp_path, CLIENTS["writes"], Hang(), ledger=ledger) as (before, failed):
        pass
    before.editor.wake(makes=made)
    async with studio(tmp_path, settings=UNASKED, ledger=ledger) as at:
        plan = await retried(at, failed)
        assert (plan.status, plan.pending.approvals) == ("completed", ())
        assert at.text("a.txt") == MADE
        assert len(at.editor.received) == (0 if made else 1)
