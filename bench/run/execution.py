"""Measures the conductor against the best possible makespan, and plans under a hostile model.

Steps sleep in virtual time, so makespans are exact; the baseline runs the same graphs in waves. The naive loop gets the
same seeds of the hostile model, but does not parse calls in text, refuse early answers or retry.
"""

from __future__ import annotations

import asyncio
import heapq
import random
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.figures import Figure, Measured, main
from planloom.domain.events import catalog as ev
from planloom.domain.plans.graph import dependency_graph, ordered
from planloom.domain.plans.plan import Detection, Plan, Step
from planloom.domain.scheduling import directives as do
from planloom.domain.values import PlanId, SessionId, StepId, Uri
from planloom.execution.conductor import Conductor
from planloom.execution.jobs import Jobs, only_logged
from planloom.execution.plan_store import EventStore, PlanStore
from planloom.execution.step_outcomes import Done, Outcome
from tests.support.hostile_model import ENDS, EXPECTED, Fate, naive_fate, planloom_fate
from tests.support.memory import MemoryStore

DETECTION = Detection(planned=True, rule="numbered_list", score=50, ambiguous=False)
PLAN = PlanId("plan")
OURS = "planloom"


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

    def leading(self, _plan: Plan) -> None:
        return None

    async def seen(self, _plan: Plan) -> frozenset[Uri]:
        """No file is changed."""
        return frozenset()

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


def chain(count: int) -> tuple[Step, ...]:
    """Steps of which each waits for the one before."""
    return tuple(step_of(number, [number - 1] if number else []) for number in range(count))


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
    plan_store, jobs = PlanStore(store), Jobs(only_logged)
    runner = Sleeping(durations)
    conductor = Conductor(plan_store, jobs, runner, lambda: do.Limits(max_parallel_steps=cap))
    plan_store.listen(conductor.on_event)
    plan_store.open(PLAN, SessionId("s"), ev.PlanStart(request="r", route="plan", detection=DETECTION))
    ready = ev.PlanReady(version=1, steps=tuple(steps), summary="", sequential=False, author="rules")
    plan_store.record(PLAN, ready, ev.PlanApproved(version=1, review="each"))
    began = asyncio.get_running_loop().time()
    conductor.conduct(PLAN)
    await jobs.join("conduct:")
    plan = plan_store.find(PLAN)
    assert plan is not None and plan.status == "completed", plan
    return asyncio.get_running_loop().time() - began


def makespans(quick: bool) -> Iterator[Measured]:
    """The makespan beside the lower bound, in virtual time: the same in each run on each machine."""
    for count in (10, 100) if quick else (10, 100, 1000):
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
            most = f"{cap} at once" if cap < count else "all at once"
            goal = 1.10 if cap < count else 1.05
            name = f"makespan of {count} steps, {most}, to the lower bound"
            yield Figure(name=name, unit="×", goal=goal).counted(statistics.median(ours))
            yield Figure(name=f"{name}, in waves", unit="×").counted(statistics.median(theirs))


async def fates(plans: int, chance: float) -> dict[str, dict[str, int]]:
    tally: dict[str, dict[str, int]] = {}
    for name, run in ((OURS, planloom_fate), ("naive loop", naive_fate)):
        counts: dict[str, int] = {}
        for seed in range(plans):
            with tempfile.TemporaryDirectory() as folder:
                fate: Fate = await run(Path(folder), seed, chance)
            counts[fate.kind] = counts.get(fate.kind, 0) + 1
        tally[name] = counts
    return tally


def hostile(quick: bool) -> Iterator[Measured]:
    """Plans whose model gives a hostile answer with a probability of 0.3, and the same for a naive loop."""
    plans = 20 if quick else 150
    for name, counts in asyncio.run(fates(plans, 0.3)).items():
        for kind in ENDS:
            title = f"{kind}, of {plans} plans with a hostile model, {name}"
            if name == OURS and kind not in EXPECTED:
                yield Figure(name=title, unit="plans", goal=0).counted(counts.get(kind, 0))
            elif kind in counts:
                yield Figure(name=title, unit="plans").timed([counts[kind]])


def figures(quick: bool) -> Iterator[Measured]:
    yield from makespans(quick)
    yield from hostile(quick)


if __name__ == "__main__":
    main(__doc__, figures)
