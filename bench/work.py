"""Measures the overhead around a model: from a request to its first byte, between turns, and in prompt bytes.

Everything is real except the model: the application over an editor in memory, the HTTP adapter, and a scripted server
on loopback. The baseline is a bare loop of httpx calls to the same server in the same run.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx

from planloom.domain.plans.editing import AddStep, RemoveStep, StepChanges
from planloom.domain.plans.plan import Plan
from planloom.domain.values import StepId
from planloom.models.offline.scripted import Turn, makes, says
from planloom.models.selection.select import choose_model
from planloom.settings import resolve
from tests.support.http_server import Asked, Wire, serving
from tests.support.model_server import ScriptedServer
from tests.support.studio import Studio, studio

ROUNDS = 15
PLAN = json.dumps(
    {
        "summary": "One step.",
        "steps": [{"id": "a", "description": "Look", "instruction": "Look around", "dependsOn": []}],
    }
)
WORK = (
    makes(("list_files", {})),
    makes(("read_file", {"path": "a.txt"})),
    makes(("write_file", {"path": "b.txt", "content": "b\n"})),
    makes(("list_files", {"recursive": True})),
    makes(("task_completed", {"summary": "Looked and wrote."})),
)


class Timed:
    """A scripted server, with the times at which each request arrived and each answer was sent."""

    def __init__(self, turns: tuple[Turn, ...]) -> None:
        self.inner = ScriptedServer(turns)
        self.begun: list[float] = []
        self.ended: list[float] = []

    async def __call__(self, asked: Asked, wire: Wire) -> None:
        post = asked.method == "POST"
        if post:
            self.begun.append(time.perf_counter())
        await self.inner(asked, wire)
        if post:
            self.ended.append(time.perf_counter())


async def planned(harness: Studio) -> Plan:
    """A plan of one step for a model, pending approval."""
    plan = await harness.ask("Look around and write b.txt", mode="plan")
    removals = [RemoveStep(step_id=step.step_id) for step in plan.steps]
    step = StepChanges(description="Look and write", instruction="Look, then write b.txt", kind="processing")
    addition = AddStep(place="last", step_id=StepId("work"), step=step)
    plan = await harness.app.plans.edit(plan.plan_id, plan.version, (addition,))
    return await harness.app.plans.edit(plan.plan_id, plan.version, removals)


async def one_round() -> dict[str, Any]:
    """Draft a plan with the model and run it; returns the delays and the prompts."""
    with tempfile.TemporaryDirectory() as folder:
        timed = Timed((says(PLAN), says(PLAN), *WORK))
        async with serving(timed) as running:
            values = {"model.baseUrl": f"{running.origin}/v1", "model.provider": "openai"}
            settings = resolve({"user": values}).settings
            model = (await choose_model(settings, {})).model
            assert model is not None
            async with studio(Path(folder), {"a.txt": "a\n" * 200}, model=model, settings=values) as harness:
                await model.capabilities()
                await harness.ask("Look at everything and add a page", mode="plan")
                asked = time.perf_counter()
                await harness.ask("Look at everything and add a page", mode="plan")
                to_model = 1000 * (timed.begun[1] - asked)
                harness.model.model = None
                plan = await planned(harness)
                harness.model.model = model
                plan = await harness.approve(plan)
                while plan.pending.approvals:
                    plan = await harness.respond(plan)
                assert plan.status == "completed", plan.status
            await model.close()
        work = slice(2, None)
        between = [
            1000 * (begun - ended) for ended, begun in zip(timed.ended[2:-1], timed.begun[3:], strict=True)
        ]
        prompts = [json.dumps(body["messages"]) for body in timed.inner.requests[work]]
        return {"to_model": to_model, "between": between, "prompts": prompts}


async def bare() -> list[float]:
    """The baseline: milliseconds from the last byte of one answer to the first byte of the next request."""
    timed = Timed((says("ok", repeat=True),))
    async with serving(timed) as running, httpx.AsyncClient(trust_env=False) as client:
        body = {"model": "m", "messages": [{"role": "user", "content": "x" * 8000}], "stream": True}
        for _ in range(8):
            url = f"{running.origin}/v1/chat/completions"
            async with client.stream("POST", url, json=body) as answer:
                async for _line in answer.aiter_lines():
                    continue
    return [1000 * (begun - ended) for ended, begun in zip(timed.ended[:-1], timed.begun[1:], strict=True)]


def shares(prompts: list[str]) -> list[float]:
    """The share of each prompt that equals the start of the one before, in per cent."""
    return [100 * _common_prefix(before, after) / len(after) for before, after in pairwise(prompts)]


def _common_prefix(before: str, after: str) -> int:
    """The length of the common prefix."""
    return next(
        (n for n, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), len(before)
    )


async def main() -> None:
    """Run rounds of both alternately and print medians."""
    await one_round()
    rounds, baselines = [], []
    for _ in range(ROUNDS):
        rounds.append(await one_round())
        baselines += (await bare())[1:]
    to_model = [each["to_model"] for each in rounds]
    between = [one for each in rounds for one in each["between"]]
    prompts = rounds[-1]["prompts"]
    rows = {
        "plan/create to the first byte of the model's request, ms": statistics.median(to_model),
        "last byte of an answer to the next request, ms": statistics.median(between),
        "the same, slowest turn of each round, ms": statistics.median(
            max(each["between"]) for each in rounds
        ),
        "a bare loop of httpx calls, ms": statistics.median(baselines),
        "prompt bytes a turn (first, last)": f"{len(prompts[0])}, {len(prompts[-1])}",
        "share identical to the turn before, %": statistics.median(shares(prompts)),
    }
    for name, value in rows.items():
        print(f"{name:62} {value if isinstance(value, str) else f'{value:.1f}'}")
    print(json.dumps({"bench": "work", "rounds": ROUNDS, **rows}))


if __name__ == "__main__":
    asyncio.run(main())
