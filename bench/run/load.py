"""Measures the answers to requests of an idle and of a busy server, and the longest stall of its loop.

The idle server is a process beside a stock pygls server. The busy one shares a process with its client, so that the
stalls of its loop can be seen; its anchor is the same server before it got busy.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench.figures import Figure, Measured, main, milliseconds, percentile
from bench.growth.index import FAST, generate
from bench.peers import install
from bench.peers.three_files import serving
from bench.run import warm
from bench.server_process import SERVE, ServerProcess, initialized, own_state
from bench.stalls import Stall, longest_stall
from planloom.domain.events import catalog as ev
from planloom.service.application import Application
from tests.support.lsp_client import LspClient, connected
from tests.support.real_application import real_application

STOCK: Final = """
from pygls.lsp.server import LanguageServer
server = LanguageServer("stock", "1")
@server.feature("planloom/detect")
async def detect(ls, params):
    return {"planned": True, "rule": "numbered_list", "score": 60, "ambiguous": False}
server.start_io()
"""
TEXT: Final = {"text": "1. Create the page\n2. Write its tests"}
BATCH: Final = 100
EVENTS_A_SECOND: Final = 500
PLANS: Final = 5
STEPS: Final = 120
LONG: Final = 500
PAUSE: Final = 0.002
"""Seconds between two requests to a busy server, as of somebody who types fast and an editor that asks for more."""
IDLE: Final = "the same server, idle"
SECONDS: Final = 60
MODEL_PLANS: Final = 12
MOST_MEMORY: Final = 75
"""MB of a server with the plans above."""
MOST_STALLED: Final = 15
"""Milliseconds for which the loop may stand still."""
MOST_STALLED_BY_LONG: Final = 100
"""The same while a plan of `LONG` steps is drafted, approved, carried out and undone."""


def idle(batches: int) -> Iterator[Measured]:
    """The same requests to both servers, in turn; the percentiles are those of batches."""
    found: dict[str, list[list[float]]] = {"ours": [], "stock": []}
    with own_state():
        servers = {"ours": initialized(SERVE), "stock": initialized((sys.executable, "-c", STOCK))}
        for server in servers.values():
            server.tell("initialized", {})
        for batch in range(batches + 1):
            rows: dict[str, list[float]] = {name: [] for name in servers}
            for number in range(BATCH):
                for name, server in servers.items():
                    ident = 2 + batch * BATCH + number
                    rows[name].append(milliseconds(partial(server.ask, ident, "planloom/detect", TEXT)))
            if batch:
                for name, row in rows.items():
                    found[name].append(row)
        for server in servers.values():
            server.end()
    for title, share, goal in (("p50", 0.5, 0.7), ("p99", 0.99, None)):
        yield Figure(name=f"request to an idle server, {title}", anchor="stock pygls", goal=goal).paired(
            *([percentile(row, share) for row in found[name]] for name in ("ours", "stock"))
        )


async def asked(client: LspClient, still: Callable[[], bool]) -> list[float]:
    """Milliseconds of requests, one after the other, as long as `still` says."""
    found = []
    while still():
        began = time.perf_counter()
        await client.request("planloom/detect", TEXT)
        found.append((time.perf_counter() - began) * 1000)
        forget(client)
        await asyncio.sleep(PAUSE)
    return found


def forget(client: LspClient) -> None:
    """Drop what the server has said: what a client keeps lengthens the garbage collections of the shared process."""
    if faults := client.taken_faults():
        raise RuntimeError("\n".join(faults))


def during(seconds: float) -> Callable[[], bool]:
    until = time.perf_counter() + seconds
    return lambda: time.perf_counter() < until


@asynccontextmanager
async def many_events(client: LspClient) -> AsyncIterator[Callable[[], bool]]:
    """Events of a plan, evenly spread."""
    created = await client.request("planloom/plan/create", {**TEXT, "mode": "plan"})
    await client.wait_event("plan_ready", plan_id=created["plan"]["planId"])
    store = application(client)._plan_store

    async def record() -> None:
        began, number = time.perf_counter(), 0
        while True:
            while number < (time.perf_counter() - began) * EVENTS_A_SECOND:
                store.record(created["plan"]["planId"], ev.Log(level="info", message=f"line {number}"))
                number += 1
                await asyncio.sleep(0)
            await asyncio.sleep(PAUSE)

    recording = asyncio.create_task(record())
    yield during(2)
    recording.cancel()


@asynccontextmanager
async def index_build(client: LspClient) -> AsyncIterator[Callable[[], bool]]:
    """The listing of a large workspace."""
    building = application(client).index.rescan()
    yield lambda: not building.done()
    await building


@asynccontextmanager
async def five_plans(client: LspClient) -> AsyncIterator[Callable[[], bool]]:
    """Plans whose steps begin and end as fast as they can."""
    text = "\n".join(f"{number}. Read src/untracked{number}.ts" for number in range(1, STEPS + 1))
    plans = []
    for _ in range(PLANS):
        created = await client.request("planloom/plan/create", {"text": text, "mode": "plan"})
        plan_id = created["plan"]["planId"]
        ready = await client.request("planloom/plan/wait", {"planId": plan_id, "until": "ready"})
        plans.append({"planId": plan_id, "version": ready["plan"]["version"]})
        forget(client)
    for plan in plans:
        await client.request("planloom/plan/approve", plan)
    ended = asyncio.gather(*(_ended(client, plan["planId"]) for plan in plans))
    yield lambda: not ended.done()
    await ended


@asynccontextmanager
async def long_plan(client: LspClient) -> AsyncIterator[Callable[[], bool]]:
    """A plan of many edits, which is undone as soon as it has ended."""
    text = "\n".join(f'{number}. Create file long/{number}.txt with content "x"' for number in range(LONG))

    async def whole() -> None:
        created = await client.request("planloom/plan/create", {"text": text, "mode": "plan"})
        plan_id = created["plan"]["planId"]
        ready = await client.request("planloom/plan/wait", {"planId": plan_id, "until": "ready"})
        approved = {"planId": plan_id, "version": ready["plan"]["version"], "review": "auto"}
        await client.request("planloom/plan/approve", approved)
        await _ended(client, plan_id)
        await client.request("planloom/plan/undo", {"planId": plan_id}, timeout=SECONDS)

    working = asyncio.create_task(whole())
    yield lambda: not working.done()
    await working


async def _ended(client: LspClient, plan_id: str) -> None:
    await client.request("planloom/plan/wait", {"planId": plan_id, "until": "ended"}, timeout=SECONDS)


Busy = Callable[[LspClient], AbstractAsyncContextManager[Callable[[], bool]]]
WORK: Final[dict[str, Busy]] = {
    f"at {EVENTS_A_SECOND} events a second": many_events,
    "while an index is built": index_build,
    "with five plans running": five_plans,
    f"with a plan of {LONG} steps and its undo": long_plan,
}


def application(client: LspClient) -> Application:
    app = client.server.connection.app
    assert isinstance(app, Application)
    return app


async def busy(work: Busy, root: Path) -> tuple[list[float], list[float], Stall]:
    """Milliseconds of requests before the work and during it, and the longest stall during it."""
    settings: dict[str, Any] = {"model": {"provider": "embedded"}}
    with tempfile.TemporaryDirectory() as folder:
        make = real_application(Path(folder) / "ledger.sqlite3")
        async with connected(make, folders=[root], settings=settings) as client:
            # What the first request and the first plan import has its own figure.
            await client.request("planloom/plan/create", {**TEXT, "mode": "plan"})
            await client.wait_event("plan_ready")
            await asked(client, during(0.2))
            # As the server does when it has started.
            gc.collect()
            gc.freeze()
            before = await asked(client, during(0.7))
            async with longest_stall() as stall, work(client) as still:
                meanwhile = await asked(client, still)
    return before, meanwhile, stall


def memory() -> Iterator[Measured]:
    """The most memory of a server while a model carries out plans one after the other, and of Codex's app-server."""
    with ExitStack() as stack:
        os.environ |= {"CODEX_HOME": str(stack.enter_context(own_state())), "KEY": "none"}
        url, exchanges = stack.enter_context(serving())
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2)]
        ours = warm.planloom(folders[0], url)
        stack.callback(ours.end)
        rounds: dict[str, tuple[ServerProcess, warm.Round]] = {"ours": (ours, warm.of_planloom(ours, "plan"))}
        if (path := install.codex()) is not None:
            codex = warm.codex(path, url)
            stack.callback(codex.end)
            rounds["codex"] = (codex, warm.of_codex(codex, folders[1]))
        most = dict.fromkeys(rounds, 0.0)
        for _ in range(MODEL_PLANS):
            for name, (server, carry_out) in rounds.items():
                exchanges.clear()
                carry_out(exchanges)
                most[name] = max(most[name], server.whole_memory())
    name = f"most memory (PSS) after one of {MODEL_PLANS} plans of a model"
    # Systems without /proc do not tell.
    if most["ours"]:
        yield Figure(name=name, unit="MB", goal=MOST_MEMORY).timed([most["ours"]])
        if "codex" in most:
            beside = Figure(name=f"{name}, beside codex", unit="MB", anchor="codex")
            yield beside.paired([most["ours"]], [most["codex"]])


def figures(quick: bool) -> Iterator[Measured]:
    """Rounds of each kind of work."""
    yield from memory()
    yield from idle(5 if quick else 20)
    with tempfile.TemporaryDirectory(dir=FAST) as folder:
        root = Path(folder, "workspace")
        generate(root, 10_000 if quick else 100_000)
        for name, work in WORK.items():
            rows = [asyncio.run(busy(work, root)) for _ in range(2 if quick or work is long_plan else 5)]
            for title, share in (("p50", 0.5), ("p99", 0.99)):
                yield Figure(name=f"request {name}, {title}", anchor=IDLE).paired(
                    [percentile(meanwhile, share) for _, meanwhile, _ in rows],
                    [percentile(before, share) for before, _, _ in rows],
                )
            stalls = [stall for _, _, stall in rows]
            yield Figure(name=f"longest stall {name}").timed([1000 * each.seconds for each in stalls])
            goal = MOST_STALLED_BY_LONG if work is long_plan else MOST_STALLED
            computed = Figure(name=f"longest stall {name}, computing", goal=goal)
            yield computed.timed([1000 * each.processor for each in stalls])


if __name__ == "__main__":
    main(__doc__, figures)
