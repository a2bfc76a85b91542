"""Measures one server process over many plans: memory, handles, threads, child processes, and the size of the ledger.

Every plan edits, reads or runs a command, and some are undone. Prints a table and a JSON line. A server that ages
shows in the last column: the time of ten plans, against that of the first ten.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.lsp_client import EXTENSION, FULL, LspClient
from tests.support.process_client import ProcessClient
from tests.support.warm_server import warm_servers

FILE = "a.txt"
LINES = "".join(f"line {number:03} is new\n" for number in range(200))
SETTINGS = {
    "model": {"provider": "embedded"},
    "approvals": {"write": "allow", "execute": "allow"},
    "execution": {"review": "auto"},
}
EVERY = 50


class Sample(NamedTuple):
    """The process after some plans: resident memory and the ledger in bytes, the rest as counts."""

    plans: int
    memory: int
    handles: int
    threads: int
    children: int
    ledger: int


def request_of(number: int) -> str:
    """What is asked in the plan of this number."""
    match number % 3:
        case 0:
            edits = (f'Replace "line {n:03} is new" with "line {n:03} is old" in {FILE}' for n in range(1, 5))
            return "\n".join(f"{n}. {edit}" for n, edit in enumerate(edits, start=1))
        case 1:
            return f"1. Read {FILE}\n2. List files\n3. Read {FILE}"
        case _:
            return "1. Run `seq 1 2000`\n2. List files"


async def one_plan(client: LspClient, number: int) -> None:
    """One request from its creation to its end; every plan of edits is undone."""
    created = await client.request("planloom/plan/create", {"text": request_of(number), "mode": "plan"})
    plan_id = created["plan"]["planId"]
    ready = await client.wait_event("plan_ready", plan_id=plan_id)
    await client.request("planloom/plan/approve", {"planId": plan_id, "version": ready["plan"]["version"]})
    await client.wait_event("plan_completed", plan_id=plan_id)
    if number % 3 == 0:
        await client.request("planloom/plan/undo", {"planId": plan_id})
    client.events.clear()
    client.notifications.clear()
    client.asked.clear()
    client.sent.clear()


def sample(pid: int, plans: int, ledger: Path) -> Sample:
    """The process and its ledger now."""
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    )
    return Sample(
        plans=plans,
        memory=int(status["VmRSS"].split()[0]) * 1024,
        handles=len(list(Path(f"/proc/{pid}/fd").iterdir())),
        threads=int(status["Threads"]),
        children=len(Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()),
        ledger=sum(path.stat().st_size for path in ledger.glob("*.sqlite3*")),
    )


async def endured(folder: Path, plans: int, every: int) -> list[tuple[Sample, float]]:
    """Samples of one server process, each with the seconds that a plan took since the one before."""
    root, state = folder / "workspace", folder / "state"
    root.mkdir()
    (root / FILE).write_text(LINES, encoding="utf-8")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PLANLOOM_CONFIG": str(folder / "none.json"),
    }
    with warm_servers() as warm:
        places = ["--storage", str(state), "--log-file", str(folder / "server.log")]
        client = ProcessClient(warm.start(places, environment, folder / "stderr.log"), FULL)
        await client.connect()
        options: dict[str, Any] = {"planloom": SETTINGS, "planloomClient": EXTENSION}
        await client.initialize([root], options)
        rows = []
        began = time.perf_counter()
        for number in range(plans + 1):
            await one_plan(client, number)
            if number % every == 0:
                took = (time.perf_counter() - began) / (every if number else 1)
                rows.append((sample(client.pid, number, state), took))
                began = time.perf_counter()
        await client.shut_down()
    return rows


def main() -> None:
    """Run the plans and print the samples."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=500)
    parser.add_argument("--every", type=int, default=EVERY)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(endured(Path(folder), options.plans, options.every))
    first = rows[0][0]
    print("plans  memory MB  growth MB  handles  threads  children  ledger MB  plan against first")
    for each, took in rows:
        print(
            f"{each.plans:5}  {each.memory / 1e6:9.1f}  {(each.memory - first.memory) / 1e6:9.1f}  {each.handles:7}"
            f"  {each.threads:7}  {each.children:8}  {each.ledger / 1e6:9.2f}  {took / rows[1][1]:18.2f}"
        )
    print(json.dumps({"bench": "endurance", "samples": [each._asdict() for each, _ in rows]}))


if __name__ == "__main__":
    main()
