"""A server stays as it is over many plans: no task, handle or process is left behind, and no plan grows the next."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import pytest

from bench.endurance import FILE, LINES, SETTINGS, one_plan
from planloom.domain.plans.plan import Plan
from planloom.service.requests import CreateRequest
from planloom.storage.ledger import Ledger
from tests.support.lsp_client import LspClient, connected
from tests.support.real_application import real_application
from tests.support.studio import studio

READS = "1. List files\n2. List files"


def tasks() -> set[str]:
    return {task.get_name().partition(":")[0] for task in asyncio.all_tasks()}


def handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system has no /proc")
async def test_fifty_plans_leave_nothing_behind(tmp_path: Path) -> None:
    workspace, ledger = tmp_path / "workspace", tmp_path / "ledger.sqlite3"
    workspace.mkdir()
    (workspace / FILE).write_text(LINES, encoding="utf-8")
    make = real_application(ledger)
    async with connected(make, folders=[workspace], settings=SETTINGS) as client:
        await plans(client, 0, 9)
        rows, running, open_handles = rows_of(ledger), tasks(), handles()
        await plans(client, 9, 30)
        half = rows_of(ledger)
        await plans(client, 30, 51)
        assert (tasks(), handles()) == (running, open_handles)
        assert rows_of(ledger) - half == pytest.approx(half - rows, rel=0.1), "the ledger grows evenly"
        await client.server.connection.app._ownership.renew_leases()
        gc.collect()
        assert sum(isinstance(each, Plan) for each in gc.get_objects()) < 80


async def plans(client: LspClient, first: int, last: int) -> None:
    for number in range(first, last):
        await one_plan(client, number)


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
