"""How the scripted model speaks to each agent: the same reads, edits and commands, in that agent's own tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from bench.agents.script import END, Speaker
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

    def shown(self, items: Sequence[Item], results: Sequence[str]) -> str:
        return "\n".join(str(json.loads(each).get("output", "")) for each in results if each.startswith("{"))

    def end(self, body: Mapping[str, Any], turn: int) -> Answer:
        return Answer(END, self.run(body, f"end_{turn}", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"))


class Continue(Speaker):
    """`Read` gives whole files; the edits of one file are one `MultiEdit` where that is offered, else each an `Edit`."""

    def failed(self, result: str) -> bool:
        return not result.startswith("Successfully")

    def look(self, body: Mapping[str, Any], name: str, places: Sequence[Region]) -> tuple[Call, ...]:
        paths = dict.fromkeys(place.path for place in places)
        return tuple(
            Call(f"{name}_{index}", "Read", {"filepath": path}) for index, path in enumerate(paths)
        )

    def change(self, body: Mapping[str, Any], turn: int, edits: Sequence[Edit]) -> Answer:
        made: list[tuple[str, Mapping[str, Any]]] = []
        for path, its in by_file(edits):
            pairs = [{"old_string": edit.old, "new_string": edit.new} for edit in its]
            if "MultiEdit" in tools(body):
                made.append(("MultiEdit", {"file_path": path, "edits": pairs}))
            else:
                made += [("Edit", {"file_path": path, **pair}) for pair in pairs]
        calls = (Call(f"change_{turn}_{index}", *each) for index, each in enumerate(made))
        return Answer("", tuple(calls))

    def run(self, body: Mapping[str, Any], name: str, command: str) -> tuple[Call, ...]:
        return (Call(name, "Bash", {"command": command}),)


class Aider(Speaker):
    """The files are in the chat from the start, and edits are SEARCH/REPLACE blocks; it runs no command by itself."""

    reads = False
    runs = False

    def answer(self, body: Mapping[str, Any], items: Sequence[Item]) -> Answer:
        if not any(_IN_CHAT in item.text for item in items):
            # It wants words for a commit, or for what was said before.
            return Answer("The change that was asked for")
        return super().answer(body, items)

    def shown(self, items: Sequence[Item], results: Sequence[str]) -> str:
        return next(item.text for item in reversed(items) if _IN_CHAT in item.text)

    def change(self, body: Mapping[str, Any], turn: int, edits: Sequence[Edit]) -> Answer:
        blocks = [
            f"{edit.path}\n```python\n<<<<<<< SEARCH\n{edit.old}=======\n{edit.new}>>>>>>> REPLACE\n```\n"
            for edit in edits
        ]
        return Answer("\n".join(["The change:\n", *blocks, f"Then run:\n\n```bash\n{COMMAND}\n```\n"]))

    def publish(self, body: Mapping[str, Any], turn: int) -> Answer:
        return Answer(f"The change is made. Run:\n\n```bash\n{COMMAND}\n```\n")


_IN_CHAT: Final = "added these files to the chat"


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
        said = [item.text for item in items if item.role == "user"]
        self._task_in_hand = any("CURRENT TASK" in text for text in said)
        self._planning = not self._task_in_hand and any("You plan now" in text for text in said)
        return super().answer(body, items)

    def change(self, body: Mapping[str, Any], turn: int, edits: Sequence[Edit]) -> Answer:
        if self._planning:
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
        if self._planning:
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
