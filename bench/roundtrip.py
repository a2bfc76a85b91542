"""Measures the round trip of a custom request against stock pygls, and the time until an event is sent.

Both servers run at once and get requests alternately, so that other load on the machine affects both. Prints a table
and a JSON line.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.server_process import PARAMS, SERVE, ServerProcess

STOCK = """
from pygls.lsp.server import LanguageServer
server = LanguageServer("stock", "1")
@server.feature("planloom/detect")
async def detect(ls, params):
    return {"planned": True, "rule": "numbered_list", "score": 60, "ambiguous": False}
server.start_io()
"""
TEXT = {"text": "1. Create the page\n2. Write its tests"}


def ask(peer: ServerProcess, ident: int) -> float:
    """Milliseconds of one round trip."""
    begun = time.perf_counter()
    peer.ask(ident, "planloom/detect", TEXT)
    return (time.perf_counter() - begun) * 1000


def percentile(values: list[float], share: float) -> float:
    """The value below which this share of the values lies."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def requests(count: int) -> dict[str, float]:
    """Send requests to both servers alternately."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"PLANLOOM_CONFIG": f"{folder}/none.json", "XDG_STATE_HOME": folder}
        ours = ServerProcess(SERVE)
        stock = ServerProcess((sys.executable, "-c", STOCK))
        for peer in (ours, stock):
            peer.ask(1, "initialize", PARAMS)
            peer.tell("initialized", {})
            for ident in range(2, 50):
                ask(peer, ident)
        rows = [(ask(stock, 100 + number), ask(ours, 100 + number)) for number in range(count)]
        for peer in (ours, stock):
            peer.end()
    plain, mine = [row[0] for row in rows], [row[1] for row in rows]
    return {
        "stock_p50_ms": statistics.median(plain),
        "stock_p99_ms": percentile(plain, 0.99),
        "p50_ms": statistics.median(mine),
        "p99_ms": percentile(mine, 0.99),
        "p50_ratio": statistics.median(mine) / statistics.median(plain),
    }


async def events(count: int) -> dict[str, float]:
    """Milliseconds from recording an event in the ledger until its bytes leave the server."""
    from planloom.domain.events import catalog as ev
    from tests.support.lsp_client import connected
    from tests.support.real_application import real_application

    spent: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        settings: dict[str, Any] = {"model": {"provider": "embedded"}}
        make = real_application(Path(folder) / "ledger.sqlite3")
        async with connected(make, folders=[Path(folder)], settings=settings) as client:
            created = await client.request("planloom/plan/create", {"text": TEXT["text"], "mode": "plan"})
            await client.wait_event("plan_ready")
            plan_id = created["plan"]["planId"]
            plan_store = client.server.connection.app._plan_store
            for number in range(count):
                begun = time.perf_counter()
                plan_store.record(plan_id, ev.Log(level="info", message=f"line {number}"))
                assert client.events[-1]["message"] == f"line {number}"
                spent.append((time.perf_counter() - begun) * 1000)
    return {"event_p50_ms": statistics.median(spent), "event_p99_ms": percentile(spent, 0.99)}


def main() -> None:
    """Run both measurements and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    count: int = parser.parse_args().count
    figures = requests(count) | asyncio.run(events(count))
    goals = {"p50_ratio": "0.70", "event_p50_ms": "5.00"}
    for name, value in figures.items():
        print(f"{name:16}{value:10.2f}" + (f"   goal {goals[name]}" if name in goals else ""))
    rounded = {name: round(value, 3) for name, value in figures.items()}
    print(json.dumps({"bench": "roundtrip", "count": count, **rounded}))


if __name__ == "__main__":
    main()
