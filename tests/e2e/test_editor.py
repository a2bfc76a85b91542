"""The main journeys of the protocol, by pytest-lsp against the real server process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from planloom.models.offline.scripted import Turn, makes, says
from tests.support.desk import CONFIG, STATE, Desk

pytestmark = pytest.mark.process
EDIT = '1. Replace "old" with "new" in @notes.txt\n2. List files'
DONE = ("task_completed", {"summary": "Done."})


def change(old: str, new: str) -> tuple[str, dict[str, Any]]:
    """A model's call that changes the notes."""
    return "edit_file", {"path": "notes.txt", "old_text": old, "new_text": new}


def planned(*steps: dict[str, Any]) -> Turn:
    """A model's answer to a request for a plan."""
    return says(json.dumps({"summary": "Steps.", "steps": steps}))


def logged() -> str:
    """What the servers have logged."""
    return Path(f"{STATE.name}/log").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "notes.txt").write_bytes(b"old\n")
    return tmp_path


@pytest.fixture
def notes(folder: Path) -> str:
    return (folder / "notes.txt").as_uri()


@pytest_lsp.fixture(config=CONFIG)
async def client(lsp_client: Desk) -> AsyncIterator[None]:
    yield
    await lsp_client.end()


async def test_a_request_is_planned_and_nothing_happens_before_its_approval(
    client: Desk, folder: Path
) -> None:
    await client.begin(folder)
    plan = await client.plan(EDIT)
    assert [step["tool"] for step in plan["steps"]] == ["edit_file", "list_files"]
    assert plan["status"] == "pending_approval" and client.editor.applied == []


async def test_an_edited_plan_runs_as_it_was_edited(client: Desk, folder: Path, notes: str) -> None:
    await client.begin(folder)
    plan = await client.plan(EDIT)
    first, last = (step["stepId"] for step in plan["steps"])
    edits = [
        {"op": "update", "stepId": first, "set": {"args": change("old", "newer")[1], "priority": "high"}},
        {"op": "add", "after": None, "step": {"description": "Look", "tool": "list_files", "stepId": "look"}},
        {"op": "skip", "stepId": last},
    ]
    edited = await client.ask("plan/edit", planId=plan["planId"], version=plan["version"], edits=edits)
    told = await client.heard("plan_edited")
    assert (told["edits"], told["plan"]["steps"]) == (edits, edited["plan"]["steps"])
    assert [step["stepId"] for step in edited["plan"]["steps"]] == ["look", first, last]
    with pytest.raises(JsonRpcException, match="has changed"):
        await client.approve(plan)
    await client.approve(edited["plan"])
    await client.decide()
    ended = await client.ended(plan)
    assert [step["status"] for step in ended["steps"]] == ["completed", "completed", "skipped"]
    assert client.editor.text(notes) == "newer\n"


@pytest.mark.parametrize("editor", ["visual_studio_code", "neovim", "emacs"])
async def test_an_approved_plan_edits_the_unsaved_buffer(
    client: Desk, folder: Path, notes: str, editor: str
) -> None:
    await client.begin(folder, editor=editor)
    client.editor.open(notes, "first\r\nold, typed and unsaved 😀\r\nlast\r\n")
    plan = await client.plan(EDIT)
    assert plan["attachments"][0]["version"] == 1
    await client.approve(plan)
    approval = (await client.heard("approval_request"))["approval"]
    shown = await client.ask("approval/diff", approvalId=approval["approvalId"], uri=notes)
    assert shown["before"].startswith("first\r\nold") and shown["after"].startswith("first\r\nnew")
    await client.ask("approval/respond", approvalId=approval["approvalId"], decision="allow")
    assert (await client.ended(plan))["status"] == "completed"
    assert client.editor.text(notes) == "first\r\nnew, typed and unsaved 😀\r\nlast\r\n"
    assert (folder / "notes.txt").read_bytes() == b"old\n"
    (sent,) = client.editor.applied
    assert sent["label"].startswith("Planloom: step 1")


async def test_a_refused_edit_is_not_made(client: Desk, folder: Path, notes: str) -> None:
    await client.begin(folder)
    plan = await client.plan(EDIT)
    await client.approve(plan)
    await client.decide("deny")
    assert (await client.ended(plan))["status"] == "completed"
    assert client.editor.text(notes) == "old\n" and client.editor.applied == []


async def test_a_conflict_is_resolved_as_the_user_says(client: Desk, folder: Path, notes: str) -> None:
    await client.begin(folder)
    client.editor.open(notes)
    plan = await client.plan(EDIT)
    await client.approve(plan)
    await client.heard("approval_request")
    client.editor.type(notes, None, "old by me\n")
    pending = (await client.ask("plan/get", planId=plan["planId"]))["plan"]["pending"]
    await client.ask("approval/respond", approvalId=pending["approvals"][0]["approvalId"], decision="allow")
    conflict = (await client.heard("edit_conflict"))["conflict"]
    assert client.editor.text(notes) == "old by me\n"
    chosen = {"uri": notes, "choice": "both"}
    await client.ask("conflict/resolve", planId=plan["planId"], editId=conflict["editId"], files=[chosen])
    assert (await client.ended(plan))["status"] == "completed"
    assert client.editor.text(notes) == "old by me\nnew\n"


