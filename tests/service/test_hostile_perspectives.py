"""Perspectives with a model that misbehaves by a seed: they end in a plan or a reason, and change nothing."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from planloom.agent.investigation import MAX_TURNS
from planloom.domain.errors import ModelFailed
from planloom.domain.values import Args, CallId
from planloom.models.port import (
    CallMade,
    Capabilities,
    Finished,
    ModelEvent,
    ModelIdentity,
    ModelRequest,
    Restarted,
    TextDelta,
    ToolCall,
)
from planloom.planning.investigations.planner import MAX_TURNS as PLANNER_TURNS
from tests.depth import rounds
from tests.service.test_perspectives import CHAPO, DEVO, FILES, KODA, PLAN, REQUEST
from tests.support.studio import studio

REPORTS = {"You are Chapo, the": CHAPO, "You are Koda, the": KODA, "You are Devo, who": DEVO}
FAULTS = (
    "prose",
    "silence",
    "wrong format",
    "truncated",
    "unknown tool",
    "a tool that writes",
    "repeated call",
    "wrong types",
    "broken stream",
    "length",
    "unavailable",
    "refused",
)
MOST_REQUESTS = 3 * MAX_TURNS + PLANNER_TURNS


class HostileAgents:
    """Reads once, reports, and writes the plan; each answer is wrong with probability `chance`."""

    identity = ModelIdentity(provider="replay", name="hostile", reason="a test wants it so")

    def __init__(self, seed: int, chance: float) -> None:
        self._random = random.Random(seed)
        self._chance = chance
        self.requests = 0

    async def capabilities(self) -> Capabilities:
        return Capabilities(tools=True, json_schema=True, context_tokens=32_000, parallelism=2)

    async def close(self) -> None:
        """Nothing is open."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        self.requests += 1
        fault = self._random.choice(FAULTS) if self._random.random() < self._chance else None
        right = _right(request)
        for event in _answer(fault, right):
            await asyncio.sleep(0)
            yield event
        if fault == "unavailable":
            raise ModelFailed("model_unavailable", "The server is gone.")
        if fault == "refused":
            raise ModelFailed("model_refused", "The model refused.")


def _right(request: ModelRequest) -> Sequence[ModelEvent]:
    system = request.messages[0].text
    report = next((args for words, args in REPORTS.items() if words in system), None)
    if report is None:
        return (TextDelta(text=json.dumps(PLAN)), Finished(reason="stop"))
    has_read = any(message.role == "tool" for message in request.messages)
    if not has_read and request.tools[0].name != "report":
        return (_call("read_file", {"path": "src/auth.py"}), Finished(reason="tool_calls"))
    return (_call("report", report), Finished(reason="tool_calls"))


def _call(name: str, args: Args) -> CallMade:
    return CallMade(call=ToolCall(call_id=CallId("1"), name=name, arguments=args))


def _answer(fault: str | None, right: Sequence[ModelEvent]) -> Sequence[ModelEvent]:
    stop = Finished(reason="stop")
    match fault:
        case None:
            return right
        case "prose":
            return (TextDelta(text="Sure! I will take care of that now."), stop)
        case "silence":
            return (stop,)
        case "wrong format":
            return (TextDelta(text='{"steps": "many", "analysis": 7}'), stop)
        case "truncated":
            return (TextDelta(text='{"name": "report", "arguments": {"analysis": "One mod'), stop)
        case "unknown tool":
            return (_call("fly", {"to": "staging"}), stop)
        case "a tool that writes":
            return (_call("write_file", {"path": "src/auth.py", "content": "gone"}), stop)
        case "repeated call":
            return (_call("list_files", {"path": "."}), _call("list_files", {"path": "."}), stop)
        case "wrong types":
            return (
                _call("report", {"analysis": {"deep": ["x"]}, "concerns": 3, "estimatedEffort": []}),
                stop,
            )
        case "broken stream":
            again = Restarted(problem="it broke", attempt=1, wait_seconds=0)
            return (TextDelta(text="half of an answer {"), *right[:1], again, *right)
        case "length":
            return (*right[:-1], Finished(reason="length"))
        case _:
            return ()


async def ended(folder: Path, seed: int, chance: float) -> str:
    """How the draft of one request ended. Asserts the invariants."""
    model = HostileAgents(seed, chance)
    async with studio(folder, FILES, model=model) as at:
        made = await at.ask(REQUEST)
        assert model.requests <= MOST_REQUESTS
        assert {name: at.path(name).read_text() for name in FILES} == FILES
        assert not {"approval_request", "edit_started", "tool_started"} & set(at.types())
        types = at.types()
        assert types.count("perspective_start") == types.count("perspective_complete") == 3
        if made.status == "failed":
            assert made.error is not None and made.error.code.startswith("model_")
            return "failed"
        assert made.status == "pending_approval"
        assert [(step.agent, step.depends_on) for step in made.steps] == [
            ("koda", ()),
            ("devo", ("refactor",)),
            ("devo", ("check",)),
        ]
        return f"{len(made.perspectives)} reports"


@pytest.mark.deep
async def test_there_is_a_plan_or_a_reason_and_nothing_was_changed(tmp_path: Path) -> None:
    ends: Counter[str] = Counter()
    for seed in range(rounds(12, 120)):
        place = tmp_path / str(seed)
        place.mkdir()
        ends[await ended(place, seed, 0.3)] += 1
    assert ends["failed"] <= ends.total() / 3
    assert ends["3 reports"] >= ends.total() / 3
