"""The client ends the server, or loses it in order, at every point of a plan; then it goes on until the end.

A point is the moment at which the client has heard the n-th event, or has an edit before it: not made, made and not
answered, or made and answered. Ways to end: `shutdown` and `exit`, `exit` alone, the end of the input, SIGTERM and
SIGHUP. The process is gone within a bound, with the exit code that the protocol names, and the next server carries
the plan on. Seeds count through all points, for each way and review mode.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import time
from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from tests.campaigns.circumstances import Review, draw
from tests.campaigns.desk import Desk, desk
from tests.campaigns.kill import judge, prepare
from tests.campaigns.matrix import matrix_world
from tests.campaigns.person import Person
from tests.campaigns.reports import Report
from tests.campaigns.verdicts import troubles_blamed
from tests.support.process_client import Failed, NeverAnswered, ProcessClient, ServerGone
from tests.support.warm_server import WarmServers

NAME = "ending"
Way = Literal["shutdown", "exit", "input", "terminate", "hangup"]
Part = Literal["heard", "before", "made", "answered"]
CODES: dict[Way, int] = {"shutdown": 0, "exit": 1, "input": 1, "terminate": 143, "hangup": 129}
BOUND = 10.0 + 10.0
"""Seconds within which a server is gone: those that it grants to work in hand, and as many for a busy machine."""


class Point(NamedTuple):
    """The n-th event, or the n-th edit before, while or after it is made."""

    part: Part
    nth: int


POINTS = [
    *(Point("heard", nth) for nth in range(1, 61)),
    *(Point(part, nth) for part in get_args(Part) if part != "heard" for nth in range(1, 6)),
]
GRID = [*product(get_args(Way), get_args(Review))]
LAST = len(POINTS) * len(GRID) - 1


async def run(warm: WarmServers, folder: Path, seed: int, *, fixed: dict[str, Any] | None = None) -> Report:
    """One point, one way, one review mode."""
    point = POINTS[seed // len(GRID) % len(POINTS)]
    way, review = GRID[seed % len(GRID)]
    rng = random.Random(f"ending {seed}")
    drawn = {"review": review, "able": "full", "encoding": "utf-16", "save": True, **(fixed or {})}
    circumstances = draw(rng, **drawn)
    report = Report(NAME, seed, f"{circumstances} {point} {way}", folder=str(folder))
    async with desk(warm, folder, matrix_world(), circumstances, rng) as at:
        prepare(at)
        with troubles_blamed(at, report):
            await judge(at, report, await _seen_through(at, report, point, way))
    return report


async def _seen_through(at: Desk, report: Report, point: Point, way: Way) -> dict[str, Any]:
    """The plan when it has ended, with the end of the first server in the middle."""
    person = Person(at)
    client = await at.boot()
    async with _ending(at, client, point, way) as ended:
        try:
            return await person.see_through()
        except (ServerGone, Failed):
            if not ended.is_set():
                raise
    report.kills += 1
    began = time.monotonic()
    await client.dead()
    if time.monotonic() - began > BOUND:
        report.blame("stuck", f"the server was gone {time.monotonic() - began:.1f} s after {way}")
    code = int((at.folder / "stderr.exit").read_text())
    if code != CODES[way]:
        report.blame("server", f"exit code {code} after {way}")
    at.change_editor("same")
    await at.boot()
    return await person.see_through()


@contextlib.asynccontextmanager
async def _ending(at: Desk, client: ProcessClient, point: Point, way: Way) -> AsyncIterator[asyncio.Event]:
    """End the server at the point while the block runs; the event is set from then on."""
    ended = asyncio.Event()

    async def end() -> None:
        ended.set()
        with contextlib.suppress(ServerGone):
            await _end(client, way)

    async def when_heard() -> None:
        await client.until(lambda: len(client.events) >= point.nth, timeout=600)
        await end()

    if point.part == "heard":
        at.later(when_heard())
    else:
        at.apply = _ending_edit(at, point, end)
    try:
        yield ended
    finally:
        at.apply = None


def _ending_edit(at: Desk, point: Point, end: Any) -> Any:
    seen = 0

    def apply(_: ProcessClient, params: dict[str, Any]) -> Any:
        nonlocal seen
        seen += 1
        if seen != point.nth:
            return at.editor.apply(params)
        answer = None if point.part == "before" else at.editor.apply(params)
        at.later(end())
        if point.part == "answered":
            return answer
        raise NeverAnswered

    return apply


async def _end(client: ProcessClient, way: Way) -> None:
    match way:
        case "shutdown":
            await client.request("shutdown", timeout=BOUND)
            client.notify("exit")
        case "exit":
            client.notify("exit")
        case "input":
            client.hang_up()
        case "terminate":
            os.kill(client.pid, signal.SIGTERM)
        case "hangup":
            os.kill(client.pid, signal.SIGHUP)
