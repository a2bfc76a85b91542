"""Plays journeys with a small real model (`make real-model`) and prints each request: bytes, answer, and the outcome.

The model is far too weak for them. What counts is that every answer is read and that the plan ends in a clear state.
With `--plans` it is asked for plans alone, and counted is how many could be put to review.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping
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
FILES = {
    "README.md": "# Tides\n\nShows tides.\n",
    "notes.txt": "old notes\n",
    "tides/__init__.py": "",
    "tides/table.py": "def turns(harbour):\n    return []\n",
    "tests/test_table.py": "from tides.table import turns\n\n\ndef test_turns():\n    assert turns('x') == []\n",
}
PLANS = (
    "Create a file docs/usage.md that says how to run the program, and link it from README.md",
    "Add a function highest(harbour) to tides/table.py and a test for it",
    "Read README.md and write a summary of it into summary.md",
    "Rename notes.txt to docs/notes.txt and mention it in README.md",
    "Create a.txt, b.txt and c.txt, each with one line that says its name",
    "Find out where turns is defined and add a docstring to it",
    "Add a license file with the MIT license and name it in README.md",
    "Write a changelog for version 1.0 and add the version to tides/__init__.py",
    "Add type hints to tides/table.py and run the tests",
    "Create a folder examples with a script that prints the tides of a harbour",
    "Replace the text of notes.txt by a list of three ideas for the project",
    "Add a command line to the package in tides/__main__.py and describe it in README.md",
)


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
        **_settings(origin),
        "execution.onFailure": "skip",
        "execution.maxToolCallsPerStep": 4,
        "budget.maxRequests": 10,
        "edits.save": "always",
    }
    journey.prepare(folder / "workspace")
    model = Observed(await _model(values), shown)
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


async def planned(request: str, folder: Path, origin: str) -> bool:
    """Ask for a plan, print what became of it, and return whether it can be put to review."""
    values = _settings(origin)
    model = await _model(values)
    async with studio(folder, FILES, model=model, settings=values, patience=MOST_SECONDS) as at:
        plan = await at.ask(request, mode="plan")
    await model.close()
    why = plan.error.message if plan.error else " · ".join(step.description for step in plan.steps)
    print(f"{plan.status} after {plan.usage.requests} requests: {why}", flush=True)
    return plan.status == "pending_approval"


def _settings(origin: str) -> dict[str, str | float]:
    return {
        "model.baseUrl": f"{origin}/v1",
        "model.provider": "openai",
        "model.name": "smollm2",
        "model.temperature": 0.0,
    }


async def _model(values: Mapping[str, object]) -> HttpModel:
    chosen = (await choose_model(resolve({"user": values}).settings, {})).model
    assert isinstance(chosen, ReselectingModel) and isinstance(chosen.inner, HttpModel)
    return chosen.inner


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
    parser.add_argument("--plans", action="store_true", help="ask for plans alone")
    args = parser.parse_args()
    with real_model(context_tokens=args.context) as origin:
        if args.plans:
            usable = 0
            for request in PLANS:
                with tempfile.TemporaryDirectory() as folder:
                    usable += asyncio.run(planned(request, Path(folder), origin))
            print(f"{usable} of {len(PLANS)} plans could be put to review")
            return
        for name in args.names:
            print(name, flush=True)
            with tempfile.TemporaryDirectory() as folder:
                journey = load(JOURNEYS / f"{name}.toml")
                asyncio.run(play(journey, Path(folder), origin, args.shown))


if __name__ == "__main__":
    main()
