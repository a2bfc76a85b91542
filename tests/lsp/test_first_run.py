"""A first run: why a model cannot be used, a test of it, and a plan that goes on once that is mended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planloom.models.offline.scripted import Turn
from tests.support.http_server import Asked, Wire, serving
from tests.support.lsp_client import connected
from tests.support.model_server import ScriptedServer
from tests.support.real_application import real_application

PLAN = {
    "summary": "Written by a script.",
    "steps": [
        {
            "id": "haiku",
            "description": "Write the haiku",
            "tool": "write_file",
            "args": {"path": "haiku.txt", "content": "haiku"},
            "dependsOn": [],
        }
    ],
}
TURNS = [
    Turn.model_validate({"when": {"contains": ["one word: ready"]}, "text": "ready", "repeat": True}),
    Turn.model_validate({"when": {"contains": ["Write a haiku"]}, "text": json.dumps(PLAN), "repeat": True}),
]


@pytest.fixture(autouse=True)
def _no_user_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path.parent / "none.json"))


async def test_a_wrong_key_is_told_and_the_plan_goes_on_once_it_is_mended(tmp_path: Path) -> None:
    scripted = ScriptedServer(TURNS)

    async def guarded(asked: Asked, wire: Wire) -> None:
        if asked.headers.get("authorization") == "Bearer right":
            await scripted(asked, wire)
        else:
            await wire.json(401, {"error": {"message": "Unknown key."}})

    async with serving(guarded) as running:
        settings: dict[str, Any] = {
            "model": {"baseUrl": f"{running.origin}/v1"},
            "planning": {"perspectives": "never", "classifyWithModel": "never"},
        }
        async with connected(real_application(), folders=[tmp_path], settings=settings) as client:
            await client.request("planloom/secret/set", {"provider": "openai", "value": "wrong"})
            refused = await client.fails("planloom/model/test")
            assert refused.word == "model_unavailable"
            request = {"text": "1. Write a haiku about typing\n2. Write nothing else", "mode": "plan"}
            created = await client.request("planloom/plan/create", request)
            failed = await client.wait_event("plan_failed", plan_id=created["plan"]["planId"])
            assert failed["error"]["modelProblem"]["cause"] == "key_refused"
            assert running.origin in failed["error"]["modelProblem"]["address"]

            await client.request("planloom/secret/set", {"provider": "openai", "value": "right"})
            tested = await client.request("planloom/model/test")
            assert (tested["name"], tested["answer"]) == ("scripted", "ready")
            plan = (await client.request("planloom/plan/get", {"planId": created["plan"]["planId"]}))["plan"]
            again = {"planId": plan["planId"], "version": plan["version"]}
            await client.request("planloom/plan/regenerate", again)
            ready = await client.wait_event("plan_ready", plan_id=plan["planId"])
            assert [step["description"] for step in ready["plan"]["steps"]] == ["Write the haiku"]
            assert "modelProblem" not in ready["plan"] and "error" not in ready["plan"]
