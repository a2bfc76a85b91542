"""Measures the time that the adapter adds to a model's answer, against a bare httpx client in the same run."""

from __future__ import annotations

import asyncio
import json
import platform
import statistics
import time
from collections.abc import AsyncIterator
from typing import NamedTuple

import httpx
from httpx_sse import aconnect_sse

from planloom.models.http.http_model import HttpModel
from planloom.models.offline.scripted import Turn
from planloom.models.port import Message, ModelRequest
from planloom.models.selection.select import choose_model
from planloom.settings import ModelSettings, Settings
from tests.support.http_server import Asked, Wire, serving
from tests.support.model_server import ScriptedServer

ROUNDS = 120
WARM_UP = 10
TURN = Turn(text="A word and another. " * 20, repeat=True)


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
    """The scripted server, with the times at which a request arrived and its answer was sent."""

    def __init__(self) -> None:
        self.inner = ScriptedServer([TURN])
        self.first_byte = self.last_byte = 0.0

    async def __call__(self, asked: Asked, wire: Wire) -> None:
        if asked.method == "POST":
            self.first_byte = asked.arrived
        await self.inner(asked, wire)
        self.last_byte = time.perf_counter()


def question(size: int) -> ModelRequest:
    text = "Write a plan for a small program. " * (size // 34)
    return ModelRequest(messages=(Message(role="system", text="You plan."), Message(role="user", text=text)))


async def through_planloom(model: HttpModel, request: ModelRequest) -> AsyncIterator[None]:
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
    async with aconnect_sse(client, "POST", "/v1/chat/completions", json=body) as source:
        async for event in source.aiter_sse():
            if event.data == "[DONE]":
                break
            choices = json.loads(event.data)["choices"]
            if choices and choices[0]["delta"].get("content"):
                yield


async def marked(server: TimedServer, words: AsyncIterator[None]) -> Marks:
    sent = time.perf_counter()
    async for _ in words:
        pass
    finished = time.perf_counter()
    return Marks(sent, server.first_byte, server.last_byte, finished)


async def measure(size: int) -> dict[str, dict[str, float]]:
    server = TimedServer()
    request = question(size)
    measured: dict[str, list[Marks]] = {"httpx": [], "planloom": []}
    async with (
        serving(server) as running,
        httpx.AsyncClient(base_url=running.origin, trust_env=False) as client,
    ):
        settings = Settings(
            model=ModelSettings(provider="openai", base_url=f"{running.origin}/v1", name="scripted")
        )
        model = (await choose_model(settings, {})).model
        assert isinstance(model, HttpModel)
        for number in range(ROUNDS + WARM_UP):
            pair = {
                "httpx": await marked(server, bare(client, request)),
                "planloom": await marked(server, through_planloom(model, request)),
            }
            if number >= WARM_UP:
                for name, marks in pair.items():
                    measured[name].append(marks)
        await model.close()
    return {
        name: {
            "to_server_ms": statistics.median(mark.to_server for mark in marks),
            "to_finish_ms": statistics.median(mark.to_finish for mark in marks),
            "whole_ms": statistics.median(mark.whole for mark in marks),
            "whole_p95_ms": statistics.quantiles((mark.whole for mark in marks), n=20)[-1],
        }
        for name, marks in measured.items()
    }


def main() -> None:
    results = {size: asyncio.run(measure(size)) for size in (2_000, 100_000)}
    print(
        f"{'prompt':>8} {'who':>9} {'to first byte':>14} {'last byte to end':>17} {'whole':>8} {'p95':>8}  (ms)"
    )
    for size, rows in results.items():
        for name, row in rows.items():
            print(
                f"{size:>8} {name:>9} {row['to_server_ms']:>14.2f} {row['to_finish_ms']:>17.2f}"
                f" {row['whole_ms']:>8.2f} {row['whole_p95_ms']:>8.2f}"
            )
    print(
        json.dumps(
            {"bench": "models", "python": platform.python_version(), "rounds": ROUNDS, "results": results}
        )
    )


if __name__ == "__main__":
    main()
