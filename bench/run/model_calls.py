"""Measures what is added to a model's answer, and between two answers, beside bare httpx clients.

All is real but the model: the application over an editor in memory, the adapter, and a scripted server on loopback.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import httpx

from bench.figures import Figure, Measured, main
from planloom.domain.plans.editing import AddStep, RemoveStep, StepChanges
from planloom.domain.plans.plan import Plan
from planloom.domain.values import StepId
from planloom.models.offline.scripted import Turn, makes, says
from planloom.models.port import Message, Model, ModelRequest
from planloom.models.selection.select import choose_model
from planloom.settings import ModelSettings, Settings, resolve
from tests.support.http_server import Asked, Wire, serving
from tests.support.model_server import ScriptedServer
from tests.support.studio import Studio, studio

WARM_UP: Final = 10
TURN: Final = Turn(text="A word and another. " * 20, repeat=True)
HTTPX: Final = "httpx"
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


class Marks(NamedTuple):
    """Times of one request: sent, first byte at the server, last byte of the answer, end of the stream."""

    sent: float
    first_byte: float
    last_byte: float
    finished: float

    @property
    def to_server(self) -> float:
        return 1000 * (self.first_byte - self.sent)

    @property
    def to_finish(self) -> float:
        return 1000 * (self.finished - self.last_byte)

    @property
    def whole(self) -> float:
        return 1000 * (self.finished - self.sent)


class TimedServer:
    """A scripted server, with the times at which each request to the model arrived and its answer was sent."""

    def __init__(self, *turns: Turn) -> None:
        self.inner = ScriptedServer(turns)
        self.begun: list[float] = []
        self.ended: list[float] = []

    async def __call__(self, asked: Asked, wire: Wire) -> None:
        post = asked.method == "POST"
        if post:
            self.begun.append(asked.arrived)
        await self.inner(asked, wire)
        if post:
            self.ended.append(time.perf_counter())


def question(size: int) -> ModelRequest:
    text = "Write a plan for a small program. " * (size // 34)
    return ModelRequest(messages=(Message(role="system", text="You plan."), Message(role="user", text=text)))


async def through_planloom(model: Model, request: ModelRequest) -> AsyncIterator[None]:
    async for event in model.stream(request):
        if event.kind == "text":
            yield


async def bare(client: httpx.AsyncClient, request: ModelRequest) -> AsyncIterator[None]:
    messages = [{"role": message.role, "content": message.text} for message in request.messages]
    body = {
        "model": "scripted",
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    async with client.stream("POST", "/v1/chat/completions", json=body) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: {"):
                choices = json.loads(line[6:])["choices"]
                if choices and choices[0]["delta"].get("content"):
                    yield


async def marked(server: TimedServer, words: AsyncIterator[None]) -> Marks:
    sent = time.perf_counter()
    async for _ in words:
        pass
    finished = time.perf_counter()
    return Marks(sent, server.begun[-1], server.ended[-1], finished)


async def planned(harness: Studio) -> Plan:
    """A plan of one step for a model, pending approval."""
    plan = await harness.ask("Look around and write b.txt", mode="plan")
    removals = [RemoveStep(step_id=step.step_id) for step in plan.steps]
    step = StepChanges(description="Look and write", instruction="Look, then write b.txt", kind="processing")
    addition = AddStep(place="last", step_id=StepId("work"), step=step)
    plan = await harness.app.plans.edit(plan.plan_id, plan.version, (addition,))
    return await harness.app.plans.edit(plan.plan_id, plan.version, removals)


async def one_round() -> tuple[float, list[float]]:
    """Draft a plan with the model and run it; returns the delays before the first request and between the others."""
    with tempfile.TemporaryDirectory() as folder:
        timed = TimedServer(says(PLAN), says(PLAN), *WORK)
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
        between = [
            1000 * (begun - ended) for ended, begun in zip(timed.ended[2:-1], timed.begun[3:], strict=True)
        ]
        return to_model, between


async def bare_loop() -> list[float]:
    """The baseline: milliseconds from the last byte of one answer to the first byte of the next request."""
    timed = TimedServer(says("ok", repeat=True))
    async with serving(timed) as running, httpx.AsyncClient(trust_env=False) as client:
        body = {"model": "m", "messages": [{"role": "user", "content": "x" * 8000}], "stream": True}
        for _ in range(8):
            url = f"{running.origin}/v1/chat/completions"
            async with client.stream("POST", url, json=body) as answer:
                async for _line in answer.aiter_lines():
                    continue
    return [1000 * (begun - ended) for ended, begun in zip(timed.ended[:-1], timed.begun[1:], strict=True)]


async def answers(size: int, rounds: int) -> Iterator[Measured]:
    """Answers to prompts of a size, in turn."""
    server = TimedServer(TURN)
    request = question(size)
    rows: list[tuple[Marks, Marks]] = []
    async with (
        serving(server) as running,
        httpx.AsyncClient(base_url=running.origin, trust_env=False) as client,
    ):
        settings = Settings(
            model=ModelSettings(provider="openai", base_url=f"{running.origin}/v1", name="scripted")
        )
        model = (await choose_model(settings, {})).model
        assert model is not None
        for number in range(rounds + WARM_UP):
            theirs = await marked(server, bare(client, request))
            ours = await marked(server, through_planloom(model, request))
            if number >= WARM_UP:
                rows.append((ours, theirs))
        await model.close()
    kb = f"prompt of {size / 1000:g} kB"
    return iter(
        [
            Figure(name=f"{title}, {kb}", anchor=HTTPX).paired(
                [getattr(ours, field) for ours, _ in rows], [getattr(theirs, field) for _, theirs in rows]
            )
            for field, title in (
                ("to_server", "request to its first byte at the server"),
                ("to_finish", "last byte of the answer to its end"),
                ("whole", "the whole answer"),
            )
        ]
    )


async def turns(rounds: int) -> Iterator[Measured]:
    """A plan of a step with five turns, beside a loop that only sends requests."""
    await one_round()
    found = [(await one_round(), (await bare_loop())[1:]) for _ in range(rounds)]
    between = Figure(name="last byte of an answer to the next request", anchor=HTTPX, goal=2)
    first = Figure(name="plan/create to the first byte at the model")
    ours = [statistics.median(waits) for (_, waits), _ in found]
    theirs = [statistics.median(waits) for _, waits in found]
    return iter([between.paired(ours, theirs), first.timed([to_model for (to_model, _), _ in found])])


def figures(quick: bool) -> Iterator[Measured]:
    for size in (2_000, 100_000):
        yield from asyncio.run(answers(size, 30 if quick else 120))
    yield from asyncio.run(turns(3 if quick else 15))


if __name__ == "__main__":
    main(__doc__, figures)
