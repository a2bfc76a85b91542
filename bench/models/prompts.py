"""Measures what prompts cost: all requests of a task of three files, and how little each step of a long plan adds.

Bytes are those of the requests' bodies, as an OpenAI-compatible server gets them. The model is scripted; everything
else is the whole application on an empty folder.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from bench.figures import Figure, Measured, main
from planloom.domain.values import Json
from planloom.models.offline.scripted import ALL, ScriptedModel, Turn, makes, says
from planloom.models.port import Capabilities, ModelRequest
from planloom.models.providers.openai_compatible import OpenAICompatible
from tests.journeys.journey import cached_order, common, encoded
from tests.support.studio import studio

REQUEST: Final = "Create three small files: a.txt with one, b.txt with two and c.txt with three."
WRITES: Final[tuple[tuple[str, dict[str, Any]], ...]] = tuple(
    ("write_file", {"path": f"{name}.txt", "content": f"{word}\n"})
    for name, word in (("a", "one"), ("b", "two"), ("c", "three"))
)
END: Final[tuple[str, dict[str, Any]]] = ("task_completed", {"summary": "Wrote the three files."})
PLAN: Final[dict[str, Any]] = {
    "summary": "Three files.",
    "steps": [
        {"id": args["path"][0], "description": f"Write {args['path']}", "tool": tool, "args": args}
        for tool, args in WRITES
    ],
}
STEPS: Final = 50
CONSTRAINED: Final = ALL._replace(tools=False)
TEXT: Final = CONSTRAINED._replace(json_schema=False)
LEAN: Final = {"context.shareConversation": False}
GOALS: Final = {"direct": 8.5, "plan": 9.6}
"""Kilobytes (1,000 bytes) of all requests of the three files, by mode."""
KEPT: Final = 0.95
"""The least part of a request of a long plan that is the one before, byte for byte."""


class Engine(ScriptedModel):
    """A scripted model with the capabilities of an engine."""

    def __init__(self, turns: Sequence[Turn], can: Capabilities) -> None:
        super().__init__(turns)
        self._can = can

    async def capabilities(self) -> Capabilities:
        return self._can


def constrained(**fields: object) -> Turn:
    """An answer in the form of the schema."""
    return says(json.dumps({"tool_calls": [{"name": name, **args} for name, args in WRITES], **fields}))


def printed() -> Turn:
    """The calls as lines of a text."""
    return says("\n".join(json.dumps({"name": name, "arguments": args}) for name, args in (*WRITES, END)))


NONE: Final[Mapping[str, Any]] = MappingProxyType({})
CASES: Final[tuple[tuple[str, str, Capabilities, Turn, Mapping[str, Any]], ...]] = (
    ("direct, native tools", "direct", ALL, makes(*WRITES, END), NONE),
    ("direct, constrained JSON", "direct", CONSTRAINED, constrained(task_completed=END[1]["summary"]), NONE),
    ("direct, text", "direct", TEXT, printed(), NONE),
    (
        "planned, native tools, as for a server on this machine",
        "plan",
        ALL,
        makes(("submit_plan", PLAN)),
        LEAN,
    ),
    ("planned, native tools, with the tools of its steps", "plan", ALL, makes(("submit_plan", PLAN)), NONE),
    ("planned, constrained JSON", "plan", CONSTRAINED, says(json.dumps(PLAN)), NONE),
)


async def requests(
    text: str, mode: str, model: Engine, settings: Mapping[str, Any], files: Sequence[str]
) -> list[dict[str, Json]]:
    """The bodies of the requests of a run that must write these files."""
    with tempfile.TemporaryDirectory() as folder:
        saved = {"edits": {"save": "always"}, **settings}
        async with studio(Path(folder), model=model, settings=saved, patience=120) as at:
            plan = await at.run(text, mode=mode)
            missing = [name for name in files if not at.path(name).exists()]
            assert plan.status == "completed" and not missing, (plan.status, missing)
    can = await model.capabilities()
    return [body_of(request, can) for request in model.requests]


def body_of(request: ModelRequest, can: Capabilities) -> dict[str, Json]:
    return OpenAICompatible().build_request("strong", request, can, 0).body


def three_files() -> Iterator[Measured]:
    for name, mode, can, turn, settings in CASES:
        files = [args["path"] for _, args in WRITES]
        bodies = asyncio.run(requests(REQUEST, mode, Engine([turn], can), settings, files))
        size = sum(len(encoded(body)) for body in bodies) / 1000
        yield Figure(name=f"three files, {name}: prompts", unit="kB", goal=GOALS[mode]).counted(size)
        yield Figure(name=f"three files, {name}: requests", unit="", goal=1).counted(len(bodies))


def long_plan(steps: int) -> Iterator[Measured]:
    """A plan of steps that a model works on, one request each: what of each request is new."""
    names = [f"part_{number}.txt" for number in range(1, steps + 1)]
    plan: dict[str, Any] = {
        "summary": "Many parts.",
        "steps": [
            {"id": name[:-4], "description": f"Write {name}", "instruction": f"Write {name}."}
            for name in names
        ],
    }
    work = [
        makes(
            ("write_file", {"path": name, "content": "x\n"}),
            ("task_completed", {"summary": f"{name} is written."}),
        )
        for name in names
    ]
    model = Engine([makes(("submit_plan", plan)), *work], ALL)
    bodies = [
        cached_order(body) for body in asyncio.run(requests("Write many parts", "plan", model, NONE, names))
    ]
    # The first step's request has the whole plan in it: it is the model's own answer.
    turns = list(pairwise(bodies))[1:]
    shares = [common(before, after) / len(after) for before, after in turns]
    new = [len(after) - common(before, after) for before, after in turns]
    yield Figure(
        name=f"plan of {steps} steps: new in a request, median", unit="%", goal=100 * (1 - KEPT)
    ).counted(100 * (1 - statistics.median(shares)))
    yield Figure(name=f"plan of {steps} steps: new in a request, most", unit="%").counted(
        100 * (1 - min(shares))
    )
    yield Figure(name=f"plan of {steps} steps: new bytes of a request, second", unit="B").counted(new[0])
    yield Figure(name=f"plan of {steps} steps: new bytes of a request, last", unit="B", goal=1_200).counted(
        new[-1]
    )


def figures(quick: bool) -> Iterator[Measured]:
    yield from three_files()
    yield from long_plan(10 if quick else STEPS)


if __name__ == "__main__":
    main(__doc__, figures)
