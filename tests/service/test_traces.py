"""Traces of plans in the form of OpenTelemetry, in a file that the user names."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

from planloom.models.offline.scripted import ScriptedModel, makes
from tests.service.test_model_work import allowed, planned
from tests.support.studio import studio

SECRET = "what only the user knows"


def attributes(span: dict[str, Any]) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


async def test_a_plan_that_ends_is_a_trace_without_any_text(tmp_path: Path) -> None:
    file = tmp_path / "traces" / "plans.jsonl"
    write = ("write_file", {"path": "a.txt", "content": SECRET})
    script = [makes(write, ("task_completed", {"summary": SECRET}), prompt_tokens=40, completion_tokens=5)]
    async with studio(tmp_path, settings={"storage.traces": str(file)}) as at:
        plan = await planned(at, f"Write {SECRET}", ("Write it", SECRET))
        at.model.model = ScriptedModel(script)
        plan = await allowed(at, plan)
        assert plan.status == "completed"
        again = await at.run("Create folder x")
        assert again.status == "completed"
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2 and SECRET not in lines[0]
    (scope,) = json.loads(lines[0])["resourceSpans"][0]["scopeSpans"]
    root, step, call = scope["spans"]
    assert [each["name"] for each in scope["spans"]] == ["plan", "step 1", "execute_tool write_file"]
    assert {each["traceId"] for each in scope["spans"]} == {root["traceId"]} and len(root["traceId"]) == 32
    assert "parentSpanId" not in root
    assert (step["parentSpanId"], call["parentSpanId"]) == (root["spanId"], step["spanId"])
    assert int(root["startTimeUnixNano"]) <= int(step["startTimeUnixNano"]) <= int(call["startTimeUnixNano"])
    assert int(call["endTimeUnixNano"]) <= int(root["endTimeUnixNano"])
    assert attributes(step)["gen_ai.usage.input_tokens"] == "40"
    assert (root["status"], attributes(root)["planloom.plan.status"]) == ({"code": 1}, "completed")
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_failed_step_is_an_error_and_without_a_file_nothing_is_written(tmp_path: Path) -> None:
    file = tmp_path / "plans.jsonl"
    settings = {"storage.traces": str(file), "execution.onFailure": "abort"}
    async with studio(tmp_path, settings=settings) as at:
        plan = await at.ask('Replace "a" with "b" in none.txt', mode="plan")
        plan = await at.approve(plan)
        assert plan.status == "failed"
    spans = json.loads(file.read_text())["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert [span["status"]["code"] for span in spans][:2] == [2, 2]
    file.unlink()
    async with studio(tmp_path) as at:
        await at.run("Create folder y")
    assert not file.exists()
