"""A server that dies at any moment loses no approved edit and makes none twice."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from planloom.domain import events as ev
from planloom.domain.plan import Plan, Review
from planloom.execution.book import Book
from planloom.storage.ledger import Ledger
from tests.support.studio import Studio, studio

EDIT = '1. Replace "old" with "new" in a.txt\n2. Create file b.txt with content "b"'


class Crash(BaseException):
    """Stands for a kill: nothing that comes after it is written."""


class DyingLedger(Ledger):
    """A ledger whose process dies at its n-th event, before or after that is on disk."""

    def __init__(self, path: Path, at: int, *, written: bool) -> None:
        super().__init__(path)
        self.at = at
        self.written = written
        self.count = 0
        self.dead = False
        self.died = asyncio.Event()

    def append(self, recorded: Sequence[ev.Recorded], plan: Plan) -> None:
        if self.dead:
            raise Crash
        self.count += len(recorded)
        if self.count >= self.at:
            self.dead = True
            self.died.set()
            if self.written:
                super().append(recorded, plan)
            raise Crash
        super().append(recorded, plan)


async def events_of_a_run(tmp_path: Path, review: Review) -> int:
    settings = {"execution.review": review}
    async with studio(tmp_path, {"a.txt": "old\n"}, settings=settings, ledger=tmp_path / "count.db") as at:
        plan = await at.run(EDIT)
        assert plan.status == "completed"
        return plan.seq


@pytest.mark.slow
@pytest.mark.parametrize("review", ["each", "end"])
async def test_killed_at_every_event_the_plan_ends_as_if_it_never_was(tmp_path: Path, review: Review) -> None:
    """Every numbered point, both sides of the write: nothing lost, nothing twice."""
    (tmp_path / "first").mkdir()
    points = await events_of_a_run(tmp_path / "first", review)
    for number in range(2, points + 1):
        for written in (False, True):
            folder = tmp_path / f"{number}-{written}"
            folder.mkdir()
            await killed_and_resumed(folder, number, review, written=written)


async def killed_and_resumed(folder: Path, number: int, review: Review, *, written: bool) -> None:
    path = folder / "l.db"
    settings = {"execution.review": review}
    before = Studio(folder, {"a.txt": "old\n"}, settings=settings)
    ledger = DyingLedger(path, number, written=written)
    before.app._ledger = ledger
    before.app._book.store = ledger
    before.app.plans._at = before.app.plans._at._replace(ledger=ledger)
    user = asyncio.ensure_future(used(before))
    death = asyncio.ensure_future(ledger.died.wait())
    await asyncio.wait({user, death}, return_when=asyncio.FIRST_COMPLETED, timeout=20)
    user.cancel()
    death.cancel()
    await asyncio.wait({user, death})
    ledger.dead = True
    await before.app._jobs.stop("")
    ledger.release()
    editor = before.editor
    buffers = {name: editor.text(before.path(name)) for name in ("a.txt", "b.txt") if _exists(before, name)}
    after = Studio(folder, settings=settings, ledger=path)
    for name, text in buffers.items():
        after.editor.open(after.path(name), text)
    try:
        found = after.app.plans.list(None, (), None, True)
        if not found:
            return
        plan = await finished(after, found[0])
        where = f"killed at event {number}, written={written}"
        assert plan.status in ("completed", "failed"), where
        if plan.status == "completed":
            assert after.text("a.txt") == "new\n", where
            assert after.text("b.txt") == "b", where
    finally:
        await after.app.close()
        shutil.rmtree(folder)


async def used(at: Studio) -> None:
    """What a person does with the plan while the server lives."""
    try:
        plan = await at.approve(await at.ask(EDIT))
        while plan.pending.approvals:
            plan = await at.respond(plan)
    except Crash:
        return


def _exists(at: Studio, name: str) -> bool:
    return at.path(name).exists() or any(uri.endswith(name) for uri in at.editor.buffers)


async def finished(at: Studio, plan: Plan) -> Plan:
    """Do what a person would: approve, resume, allow, until the plan has ended."""
    async with asyncio.timeout(20):
        await at.app._ownership.settle()
        plan = at.now(plan)
        while plan.status not in ("completed", "failed", "cancelled"):
            if plan.pending.approvals:
                await at.respond(plan)
            elif plan.status == "pending_approval":
                await at.app.plans.approve(plan.plan_id, plan.version, None)
            elif plan.status == "paused":
                assert plan.pause_reason == "restart", plan.pending
                await at.app.plans.resume(plan.plan_id)
            await asyncio.sleep(0)
            plan = at.now(plan)
    return plan


async def test_an_edit_that_was_made_but_not_recorded_is_not_made_again(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}, ledger=tmp_path / "l.db") as at:
        plan = await at.respond(await at.approve(await at.ask(EDIT)))
    history = Book(Ledger(tmp_path / "l.db")).history(plan.plan_id)
    applied = next(recorded.seq for recorded, _ in history if recorded.event.type == "edit_applied")
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw:
        raw.execute("DELETE FROM events WHERE seq >= ?", (applied,))
        raw.execute("UPDATE plans SET status = 'executing'")
        raw.commit()
    async with studio(tmp_path, ledger=tmp_path / "l.db") as at:
        at.editor.open(at.path("a.txt"), "new\n")
        await at.app._ownership.settle()
        found = at.now(plan)
        assert found.edits[0].state == "applied"
        found = await finished(at, found)
        assert found.status == "completed"
        assert [edit.files[0].uri for edit in found.edits] == [at.uri("a.txt"), at.uri("b.txt")]
