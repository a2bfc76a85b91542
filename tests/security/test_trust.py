"""What happens before a person has trusted a folder, or asked anything in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from planloom.models.offline.scripted import ScriptedModel, says
from tests.service.test_surroundings import FILES, user_message
from tests.support.http_server import Asked, Wire, serving
from tests.support.lsp_client import connected
from tests.support.real_application import real_application
from tests.support.studio import studio


@pytest.fixture(autouse=True)
def _no_user_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path.parent / "none.json"))


async def test_the_models_server_hears_nothing_before_a_person_asks(tmp_path: Path) -> None:
    async def answer(_: Asked, wire: Wire) -> None:
        await wire.json(200, {"data": [{"id": "m"}]})

    async with serving(answer) as server:
        settings = {"model": {"baseUrl": f"{server.origin}/v1"}}
        async with connected(real_application(), folders=[tmp_path], settings=settings) as client:
            status = await client.request("planloom/status")
            assert "not asked yet" in status["model"]["reason"]
            listed = await client.request("planloom/model/list", {})
            assert not listed["models"][0]["reachable"] and "not asked yet" in listed["models"][0]["reason"]
            await client.request("planloom/reference/complete", {"text": "@", "offset": 1})
            await client.request("planloom/detect", {"text": "Fix it, then test it"})
            assert not server.asked
            listed = await client.request("planloom/model/list", {"select": True})
            assert server.asked and listed["models"][0]["reachable"]


async def test_what_may_not_be_read_is_not_told_to_a_model(tmp_path: Path) -> None:
    model = ScriptedModel([says("I cannot see it.")])
    settings = {"approvals": {"read": "deny"}}
    async with studio(tmp_path, FILES, model=model, settings=settings) as at:
        await at.run("What do you indent with?", mode="direct")
    prompt = user_message(model.requests[0])
    assert "Use tabs." not in prompt and "app.py" not in prompt and "pyproject.toml" not in prompt
    assert str(at.folder) in prompt
