"""A ledger that fails stops what it cannot record, says so, and lets nothing happen twice."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

from planloom.domain.errors import PlanloomError, StorageFailed
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.storage.ledger import Ledger
from tests.depth import points
from tests.support.ledgers import Faults, Kind
from tests.support.studio import Studio, studio

REQUEST = """1. Replace "old" with "old new" in a.txt
2. Run `echo once >> log.txt`
3. Create file b.txt with content "b\""""
BEGINNING = {"a.txt": "old\n"}
SETTINGS = {
    "execution.review": "auto",
    "approvals.write": "allow",
    "approvals.execute": "allow",
    "edits.save": "always",
}


async def used(at: Studio) -> None:
    """Act as the user until the ledger fails."""
    try:
        await at.run(REQUEST)
    except (PlanloomError, AssertionError, TimeoutError):
        return


async def stopped(at: Studio) -> None:
    """Wait until no job of a plan runs."""
    for prefix in ("let-go:", "draft:", "conduct:", "step:"):
        await at.app._jobs.join(prefix)


async def finished(at: Studio) -> Plan | None:
    """Act as the user after the fault: resume and allow until the plan has ended."""
    await at.app._ownership.renew_leases()
    found = at.app.plans.list(None, (), None, True)
    if not found:
        return None
    plan = at.app.plans.get(found[0].plan_id, None)
    async with asyncio.timeout(20):
        while plan is not None and plan.status not in ("completed", "failed", "cancelled"):
            if plan.pending.approvals:
                plan = await at.respond(plan)
            elif plan.status == "pending_approval":
                plan = await at.approve(plan)
            elif plan.status == "paused":
                assert plan.pause_reason in ("storage", "restart", "unsaved_files"), plan.pause_reason
                await at.app.plans.resume(plan.plan_id)
                plan = await at.reach(plan, "attention")
            else:
                plan = await at.reach(plan, "attention")
    return plan


def contents(at: Studio) -> dict[str, str]:
    return {
        name: at.text(name) if name != "log.txt" else at.path(name).read_text()
        for name in ("a.txt", "b.txt", "log.txt")
        if at.path(name).exists()
    }


WHOLE = {"a.txt": "old new\n", "b.txt": "b", "log.txt": "once\n"}


async def failed_at(
    folder: Path, kind: Kind, when: Literal["begin", "commit", "statement"], number: int, *, restart: bool
) -> bool:
    """Run a plan whose ledger fails at its n-th transaction or statement. False if the run ended before that."""
    folder.mkdir()  # noqa: ASYNC240
    faults = Faults(kind, number, when, folder / "failing" if when == "statement" else None)
    at = Studio(folder, BEGINNING, settings=SETTINGS, ledger=faults.ledger(folder / "l.db"))
    where = f"{kind} at {when} of transaction {number}, restart={restart}"
    try:
        user = asyncio.ensure_future(used(at))
        failed = asyncio.ensure_future(faults.failed.wait())
        await asyncio.wait({user, failed}, return_when=asyncio.FIRST_COMPLETED)
        await stopped(at)
        for task in (user, failed):
            task.cancel()
        await asyncio.wait({user, failed})
        if not faults.broken or (at.events and at.events[-1].event.type == "plan_completed"):
            # There was nothing left to be written.
            assert contents(at) == WHOLE
            return False
        shown = [message for level, message in at.notices if level == "error"]
        assert len(shown) == 1 and str(folder) in shown[0], where
        assert at.app.status().health == "degraded" and at.app.status().problems == (shown[0],), where
        with closing(sqlite3.connect(folder / "l.db")) as raw:
            kept = raw.execute("SELECT count(*) FROM events").fetchone()[0]
        assert kept == len(at.events), f"{where}: told and kept are the same"
        if not restart:
            faults.mend()
            plan = await finished(at)
            assert at.app.status().health == "ok", where
            assert [recorded.seq for recorded in at.events] == list(range(1, len(at.events) + 1)), where
            check(at, plan, where)
    finally:
        await at.app.close()
    if restart:
        with closing(sqlite3.connect(folder / "l.db")) as raw, raw:
            # A lease that could not be given back holds for as long as its process lives, which here is the test's.
            raw.execute("DELETE FROM leases")
        async with studio(folder, settings=SETTINGS, ledger=folder / "l.db") as again:
            check(again, await finished(again), where)
    return True


