"""Lists of plans: served from the ledger's summaries, in the order of creation."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from planloom.domain.plans.plan import Plan, summary
from planloom.domain.values import PlanId
from planloom.execution.plan_store import PlanStore
from planloom.service.requests import CreateRequest
from planloom.storage.ledger import Ledger
from planloom.view.plan_view import view
from planloom.view.states import Around, summary_state
from planloom.view.words import Words
from tests.support.ledgers import as_of_version, cut_back
from tests.support.studio import Studio, studio

READS = "1. List files\n2. List files"


class Reads:
    """Counts how often the events of a plan are read."""

    def __init__(self, path: Path) -> None:
        self.count = 0
        self.ledger = Ledger(path)
        events = self.ledger.events

        def counted(plan_id: PlanId, after: int = 0, limit: int | None = None) -> object:
            self.count += 1
            return events(plan_id, after, limit)

        self.ledger.events = counted  # type: ignore[assignment, method-assign]


async def test_a_list_reads_no_events_and_says_what_the_plans_say(tmp_path: Path) -> None:
    async with studio(tmp_path, ledger=tmp_path / "l.db") as at:
        plans = [
            await at.run(READS),
            await at.ask(READS),
            await at.approve(await at.ask("1. Explain\n2. Draw")),
        ]
    reads = Reads(tmp_path / "l.db")
    async with studio(tmp_path, ledger=reads.ledger) as at:
        reads.count = 0
        for _ in range(2):
            assert at.app.plans.list(None, (), None, False) == tuple(map(summary, reversed(plans)))
        assert reads.count == 0
        for _ in range(3):
            assert at.now(plans[0]) == plans[0]
        assert reads.count == 1


async def test_a_plan_that_moved_is_read_once_more(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}, ledger=tmp_path / "l.db") as at:
        plan = await at.run('1. Replace "old" with "new" in a.txt\n2. List files')
        other = Studio(tmp_path, ledger=tmp_path / "l.db")
        try:
            assert other.now(plan) == plan
            undone = await at.app.plans.undo(plan.plan_id, None, False)
            assert other.now(plan) == undone.plan
        finally:
            await other.app.close()


async def test_a_running_plan_of_another_server_is_listed_as_it_is(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}, ledger=tmp_path / "l.db") as at:
        plan = await at.approve(await at.ask('1. Replace "old" with "new" in a.txt\n2. List files'))
        other = Studio(tmp_path, ledger=tmp_path / "l.db")
        try:
            assert other.app.plans.list(None, (), None, False) == (summary(plan),)
        finally:
            await other.app.close()


@pytest.mark.parametrize("days", [-2, 2])
async def test_a_clock_that_was_set_changes_neither_the_order_nor_what_came_before(
    tmp_path: Path, days: int
) -> None:
    async with studio(tmp_path) as at:
        first = await at.run(READS)
        clock = at.app._plan_store.clock
        at.app._plan_store.clock = lambda: clock() + timedelta(days=days)
        second = (await at.app.plans.create(CreateRequest(text=READS))).plan
        assert [each.plan_id for each in at.app.plans.list(None, (), None, False)] == [
            second.plan_id,
            first.plan_id,
        ]
        assert at.app.plans.get(None, None) == at.now(second)
        work = at.app._ownership._conductor._runner._model_work  # type: ignore[attr-defined]
        assert "Request: 1. List files" in (await work._surroundings(second)).earlier


def test_every_listener_hears_events_in_their_order() -> None:
    """Including events that another listener records."""
    from planloom.domain.events import catalog as ev
    from planloom.domain.plans.plan import Detection
    from planloom.domain.values import SessionId
    from tests.support.memory import MemoryStore

    plan_store, heard = PlanStore(MemoryStore()), list[int]()

    def answers(recorded: ev.Recorded, _: object) -> None:
        if recorded.seq < 3:
            plan_store.record(PlanId("p"), ev.Log(level="info", message="more"))

    plan_store.listen(answers)
    plan_store.listen(lambda recorded, _: heard.append(recorded.seq))
    detection = Detection(planned=True, rule="none", score=1, ambiguous=False)
    plan_store.open(PlanId("p"), SessionId("s"), ev.PlanStart(request="r", route="plan", detection=detection))
    assert heard == [1, 2, 3]


async def paused(at: Studio) -> Plan:
    plan = await at.ask(READS)
    await at.app.plans.approve(plan.plan_id, plan.version, None)
    return await at.app.plans.pause(plan.plan_id)


async def test_a_start_reads_no_plan_that_was_left_paused(tmp_path: Path) -> None:
    async with studio(tmp_path, ledger=tmp_path / "l.db") as at:
        plans = [await paused(at) for _ in range(3)]
    reads = Reads(tmp_path / "l.db")
    async with studio(tmp_path, ledger=reads.ledger) as at:
        await at.app._jobs.join("reconcile")
        assert reads.count == 0
        assert set(at.app.status().resumable) == {plan.plan_id for plan in plans}


async def test_a_paused_plan_that_an_older_server_left_in_its_middle_is_adopted(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}, ledger=tmp_path / "l.db") as at:
        plan = await at.approve(await at.ask('1. Replace "old" with "new" in a.txt'))
        assert plan.pending.approvals
    cut_back(tmp_path / "l.db", plan.seq, "paused")
    as_of_version(tmp_path / "l.db", 4)
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw, raw:
        row = (
            plan.plan_id,
            plan.seq + 1,
            "2026-01-01T00:00:00+00:00",
            '{"type": "plan_paused", "reason": "user"}',
        )
        raw.execute("INSERT INTO events VALUES (?, ?, ?, 'plan_paused', ?)", row)
        raw.execute("UPDATE plans SET seq = ?", (plan.seq + 1,))
    for left in (1, 0):
        async with studio(tmp_path, ledger=tmp_path / "l.db") as at:
            await at.app._jobs.join("reconcile")
            assert not at.now(plan).pending.approvals
            assert at.types().count("approval_resolved") == left


async def test_a_list_says_what_was_taken_back_also_of_another_server(tmp_path: Path) -> None:
    request = '1. Replace "old" with "new" in a.txt\n2. Create file b.txt with content "b"'
    settings = {"approvals.write": "allow"}
    async with studio(tmp_path, {"a.txt": "old\n"}, settings=settings, ledger=tmp_path / "l.db") as at:
        plan = await at.run(request)
        for step, redo, told, words, sign in (
            (None, False, "whole", "Undone", "undone"),
            (None, True, None, "Done", "completed"),
            (plan.steps[0].step_id, False, "part", "Partly undone", "partly"),
        ):
            await at.app.plans.undo(plan.plan_id, step, redo)
            async with studio(tmp_path, settings=settings, ledger=tmp_path / "l.db") as other:
                for each in (at, other):
                    (listed,) = each.app.plans.list(None, (), None, True)
                    assert listed.reverted == told
                    assert summary_state(listed, Words()) == (words, sign)
                    shown = view(each.app.plans.get(plan.plan_id, None) or plan, Around(Words()))
                    assert (shown.state, shown.sign) == (words, sign)
