"""How the scripted model speaks to each agent: the same reads, edits and commands, in that agent's own tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from bench.agents.script import END, Speaker, Uses
from bench.agents.tasks import COMMAND, Edit, Region
from bench.agents.wire import Answer, Item


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
            lines += ["@@", *(f"-{line}" for line in edit.old.splitlines())]
            lines += [f"+{line}" for line in edit.new.splitlines()]
    return "\n".join([*lines, "*** End Patch"]) + "\n"


class Codex(Speaker):
    """Shell commands and `apply_patch`, whichever of their forms is offered."""

    failures = ("error", "failed", "aborted", "exited with code 1", 'exit_code":1')

    def look(self, places: Sequence[Region]) -> Uses:
        return [self.run(printing(place)) for place in places]

    def change(self, edits: Sequence[Edit]) -> Answer:
        text = patch(edits)
        if self.offered.get("apply_patch") == "custom":
            return Answer("", self.calls("change", [("apply_patch", text)]))
        return Answer("", self.calls("change", [self.run(f"apply_patch <<'EOF'\n{text}EOF")]))

    def run(self, command: str) -> tuple[str, Mapping[str, Any]]:
        forms: dict[str, Mapping[str, Any]] = {
            "exec_command": {"cmd": command},
            "shell_command": {"command": command},
            "shell": {"command": ["bash", "-lc", command]},
        }
        return next(form for form in forms.items() if form[0] in self.offered)


class MiniSwe(Speaker):
    """One tool, `bash`. It edits by a script that replaces a text which must be there once."""

    failures = ('"returncode": 1', "assertionerror")

    def look(self, places: Sequence[Region]) -> Uses:
        return [self.run("; ".join(map(printing, places)))]

    def shown(self, results: Sequence[str]) -> str:
        return "\n".join(str(json.loads(each).get("output", "")) for each in results if each.startswith("{"))

    def change(self, edits: Sequence[Edit]) -> Answer:
        pairs = json.dumps([[edit.path, edit.old, edit.new] for edit in edits])
        script = (
            f"import json, pathlib\nfor path, old, new in json.loads({pairs!r}):\n"
            "    file = pathlib.Path(path)\n    text = file.read_text()\n"
            "    assert text.count(old) == 1, path\n    file.write_text(text.replace(old, new))\n"
        )
        return Answer("", self.calls("change", [self.run(f"python3 - <<'EOF'\n{script}EOF")]))

    def run(self, command: str) -> tuple[str, Mapping[str, Any]]:
        return "bash", {"command": command}

    def end(self) -> Answer:
        return Answer(END, self.calls("end", [self.run("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")]))


class Continue(Speaker):
    """`Read` gives whole files; the edits of a file are one `MultiEdit` where that is offered, else each an `Edit`."""

    def failed(self, result: str) -> bool:
        return not result.startswith("Successfully")

    def look(self, places: Sequence[Region]) -> Uses:  # noqa: ARG002
        # Of several reads in one answer each may be but a part as long as one alone.
        paths = self.unread()[: 1 if any("too large to read" in item.text for item in self.items) else None]
        return [("Read", {"filepath": path}) for path in paths]

    def unread(self) -> Sequence[str]:
        begins = [index + 1 for index, item in enumerate(self.items) if item.call.startswith("change")]
        got = [item.text for item in self.items[max(begins, default=0) :] if item.role == "result"]
        return [
            path
            for path in self.task.paths
            if not any(text.startswith(f"Content of {path}:") for text in got)
        ]

    def shown(self, results: Sequence[str]) -> str:  # noqa: ARG002
        return "\n".join(item.text for item in self.items if item.call.startswith("look"))

    def change(self, edits: Sequence[Edit]) -> Answer:
        uses: list[tuple[str, Mapping[str, Any]]] = []
        for path, its in by_file(edits):
            pairs = [{"old_string": edit.old, "new_string": edit.new} for edit in its]
            if "MultiEdit" in self.offered:
                uses.append(("MultiEdit", {"file_path": path, "edits": pairs}))
            else:
                uses += [("Edit", {"file_path": path, **pair}) for pair in pairs]
        return Answer("", self.calls("change", uses))

    def run(self, command: str) -> tuple[str, Mapping[str, Any]]:
        return "Bash", {"command": command}


class Aider(Speaker):
    """The files are in the chat from the start, and edits are SEARCH/REPLACE blocks; it runs no command by itself."""

    reads = False
    runs = False

    def answer(self, body: Mapping[str, Any], items: Sequence[Item]) -> Answer:
        if any(_IN_CHAT in item.text for item in items):
            return super().answer(body, items)
        # It wants words for a commit, or for what was said before.
        return Answer("The change that was asked for")

    def shown(self, results: Sequence[str]) -> str:  # noqa: ARG002
        return next(item.text for item in reversed(self.items) if _IN_CHAT in item.text)

    def change(self, edits: Sequence[Edit]) -> Answer:
        blocks = [
            f"{edit.path}\n```python\n<<<<<<< SEARCH\n{edit.old}=======\n{edit.new}>>>>>>> REPLACE\n```\n"
            for edit in edits
        ]
        return Answer("\n".join(["The change:\n", *blocks, _RUN]))

    def publish(self) -> Answer:
        return Answer(f"The change is made. {_RUN}")


_IN_CHAT: Final = "added these files to the chat"
_RUN: Final = f"Run:\n\n```bash\n{COMMAND}\n```\n"


class Planloom(Speaker):
    """Reads, submits a plan of one step of work and one command, and does the step; without a plan, one by one."""

    failures = ("error", "failed", "not found", "conflict", "not made")

    def answer(self, body: Mapping[str, Any], items: Sequence[Item]) -> Answer:
        said = [item.text for item in items if item.role == "user"]
        self._in_step = any("CURRENT TASK" in text for text in said)
        self._planning = not self._in_step and any("You plan now" in text for text in said)
        return super().answer(body, items)

    def look(self, places: Sequence[Region]) -> Uses:
        return [
            ("read_file", {"path": place.path, "start_line": place.first, "end_line": place.last})
            for place in places
        ]

    def change(self, edits: Sequence[Edit]) -> Answer:
        if self._planning:
            return self._plan(self._work(), {"dependsOn": ["work"]})
        uses = [
            ("edit_file", {"path": edit.path, "old_text": edit.old, "new_text": edit.new}) for edit in edits
        ]
        return Answer("", (*self.calls("change", uses), *(self._done() if self._in_step else ())))

    def run(self, command: str) -> tuple[str, Mapping[str, Any]]:
        return "run_command", {"command": command}

    def publish(self) -> Answer:
        if self._in_step:
            return Answer("", self._done(unchanged="The change stands in the files already."))
        return self._plan() if self._planning else super().publish()

    def _work(self) -> Mapping[str, Any]:
        words = {"id": "work", "description": "Make the change", "instruction": self.task.request.strip()}
        return {**words, "expectedFiles": list(self.task.paths)}

    def _plan(self, *before: Mapping[str, Any]) -> Answer:
        """A plan of the command; of a step of work before it, and how the command waits for that."""
        tool, arguments = self.run(COMMAND)
        publish = {"id": "publish", "description": "Publish", "tool": tool, "args": arguments}
        steps = [before[0], {**publish, **before[1]}] if before else [publish]
        plan = {"summary": "The change, and its publication.", "steps": steps}
        return Answer("", self.calls("plan", [("submit_plan", plan)]))

    def _done(self, **fields: str) -> Any:
        return self.calls("end", [("task_completed", {"summary": END, **fields})])
