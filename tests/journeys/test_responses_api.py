"""A whole journey over OpenAI's Responses API: a server that refuses what OpenAI refuses accepts every request."""

from __future__ import annotations

from pathlib import Path

from planloom.models.offline.scripted import Turn
from planloom.models.providers.openai_responses import OpenAIResponses
from tests.journeys.journey import JOURNEYS, load, python_on_path
from tests.models.support import PATIENT, model_at
from tests.support.http_server import serving
from tests.support.responses_server import ResponsesServer
from tests.support.studio import studio


async def test_the_bug_is_mended_and_every_turn_is_thought_of(tmp_path: Path) -> None:
    journey = load(JOURNEYS / "bug.toml")
    journey.prepare(tmp_path / "workspace")
    thoughts = [f"Thought {number}." for number, _ in enumerate(journey.turns)]
    server = ResponsesServer(
        [
            Turn(text=turn.text, calls=turn.calls, reasoning=thought)
            for turn, thought in zip(journey.turns, thoughts, strict=True)
        ]
    )
    async with (
        serving(server) as running,
        model_at(running.origin, OpenAIResponses(), timeouts=PATIENT, effort="low") as model,
    ):
        with python_on_path(tmp_path):
            async with studio(tmp_path, model=model, settings={"edits.save": "always"}, patience=60) as at:
                plan = await at.run(journey.request, mode=journey.mode)
    assert plan.status == "completed", plan.error
    assert server.refusals == []
    assert len(server.accepted) == len(journey.turns)
    items = server.accepted[-1]["input"]
    seen = [item["summary"][0]["text"] for item in items if item["type"] == "reasoning"]
    assert seen == thoughts[:-1], "all reasoning goes back, in order"
    outputs = [item["output"] for item in items if item["type"] == "function_call_output"]
    assert any("48 passed" in output for output in outputs)
    assert len({body["prompt_cache_key"] for body in server.accepted}) == 1