def check(at: Studio, plan: Plan | None, where: str) -> None:
    """Nothing was done twice; a plan that ended well has done everything."""
    now = contents(at)
    assert not list(at.folder.glob(".planloom*")), where
    if plan is None or plan.status == "failed":
        # The request itself, or its draft, was not recorded: nothing has happened.
        assert now == BEGINNING, where
        return
    assert plan.status == "completed", where
    log = now.pop("log.txt")
    assert now == {"a.txt": "old new\n", "b.txt": "b"}, where
    # A command whose end is not known is asked for again, which this person has allowed.
    asked = [event for event in at.events if isinstance(event.event, ev.ApprovalRequested)]
    assert log == "once\n" or (log == "once\nonce\n" and asked), where


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.parametrize("kind", get_args(Kind))
async def test_a_fault_at_any_write_of_a_run_loses_nothing_and_does_nothing_twice(
    tmp_path: Path, kind: Kind
) -> None:
    """Every write fails once, before or after it is made, with or without a restart."""
    over = False
    for number in points(range(1, 200), 7, len(kind)):
        when: Literal["begin", "commit"] = "begin" if number % 4 < 2 else "commit"
        restart = number % 3 == 0
        over = not await failed_at(tmp_path / str(number), kind, when, number, restart=restart)
        if over:
            break
    assert over


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.timeout(600)
@pytest.mark.parametrize("restart", [False, True])
async def test_an_io_error_at_every_single_statement_of_a_run(tmp_path: Path, *, restart: bool) -> None:
    for number in points(range(1, 2_000), 15, 7 * restart):
        if not await failed_at(tmp_path / str(number), "io", "statement", number, restart=restart):
            break
    assert 100 < number < 1_900


@pytest.mark.parametrize("kind", get_args(Kind))
@pytest.mark.parametrize("number", [10, 15, 21])
async def test_a_fault_in_the_middle_of_a_run_loses_nothing_and_does_nothing_twice(
    tmp_path: Path, kind: Kind, number: int
) -> None:
    assert await failed_at(tmp_path / "once", kind, "commit", number, restart=number == 15)


async def test_a_ledger_that_is_locked_is_waited_for_while_everything_else_is_answered(
    tmp_path: Path,
) -> None:
    async with studio(
        tmp_path, BEGINNING, settings=SETTINGS, ledger=Ledger(tmp_path / "l.db", patience=60)
    ) as at:
        plan = await at.ask(REQUEST)
        with locked(tmp_path / "l.db"):
            approving = asyncio.ensure_future(at.app.plans.approve(plan.plan_id, plan.version, None))
            for _ in range(20):
                await asyncio.sleep(0)
            assert at.now(plan).status == "pending_approval" and not approving.done()
            assert at.app.status().health == "ok"
            assert [each.plan_id for each in at.app.plans.list(None, (), None, True)] == [plan.plan_id]
        await approving
        assert (await at.reach(plan, "ended")).status == "completed" and contents(at) == WHOLE
        assert at.notices == []


async def test_a_lock_that_stays_is_told_and_nothing_is_done(tmp_path: Path) -> None:
    async with studio(
        tmp_path, BEGINNING, settings=SETTINGS, ledger=Ledger(tmp_path / "l.db", patience=0)
    ) as at:
        plan = await at.ask(REQUEST)
        with locked(tmp_path / "l.db"):
            with pytest.raises(StorageFailed) as error:
                await at.app.plans.approve(plan.plan_id, plan.version, None)
            assert "locked" in error.value.message
            # The leases are looked after all the same, again and again.
            await at.app._ownership.renew_leases()
            assert [level for level, _ in at.notices] == ["error"]
            assert at.now(plan) == plan
        await at.app._ownership.renew_leases()
        assert at.app.status().health == "ok" and at.notices[-1][0] == "info"
        assert (await at.approve(plan)).status == "completed"


