"""Texts of plans that ended long ago are removed, and never one that an undo needs within thirty days."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.errors import PlanloomError, StorageFailed, WrongState
from planloom.domain.events.catalog import Log
from planloom.domain.plans.plan import Plan
from planloom.storage.backup import backup_of
from planloom.storage.compaction import CompactingLedger, Kept, checkpoint
from planloom.storage.ledger import Ledger
from tests.support.ledgers import Faults, as_of_version
from tests.support.studio import studio

EDIT = '1. Replace "old" with "new" in a.txt'
FILES = {"a.txt": "old\n", "b.txt": "x" * 1_000 + "\n"}


async def ended(folder: Path, text: str = EDIT) -> Plan:
    """A plan that a server has carried out and left."""
    async with studio(folder, FILES, ledger=folder / "l.db") as at:
        plan = await at.run(text)
        at.editor.save_file(at.path("a.txt"))
        return plan


def aged(folder: Path, days: float, plan: Plan | None = None) -> None:
    """Let a plan, or all, have ended so long ago."""
    then = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    with closing(sqlite3.connect(folder / "l.db")) as raw, raw:
        raw.execute(
            "UPDATE plans SET updated_at = ? WHERE plan_id = coalesce(?, plan_id)",
            (then, plan and plan.plan_id),
        )


def texts(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "l.db")) as raw:
        return int(raw.execute("SELECT count(*) FROM blobs").fetchone()[0])


async def upkept(folder: Path, settings: Mapping[str, Any] = {}) -> int:
    """How many texts are left after a round of a server of its own."""
    async with studio(folder, ledger=folder / "l.db", settings=settings) as at:
        await at.app.upkeep.round()
    return texts(folder)


async def test_an_old_plan_loses_its_texts_and_says_so(tmp_path: Path) -> None:
    plan = await ended(tmp_path)
    aged(tmp_path, 91)
    async with studio(tmp_path, ledger=tmp_path / "l.db") as at:
        await at.app.upkeep.round()
        assert texts(tmp_path) == 0
        assert "2 texts of this plan's files" in at.app.plans.markdown(plan.plan_id)
        with pytest.raises(WrongState, match="were removed from the ledger"):
            at.app.plans.diff(plan.plan_id, at.uri("a.txt"), None)
        with pytest.raises(WrongState, match="were removed from the ledger"):
            await at.app.plans.undo(plan.plan_id, None, False)
        assert at.text("a.txt") == "new\n", "the undo has changed nothing"
        assert at.app.plans.list(None, (), None, False)[0].plan_id == plan.plan_id
        assert len(at.app.plans.events(plan.plan_id, 0, None)) == plan.seq


async def test_the_log_is_brought_into_the_file_while_the_server_writes(tmp_path: Path) -> None:
    ledger, copy = tmp_path / "l.db", tmp_path / "copy.db"

    def in_file() -> int:
        """The events that the file has without its log."""
        copy.write_bytes(ledger.read_bytes())
        # A copy made during a checkpoint is torn.
        with closing(sqlite3.connect(copy)) as raw, contextlib.suppress(sqlite3.DatabaseError):
            return int(raw.execute("SELECT count(*) FROM events").fetchone()[0])
        return 0

    async with studio(tmp_path, FILES, ledger=ledger) as at:
        plan = await at.ask("1. Read a.txt\n2. Read a.txt", mode="plan")
        before = in_file()
        for number in range(500):
            at.app._plan_store.record(plan.plan_id, Log(level="info", message=str(number)))
        async with asyncio.timeout(10):
            while in_file() < before + 500:
                await asyncio.sleep(0)


def test_a_checkpoint_of_a_ledger_that_is_gone_makes_no_file(tmp_path: Path) -> None:
    checkpoint(tmp_path / "l.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("days", "left"), [(29.9, 2), (31, 2), (89, 2), (91, 0)])
async def test_age_decides(tmp_path: Path, days: float, left: int) -> None:
    await ended(tmp_path)
    aged(tmp_path, days)
    assert await upkept(tmp_path) == left


async def test_size_decides_too_but_not_within_thirty_days(tmp_path: Path) -> None:
    await ended(tmp_path)
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw, raw:
        raw.execute("INSERT INTO blobs SELECT 'big', plan_id, randomblob(2000000) FROM plans")
    small = {"storage.maxTextsMb": 1}
    aged(tmp_path, 29.9)
    assert await upkept(tmp_path, small) == 3
    aged(tmp_path, 31)
    assert await upkept(tmp_path) == 3
    assert await upkept(tmp_path, small) == 0


async def test_the_file_shrinks(tmp_path: Path) -> None:
    await ended(tmp_path)
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw, raw:
        raw.execute("INSERT INTO blobs SELECT 'big', plan_id, randomblob(3000000) FROM plans")
    before = (tmp_path / "l.db").stat().st_size
    aged(tmp_path, 91)
    store = CompactingLedger(tmp_path / "l.db")
    assert not store.shrink(), "nothing is free"
    store.close()
    await upkept(tmp_path)
    assert (tmp_path / "l.db").stat().st_size < before - 2_500_000


async def test_the_oldest_go_first_and_only_until_the_rest_fits(tmp_path: Path) -> None:
    plans = [await ended(tmp_path) for _ in range(3)]
    for days, plan in zip((50, 60, 40), plans, strict=True):
        aged(tmp_path, days, plan)
        with closing(sqlite3.connect(tmp_path / "l.db")) as raw, raw:
            raw.execute("DELETE FROM blobs WHERE plan_id = ?", (plan.plan_id,))
            raw.execute("INSERT INTO blobs VALUES ('big', ?, randomblob(900000))", (plan.plan_id,))
    assert await upkept(tmp_path, {"storage.maxTextsMb": 2}) == 2
    ledger = Ledger(tmp_path / "l.db")
    assert [ledger.compaction(plan.plan_id) is not None for plan in plans] == [False, True, False]
    ledger.close()


async def test_a_plan_that_a_server_holds_or_that_has_not_ended_keeps_its_texts(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES, ledger=tmp_path / "l.db") as at:
        plan = await at.run(EDIT)
        aged(tmp_path, 91)
        assert await upkept(tmp_path) == 2
        undone = await at.app.plans.undo(plan.plan_id, None, False)
        assert undone.reverted and at.text("a.txt") == "old\n"
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw, raw:
        raw.execute("UPDATE plans SET status = 'paused'")
    aged(tmp_path, 91)
    assert await upkept(tmp_path) >= 2


async def test_an_undo_that_was_cut_off_keeps_its_texts(tmp_path: Path) -> None:
    plan = await ended(tmp_path)
    async with studio(tmp_path, ledger=tmp_path / "l.db") as at:
        await at.app.plans.undo(plan.plan_id, None, False)
    ledger = Ledger(tmp_path / "l.db")
    intent = next(
        each.seq for each in ledger.events(plan.plan_id, plan.seq) if each.event.type == "edit_started"
    )
    ledger.close()
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw, raw:
        raw.execute("DELETE FROM events WHERE seq > ?", (intent,))
        raw.execute("UPDATE plans SET seq = ?", (intent,))
    aged(tmp_path, 91)
    assert await upkept(tmp_path) >= 2


async def test_plans_of_an_older_ledger_are_counted_once(tmp_path: Path) -> None:
    plan = await ended(tmp_path)
    as_of_version(tmp_path / "l.db", 2)
    await upkept(tmp_path)
    ledger = Ledger(tmp_path / "l.db")
    assert [each.counted for each in ledger.summaries()] == [True]
    ledger.close()
    async with studio(tmp_path, ledger=tmp_path / "l.db") as at:
        assert at.app.plans.list(None, (), None, False)[0].progress.completed == len(plan.steps)


async def test_a_text_that_is_missing_makes_no_undo_empty_a_file(tmp_path: Path) -> None:
    plan = await ended(tmp_path)
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw, raw:
        raw.execute("DELETE FROM blobs")
    async with studio(tmp_path, ledger=tmp_path / "l.db") as at:
        with pytest.raises(PlanloomError, match="damaged in the ledger"):
            await at.app.plans.undo(plan.plan_id, None, False)
        assert at.text("a.txt") == "new\n"


@pytest.mark.parametrize("at", range(1, 6))
async def test_a_round_that_is_cut_off_says_what_it_has_removed(tmp_path: Path, at: int) -> None:
    plan = await ended(tmp_path)
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw, raw:
        for number in range(200):
            raw.execute("INSERT INTO blobs VALUES (?, ?, randomblob(100))", (str(number), plan.plan_id))
    aged(tmp_path, 91)
    faults = Faults("io", at, when="commit")
    store = CompactingLedger(tmp_path / "l.db", connect=faults.connect)
    faults._armed = True
    now = datetime.now(UTC)
    kept = Kept(old=now - timedelta(days=90), safe=now - timedelta(days=30), max_bytes=10**9)
    with contextlib.suppress(StorageFailed):
        while store.compact(plan.plan_id, kept, now):
            pass
    store.close()
    ledger = Ledger(tmp_path / "l.db")
    compaction = ledger.compaction(plan.plan_id)
    assert texts(tmp_path) + (compaction.texts if compaction else 0) == 202
    assert await upkept(tmp_path) == 0
    compaction = ledger.compaction(plan.plan_id)
    assert compaction is not None and compaction.texts == 202
    ledger.close()


async def test_folders_of_plans_that_have_ended_or_are_gone_are_removed(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES, ledger=tmp_path / "l.db", private=(tmp_path / "state",)) as at:
        plans = [await at.run(EDIT), await at.ask(EDIT, mode="plan")]
        folders = tmp_path / "state" / "plans"
        for name in (*(plan.plan_id for plan in plans), "gone"):
            (folders / name / "home").mkdir(parents=True)
        await at.app.upkeep.round()
        assert [each.name for each in folders.iterdir()] == [plans[1].plan_id]


async def test_a_round_copies_a_ledger_that_has_changed(tmp_path: Path) -> None:
    plan = await ended(tmp_path)
    await upkept(tmp_path)
    found = backup_of(tmp_path / "l.db")
    assert found is not None and found.plans == {plan.plan_id}
