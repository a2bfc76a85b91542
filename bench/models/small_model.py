"""Plays journeys with a small real model (`make real-model`) and prints each request: bytes, answer, and the outcome.

The model is far too weak for them. What counts is that every answer is read and that the plan ends in a clear state.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import tempfile
import time
from collections.abc import AsyncGenerator
from pathlib import Path

from planloom.domain.errors import PlanloomError
from planloom.domain.plans.plan import ENDED, Plan
from planloom.models.http.http_model import HttpModel
from planloom.models.port import Capabilities, ModelEvent, ModelIdentity, ModelRequest
from planloom.models.selection.select import ReselectingModel, choose_model
from planloom.settings import resolve
from tests.journeys.journey import Journey, encoded, load, python_on_path
from tests.support.real_model import real_model
from tests.support.studio import studio

JOURNEYS = Path(__file__).parents[2] / "tests" / "journeys"
MOST_SECONDS = 900.0
TESTS = "python -m pytest"


class Observed:
    """A model that prints each request and its answer."""

    def __init__(self, model: HttpModel, shown: int) -> None:
        self._model = model
        self._shown = shown
        self.sizes: list[int] = []

    @property
    def identity(self) -> ModelIdentity:
        return self._model.identity

    async def capabilities(self) -> Capabilities:
        return await self._model.capabilities()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        body = self._model._adapter.build_request("small", request, await self.capabilities(), 0).body
        self.sizes.append(len(encoded(body)))
        began, parts, counts, ending = time.monotonic(), [], "", "given up"
        try:
            async with contextlib.aclosing(self._model.stream(request)) as events:
                async for event in events:
                    if event.kind == "text":
                        parts.append(event.text)
                    elif event.kind == "finished":
                        ending = event.reason
                    elif event.kind == "usage":
                        counts = f", {event.prompt_tokens} + {event.completion_tokens} tokens"
                    yield event
        except PlanloomError as failure:
            ending = f"{failure.code}: {failure.message}"
            raise
        finally:
            text = "".join(parts)
            seconds = time.monotonic() - began
            print(f"  {self.sizes[-1] / 1000:.1f} kB, {seconds:.0f} s{counts}, {ending}", flush=True)
            print("    " + json.dumps(text[: self._shown], ensure_ascii=False), flush=True)

    async def close(self) -> None:
        await self._model.close()


async def play(journey: Journey, folder: Path, origin: str, shown: int) -> None:
    """Play one journey, allow edits and the tests, and print its end: nothing else of a model so weak is run."""
    values = {
        "model.baseUrl": f"{origin}/v1",
        "model.provider": "openai",
        "model.name": "smollm2",
        "model.temperature": 0.0,
        "execution.onFailure": "skip",
        "execution.maxToolCallsPerStep": 4,
        "budget.maxRequests": 10,
        "edits.save": "always",
    }
    journey.prepare(folder / "workspace")
    chosen = (await choose_model(resolve({"user": values}).settings, {})).model
    assert isinstance(chosen, ReselectingModel) and isinstance(chosen.inner, HttpModel)
    model = Observed(chosen.inner, shown)
    with python_on_path(folder):
        async with studio(folder, model=model, settings=values, patience=MOST_SECONDS) as at:
            plan = await at.ask(journey.request, mode=journey.mode)
            if plan.status == "pending_approval":
                print("  plan: " + " · ".join(f"{step.description}" for step in plan.steps))
                plan = await at.approve(plan)
            while plan.pending.approvals and plan.status not in ENDED:
                approval = plan.pending.approvals[0]
                harmless = approval.effect == "write" and not approval.protected
                tests = approval.command == TESTS
                plan = await at.respond(plan, "allow" if harmless or tests else "deny")
        print(_shown(journey, plan, model.sizes), flush=True)
    await model.close()


def _shown(journey: Journey, plan: Plan, sizes: list[int]) -> str:
    steps = ", ".join(f"{step.description!r} {step.status}" for step in plan.steps)
    why = plan.error.message if plan.error else plan.pause_detail or ""
    bytes_sent = f"{len(sizes)} requests, {sum(sizes) / 1000:.1f} kB"
    return f"{journey.name}: {plan.status} after {bytes_sent}. {why} [{steps}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["bug", "feature"], help="journeys")
    parser.add_argument("--context", type=int, default=8192, help="tokens of the model's context")
    parser.add_argument("--shown", type=int, default=200, help="characters shown of an answer")
    args = parser.parse_args()
    with real_model(context_tokens=args.context) as origin:
        for name in args.names:
            print(name, flush=True)
            with tempfile.TemporaryDirectory() as folder:
                journey = load(JOURNEYS / f"{name}.toml")
                asyncio.run(play(journey, Path(folder), origin, args.shown))


if __name__ == "__main__":
    main()
