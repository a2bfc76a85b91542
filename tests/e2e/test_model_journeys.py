"""Whole journeys with a model server in a process of its own: answers scripted, tool calls streamed in fragments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_cli import files, planloom
from tests.support.lsp_client import connected
from tests.support.model_server import model_process
from tests.support.real_application import real_application

pytestmark = pytest.mark.process
REQUEST = (
    "Create a TypeScript project called webapp, write src/index.ts with a main function, "
    "write public/index.html, list all files"
)
INDEX = "function main(): void {\n  console.log(`ready – 😀`);\n}\n\nmain();\n"
PAGE = '<!doctype html>\n<script src="../src/index.ts"></script>\n'


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def planned(*steps: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request for a plan."""
    return {"text": json.dumps({"summary": "Steps.", "steps": list(steps)})}


def test_the_command_line_plans_and_works_with_a_model(tmp_path: Path) -> None:
    """A model that says `final_answer` after its first task still does them all."""
    work = tmp_path / "work"
    work.mkdir()
    turns = [
        planned(
            {"id": "make", "description": "Create the project", "instruction": "Make it", "dependsOn": []},
            {"id": "code", "description": "Write src/index.ts", "instruction": "main", "dependsOn": ["make"]},
            {"id": "page", "description": "Write the page", "instruction": "page", "dependsOn": ["code"]},
            {
                "id": "list",
                "description": "List all files",
                "tool": "list_files",
                "args": {"path": "webapp", "recursive": True},
                "dependsOn": ["page"],
            },
        ),
        {"calls": [call("create_folder", path="webapp")]},
        {"calls": [call("final_answer", text="All done!")]},
        {"calls": [call("task_completed", summary="Made the folder.")]},
        {
            "calls": [
                call("write_file", path="webapp/src/index.ts", content=INDEX),
                call("task_completed", summary="Wrote the code."),
            ]
        },
        {
            "calls": [
                call("write_file", path="webapp/public/index.html", content=PAGE),
                call("task_completed", summary="Wrote the page."),
            ]
        },
    ]
    with model_process(tmp_path, turns) as address:
        ended = planloom(
            work, "run", REQUEST, "--yes", "--mode", "plan", "--base-url", address, "--model", "scripted"
        )
    assert ended.code == 0, ended.out + ended.err
    assert files(work) == {
        "webapp/public/index.html": PAGE.encode(),
        "webapp/src/index.ts": INDEX.encode(),
    }
    assert "written by model" in ended.out


async def test_an_editor_plans_edits_answers_approves_and_skips(tmp_path: Path) -> None:
    """Plan, an edited step, approval, a clarification, an approval of edits, a failing step skipped, the end."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "notes.txt").write_bytes(b"colour: none\n")
    broken = {"path": "missing.txt", "old_text": "a", "new_text": "b"}
    turns = [
        planned(
            {"id": "paint", "description": "Paint", "instruction": "Set the colour", "dependsOn": []},
            {"id": "fail", "description": "Break", "tool": "edit_file", "args": broken, "dependsOn": []},
            {"id": "look", "description": "Look", "tool": "list_files", "args": {}, "dependsOn": ["paint"]},
        ),
        {"calls": [call("read_file", path="notes.txt")]},
        {"calls": [call("ask_user", question="Which colour?", options=["red", "blue"])]},
        {
            "calls": [
                call("edit_file", path="notes.txt", old_text="none", new_text="blue"),
                call("task_completed", summary="Painted."),
            ]
        },
    ]
    with model_process(tmp_path, turns) as address:
        settings = {"model.baseUrl": address, "model.name": "scripted", "execution.maxParallelSteps": 1}
        opened = connected(real_application(tmp_path / "state.db"), folders=[work], settings=settings)
        async with opened as client:
            uri = (work / "notes.txt").as_uri()
            client.open(uri, "typed first\ncolour: none\n")
            created = await client.request(
                "planloom/plan/create", {"text": "Paint @notes.txt", "mode": "plan"}
            )
            plan_id = created["plan"]["planId"]
            ready = await client.wait_event("plan_ready", plan_id=plan_id)
            edited = await client.request(
                "planloom/plan/edit",
                {
                    "planId": plan_id,
                    "version": ready["plan"]["version"],
                    "edits": [{"op": "update", "stepId": "paint", "set": {"description": "Paint it"}}],
                },
            )
            version = edited["plan"]["version"]
            await client.request("planloom/plan/approve", {"planId": plan_id, "version": version})
            asked = await client.wait_event("clarification_request", plan_id=plan_id)
            assert asked["question"] == "Which colour?"
            await client.request(
                "planloom/step/answer", {"planId": plan_id, "stepId": "paint", "answer": "blue"}
            )
            approval = (await client.wait_event("approval_request", plan_id=plan_id))["approval"]
            await client.request(
                "planloom/approval/respond", {"approvalId": approval["approvalId"], "decision": "allow"}
            )
            failed = await client.wait_event("recovery_request", plan_id=plan_id)
            assert failed["taskId"] == "fail" and "missing.txt" in failed["error"]
            await client.request(
                "planloom/step/recover", {"planId": plan_id, "stepId": "fail", "action": "skip"}
            )
            done = await client.wait_event("plan_completed", plan_id=plan_id)
            assert (done["progress"]["completed"], done["progress"]["skipped"]) == (2, 1)
            assert client.buffers[uri].text == "typed first\ncolour: blue\n"
            assert (work / "notes.txt").read_bytes() == b"colour: none\n"
