"""Measures how requests on new plans slow down as the ledger grows.

The ledgers hold copies of a few plans that really ran, so that each of their plans can be read, listed and undone.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from bench.figures import Figure, Measured, main, processor_milliseconds
from planloom.domain.plans.plan import Plan
from planloom.domain.values import PlanId
from planloom.service.requests import CreateRequest
from planloom.storage.ledger import Ledger
from tests.support.ledgers import without_checksums
from tests.support.studio import Studio

T = TypeVar("T")
EACH = 100
"""Events of each old plan."""
EACH_PAUSED = 50
"""One old plan of so many is paused."""
RUNS = 5
"""Of which the fastest counts, since other load on the machine only adds to a time."""
FLAT = 0.3
"""The exponent of what must not grow with the ledger."""
GOALS = {"list": 1.1, "list again": 1.1, "list 1,000 of all": 1.1, "list the paused": 1.1, "status": 0.5}
"""Lists return more rows of a larger ledger; the status counts plans."""
OWN = (100, 1_000, 10_000)
EDITS = "\n".join(
    f'{number}. Replace "old{number:02}" with "new{number:02}" in a.txt' for number in range(1, 4)
)
OLD = {"a.txt": "".join(f"old{number:02}\n" for number in range(1, 41))}
LONG = "\n".join(
    f'{number}. Replace "old{number:02}" with "new{number:02}" in a.txt' for number in range(1, 9)
)
READS = "1. List files\n2. List files"


async def patterns(folder: Path) -> tuple[Path, list[str], str]:
    """A small ledger of real plans: the ids of ended ones, and that of a paused one."""
    path = folder / "patterns.db"
    at = Studio(folder, OLD, ledger=path)
    try:
        ended = [(await at.run(LONG)).plan_id, (await at.run(READS)).plan_id]
        paused = await at.ask(READS)
        paused = await paused_at_once(at, paused)
        return path, list(map(str, ended)), str(paused.plan_id)
    finally:
        await at.app.close()
        # Checksums hold for the events of one plan, and these are copied.
        without_checksums(path)


async def paused_at_once(at: Studio, plan: Plan) -> Plan:
    """Approve a plan and pause it."""
    approved = await at.app.plans.approve(plan.plan_id, plan.version, None)
    return await at.app.plans.pause(approved.plan_id)


def fill(path: Path, source: Path, ended: list[str], paused: str, *, events: int, each: int = EACH) -> None:
    """Copy the plans of `source` into a ledger until it has so many events."""
    Ledger(path).close()
    plans = max(1, events // each)
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA synchronous = OFF")
        raw.execute("ATTACH ? AS pattern", (str(source),))
        raw.execute("BEGIN")
        for number in range(plans):
            copied(raw, f"old{number}", paused if number % EACH_PAUSED == 1 else ended[number % 2])
        missing = events - raw.execute("SELECT count(*) FROM events").fetchone()[0]
        if missing > plans:
            for number in range(plans):
                lengthened(raw, f"old{number}", missing // plans)
        raw.execute("COMMIT")


def copied(raw: sqlite3.Connection, plan_id: str, source: str) -> None:
    """Copy one plan with its events, texts and progress."""
    for table in ("plans", "events", "progress"):
        columns = [row[1] for row in raw.execute(f"PRAGMA table_info({table})")]
        chosen = ", ".join("?" if name == "plan_id" else name for name in columns)
        raw.execute(
            f"INSERT INTO main.{table} SELECT {chosen} FROM pattern.{table} WHERE plan_id = ?",
            (plan_id, source),
        )
    raw.execute(
        "INSERT INTO main.blobs SELECT sha256, ?, body FROM pattern.blobs WHERE plan_id = ?",
        (plan_id, source),
    )


def lengthened(raw: sqlite3.Connection, plan_id: str, more: int) -> None:
    """Give an old plan `more` messages in its log, which change nothing else of it."""
    (seq, at) = raw.execute(
        "SELECT seq, at FROM events WHERE plan_id = ? ORDER BY seq DESC LIMIT 1", (plan_id,)
    ).fetchone()
    body = json.dumps({"type": "log", "level": "info", "message": "A message of ordinary length." * 4})
    raw.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
        " INSERT INTO events SELECT ?, ? + i, ?, 'log', ? FROM n",
        (more, plan_id, seq, at, body),
    )
    for table in ("plans", "progress"):
        raw.execute(f"UPDATE {table} SET seq = ? WHERE plan_id = ?", (seq + more, plan_id))


def copied_to_disk(source: Path, target: Path) -> None:
    """Copy a ledger, and wait until the disk has it.

    What the system has not written yet would be written by the first flush of the file, and count as the closing.
    """
    shutil.copyfile(source, target)
    with target.open("r+b") as file:
        os.fsync(file.fileno())


async def measured(folder: Path, ledger: Path) -> dict[str, float]:
    """Milliseconds of each request on a new plan."""
    took: dict[str, float] = {}

    def timed(name: str, began: float) -> None:
        took[name] = (time.perf_counter() - began) * 1000

    async def asked(name: str, work: Awaitable[T]) -> T:
        began = time.perf_counter()
        found = await work
        timed(name, began)
        return found

    def called(name: str, work: Callable[[], T]) -> T:
        began = time.perf_counter()
        found = work()
        timed(name, began)
        return found

    opened = called("open", lambda: Ledger(ledger))
    at = called("start", lambda: Studio(folder, OLD, ledger=opened))
    try:
        plans = at.app.plans
        created = await asked("create", plans.create(CreateRequest(text=EDITS)))
        plan = await at.reach(created.plan, "attention")
        await asked("approve", plans.approve(plan.plan_id, plan.version, "auto"))
        plan = await at.reach(plan, "ended")
        called("list", lambda: plans.list(None, (), None, False))
        called("list again", lambda: plans.list(None, (), None, False))
        called("list 1,000 of all", lambda: plans.list(None, (), 1_000, True))
        called("list the paused", lambda: plans.list(None, ("paused",), None, False))
        called("list the running", lambda: plans.list(None, ("executing",), None, False))
        called("get", lambda: plans.get(plan.plan_id, None))
        called("get the current", lambda: plans.get(None, None))
        called("status", at.app.status)
        called("events", lambda: plans.events(plan.plan_id, 0, None))
        await asked("undo", plans.undo(plan.plan_id, None, False))
        other = await paused_at_once(at, await at.ask(READS))
        await asked("resume", plans.resume(other.plan_id))
        await at.reach(other, "ended")
        await asked("delete", plans.delete(other.plan_id))
    finally:
        await asked("close", at.app.close())
    return took


def figures(quick: bool) -> Iterator[Measured]:
    """Each request in ledgers of more and more events, of plans of a hundred events each."""
    sizes = (10, 100, 1_000, 10_000) if quick else (10, 100, 1_000, 10_000, 100_000)
    rows: dict[int, list[dict[str, float]]] = {size: [] for size in sizes}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        source, ended, paused = asyncio.run(patterns(folder))
        for size in sizes:
            fill(folder / f"{size}.db", source, ended, paused, events=size)
        for each in range(RUNS + 1):
            for size in sizes:
                used = folder / "used.db"
                copied_to_disk(folder / f"{size}.db", used)
                row = asyncio.run(measured(folder, used))
                used.unlink()
                if each:
                    rows[size].append(row)
    for name in rows[sizes[0]][0]:
        points = [(size, min(row[name] for row in found)) for size, found in rows.items()]
        yield Figure(name=f"{name}, by events in the ledger", goal=GOALS.get(name, FLAT)).grown(points)
    yield Figure(name="get an old plan, by its own events", goal=1.1).grown(
        [(size, asyncio.run(first_read(size))) for size in OWN]
    )


async def first_read(events: int) -> float:
    """Processor milliseconds to fold one old plan of so many events, the only one of its ledger."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        source, ended, paused = await patterns(folder)
        fill(folder / "one.db", source, ended, paused, events=events, each=events)
        at = Studio(folder, OLD, ledger=folder / "one.db")
        try:
            return processor_milliseconds(lambda: at.app.plans.get(PlanId("old0"), None))
        finally:
            await at.app.close()


if __name__ == "__main__":
    main(__doc__, figures)
