"""Measures the conductor against the best possible makespan, the cost of a step, and plans under a hostile model.

Steps sleep in virtual time, so makespans are exact; the baseline runs the same graphs in waves. The naive loop gets the
same seeds of the hostile model, but does not parse calls in text, refuse early answers or retry.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import json
import platform
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from planloom.domain.events import catalog as ev
from planloom.domain.events.lifecycle import apply
from planloom.domain.plans.graph import dependency_graph, ordered
from planloom.domain.plans.plan import Detection, Plan, Step
from planloom.domain.scheduling import directives as do
from planloom.domain.scheduling.schedule import Schedule
from planloom.domain.values import PlanId, SessionId, StepId
from planloom.execution.conductor import Conductor
from planloom.execution.jobs import Jobs
from planloom.execution.plan_store import EventStore, PlanStore
from planloom.execution.step_outcomes import Done, Outcome
from planloom.lsp.wire.to_wire_events import event
from planloom.storage.ledger import Ledger
from tests.support.hostile_model import Fate, naive_fate, planloom_fate
from tests.support.memory import MemoryStore

DETECTION = Detection(planned=True, rule="numbered_list", score=50, ambiguous=False)
PLAN = PlanId("plan")
COUNTS = (100, 500, 2000)
Fold = tuple[Plan, ev.Recorded, Plan]
"""The plan before an event, the event, the plan after it."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer as soon as nothing else is ready."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self._now = max(self._now, self._scheduled[0]._when)  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


class Sleeping:
    """Runs each step by sleeping for its duration."""

    def __init__(self, durations: Sequence[float]) -> None:
        self._durations = durations

    async def run(self, _plan_id: PlanId, step_id: StepId) -> Outcome:
        await asyncio.sleep(self._durations[int(step_id[1:])])
        return Done(summary="done")

    async def before_end(self, _plan_id: PlanId) -> bool:
        return True


def graph_of(count: int, chance: random.Random) -> tuple[tuple[Step, ...], list[float]]:
    """A random graph of steps, and a duration for each."""
    durations = [round(min(30.0, chance.lognormvariate(0, 1)), 3) for _ in range(count)]
    steps = []
    for n in range(count):
        near = range(max(0, n - 12), n)
        dependencies = chance.sample(near, min(len(near), chance.choice((0, 1, 1, 2, 3)))) if n else []
        steps.append(step_of(n, dependencies))
    return tuple(steps), durations


def step_of(number: int, dependencies: Sequence[int] = ()) -> Step:
    return Step(
        step_id=StepId(f"s{number}"),
        description=f"step {number}",
        instruction="work",
        depends_on=tuple(StepId(f"s{each}") for each in dependencies),
    )


def bound(steps: Sequence[Step], durations: Sequence[float], cap: int) -> float:
    """A lower bound of the makespan: the longest path, or all work divided by the number of workers."""
    graph = dependency_graph(steps)
    end = [0.0] * len(steps)
    for index in ordered(graph):
        end[index] = durations[index] + max((end[need] for need in graph.dependencies[index]), default=0.0)
    return max(*end, sum(durations) / cap)


def waves(steps: Sequence[Step], durations: Sequence[float], cap: int) -> float:
    """The makespan of the usual schedule: run everything that is ready, and wait for all of it before the next wave."""
    graph = dependency_graph(steps)
    level = [0] * len(steps)
    for index in ordered(graph):
        level[index] = 1 + max((level[need] for need in graph.dependencies[index]), default=0)
    total = 0.0
    for number in range(1, max(level) + 1):
        workers = [0.0] * cap
        for index in (index for index, wave in enumerate(level) if wave == number):
            heapq.heapreplace(workers, workers[0] + durations[index])
        total += max(workers)
    return total


async def conducted(steps: Sequence[Step], durations: Sequence[float], cap: int, store: EventStore) -> float:
    plan_store, jobs = PlanStore(store), Jobs()
    conductor = Conductor(plan_store, jobs, Sleeping(durations), lambda: do.Limits(max_parallel_steps=cap))
    plan_store.open(PLAN, SessionId("s"), ev.PlanStart(request="r", route="plan", detection=DETECTION))
    ready = ev.PlanReady(version=1, steps=tuple(steps), summary="", sequential=False, author="rules")
    plan_store.record(PLAN, ready, ev.PlanApproved(version=1, review="each"))
    began = asyncio.get_running_loop().time()
    conductor.conduct(PLAN)
    await jobs.join("conduct:")
    plan = plan_store.find(PLAN)
    assert plan is not None and plan.status == "completed", plan
    return asyncio.get_running_loop().time() - began


def makespans() -> list[dict[str, float]]:
    rows = []
    for count in (10, 100, 1000):
        for cap in (count, 8):
            ours, theirs = [], []
            for seed in range(10 if count < 1000 else 3):
                steps, durations = graph_of(count, random.Random(f"{count}-{seed}"))
                least = bound(steps, durations, cap)
                loop = VirtualLoop()
                took = loop.run_until_complete(conducted(steps, durations, cap, MemoryStore()))
                loop.close()
                ours.append(took / least)
                theirs.append(waves(steps, durations, cap) / least)
            rows.append(
                {
                    "steps": count,
                    "cap": cap,
                    "conductor": round(statistics.median(ours), 3),
                    "worst": round(max(ours), 3),
                    "waves": round(statistics.median(theirs), 3),
                }
            )
    return rows


