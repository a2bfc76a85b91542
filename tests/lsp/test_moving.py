"""A plan as one document: what is refused of a document that was not written by a full export."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import Failed, connected
from tests.support.real_application import real_application

SETTINGS = {"model": {"provider": "embedded"}}
Content = dict[str, Any]


@pytest.fixture(autouse=True)
def _no_user_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path / "settings.json"))


async def exported(folder: Path) -> Content:
    """The document of a plan that waits for its approval."""
    (folder / "workspace").mkdir()
    async with connected(
        real_application(folder / "l.db"), folders=[folder / "workspace"], settings=SETTINGS
    ) as client:
        created = await client.request(
            "planloom/plan/create", {"text": "1. Create file a\n2. Create file b", "mode": "plan"}
        )
        plan_id = created["plan"]["planId"]
        await client.wait_event("plan_ready", plan_id=plan_id)
        document = await client.request("planloom/plan/export", {"planId": plan_id, "format": "full"})
    content: Content = json.loads(document["text"])
    del content["sha256"]
    return content


def signed(content: Content) -> str:
    """The content as a document whose hash is right, as anybody can make it."""
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return json.dumps(content | {"sha256": digest})


def lost_event(content: Content) -> None:
    del content["events"][2]


def unknown_event(content: Content) -> None:
    content["events"][-1]["event"] = {"type": "plan_teleported"}


def impossible_event(content: Content) -> None:
    content["events"][-1]["event"] = {"type": "plan_resumed"}


def at_work(content: Content) -> None:
    approved = {"type": "plan_approved", "version": 1, "review": "auto"}
    content["events"].append({**content["events"][-1], "seq": len(content["events"]) + 1, "event": approved})


def other_id(content: Content) -> None:
    content["planId"] = "../../etc"


def no_events(content: Content) -> None:
    content["events"] = []


def two_folders(content: Content) -> None:
    content["workspaceFolders"] *= 2


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lost_event, "its event 3 is missing"),
        (unknown_event, "newer Planloom"),
        (impossible_event, "do not follow"),
        (at_work, "at work"),
        (other_id, "not what a full export writes"),
        (no_events, "no events"),
        (two_folders, "works in 2 folders"),
    ],
)
async def test_a_document_made_by_hand_is_checked_like_a_damaged_one(
    tmp_path: Path, change: Callable[[Content], None], told: str
) -> None:
    content = await exported(tmp_path)
    make = real_application(tmp_path / "other.db")
    async with connected(make, folders=[tmp_path / "workspace"], settings=SETTINGS) as client:
        whole = signed(content)
        change(content)
        with pytest.raises(Failed) as error:
            await client.request("planloom/plan/import", {"text": signed(content)})
        assert told in str(error.value)
        assert (await client.request("planloom/plan/list", {}))["plans"] == []
        plan = (await client.request("planloom/plan/import", {"text": whole}))["plan"]
        assert plan["status"] == "pending_approval"
        (listed,) = [each for each in client.events if each["planId"] == plan["planId"]]
        assert (listed["type"], listed["seq"]) == ("tasks_list", plan["seq"])
        assert [each["description"] for each in listed["tasks"]] == [
            each["description"] for each in plan["steps"]
        ]
