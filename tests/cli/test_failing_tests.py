"""The most usual request to a coding agent, with the real server: run the tests, mend the cause, run them again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import command_line
from tests.support.model_server import model_process

pytestmark = pytest.mark.process
SUITE = "echo checked; grep right code.txt"


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def run_tests(step_id: str, *needs: str) -> dict[str, Any]:
    step = {"id": step_id, "description": f"Run the tests {step_id}", "dependsOn": list(needs)}
    return step | {"tool": "run_command", "args": {"command": SUITE}}


FIX = {"id": "mend", "description": "Mend it", "instruction": "Mend code.txt", "dependsOn": ["first"]}
PLANNED = {
    "text": json.dumps({"summary": "Steps.", "steps": [run_tests("first"), FIX, run_tests("again", "mend")]})
}
MENDS = call("edit_file", path="code.txt", old_text="wrong", new_text="right")
TURNS = {
    "plan": [
        PLANNED,
        {"calls": [call("task_completed", summary="The word right is missing.")]},
        {"calls": [MENDS, call("task_completed", summary="Mended it.")]},
    ],
    "direct": [
        {"calls": [call("run_command", command=SUITE)]},
        {"calls": [MENDS, call("run_command", command=SUITE)]},
        {"calls": [call("final_answer", text="The tests pass now.")]},
    ],
}


@pytest.mark.parametrize("mode", TURNS)
def test_the_tests_fail_and_are_mended_and_run_again(tmp_path: Path, mode: str) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "code.txt").write_text("wrong\n")
    request = "The tests fail. Run them, find out why, fix it and run them again."
    flags = ("--yes", "--yes-commands", "--mode", mode, "-w", str(work))
    with model_process(tmp_path, TURNS[mode]) as address:
        model = ("--base-url", address, "--model", "scripted")
        ended = command_line.run(tmp_path, ["run", request, *flags, *model])
    assert ended.code == 0, ended.out
    assert (work / "code.txt").read_text() == "right\n"
    assert "✔ Done." in ended.out
    assert "Used: scripted · " in ended.out and " tokens read, " in ended.out
