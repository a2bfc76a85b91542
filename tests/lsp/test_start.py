"""What a client hears of plans whose server has died: it listens before the server takes them up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planloom.lsp.wire import plan as wire_plan
from tests.support.ledgers import cut_back
from tests.support.lsp_client import PLAIN, connected
from tests.support.real_application import real_application

SETTINGS = {"model": {"provider": "embedded"}}
EDIT = '1. Replace "old" with "new" in a.txt\n2. List files'


@pytest.fixture(autouse=True)
def _no_user_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path / "settings.json"))


async def approved(folder: Path, request: str, waits: str) -> dict[str, Any]:
    """A plan whose server died when it had told of the event `waits`, which is returned."""
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("old\n")
    async with connected(real_application(folder / "l.db"), folders=[workspace], settings=SETTINGS) as client:
        created = await client.request("planloom/plan/create", {"text": request, "mode": "plan"})
        plan_id = created["plan"]["planId"]
        plan = (await client.wait_event("plan_ready", plan_id=plan_id))["plan"]
        await client.request("planloom/plan/approve", {"planId": plan_id, "version": plan["version"]})
        event: dict[str, Any] = await client.wait_event(waits, plan_id=plan_id)
    cut_back(folder / "l.db", event["seq"], "executing")
    return event


async def test_a_client_hears_what_becomes_of_a_plan_as_the_server_starts(tmp_path: Path) -> None:
    last = await approved(tmp_path, EDIT, "approval_request")
    make = real_application(tmp_path / "l.db")
    async with connected(make, folders=[tmp_path / "workspace"], settings=SETTINGS) as client:
        paused = await client.wait_event("plan_paused", plan_id=last["planId"])
        assert (paused["reason"], paused["seq"]) == ("restart", last["seq"] + 1)
        plan = (await client.request("planloom/plan/get", {"planId": last["planId"]}))["plan"]
        assert [event["seq"] for event in client.events] == list(range(last["seq"] + 1, plan["seq"] + 1))


async def test_a_plain_client_is_asked_anew_what_to_do_about_a_failed_step(tmp_path: Path) -> None:
    await approved(tmp_path, '1. Replace "nothing" with "new" in a.txt\n2. List files', "recovery_request")
    make = real_application(tmp_path / "l.db")
    async with connected(
        make, capabilities=PLAIN, extension=None, folders=[tmp_path / "workspace"], settings=SETTINGS
    ) as client:
        await client.request("planloom/status")
        await client.until(lambda: any(method == "window/showMessageRequest" for method, _ in client.asked))
        (message,) = (asked for method, asked in client.asked if method == "window/showMessageRequest")
        assert "failed" in message["message"]


async def test_a_plan_is_exported_with_the_names_of_the_protocol(tmp_path: Path) -> None:
    last = await approved(tmp_path, EDIT, "approval_request")
    make = real_application(tmp_path / "l.db")
    async with connected(make, folders=[tmp_path / "workspace"], settings=SETTINGS) as client:
        got = await client.request("planloom/plan/get", {"planId": last["planId"]})
        exported = await client.request("planloom/plan/export", {"planId": last["planId"], "format": "json"})
        assert json.loads(exported["text"]) == got["plan"]
        assert wire_plan.Plan.model_validate_json(exported["text"]).json_value() == got["plan"]


async def test_a_ledger_that_cannot_be_used_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "l.db").write_bytes(b"this is no database at all" * 100)
    make = real_application(tmp_path / "l.db")
    async with connected(make, folders=[tmp_path / "workspace"], settings=SETTINGS) as client:
        status = await client.request("planloom/status")
        (shown,) = client.shown()
        assert shown["type"] == 1 and status["problems"][0] in shown["message"]
        assert status["health"] == "degraded"
