"""A model that writes the work of later steps ahead, over steps in any order: each effect is made once."""

from __future__ import annotations

import random
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.values import CallId
from planloom.models.port import (
    CallMade,
    Capabilities,
    Finished,
    ModelEvent,
    ModelIdentity,
    ModelRequest,
    ToolCall,
)
from tests.depth import rounds
from tests.support.studio import studio


def steps_of(seed: int) -> list[dict[str, Any]]:
    """Two to seven steps, each of which waits for some of those before it."""
    chance = random.Random(f"steps {seed}")
    names = [f"s{number}" for number in range(chance.randrange(2, 8))]
    return [
        {
            "id": name,
            "description": f"Grow {name}",
            "instruction": f"Add a line to {name}.txt.",
            "expectedFiles": [f"{name}.txt"],
            "dependsOn": chance.sample(names[:number], chance.randrange(min(number, 2) + 1)),
        }
        for number, name in enumerate(names)
    ]


class ChainingModel:
    """Submits the plan, then does each step and writes some of those that follow in the list ahead.

    Some calls miss their text; then it does in the next answer what it was told has failed.
    """

    identity = ModelIdentity(provider="replay", name="chaining", reason="a test wants it so")

    def __init__(self, steps: list[dict[str, Any]], seed: int) -> None:
        self._steps = steps
        self._random = random.Random(f"chain {seed}")
        self.requests = 0

    async def capabilities(self) -> Capabilities:
        return Capabilities(tools=True, context_tokens=128_000, parallelism=4)

    async def close(self) -> None:
        """Nothing is open."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        self.requests += 1
        for number, (name, arguments) in enumerate(self._calls(request)):
            call_id = CallId(f"c{self.requests}_{number}")
            yield CallMade(call=ToolCall(call_id=call_id, name=name, arguments=arguments))
        yield Finished(reason="tool_calls")

    def _calls(self, request: ModelRequest) -> list[tuple[str, Any]]:
        prompt = "\n".join(message.text for message in request.messages)
        if "CURRENT TASK\nGrow" not in prompt:
            return [("submit_plan", {"summary": "Grow.", "steps": self._steps})]
        now = re.findall(r"CURRENT TASK\nGrow (\S+)", prompt)[-1]
        lists = prompt.rpartition("TASK LIST")[2]
        waiting = re.findall(r"^\[ \] \d+\. Grow (\S+)", lists, re.MULTILINE)
        ahead = waiting[: self._random.randrange(len(waiting) + 1)]
        calls: list[tuple[str, Any]] = []
        for name in (now, *ahead):
            missed = self._random.random() < 0.15
            text = {
                "path": f"{name}.txt",
                "old_text": "nowhere" if missed else "root\n",
                "new_text": "root\n+\n",
            }
            calls += [("edit_file", text), ("task_completed", {"summary": f"{name} has grown."})]
        return calls


async def played(folder: Path, seed: int) -> str:
    steps = steps_of(seed)
    model = ChainingModel(steps, seed)
    files = {f"{step['id']}.txt": "root\n" for step in steps}
    async with studio(folder, files) as at:
        at.model.model = model  # type: ignore[assignment]
        plan = await at.approve(await at.ask("Let them grow.", mode="plan"), review="auto")
        plan = await at.until(plan, lambda now: now.status in ("completed", "failed", "cancelled", "paused"))
        if plan.status != "completed":
            return f"{seed}: {plan.status}, {plan.pause_detail or plan.pending}"
        twice = {name: at.text(name) for name in files if at.text(name) != "root\n+\n"}
        return f"{seed}: {twice}" if twice else ""


@pytest.mark.deep
@pytest.mark.slow
async def test_each_effect_is_made_once(tmp_path: Path) -> None:
    wrong = []
    for seed in range(rounds(12, 100)):
        (tmp_path / str(seed)).mkdir()
        wrong.append(await played(tmp_path / str(seed), seed))
    assert not [each for each in wrong if each]