async def test_a_running_plan_waits_for_a_lock_too(tmp_path: Path) -> None:
    async with studio(tmp_path, BEGINNING, ledger=Ledger(tmp_path / "l.db", patience=60)) as at:
        plan = await at.approve(await at.ask('1. Replace "old" with "new" in a.txt\n2. List files'))
        held: list[Any] = []

        def lock(recorded: ev.Recorded, _: Plan) -> None:
            if isinstance(recorded.event, ev.ApprovalResolved):
                other = locked(tmp_path / "l.db")
                other.__enter__()
                held.append(other)
                asyncio.get_running_loop().call_later(0.4, other.__exit__, None, None, None)

        at.app.feed.subscribe(lock)
        plan = await at.respond(plan)
        assert held and plan.status == "completed" and at.text("a.txt") == "new\n" and at.notices == []


def locked(path: Path) -> Any:
    """Another program that holds the write lock of the ledger."""
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("BEGIN IMMEDIATE")
    return closing(raw)


def deleted(path: Path) -> None:
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink()


def damaged(path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))


@pytest.mark.parametrize("spoil", [deleted, damaged])
async def test_a_ledger_that_is_gone_stops_its_plans_and_new_ones_are_kept_in_memory(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    async with studio(tmp_path, BEGINNING, ledger=tmp_path / "l.db") as at:
        plan = await at.approve(await at.ask('1. Replace "old" with "new" in a.txt\n2. List files'))
        spoil(tmp_path / "l.db")
        with pytest.raises(StorageFailed):
            await at.app.approvals.respond(plan.pending.approvals[0].approval_id, "allow", None, None)
        await stopped(at)
        assert at.text("a.txt") == "old\n"
        assert len([level for level, _ in at.notices if level == "error"]) == 1
        assert "memory only" in at.notices[0][1] and at.app.status().problems == (at.notices[0][1],)
        with pytest.raises(StorageFailed):
            await at.app.plans.resume(plan.plan_id)
        assert at.now(plan).plan_id == plan.plan_id, "what was known of it can still be read"
        fresh = await at.run('1. Create file c.txt with content "c"\n2. List files')
        assert fresh.status == "completed" and at.text("c.txt") == "c"
        assert at.app.plans.list(None, (), None, True)[0].plan_id == fresh.plan_id
        before = len(at.notices)
        await at.app._ownership.renew_leases()
        assert len(at.notices) == before


@pytest.mark.parametrize("spoil", [deleted, damaged])
async def test_who_waits_for_a_plan_whose_ledger_is_gone_hears_the_reason_though_nothing_is_written(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    async with studio(tmp_path, BEGINNING, settings=SETTINGS, ledger=tmp_path / "l.db") as at:
        plan = await at.ask("1. Run `until [ -e go ]; do sleep 0.1; done`\n2. List files")
        await at.app.plans.approve(plan.plan_id, plan.version, None)
        await at.until(plan, lambda now: now.steps[0].status == "running")
        waiting = asyncio.ensure_future(at.app.plans.wait(plan.plan_id, "ended", None))
        await asyncio.sleep(0)
        spoil(tmp_path / "l.db")
        # The command still runs: only the leases touch the ledger.
        await at.app._ownership.renew_leases()
        for wait in (waiting, at.app.plans.wait(plan.plan_id, "ended", None)):
            with pytest.raises(StorageFailed) as error:
                await wait
            assert error.value.message == at.app.status().problems[0]
        await stopped(at)
        assert at.app._jobs.names(f"step:{plan.plan_id}") == ()


async def test_who_waits_for_a_plan_that_a_full_disk_has_stopped_hears_that_and_may_wait_again_later(
    tmp_path: Path,
) -> None:
    faults = Faults("full", 10**9)
    async with studio(tmp_path, BEGINNING, ledger=faults.ledger(tmp_path / "l.db")) as at:
        plan = await at.approve(await at.ask('1. Replace "old" with "new" in a.txt\n2. List files'))
        waiting = asyncio.ensure_future(at.app.plans.wait(plan.plan_id, "ended", None))
        faults.at = 0
        with pytest.raises(StorageFailed):
            await at.app.approvals.respond(plan.pending.approvals[0].approval_id, "allow", None, None)
        with pytest.raises(StorageFailed):
            await waiting
        faults.mend()
        await at.app._ownership.renew_leases()
        _, reached = await at.app.plans.wait(plan.plan_id, "attention", None)
        assert reached and at.now(plan).pause_reason == "storage"
        assert await at.app.plans.wait(plan.plan_id, "ended", 0) == (at.now(plan), False)


async def test_a_plan_that_another_server_has_taken_is_stopped_here_and_that_is_said(tmp_path: Path) -> None:
    async with studio(tmp_path, BEGINNING, ledger=tmp_path / "l.db") as at:
        plan = await at.approve(await at.ask('1. Replace "old" with "new" in a.txt\n2. List files'))
        with closing(sqlite3.connect(tmp_path / "l.db")) as raw, raw:
            raw.execute("UPDATE leases SET owner = 'another'")
        with pytest.raises(PlanloomError) as error:
            await at.app.approvals.respond(plan.pending.approvals[0].approval_id, "allow", None, None)
        await stopped(at)
        assert error.value.code == "owned_elsewhere" and at.text("a.txt") == "old\n"
        assert [level for level, _ in at.notices] == ["warning"] and "UNIQUE" not in at.notices[0][1]
        assert at.app.status().active == ()


async def test_a_deleted_template_or_plan_that_cannot_be_deleted_says_so(tmp_path: Path) -> None:
    faults = Faults("read_only", 10**9)
    async with studio(tmp_path, BEGINNING, ledger=faults.ledger(tmp_path / "l.db")) as at:
        plan = await at.run("1. List files\n2. List files")
        kept = await at.app.templates.save(plan.plan_id, "mine", None, ())
        faults.at = 0
        for act in (at.app.templates.delete(kept.template_id), at.app.plans.delete(plan.plan_id)):
            with pytest.raises(StorageFailed):
                await act
        assert at.now(plan) == plan and kept in at.app.templates.list()


@pytest.mark.parametrize("days", [3, 400])
async def test_a_clock_that_is_set_back_by_days_in_the_middle_of_a_plan_changes_nothing_else(
    tmp_path: Path, days: int
) -> None:
    async with studio(tmp_path, BEGINNING, settings=SETTINGS, ledger=tmp_path / "l.db") as at:
        first = await at.run("1. List files\n2. List files")
        plan = await at.ask(REQUEST)
        before = at.app._plan_store.clock
        at.app._plan_store.clock = at.app._session.clock = lambda: before() - timedelta(days=days)
        plan = await at.approve(plan)
        assert plan.status == "completed" and contents(at) == WHOLE
        assert all(step.result is None or (step.result.duration_ms or 0) >= 0 for step in plan.steps)
        await at.app._ownership.renew_leases()
        await at.app.upkeep.round()
        listed = [each.plan_id for each in at.app.plans.list(None, (), None, True)]
        assert listed == [plan.plan_id, first.plan_id]
    async with studio(tmp_path, settings=SETTINGS, ledger=tmp_path / "l.db") as again:
        assert again.now(plan) == plan
        await again.app.plans.undo(plan.plan_id, None, False)
        assert again.text("a.txt") == "old\n"