def overheads() -> list[dict[str, float]]:
    """Microseconds of processor time for each step, for independent steps and for a chain."""
    rows = []
    for count in COUNTS:
        independent = [step_of(n) for n in range(count)]
        chain = [step_of(n, [n - 1] if n else []) for n in range(count)]
        row: dict[str, float] = {"steps": count}
        for name, steps in (("independent", independent), ("chain", chain)):
            for kind in ("memory", "ledger"):
                with tempfile.TemporaryDirectory() as folder:
                    store = MemoryStore() if kind == "memory" else Ledger(Path(folder) / "ledger.db")
                    began = time.process_time()
                    asyncio.run(conducted(steps, [0.0] * count, 8, store))
                    row[f"{name}_{kind}"] = round((time.process_time() - began) / count * 1e6, 1)
        rows.append(row)
    return rows


def parts(count: int) -> dict[str, float]:
    """Microseconds for each step of a chain by part: the recorded events are replayed through one part at a time.

    Two baselines of the same run: bare commits of the same events, and the copies that the plan would need if its
    steps were a tuple.
    """
    store = MemoryStore()
    steps = [step_of(n, [n - 1] if n else []) for n in range(count)]
    asyncio.run(conducted(steps, [0.0] * count, 8, store))
    folds: list[Fold] = []
    plan: Plan | None = None
    for recorded in store.events(PLAN):
        after = apply(plan, recorded)
        if plan is not None and plan.status in ("approved", "executing"):
            folds.append((plan, recorded, after))
        plan = after
    schedule = Schedule(folds[0][0])
    limits = do.Limits(max_parallel_steps=8)

    def follow(_: Plan, recorded: ev.Recorded, after: Plan) -> None:
        schedule.update(recorded.event, after)
        schedule.directives(after, limits)

    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.db")
        first = folds[0][0]
        ledger.append([each for each in store.events(PLAN) if each.seq <= first.seq], first)
        commit = bare_commits(Path(folder) / "bare.db")
        row = {
            "steps": count,
            "fold": again(folds, lambda before, recorded, _: apply(before, recorded)),
            "schedule": again(folds, follow),
            "ledger": again(
                folds,
                lambda before, recorded, after: ledger.append(
                    (recorded,), after, durable=ev.is_durable(recorded.event, before)
                ),
            ),
            "wire": again(folds, lambda _, recorded, after: json.dumps(event(recorded, after))),
            "bare_commits": again(folds, lambda _, recorded, __: commit(recorded)),
            "tuple_copies": again(folds, lambda *_: tuple(steps)),
        }
        ledger.close()
    return {name: value if name == "steps" else round(value / count, 1) for name, value in row.items()}


def again(folds: Sequence[Fold], act: Callable[[Plan, ev.Recorded, Plan], object]) -> float:
    """Microseconds of processor time to call `act` for all of the events."""
    began = time.process_time()
    for fold in folds:
        act(*fold)
    return 1e6 * (time.process_time() - began)


def bare_commits(path: Path) -> Callable[[ev.Recorded], None]:
    """A function that inserts one row in one transaction for each event, and nothing else."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, body TEXT)")

    def commit(recorded: ev.Recorded) -> None:
        body = ev.events.dump_json(recorded.event).decode()
        connection.execute("INSERT INTO events VALUES (?, ?)", (recorded.seq, body))

    return commit


async def fates(plans: int, chance: float) -> dict[str, dict[str, int]]:
    tally: dict[str, dict[str, int]] = {}
    for name, run in (("planloom", planloom_fate), ("naive loop", naive_fate)):
        counts: dict[str, int] = {}
        for seed in range(plans):
            with tempfile.TemporaryDirectory() as folder:
                fate: Fate = await run(Path(folder), seed, chance)
            counts[fate.kind] = counts.get(fate.kind, 0) + 1
        tally[name] = dict(sorted(counts.items()))
    return tally


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--plans", type=int, default=500)
    parser.add_argument("--chance", type=float, default=0.3)
    args = parser.parse_args()
    spans, costs, shares = makespans(), overheads(), [parts(count) for count in COUNTS]
    print("makespan / lower bound        steps     cap  conductor   worst   waves")
    for row in spans:
        print(f"{'':24}{row['steps']:11}{row['cap']:8}{row['conductor']:11}{row['worst']:8}{row['waves']:8}")
    print("microseconds a step       " + "".join(f"{name:>20}" for name in costs[0]))
    for row in costs:
        print(f"{'':26}" + "".join(f"{value:20}" for value in row.values()))
    print("of these, in a chain      " + "".join(f"{name:>14}" for name in shares[0]))
    for row in shares:
        print(f"{'':26}" + "".join(f"{value:14}" for value in row.values()))
    tally = asyncio.run(fates(args.plans, args.chance))
    for name, counts in tally.items():
        print(f"{name:14} {args.plans} plans, each answer hostile with probability {args.chance}: {counts}")
    print(
        json.dumps(
            {
                "bench": "execution",
                "python": platform.python_version(),
                "makespan": spans,
                "overhead_us": costs,
                "parts_us": shares,
                "fates": tally,
            }
        )
    )


if __name__ == "__main__":
    main()
