"""The scripted server of the tests streams its script, also in a process of its own."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from planloom.domain.errors import ModelFailed
from planloom.models.offline.scripted import When, fails, makes, says
from planloom.models.port import Finished, ReasoningDelta, UsageReported
from planloom.models.selection.select import choose_model
from planloom.settings import ModelSettings, Settings
from tests.models.support import PATIENT, READ_FILE, asks, calls_of, events_of, model_at, text_of
from tests.support.model_server import model_server

WRITE = ("write_file", {"path": "ü/x.ts", "content": 'say("hi")\n' * 5})


async def test_a_script_is_streamed_in_fragments() -> None:
    turns = [
        says("late", when=When(contains=("second",))),
        makes(WRITE, ("list_files", {}), text="Now.", reasoning="Hm.", prompt_tokens=5, completion_tokens=6),
        fails("unavailable"),
    ]
    async with (
        model_server(turns) as (running, server),
        model_at(running.origin, timeouts=PATIENT, retries=0) as model,
    ):
        events = await events_of(model, asks("first", tools=(READ_FILE,)))
        assert calls_of(events) == [WRITE, ("list_files", {})]
        assert text_of(events) == "Now."
        assert ReasoningDelta(text="Hm.") in events
        assert UsageReported(prompt_tokens=5, completion_tokens=6) in events
        assert events[-1] == Finished(reason="tool_calls")
        assert text_of(await events_of(model, asks("second"))) == "late"
        with pytest.raises(ModelFailed):
            await events_of(model)
        assert (await model.capabilities()).context_tokens == 32_768
    assert [request["messages"][-1]["content"] for request in server.requests] == ["first", "second", "Hi"]


@pytest.mark.process
@pytest.mark.parametrize("module", ["model_server", "hostile_server"])
async def test_it_runs_as_a_process(module: str, tmp_path: Path) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text(json.dumps({"text": "one"}) + "\n" + json.dumps({"text": "two"}) + "\n")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        f"tests.support.{module}",
        str(script),
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        port = int(await process.stdout.readline())
        base = f"http://127.0.0.1:{port}/v1"
        settings = Settings(model=ModelSettings(provider="openai", base_url=base))
        model = (await choose_model(settings, {})).model
        assert model is not None
        assert model.identity.name == "scripted"
        if module == "model_server":
            assert [text_of(await events_of(model)) for _ in range(2)] == ["one", "two"]
        await model.close()
    finally:
        process.terminate()
        await process.wait()
