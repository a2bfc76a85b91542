"""The protocol over the real service: what an editor sees from a request to edits in its buffers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from planloom.lsp.wire.events import any_event
from tests.support.lsp_client import BARE, EGLOT, EXTENSION, FULL, PLAIN, LspClient, connected
from tests.support.real_application import real_application
from tests.workspace.room import tree

MESSAGE: TypeAdapter[Any] = TypeAdapter(any_event())
EMBEDDED = {"model": {"provider": "embedded"}}
THREE = (
    '1. Create folder src\n2. Create file src/x.py with content "x = 1"\n'
    '3. Replace "old" with "new" in @a.txt'
)


@pytest.fixture(autouse=True)
def _no_user_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path.parent / "none.json"))


async def drafted(client: LspClient, text: str = THREE) -> dict[str, Any]:
    created = await client.request("planloom/plan/create", {"text": text, "mode": "plan"})
    ready = await client.wait_event("plan_ready", plan_id=created["plan"]["planId"])
    plan: dict[str, Any] = ready["plan"]
    return plan


async def finished(client: LspClient, plan: dict[str, Any], review: str = "each") -> dict[str, Any]:
    """Approve the plan and all it asks; the plan as it ended."""
    named = {"planId": plan["planId"]}
    await client.request("planloom/plan/approve", {**named, "version": plan["version"], "review": review})
    while True:
        params = {**named, "until": "attention", "timeoutSeconds": 20}
        waited = (await client.request("planloom/plan/wait", params, timeout=30))["plan"]
        if not waited["pending"]["approvals"]:
            return dict(waited)
        for approval in waited["pending"]["approvals"]:
            answer = {"approvalId": approval["approvalId"], "decision": "allow"}
            await client.request("planloom/approval/respond", answer)


WHOLE = {**EXTENSION, "createContents": True, "createFolder": True}
NO_SAVE = {**EXTENSION, "save": False}


@pytest.mark.parametrize(
    ("capabilities", "extension", "new_files", "sent"),
    [
        pytest.param(FULL, WHOLE, "auto", [["create", "text"], ["create", "text"], ["text"]], id="contents"),
        pytest.param(FULL, EXTENSION, "auto", [["create", "text"], ["create", "text"], ["text"]], id="saves"),
        pytest.param(FULL, NO_SAVE, "editor", [["create", "text"], ["create", "text"], ["text"]], id="plain"),
        pytest.param(FULL, NO_SAVE, "auto", [["text"]], id="plain by default"),
        pytest.param(PLAIN, EXTENSION, "editor", [["text"]], id="cannot create"),
        pytest.param(BARE, EXTENSION, "editor", [], id="cannot edit"),
    ],
)
@pytest.mark.parametrize("review", ["each", "end", "auto"])
async def test_new_files_are_edits_of_the_client_that_makes_files(
    tmp_path: Path,
    capabilities: dict[str, Any],
    extension: dict[str, Any],
    new_files: str,
    sent: list[list[str]],
    review: str,
) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    text = (
        '1. Create folder src\n2. Create file src/x.py with content "x = 1"\n'
        '3. Create file src/y/z.py with content "z = 1"\n4. Replace "old" with "new" in @a.txt'
    )
    options: dict[str, Any] = {"capabilities": capabilities, "extension": extension}
    settings = {**EMBEDDED, "edits": {"newFiles": new_files}}
    contents = "createContents" in extension
    make = real_application()
    async with connected(make, folders=[tmp_path], settings=settings, contents=contents, **options) as client:
        plan = await finished(client, await drafted(client, text), review)
        assert plan["status"] == "completed", plan
        edits = [edit["edit"]["documentChanges"] for edit in client.editor.applied]
        kinds = [[change.get("kind", "text") for change in edit] for edit in edits]
        asked = [method for method, _ in client.asked]
        assert asked.count("planloom/editor/createFolder") == (contents and review != "end")
        assert kinds == ([[kind for edit in sent for kind in edit]] if review == "end" and sent else sent)
        assert (tmp_path / "src/x.py").read_text() == "x = 1"
        assert (tmp_path / "src/y/z.py").read_text() == "z = 1"
        await client.request("planloom/plan/undo", {"planId": plan["planId"]})
        for uri in tuple(client.buffers):
            client.close(uri)
        assert not (tmp_path / "src").exists()
        client.shown()


@pytest.mark.parametrize(
    "extension", [EXTENSION, {"events": True, "approvals": True}], ids=["saves", "does not save"]
)
@pytest.mark.parametrize("capabilities", [FULL, PLAIN, EGLOT, BARE], ids=["full", "plain", "eglot", "bare"])
async def test_a_file_that_comes_back_is_whole_on_disk_however_the_editor_is_closed(
    tmp_path: Path, capabilities: dict[str, Any], extension: dict[str, Any]
) -> None:
    """This editor makes new files empty, as VS Code does, and keeps their text in buffers that nobody has saved."""
    (tmp_path / "README.md").write_text("to be kept\n")
    text = '1. Delete README.md\n2. Create file made.txt with content "made"'
    options: dict[str, Any] = {"capabilities": capabilities, "extension": extension, "settings": EMBEDDED}
    async with connected(real_application(), folders=[tmp_path], **options) as client:
        plan = await finished(client, await drafted(client, text))
        assert plan["status"] == "completed" and not (tmp_path / "README.md").exists()
        assert (tmp_path / "made.txt").read_text() == "made"
        await client.request("planloom/plan/undo", {"planId": plan["planId"]})
        for uri in tuple(client.buffers):
            client.close(uri)
        assert tree(tmp_path) == {"README.md": "to be kept\n"}
        client.shown()


async def test_events_tell_a_client_that_reconnects_what_it_has_missed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    async with connected(real_application(), folders=[tmp_path], settings=EMBEDDED) as client:
        plan = await finished(client, await drafted(client))
        seen = [event for event in client.events if event["planId"] == plan["planId"]]
        assert [event["seq"] for event in seen] == list(range(1, plan["seq"] + 1))
        again = await client.request("planloom/plan/events", {"planId": plan["planId"]})
        assert again["events"] == seen
        for event in seen:
            assert MESSAGE.validate_python(event, by_alias=True, by_name=False).json_value() == event
        some = await client.request(
            "planloom/plan/events", {"planId": plan["planId"], "after": 3, "limit": 2}
        )
        assert [event["seq"] for event in some["events"]] == [4, 5]
        past = await client.request("planloom/plan/get", {"planId": plan["planId"], "atSeq": 4})
        assert past["plan"]["seq"] == 4


async def test_the_server_goes_on_after_every_mistake(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    async with connected(real_application(), folders=[tmp_path], settings=EMBEDDED) as client:
        plan = await drafted(client)
        named = {"planId": plan["planId"]}
        mistakes = [
            ("planloom/plan/get", {"planId": "nope"}, "unknown_plan"),
            ("planloom/plan/approve", {"planId": "nope", "version": 1}, "unknown_plan"),
            ("planloom/plan/approve", {**named, "version": 99}, "stale_version"),
            ("planloom/plan/resume", named, "wrong_state"),
            ("planloom/plan/create", {"text": "  "}, "invalid_params"),
            ("planloom/approval/respond", {"approvalId": "x", "decision": "allow"}, "unknown_approval"),
            ("planloom/approval/diff", {"approvalId": "x", "uri": "file:///x"}, "unknown_approval"),
            (
                "planloom/plan/edit",
                {**named, "version": plan["version"], "edits": [{"op": "remove", "stepId": "nope"}]},
                "invalid_plan",
            ),
            (
                "planloom/plan/edit",
                {
                    **named,
                    "version": plan["version"],
                    "edits": [
                        {
                            "op": "update",
                            "stepId": plan["steps"][0]["stepId"],
                            "set": {"dependsOn": [plan["steps"][2]["stepId"], plan["steps"][0]["stepId"]]},
                        }
                    ],
                },
                "invalid_plan",
            ),
        ]
        for method, params, word in mistakes:
            error = await client.fails(method, params)
            assert (error.word, bool(error.message)) == (word, True), (method, error)
        assert (await client.request("planloom/plan/get", named))["plan"]["version"] == plan["version"]


async def test_the_words_of_a_plan_are_edited_with_or_without_its_steps(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    async with connected(real_application(), folders=[tmp_path], settings=EMBEDDED) as client:
        plan = await drafted(client)
        named = {"planId": plan["planId"], "version": plan["version"]}
        for wrong, field in (
            ({}, "edits"),
            ({"request": " "}, "text"),
            ({"request": "x" * 1_000_001}, "request"),
        ):
            error = await client.fails("planloom/plan/edit", {**named, "edits": [], **wrong})
            assert (error.word, error.data["details"][0]["field"]) == ("invalid_params", field)
        words = {"request": "Look at @a.txt", "summary": "A look."}
        edited = (await client.request("planloom/plan/edit", {**named, "edits": [], **words}))["plan"]
        assert {name: edited[name] for name in words} == words and edited["version"] == plan["version"] + 1
        assert [each["reference"] for each in edited["attachments"]] == ["@a.txt"]
        skip = {"op": "skip", "stepId": plan["steps"][0]["stepId"]}
        named["version"] = edited["version"]
        edited = (await client.request("planloom/plan/edit", {**named, "edits": [skip], "summary": ""}))[
            "plan"
        ]
        assert (edited["summary"], edited["request"]) == ("", words["request"])
        assert edited["steps"][0]["status"] == "skipped"


async def test_a_workspace_without_folders_is_told(tmp_path: Path) -> None:
    async with connected(real_application(), settings=EMBEDDED) as client:
        error = await client.fails("planloom/plan/create", {"text": THREE})
        assert error.word == "workspace_required"


async def test_status_detect_and_references(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("x\n")
    async with connected(real_application(), folders=[tmp_path], settings=EMBEDDED) as client:
        status = await client.request("planloom/status")
        assert status["workspaceFolders"] == [tmp_path.as_uri()]
        detected = await client.request("planloom/detect", {"text": THREE})
        assert (detected["rule"], detected["words"]) == ("numbered_list", "a numbered list")
        found = await client.request("planloom/reference/resolve", {"text": "Fix @main.py and @no.py"})
        assert [each["reference"] for each in found["attachments"]] == ["@main.py"]
        assert [each["code"] for each in found["unresolved"]] == ["not_found"]
        items = await client.request("planloom/reference/complete", {"text": "Fix @ma", "offset": 7})
        assert set(items) == {"items", "isIncomplete"}
        assert (await client.request("planloom/model/list", {}))["active"]["provider"]
