"""Measures one server process over a working day: memory, tasks, handles, threads, child processes, size of the ledger.

Its clocks are set forward between the plans, five seconds at a time, so that leases, upkeep, time limits and what is
dropped after a while run as over `--hours` (8; 24 is a day and a night). Plans of ten kinds go on: by rules and by a
model, with perspectives, cancelled, failed, with messages, with background commands, undone. Each hour another server
opens the same ledger and closes it. Prints a table and a JSON line; `--output` writes the table after each sample.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.endurance.working_day import DayModel, Person, forget
from tests.support.compressed_time import CompressedTime
from tests.support.http_server import serving
from tests.support.lsp_client import EXTENSION, FULL
from tests.support.process_client import ProcessClient
from tests.support.warm_server import WarmServers, warm_servers

SETTINGS: dict[str, Any] = {
    "model": {"provider": "embedded"},
    "approvals": {"write": "allow", "execute": "allow"},
    "execution": {"review": "auto"},
}
LEAP = 5.0
"""Seconds of one leap of the clocks: as often are leases renewed."""
SAMPLES = 2
"""Samples in an hour."""


class Sample(NamedTuple):
    """The process after some plans: resident memory and the ledger in bytes, the rest as counts.

    `plan_seconds` is the time that a plan took since the sample before, by the machine's clock.
    """

    hours: float
    plans: int
    memory: int
    tasks: int
    handles: int
    threads: int
    children: int
    ledger: int
    plan_seconds: float


class Day(NamedTuple):
    """How long, and how many plans there are in an hour."""

    hours: float
    plans_per_hour: int


def sample(pid: int, clock: CompressedTime, ledger: Path, plans: int, tasks: int) -> Sample:
    """The process and its ledger now."""
    proc = Path(f"/proc/{pid}")
    status = dict(line.split(":", 1) for line in (proc / "status").read_text("ascii").splitlines())
    return Sample(
        hours=clock.offset / 3600,
        plans=plans,
        memory=int(status["VmRSS"].split()[0]) * 1024,
        tasks=tasks,
        handles=len(list((proc / "fd").iterdir())),
        threads=int(status["Threads"]),
        children=len((proc / f"task/{pid}/children").read_text("ascii").split()),
        ledger=sum(path.stat().st_size for path in ledger.glob("*.sqlite3*")),
        plan_seconds=0.0,
    )


async def endured(folder: Path, day: Day) -> AsyncIterator[Sample]:
    """Samples of one server process: after two plans of each kind, then `SAMPLES` in each hour."""
    (folder / "workspace").mkdir()
    clock = CompressedTime(folder / "clock")
    with warm_servers() as warm:
        async with serving(DayModel()) as model:
            provider = {"provider": "openai", "baseUrl": f"{model.origin}/v1", "name": "scripted"}
            settings = SETTINGS | {"model": provider}
            client = await _client(warm, folder, settings, clock=folder / "clock")
            person = Person(client, folder / "workspace")
            # What the first plans load and cache is no growth.
            done = 2 * len(person.kinds)
            for number in range(done):
                await person.plan(number)
            yield sample(client.pid, clock, folder / "state", done, await clock.tasks(client.pid))
            for step in range(1, round(day.hours * SAMPLES) + 1):
                took = 0.0
                for _ in range(day.plans_per_hour // SAMPLES):
                    began = time.monotonic()
                    await person.plan(done)
                    took += time.monotonic() - began
                    done += 1
                    await _pass(client, clock, 3600 / day.plans_per_hour)
                if step % SAMPLES == 0:
                    other = await _client(warm, folder, settings)
                    await other.request("planloom/plan/list", {})
                    await other.shut_down()
                now = sample(client.pid, clock, folder / "state", done, await clock.tasks(client.pid))
                yield now._replace(plan_seconds=took / (day.plans_per_hour // SAMPLES))
            await client.shut_down()


async def _client(
    warm: WarmServers, folder: Path, settings: dict[str, Any], clock: Path | None = None
) -> ProcessClient:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PLANLOOM_CONFIG": str(folder / "none.json"),
    }
    places = ["--storage", str(folder / "state"), "--log-file", str(folder / "server.log")]
    started = warm.start(places, environment, folder / "stderr.log", clock=clock)
    client = ProcessClient(started, FULL)
    await client.connect()
    options: dict[str, Any] = {"planloom": settings, "planloomClient": EXTENSION}
    await client.initialize([folder / "workspace"], options)
    return client


async def _pass(client: ProcessClient, clock: CompressedTime, seconds: float) -> None:
    """Let time pass while nothing is asked. Each request wakes the server, whose due timers then run."""
    until = clock.offset + seconds
    while clock.offset < until:
        clock.leap(min(LEAP, until - clock.offset))
        await client.request("planloom/status")
    forget(client)


def table(samples: Sequence[Sample]) -> str:
    """The samples as text, with what each has grown since the first."""
    rows = ["hours  plans  memory MB  growth MB  tasks  handles  threads  children  ledger MB  s a plan"]
    rows += [
        f"{each.hours:5.1f}  {each.plans:5}  {each.memory / 1e6:9.1f}"
        f"  {(each.memory - samples[0].memory) / 1e6:9.1f}  {each.tasks:5}  {each.handles:7}  {each.threads:7}"
        f"  {each.children:8}  {each.ledger / 1e6:9.2f}  {each.plan_seconds:8.2f}"
        for each in samples
    ]
    return "\n".join(rows)


async def _measured(day: Day, output: Path | None) -> list[Sample]:
    samples: list[Sample] = []
    with tempfile.TemporaryDirectory() as folder:
        async for each in endured(Path(folder), day):
            samples.append(each)
            if output is not None:
                _write(output, samples)
    return samples


def _write(output: Path, samples: Sequence[Sample]) -> None:
    output.write_text(table(samples) + "\n", encoding="utf-8")


def main() -> None:
    """Work through the day and print the samples."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=8)
    parser.add_argument("--plans-per-hour", type=int, default=60)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    samples = asyncio.run(_measured(Day(options.hours, options.plans_per_hour), options.output))
    print(table(samples))
    print(json.dumps({"bench": "endurance", "samples": [each._asdict() for each in samples]}))


if __name__ == "__main__":
    main()
