"""Runs many seeds of a campaign, several servers at a time."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.campaigns.reports import Report
from tests.support.warm_server import WarmServers

CAMPAIGNS = ("kill", "matrix", "power", "race", "undo", "names", "chains", "faulty", "ending")
AT_ONCE = 5
"""Servers at a time: they wait for their model, their disk and each other more than for a processor."""


def campaign(name: str) -> ModuleType:
    """The module of a campaign; its `run(warm, folder, seed)` makes one run."""
    return import_module(f"tests.campaigns.{name}")


async def run_seeds(
    warm: WarmServers,
    name: str,
    seeds: Iterable[int],
    *,
    at_once: int = AT_ONCE,
    keep: bool = False,
    seconds: float = float("inf"),
    heard: Callable[[Report], None] = lambda _: None,
    **more: Any,
) -> list[Report]:
    """The reports of the seeds, in their order; `keep` leaves the folders of runs that failed.

    No run begins after `seconds`: its seed has no report.
    """
    end = time.monotonic() + seconds
    run = campaign(name).run
    turns = asyncio.Semaphore(at_once)
    base = _folder(name)

    async def one(seed: int) -> Report | None:
        async with turns:
            if time.monotonic() > end:
                return None
            folder = base / str(seed)
            folder.mkdir()
            try:
                report: Report = await run(warm, folder, seed, **more)
            except Exception as error:
                report = Report(name, seed, folder=str(folder))
                report.blame("rig", repr(error))
            heard(report)
            if not (keep and report.troubles):
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            return report

    try:
        reports = await asyncio.gather(*(one(seed) for seed in seeds))
        return [report for report in reports if report is not None]
    finally:
        if not keep:
            shutil.rmtree(base, ignore_errors=True)


def _folder(name: str) -> Path:
    """A new folder by its real path: an editor and the server must spell it alike."""
    return Path(tempfile.mkdtemp(prefix=f"planloom-campaign-{name}-")).resolve()
