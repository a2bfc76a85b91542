"""A server stays as it is over many plans: no task, handle or process is left behind, and no plan grows the next."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import pytest

from bench.endurance.endurance import SETTINGS, Day, endured
from bench.endurance.working_day import DayModel, Person
from planloom.domain.plans.plan import Plan
from planloom.execution.jobs import Jobs
from planloom.service.requests import CreateRequest
from planloom.storage.ledger import Ledger
from tests.depth import rounds
from tests.support.http_server import serving
from tests.support.lsp_client import connected
from tests.support.real_application import real_application
from tests.support.studio import studio

READS = "1. List files\n2. List files"


def handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def kept_plans() -> int:
    gc.collect()
    return sum(isinstance(each, Plan) for each in gc.get_objects())


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system has no /proc")
async def test_plans_of_every_kind_leave_nothing_behind(tmp_path: Path) -> None:
    workspace, ledger = tmp_path / "workspace", tmp_path / "ledger.sqlite3"
    workspace.mkdir()
    before = kept_plans()
    async with serving(DayModel()) as model:
        provider = {"provider": "openai", "baseUrl": f"{model.origin}/v1", "name": "scripted"}
        settings = SETTINGS | {"model": provider}
        async with connected(real_application(ledger), folders=[workspace], settings=settings) as client:
            person = Person(client, workspace)
            each = rounds(len(person.kinds), 20)
            await plans(person, 0, each)
            jobs = client.server.connection.app._jobs
            await ended(jobs)
            rows, running, open_handles = rows_of(ledger), jobs.names(), handles()
            await plans(person, each, 2 * each)
            half = rows_of(ledger)
            await plans(person, 2 * each, 3 * each)
            await ended(jobs)
            assert jobs.names() == running
            assert handles() - open_handles <= 1, "SQLite may keep one for the next connection of the upkeep"
            assert rows_of(ledger) - half == pytest.approx(half - rows, rel=0.1), "the ledger grows evenly"
            await client.server.connection.app._ownership.renew_leases()
            assert kept_plans() - before < 80


async def ended(jobs: Jobs) -> None:
    """Wait until what ended plans have run in the background is over."""
    async with asyncio.timeout(10):
        while any(name.startswith("end-background:") for name in jobs.names()):
            await asyncio.sleep(0.01)


async def plans(person: Person, first: int, last: int) -> None:
    for number in range(first, last):
        await person.plan(number)


@pytest.mark.slow
async def test_timers_run_by_the_clock_that_is_set_forward(tmp_path: Path) -> None:
    """An hour with a pause after each plan: leases are renewed, the upkeep has its rounds, and nothing is left."""
    samples = [each async for each in endured(tmp_path, Day(hours=1, plans_per_hour=2))]
    assert [round(each.hours, 1) for each in samples] == [0, 0.5, 1]
    assert {each.children for each in samples} == {0}
    log = (tmp_path / "server.log").read_text(encoding="utf-8")
    assert "ERROR" not in log, log


def rows_of(path: Path) -> int:
    ledger = Ledger(path)
    try:
        return sum(each.summary.seq for each in ledger.summaries(limit=1_000) if each.summary is not None)
    finally:
        ledger.close()


async def test_a_plan_that_the_server_has_let_go_of_can_still_be_undone(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}, ledger=tmp_path / "l.db") as at:
        first = await at.run('1. Replace "old" with "new" in a.txt')
        for _ in range(40):
            last = (await at.app.plans.create(CreateRequest(text=READS))).plan
            last = await at.reach(last, "attention")
            await at.approve(last)
        await at.app._ownership.renew_leases()
        other = Ledger(tmp_path / "l.db")
        assert other.claim(last.plan_id, "now") is not None, "the server still has its last plans"
        assert other.claim(first.plan_id, "now") is None, "another server may have the first"
        other.close()
        undone = await at.app.plans.undo(first.plan_id, None, False)
        assert undone.plan.plan_id == first.plan_id and at.text("a.txt") == "old\n"
