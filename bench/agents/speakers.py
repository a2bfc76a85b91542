"""How the scripted model speaks to each agent: the same reads, edits and commands, in that agent's own tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from bench.agents.script import END, Speaker, is_made
from bench.agents.tasks import COMMAND, Edit, Region
from bench.agents.wire import Answer, Call, Item, tools


def by_file(edits: Sequence[Edit]) -> list[tuple[str, list[Edit]]]:
    """The edits of each file."""
    return [(path, list(its)) for path, its in groupby(edits, lambda edit: edit.path)]


def printing(place: Region) -> str:
    """A command that prints lines."""
    return f"sed -n '{place.first},{place.last}p' {place.path}"


def patch(edits: Sequence[Edit]) -> str:
    """The edits in the form of Codex's `apply_patch`."""
    lines = ["*** Begin Patch"]
    for path, its in by_file(edits):
        lines.append(f"*** Update File: {path}")
        for edit in its:
            lines.append("@@")
            lines += [f"-{line}" for line in edit.old.splitlines()]
            lines += [f"+{line}" for line in edit.new.splitlines()]
    return "\n".join([*lines, "*** End Patch"]) + "\n"


class Codex(Speaker):
    """Shell commands and `apply_patch`, whichever of their forms is offered."""

    failures = ("error", "failed", "aborted", "exited with code 1", "exit_code\":1")

    def look(self, body: Mapping[str, Any], name: str, places: Sequence[Region]) -> tuple[Call, ...]:
        return tuple(
            call
            for index, place in enumerate(places)
            for call in self.run(body, f"{name}_{index}", printing(place))
        )

    def change(self, body: Mapping[str, Any], turn: int, edits: Sequence[Edit]) -> Answer:
        name, text = f"change_{turn}", patch(edits)
        if tools(body).get("apply_patch") == "custom":
            return Answer("", (Call(name, "apply_patch", text),))
        return Answer("", self.run(body, name, f"apply_patch <<'EOF'\n{text}EOF"))

    def run(self, body: Mapping[str, Any], name: str, command: str) -> tuple[Call, ...]:
        forms = {
            "exec_command": {"cmd": command},
            "shell_command": {"command": command},
            "shell": {"command": ["bash", "-lc", command]},
        }
        tool = next(each for each in forms if each in tools(body))
        return (Call(name, tool, forms[tool]),)


