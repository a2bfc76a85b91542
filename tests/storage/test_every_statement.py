"""Work on the ledger that fails at every single statement in turn: nothing is lost, doubled or half made.

`make test` tries each fourth statement.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest

from planloom.domain.errors import PlanloomError, StorageFailed
from planloom.domain.plans.plan import Plan
from planloom.service.repair import examined
from planloom.storage.compaction import CompactingLedger, Kept
from planloom.storage.ledger import Ledger
from tests.depth import points
from tests.service.test_ledger_faults import stopped
from tests.storage.test_salvage import NOW, filled, names, read_back
from tests.support.ledgers import Faults, Kind
from tests.support.studio import Studio, studio

pytestmark = [pytest.mark.slow, pytest.mark.deep]
EDITS = '1. Replace "old" with "new" in a.txt\n2. Create file b.txt with content "b"'
ALLOWED = {"approvals.write": "allow", "execution.review": "auto", "edits.save": "always"}
MOST = 2_000
"""No piece of work here has so many statements."""
STATEMENTS = points(range(1, MOST), 4)


def failing(folder: Path, kind: Kind = "io") -> Faults:
    """Faults of statements, none of which has come."""
    return Faults(kind, 10**9, "statement", folder / "failing")


def rows(ledger: Path) -> dict[str, int]:
    """How many rows each table has that must not be left by what has failed."""
    with closing(sqlite3.connect(ledger)) as raw:
        return {
            table: raw.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("plans", "events", "blobs", "leases")
        }


def seen(at: Studio) -> dict[str, str]:
    return {path.name: at.text(path.name) for path in sorted(at.folder.iterdir())}


@pytest.mark.parametrize("kind", get_args(Kind))
@pytest.mark.parametrize("new", [True, False], ids=["a new file", "a file with plans"])
def test_opening(tmp_path: Path, kind: Kind, *, new: bool) -> None:
    made = {} if new else filled(tmp_path / "l.db", 3)
    for number in STATEMENTS:
        faults = failing(tmp_path, kind)
        faults.arm(number)
        with suppress(StorageFailed):
            ledger = Ledger(tmp_path / "l.db", connect=faults.connect, patience=0.0)
            assert (ledger.problem is not None) == faults.broken
            assert ledger.all_plans() == (() if faults.broken else tuple(made))
            faults.mend()
            ledger.close()
        if not faults.failed.is_set():
            break
        faults.mend()
        if not new:
            assert read_back(tmp_path / "l.db") == (made, [])
    assert 5 < number < MOST
    assert read_back(tmp_path / "l.db") == (made, [])


async def test_an_undo(tmp_path: Path) -> None:
    for number in STATEMENTS:
        folder = tmp_path / str(number)
        folder.mkdir()
        faults = failing(folder)
        at = Studio(folder, {"a.txt": "old\n"}, settings=ALLOWED, ledger=faults.ledger(folder / "l.db"))
        try:
            plan = await at.run(EDITS)
            done = seen(at)
            faults.arm(number)
            with suppress(PlanloomError):
                await at.app.plans.undo(plan.plan_id, None, False)
            struck = faults.failed.is_set()
            await stopped(at)
            faults.mend()
            await at.app._ownership.renew_leases()
            await stopped(at)
            assert seen(at) in (
                done,
                {"a.txt": "old\n"},
                {"a.txt": "new\n"},
                {"a.txt": "old\n", "b.txt": "b"},
            )
            with suppress(PlanloomError):
                # What was taken back before the fault is not there to be taken back again.
                await at.app.plans.undo(plan.plan_id, None, False)
            assert seen(at) == {"a.txt": "old\n"}, number
            with suppress(PlanloomError):
                assert (await at.app.plans.undo(plan.plan_id, None, False)).reverted == (), "twice"
        finally:
            await at.app.close()
        if not struck:
            break
    assert 5 < number < MOST


async def exported(folder: Path) -> tuple[Plan, str]:
    """A plan that has ended, and its document."""
    folder.mkdir()  # noqa: ASYNC240
    async with studio(folder, {"a.txt": "old\n"}, settings=ALLOWED, ledger=folder / "l.db") as at:
        plan = await at.run(EDITS)
        return plan, at.app.plans.full(plan.plan_id)


async def test_an_import(tmp_path: Path) -> None:
    plan, document = await exported(tmp_path / "there")
    types = [each["event"]["type"] for each in json.loads(document)["events"]]
    for number in STATEMENTS:
        folder = tmp_path / str(number)
        folder.mkdir()
        faults = failing(folder)
        async with studio(folder, settings=ALLOWED, ledger=faults.ledger(folder / "l.db")) as at:
            faults.arm(number)
            failed = False
            try:
                await at.app.plans.import_plan(document)
            except StorageFailed:
                failed = True
            struck = faults.failed.is_set()
            faults.mend()
            if failed and at.app.plans.list(None, (), None, True) == ():
                assert set(rows(folder / "l.db").values()) == {0}, number
                await at.app.plans.import_plan(document)
            (listed,) = at.app.plans.list(None, (), None, True)
            assert (listed.plan_id, listed.status) == (plan.plan_id, "completed")
            events = [each.event for each, _ in at.app.plans.events(plan.plan_id, 0, None)]
            assert [each.type for each in events[: plan.seq]] == types
        if not struck:
            break
    assert 5 < number < MOST


async def test_an_export(tmp_path: Path) -> None:
    plan, document = await exported(tmp_path / "there")
    for number in STATEMENTS:
        faults = failing(tmp_path)
        ledger = faults.ledger(tmp_path / "there" / "l.db")
        async with studio(tmp_path / "there", settings=ALLOWED, ledger=ledger) as at:
            faults.arm(number)
            with suppress(StorageFailed):
                assert at.app.plans.full(plan.plan_id) == document
            struck = faults.failed.is_set()
            faults.mend()
            assert at.app.plans.full(plan.plan_id) == document
        if not struck:
            break
    assert 2 < number < MOST


async def test_the_upkeep(tmp_path: Path) -> None:
    later = datetime.now(UTC) + timedelta(days=400)
    kept = Kept(old=later - timedelta(days=90), safe=later - timedelta(days=30), max_bytes=10**9)
    for number in STATEMENTS:
        folder = tmp_path / str(number)
        plan, _ = await exported(folder)
        before = rows(folder / "l.db")["blobs"]
        faults = failing(folder)
        faults.arm(number)
        with suppress(StorageFailed):
            store = CompactingLedger(folder / "l.db", connect=faults.connect)
            try:
                for plan_id in store.compactable(kept):
                    while store.compact(plan_id, kept, later):
                        pass
                while store.shrink():
                    pass
            finally:
                store.close()
        struck = faults.failed.is_set()
        faults.mend()
        ledger = Ledger(folder / "l.db")
        compaction = ledger.compaction(plan.plan_id)
        assert rows(folder / "l.db")["blobs"] + (compaction.texts if compaction else 0) == before
        assert ledger.problem is None and ledger.seq(plan.plan_id) == plan.seq
        ledger.close()
        if not struck:
            break
    assert 10 < number < MOST


def test_a_repair(tmp_path: Path) -> None:
    for number in STATEMENTS:
        folder = tmp_path / str(number)
        folder.mkdir()
        made = filled(folder / "l.db", 3)
        with closing(sqlite3.connect(folder / "l.db")) as raw, raw:
            raw.execute("UPDATE events SET body = '{' WHERE plan_id = 'p01' AND seq = 2")
        whole = {plan_id: plan for plan_id, plan in made.items() if plan_id != "p01"}
        faults = failing(folder)
        faults.arm(number)
        with suppress(StorageFailed), examined(folder / "l.db", connect=faults.connect) as found:
            found.repair(NOW)
        struck = faults.failed.is_set()
        faults.mend()
        readable, damaged = read_back(folder / "l.db")
        assert readable == whole, number
        if damaged:
            # It was not repaired: nothing of the attempt is left.
            assert damaged == ["p01"] and names(folder) <= {"l.db", "l.db-wal", "l.db-shm"}, number
        if not struck:
            break
    assert 10 < number < MOST