async def test_an_undo_keeps_what_was_typed_since_and_is_redone(
    client: Desk, folder: Path, notes: str
) -> None:
    await client.begin(folder)
    client.editor.open(notes, "old\n\nlast\n")
    plan = await client.plan(EDIT)
    await client.approve(plan)
    await client.decide()
    await client.ended(plan)
    client.editor.type(notes, None, "new\n\nlast, and typed\n")
    for redo, text in ((False, "old\n\nlast, and typed\n"), (True, "new\n\nlast, and typed\n")):
        undone = await client.ask("plan/undo", planId=plan["planId"], redo=redo)
        assert undone["conflicts"] == [] and client.editor.text(notes) == text


async def test_a_step_asks_and_goes_on_with_the_answer(client: Desk, folder: Path, notes: str) -> None:
    turns = (
        planned({"id": "paint", "description": "Paint", "instruction": "Set the colour", "dependsOn": []}),
        makes(("ask_user", {"question": "Which colour?", "options": ["red", "blue"]})),
        makes(change("old", "blue"), DONE),
    )
    await client.begin(folder, turns)
    plan = await client.plan("Paint @notes.txt", mode="plan")
    await client.approve(plan)
    asked = await client.heard("clarification_request")
    assert (asked["question"], asked["options"]) == ("Which colour?", ["red", "blue"])
    await client.ask("step/answer", planId=plan["planId"], stepId=asked["taskId"], answer="blue")
    await client.decide()
    assert (await client.ended(plan))["author"] == "model"
    assert client.editor.text(notes) == "blue\n"
    assert "HTTP Request" not in logged()


async def test_a_failed_step_is_tried_again_with_what_the_user_changes(
    client: Desk, folder: Path, notes: str
) -> None:
    await client.begin(folder)
    plan = await client.plan(EDIT.replace('"old"', '"missing"'))
    await client.approve(plan)
    failed = await client.heard("recovery_request")
    assert "not found" in failed["error"]
    chosen = {"action": "retry", "args": change("old", "new")[1]}
    await client.ask("step/recover", planId=plan["planId"], stepId=failed["taskId"], **chosen)
    await client.decide()
    assert [step["status"] for step in (await client.ended(plan))["steps"]] == ["completed", "completed"]
    assert client.editor.text(notes) == "new\n"


async def test_a_plan_of_a_killed_server_is_resumed_by_the_next(
    client: Desk, folder: Path, notes: str
) -> None:
    await client.begin(folder, **{"approvals.plan": "none"})
    plan = await client.plan(f'1. Create file made.txt with content "made"\n{EDIT.replace("1.", "2.")}')
    await client.approve(plan)
    await client.decide()
    await client.heard("edit_applied")
    await client.heard("approval_request")
    client = await client.killed()
    await client.begin(folder)
    assert (await client.heard("plan_paused"))["reason"] == "restart"
    (folder / "made.txt").write_text("changed since")
    await client.ask("plan/resume", planId=plan["planId"])
    await client.decide()
    assert (await client.ended(plan))["status"] == "completed"
    assert client.editor.text(notes) == "new\n" and (folder / "made.txt").read_text() == "changed since"


async def test_nothing_is_changed_before_the_folder_is_trusted(
    client: Desk, folder: Path, notes: str
) -> None:
    await client.begin(folder, extension={"events": True, "approvals": True, "trusted": False})
    plan = await client.plan(EDIT)
    await client.approve(plan)
    refused = await client.heard("task_failed")
    assert (refused["code"], client.editor.applied) == ("untrusted_workspace", [])
    client.protocol.notify("planloom/workspace/trust", {"trusted": True})
    await client.ask("step/recover", planId=plan["planId"], stepId=refused["taskId"], action="retry")
    await client.decide()
    assert (await client.ended(plan))["status"] == "completed"
    assert client.editor.text(notes) == "new\n"


@pytest.mark.parametrize(
    ("editor", "button", "text"),
    [
        (None, "Allow once", "new\n"),
        ("neovim", "Skip these changes", "old\n"),
        ("emacs", "Allow once", "new\n"),
    ],
)
async def test_a_client_that_knows_nothing_of_planloom_decides_by_buttons(
    client: Desk, folder: Path, notes: str, editor: str | None, button: str, text: str
) -> None:
    client.press = ("Start execution", button)
    await client.begin(folder, editor=editor, extension=None)
    params = types.ExecuteCommandParams("planloom.plan", [EDIT])
    created = await client.workspace_execute_command_async(params)
    assert (await client.ended(created))["status"] == "completed"
    assert client.editor.text(notes) == text
