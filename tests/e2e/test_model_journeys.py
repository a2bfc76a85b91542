"""Whole journeys with a model server in a process of its own: answers scripted, tool calls streamed in fragments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_cli import files, planloom
from tests.support.model_server import model_process

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
