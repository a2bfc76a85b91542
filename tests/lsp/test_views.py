"""A client follows a plan by its first view and the patches after it, and has what it would get as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planloom.domain.events import catalog as ev
from planloom.lsp.editor import view_stream
from planloom.service.requests import StreamDelta
from planloom.version import DOCUMENTATION
from tests.support.fake_application import FakeApplication, a_plan
from tests.support.lsp_client import EXTENSION, LspClient, connected
from tests.support.real_application import real_application

SETTINGS = {"model": {"provider": "embedded"}}
REQUEST = '1. Create the file a.txt with "one\n"\n2. Run `true`\n3. Delete b.txt'


@pytest.fixture(autouse=True)
def _no_user_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path / "settings.json"))


def followed(client: LspClient, plan_id: str) -> tuple[int, dict[str, Any]]:
    """The number of the last message about a plan, and its view after all of them."""
    shown: dict[str, Any] = {}
    number = 0
    for message in client.told("planloom/plan/view"):
        if message["planId"] != plan_id:
            continue
        assert message["number"] == number + 1
        number = message["number"]
        shown = message["view"] if "view" in message else patched(shown, message["patch"])
    return number, shown


def patched(view: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """The view after a patch."""
    steps = {each["step"]["stepId"]: each for each in (*view["steps"], *patch.get("steps", ()))}
    order = patch.get("order", [each["step"]["stepId"] for each in view["steps"]])
    return {
        **merged(view, patch.get("head", {})),
        "plan": merged(view["plan"], patch.get("plan", {})),
        "steps": [steps[step_id] for step_id in order],
    }


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**old, **new}.items() if value is not None}


async def answered(client: LspClient, plan_id: str) -> dict[str, Any]:
    """Allow everything that the plan asks for, until it has ended."""
    while True:
        waiting = await client.request("planloom/plan/wait", {"planId": plan_id, "until": "attention"})
        plan: dict[str, Any] = waiting["plan"]
        if not plan["pending"]["approvals"]:
            return plan
        for approval in plan["pending"]["approvals"]:
            params = {"approvalId": approval["approvalId"], "decision": "allow"}
            await client.request("planloom/approval/respond", params)


async def test_patches_add_up_to_the_view(tmp_path: Path) -> None:
    work = tmp_path / "workspace"
    work.mkdir()
    (work / "b.txt").write_text("b\n")
    extension = {**EXTENSION, "views": True}
    async with connected(
        real_application(tmp_path / "l.db"), folders=[work], settings=SETTINGS, extension=extension
    ) as client:
        created = await client.request("planloom/plan/create", {"text": REQUEST, "mode": "plan"})
        plan_id = created["plan"]["planId"]
        ready = await client.request("planloom/plan/wait", {"planId": plan_id, "until": "ready"})
        version = ready["plan"]["version"]
        await client.request(
            "planloom/plan/approve", {"planId": plan_id, "version": version, "review": "each"}
        )
        await answered(client, plan_id)
        undone = await client.request("planloom/plan/undo", {"planId": plan_id})
        await client.until(lambda: followed(client, plan_id)[1]["plan"]["seq"] == undone["plan"]["seq"])
        number, shown = followed(client, plan_id)
        whole = await client.request("planloom/plan/view", {"planId": plan_id})
        assert whole["number"] == number + 1
        assert shown == whole["view"]
        assert [each["words"] for each in shown["steps"]] == ["undone", "done", "undone"]
        assert [each["words"] for each in shown["files"]] == ["undone", "undone"]
        assert [each["command"] for each in shown["actions"]] == ["planloom.redo"]


async def test_a_view_is_in_the_language_of_the_client(tmp_path: Path) -> None:
    work = tmp_path / "workspace"
    work.mkdir()
    async with connected(
        real_application(tmp_path / "l.db"), folders=[work], settings=SETTINGS, locale="de-AT"
    ) as client:
        created = await client.request("planloom/plan/create", {"text": REQUEST, "mode": "plan"})
        plan_id = created["plan"]["planId"]
        await client.request("planloom/plan/wait", {"planId": plan_id, "until": "ready"})
        shown = (await client.request("planloom/plan/view", {"planId": plan_id}))["view"]
        assert shown["state"] == "Bereit zur Prüfung"
        assert not client.told("planloom/plan/view")
        failed = await client.fails("planloom/plan/approve", {"planId": plan_id, "version": 99})
        assert failed.data["explained"] == {
            "words": "Der Plan hat sich inzwischen geändert. Sehen Sie ihn noch einmal an.",
            "mends": [],
            "help": f"{DOCUMENTATION}/troubleshooting.md#error-stale-version",
        }


async def test_a_run_is_shown_before_the_text_that_belongs_to_it() -> None:
    app = FakeApplication()
    async with connected(app.make, extension={**EXTENSION, "views": True}) as client:
        await client.request("planloom/status")
        begun = a_plan(status="executing", approved_version=1, seq=4)
        app.feed.happen(ev.PlanExecuting(), begun)
        running = begun.steps[0].model_copy(update={"status": "running", "attempts": 1})
        started = begun.model_copy(update={"steps": begun.steps.replaced({0: running}), "seq": 5})
        app.feed.happen(ev.StepStarted(step_id=running.step_id, agent="koda"), started)
        app.feed.speak(
            StreamDelta(plan_id=begun.plan_id, step_id=running.step_id, kind="text", delta="I read it.")
        )
        names = [
            name for name, _ in client.notifications if name in ("planloom/plan/view", "planloom/stream")
        ]
        assert names == ["planloom/plan/view", "planloom/plan/view", "planloom/stream"]


async def test_a_plan_is_shown_though_many_others_have_changed_since(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_stream, "_KEPT", 1)
    app = FakeApplication()
    async with connected(app.make, extension={**EXTENSION, "views": True}) as client:
        await client.request("planloom/status")
        first = a_plan(status="executing", approved_version=1)
        app.feed.happen(ev.PlanExecuting(), first)
        app.feed.happen(ev.PlanPaused(reason="user"), first.model_copy(update={"status": "paused", "seq": 4}))
        app.feed.happen(ev.PlanExecuting(), a_plan("p2", status="executing", approved_version=1))
        await client.until(lambda: followed(client, "p1")[1]["state"] == "Paused")
