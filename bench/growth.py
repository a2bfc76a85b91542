"""Measures requests on new plans beside an old, large ledger, against the same requests on an empty one.

The large ledger holds copies of a few plans that really ran, so that each of its plans can be read, listed and undone.
Prints a table and a JSON line. `--keep` names a folder whose large ledger is made once and copied for each run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from planloom.domain.plans.plan import Plan
from planloom.service.requests import CreateRequest
from planloom.storage.ledger import Ledger
from tests.support.ledgers import without_checksums
from tests.support.studio import Studio

T = TypeVar("T")
PLANS = 10_000
EVENTS = 1_000_000
TEXT_MB = 2_000
TEXTS = 5
"""Texts in each old plan."""
PAUSED = 200
"""Old plans that are paused."""
RUNS = 5
BATCH = 500
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
        # They hold for the events of one plan, and these are copied.
        without_checksums(path)


async def paused_at_once(at: Studio, plan: Plan) -> Plan:
    """Approve a plan and pause it."""
    approved = await at.app.plans.approve(plan.plan_id, plan.version, None)
    return await at.app.plans.pause(approved.plan_id)


def fill(
    path: Path, source: Path, ended: list[str], paused: str, *, plans: int, events: int, text_mb: int
) -> None:
    """Copy the plans of `source` into a ledger until it is as large as wanted."""
    Ledger(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA synchronous = OFF")
        raw.execute("ATTACH ? AS pattern", (str(source),))
        size = text_mb * 1_000_000 // (plans * TEXTS)
        for start in range(0, plans, BATCH):
            raw.execute("BEGIN")
            for number in range(start, min(start + BATCH, plans)):
                copied(raw, f"old{number}", paused if number % (plans // PAUSED) == 0 else ended[number % 2])
            count = raw.execute("SELECT count(*) FROM events").fetchone()[0]
            missing = events * (start + BATCH) // plans - count
            raw.execute("COMMIT")
            raw.execute("BEGIN")
            for number in range(start, min(start + BATCH, plans)):
                lengthened(raw, f"old{number}", missing // BATCH)
                raw.execute(
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
                    " INSERT INTO blobs SELECT hex(randomblob(32)), ?, randomblob(?) FROM n",
                    (TEXTS, f"old{number}", size),
                )
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


def median(rows: list[dict[str, float]], name: str) -> float:
    return sorted(row[name] for row in rows)[len(rows) // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=PLANS)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--text-mb", type=int, default=TEXT_MB)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        large = folder / "large.db"
        if not large.exists():
            source, ended, paused = asyncio.run(patterns(folder))
            began = time.perf_counter()
            fill(
                large,
                source,
                ended,
                paused,
                plans=options.plans,
                events=options.events,
                text_mb=options.text_mb,
            )
            print(f"made in {time.perf_counter() - began:.0f} s")
        print(f"{options.plans} plans, {options.events} events, {large.stat().st_size / 1e6:.0f} MB")
        used = folder / "used.db"
        shutil.copyfile(large, used)
        rows: dict[str, list[dict[str, float]]] = {"large": [], "empty": []}
        for _ in range(options.runs):
            rows["large"].append(asyncio.run(measured(folder, used)))
            empty = folder / "empty.db"
            empty.unlink(missing_ok=True)
            rows["empty"].append(asyncio.run(measured(folder, empty)))
        figures = {}
        print(f"{'':20} {'empty ms':>9} {'large ms':>9} {'ratio':>7} {'first ms':>9}")
        for name in rows["large"][0]:
            few, many = median(rows["empty"], name), median(rows["large"], name)
            figures[name] = {
                "empty": round(few, 2),
                "large": round(many, 2),
                "first": round(rows["large"][0][name], 2),
            }
            print(f"{name:20} {few:9.2f} {many:9.2f} {many / few:7.1f} {rows['large'][0][name]:9.2f}")
        used.unlink()
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