class MiniSwe(Speaker):
    """One tool, `bash`. It edits by a script that replaces a text which must be there once."""

    failures = ('"returncode": 1', "assertionerror")

    def look(self, body: Mapping[str, Any], name: str, places: Sequence[Region]) -> tuple[Call, ...]:
        return self.run(body, name, "; ".join(map(printing, places)))

    def change(self, body: Mapping[str, Any], turn: int, edits: Sequence[Edit]) -> Answer:
        pairs = json.dumps([[edit.path, edit.old, edit.new] for edit in edits])
        script = (
            f"import json, pathlib\nfor path, old, new in json.loads({pairs!r}):\n"
            "    file = pathlib.Path(path)\n    text = file.read_text()\n"
            "    assert text.count(old) == 1, path\n    file.write_text(text.replace(old, new))\n"
        )
        return Answer("", self.run(body, f"change_{turn}", f"python3 - <<'EOF'\n{script}EOF"))

    def run(self, body: Mapping[str, Any], name: str, command: str) -> tuple[Call, ...]:
        return (Call(name, "bash", {"command": command}),)

    def plain(self, result: str) -> str:
        return str(json.loads(result).get("output", "")) if result.startswith("{") else result

    def end(self, body: Mapping[str, Any], turn: int) -> Answer:
        return Answer(END, self.run(body, f"end_{turn}", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"))


class Continue(Speaker):
    """`Read` gives whole files; edits of one file are one `MultiEdit`, as its description asks for."""

    def look(self, body: Mapping[str, Any], name: str, places: Sequence[Region]) -> tuple[Call, ...]:
        paths = dict.fromkeys(place.path for place in places)
        return tuple(
            Call(f"{name}_{index}", "Read", {"filepath": path}) for index, path in enumerate(paths)
        )

    def change(self, body: Mapping[str, Any], turn: int, edits: Sequence[Edit]) -> Answer:
        return Answer(
            "",
            tuple(
                Call(
                    f"change_{turn}_{index}",
                    "MultiEdit",
                    {
                        "file_path": path,
                        "edits": [{"old_string": edit.old, "new_string": edit.new} for edit in its],
                    },
                )
                for index, (path, its) in enumerate(by_file(edits))
            ),
        )

    def run(self, body: Mapping[str, Any], name: str, command: str) -> tuple[Call, ...]:
        return (Call(name, "Bash", {"command": command}),)


class Aider(Speaker):
    """The files are in the chat from the start, and edits are SEARCH/REPLACE blocks; it runs no command by itself."""

    reads = False

    def change(self, body: Mapping[str, Any], turn: int, edits: Sequence[Edit]) -> Answer:
        blocks = [
            f"{edit.path}\n```python\n<<<<<<< SEARCH\n{edit.old}=======\n{edit.new}>>>>>>> REPLACE\n```\n"
            for edit in edits
        ]
        return Answer("\n".join(["The change:\n", *blocks, f"Then run:\n\n```bash\n{COMMAND}\n```\n"]))

    def publish(self, body: Mapping[str, Any], turn: int) -> Answer:
        return Answer(f"The change is made. Run:\n\n```bash\n{COMMAND}\n```\n")


class Planloom(Speaker):
    """Reads, submits a plan of one step of work and one command, and does the step; without a plan, all in one go."""

    failures = ("error", "failed", "not found", "conflict", "not made")

    def look(self, body: Mapping[str, Any], name: str, places: Sequence[Region]) -> tuple[Call, ...]:
        return tuple(
            Call(
                f"{name}_{index}",
                "read_file",
                {"path": place.path, "start_line": place.first, "end_line": place.last},
            )
            for index, place in enumerate(places)
        )

    def answer(self, body: Mapping[str, Any], items: Sequence[Item]) -> Answer:
        self._task_in_hand = _task_in_hand(items)
        return super().answer(body, items)

    def change(self, body: Mapping[str, Any], turn: int, edits: Sequence[Edit]) -> Answer:
        if not self._task_in_hand and "submit_plan" in tools(body):
            return Answer("", (Call(f"plan_{turn}", "submit_plan", self._plan(edits)),))
        calls = tuple(
            Call(
                f"change_{turn}_{index}",
                "edit_file",
                {"path": edit.path, "old_text": edit.old, "new_text": edit.new},
            )
            for index, edit in enumerate(edits)
        )
        return Answer("", (*calls, *self._done(turn))) if self._task_in_hand else Answer("", calls)

    def run(self, body: Mapping[str, Any], name: str, command: str) -> tuple[Call, ...]:
        return (Call(name, "run_command", {"command": command}),)

    def publish(self, body: Mapping[str, Any], turn: int) -> Answer:
        if self._task_in_hand:
            return Answer("", self._done(turn, unchanged="The change stands in the files already."))
        if "submit_plan" in tools(body):
            return Answer("", (Call(f"plan_{turn}", "submit_plan", self._plan(())),))
        return super().publish(body, turn)

    def _plan(self, edits: Sequence[Edit]) -> Mapping[str, Any]:
        work = {
            "id": "work",
            "description": "Make the change",
            "instruction": self.task.request.strip(),
            "expectedFiles": list(self.task.paths),
        }
        publish = {
            "id": "publish",
            "description": "Publish",
            "tool": "run_command",
            "args": {"command": COMMAND},
        }
        return {
            "summary": "The change, and its publication.",
            "steps": [work, {**publish, "dependsOn": ["work"]}] if edits else [publish],
        }

    def _done(self, turn: int, **fields: str) -> tuple[Call, ...]:
        return (Call(f"end_{turn}", "task_completed", {"summary": END, **fields}),)


def _task_in_hand(items: Sequence[Item]) -> bool:
    """Whether a step of an approved plan is what the model works on."""
    return any("CURRENT TASK" in item.text for item in items if item.role == "user")


__all__ = ["Aider", "Codex", "Continue", "MiniSwe", "Planloom", "is_made"]
