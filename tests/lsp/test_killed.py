"""A real server, killed in the middle of a plan: the next one carries it on without doing anything twice."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from planloom.tools.processes.left_over import process_stamp

pytestmark = pytest.mark.process
INSERTED = "one\ntwo\nINS\nthree\n"
CAPABILITIES = {
    "workspace": {
        "applyEdit": True,
        "workspaceFolders": True,
        "workspaceEdit": {
            "documentChanges": True,
            "resourceOperations": ["create", "rename", "delete"],
            "failureHandling": "textOnlyTransactional",
        },
    },
    "general": {"positionEncodings": ["utf-16"]},
}
CLIENT = {"events": True, "approvals": True, "clarifications": True, "recovery": True, "conflicts": True}


WITHOUT_MEANS = """
from planloom.tools.confinement import confined_command
from planloom.tools.confinement.policy import Means
confined_command.means = Means
from planloom.__main__ import main
main()
"""
"""A server on a system that cannot end a command with the server."""


class Editor:
    """An editor that writes every edit to disk at once, and the server that it has started.

    `on_edit` may kill the server once the edit is made; nothing is answered then. `program` is Python's arguments for
    the server. `declared` is what it can do beyond LSP, `scheme` the beginning of its folder's URI.
    """

    declared: Mapping[str, bool] = CLIENT
    scheme = "file://"

    def __init__(
        self,
        folder: Path,
        settings: dict[str, Any],
        on_edit: Callable[[Editor], None] | None = None,
        program: tuple[str, str] = ("-m", "planloom"),
    ) -> None:
        self.folder = folder / "workspace"
        self.uri = f"{self.scheme}{self.folder}"
        self.on_edit = on_edit
        self.events: list[dict[str, Any]] = []
        self.allows = True
        self._numbers = iter(range(1, 1_000_000))
        command = [sys.executable, *program, "serve", "--stdio", "--storage", str(folder / "state")]
        self.process = subprocess.Popen(
            [*command, "--log-file", str(folder / "server.log")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PLANLOOM_CONFIG": str(folder / "none.json")},
        )
        params = {
            "processId": os.getpid(),
            "rootUri": self.uri,
            "workspaceFolders": [{"uri": self.uri, "name": "workspace"}],
            "capabilities": CAPABILITIES,
            "initializationOptions": {"planloom": settings, "planloomClient": self.declared},
        }
        self.request("initialize", params)
        self._send({"method": "initialized", "params": {}})

    def request(self, method: str, params: dict[str, Any]) -> Any:
        """Ask and wait for the answer; EOFError if the server is killed before it."""
        ident = next(self._numbers)
        self._send({"id": ident, "method": method, "params": params})
        while True:
            message = self._hear()
            if message.get("id") == ident and "method" not in message:
                assert "error" not in message, message
                return message["result"]

    def until(self, type_: str, **fields: Any) -> dict[str, Any]:
        """The next event of a type with these fields."""
        while True:
            for event in self.events:
                if event["type"] == type_ and all(event.get(name) == value for name, value in fields.items()):
                    self.events.remove(event)
                    return event
            self._hear()

    def allow(self, event: dict[str, Any], decision: str = "allow") -> None:
        ident = event["approval"]["approvalId"]
        self.request("planloom/approval/respond", {"approvalId": ident, "decision": decision})

    def approved(self, text: str, review: str) -> str:
        """A plan for the request, approved; its id."""
        plan = self.request("planloom/plan/create", {"text": text, "mode": "plan"})["plan"]
        ready = self.until("plan_ready")["plan"]
        ids = {"planId": plan["planId"], "version": ready["version"], "review": review}
        self.request("planloom/plan/approve", ids)
        return str(plan["planId"])

    def text(self, name: str) -> str:
        return (self.folder / name).read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def _hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            length = int(line.partition(b":")[2])
        if not length:
            raise EOFError
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        if message.get("method") == "planloom/event":
            self.events.append(message["params"])
        elif "method" in message and "id" in message:
            result = self.told(message["method"], message["params"])
            if message["method"] == "workspace/applyEdit":
                for change in message["params"]["edit"]["documentChanges"]:
                    self._apply(change)
                if self.on_edit is not None:
                    self.on_edit(self)
                    raise EOFError
                result = {"applied": True}
            self._send({"id": message["id"], "result": result})
        return message

    def told(self, method: str, params: dict[str, Any]) -> Any:
        """The answer to a request other than an edit."""
        return None

    def _apply(self, change: dict[str, Any]) -> None:
        uri = change["textDocument"]["uri"] if "textDocument" in change else change["uri"]
        path = self.folder / uri.removeprefix(self.uri + "/")
        if change.get("kind") == "create":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            return
        lines = path.read_text().splitlines(keepends=True)
        for edit in reversed(change["edits"]):
            start, end = edit["range"]["start"], edit["range"]["end"]
            head = (
                "".join(lines[: start["line"]])
                + "".join(lines[start["line"] : start["line"] + 1])[: start["character"]]
            )
            tail = "".join(lines[end["line"] : end["line"] + 1])[end["character"] :] + "".join(
                lines[end["line"] + 1 :]
            )
            lines = (head + edit["newText"] + tail).splitlines(keepends=True)
        path.write_text("".join(lines))


Start = Callable[..., Editor]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts an editor with its server over the same folder and the same ledger each time."""
    started: list[Editor] = []
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "a.txt").write_text("one\ntwo\nthree\n")

    def start(settings: dict[str, Any], *more: Any, **others: Any) -> Editor:
        started.append(Editor(tmp_path, settings, *more, **others))
        return started[-1]

    yield start
    for each in started:
        each.close()


def test_killed_between_the_editors_part_of_an_edit_and_its_own(start: Start) -> None:
    """Everything was made as one edit: the text by the editor, the empty folder by the server."""
    editor = start({}, Editor.kill)
    plan_id = editor.approved('1. Replace "two" with "two\nINS" in a.txt\n2. Create folder made', "end")
    with pytest.raises(EOFError):
        editor.allow(editor.until("approval_request"))
        editor.until("plan_completed")
    assert editor.text("a.txt") == INSERTED and not (editor.folder / "made").exists()
    editor = start({})
    editor.request("planloom/plan/resume", {"planId": plan_id})
    asked = editor.until("approval_request")
    assert [file["uri"].rpartition("/")[2] for file in asked["approval"]["files"]] == ["made"]
    editor.allow(asked)
    assert editor.until("plan_completed")["summary"].startswith("2 of 2 steps done")
    assert editor.text("a.txt") == INSERTED and (editor.folder / "made").is_dir()


def test_killed_while_a_command_runs(start: Start) -> None:
    """Commands are allowed by the setting; the one that was cut off is asked, with the reason."""
    settings = {"approvals": {"execute": "allow"}}
    editor = start(settings)
    plan_id = editor.approved("1. Run `echo ran >> ran.log; sleep 5`\n2. Run `echo once >> once.log`", "auto")
    editor.until("tool_started")
    while not (editor.folder / "ran.log").exists():
        editor.request("planloom/status", {})
    editor.kill()
    editor = start(settings)
    editor.request("planloom/plan/resume", {"planId": plan_id})
    asked = editor.until("approval_request")
    assert "may have run already" in asked["approval"]["warning"]
    editor.allow(asked, "deny")
    editor.until("plan_completed")
    assert editor.text("ran.log") == "ran\n" and editor.text("once.log") == "once\n"


HELD = "echo ran >> ran.log; cat gate"
"""A command that runs until the other end of the pipe `gate` is opened and closed."""


@pytest.fixture
def left_running(start: Start) -> Editor:
    """A new server after one that was killed while `HELD` ran, which runs on; its plan was resumed."""
    settings = {"approvals": {"execute": "allow"}}
    editor = start(settings, program=("-c", WITHOUT_MEANS))
    os.mkfifo(editor.folder / "gate")
    plan_id = editor.approved(f"1. Run `{HELD}`\n2. Run `echo once >> once.log`", "auto")
    editor.until("tool_started")
    # The first says that the command starts, the second which process it is.
    editor.until("task_update")
    editor.until("task_update")
    while not (editor.folder / "ran.log").exists():
        editor.request("planloom/status", {})
    editor.kill()
    editor = start(settings, program=("-c", WITHOUT_MEANS))
    editor.request("planloom/plan/resume", {"planId": plan_id})
    return editor


def process_in(asked: dict[str, Any]) -> int:
    """The process that an approval says to be running still."""
    found = re.search(r"still runs,? as process (\d+)", asked["approval"]["warning"])
    assert found is not None, asked["approval"]["warning"]
    assert process_stamp(int(found[1])) is not None
    return int(found[1])


def open_gate(editor: Editor) -> None:
    """Let the command that runs end by itself."""
    (editor.folder / "gate").write_text("")


def test_what_a_dead_server_left_running_is_ended_before_it_runs_again(left_running: Editor) -> None:
    editor = left_running
    asked = editor.until("approval_request")
    process = process_in(asked)
    editor.allow(asked)
    while editor.text("ran.log") != "ran\nran\n":
        editor.request("planloom/status", {})
    assert process_stamp(process) is None
    open_gate(editor)
    editor.until("plan_completed")
    assert editor.text("once.log") == "once\n"


def test_what_a_dead_server_left_running_can_be_waited_for(left_running: Editor) -> None:
    """The question is asked anew, with what is true then, as soon as the command has ended by itself."""
    editor = left_running
    asked = editor.until("approval_request")
    process_in(asked)
    open_gate(editor)
    again = editor.until("approval_request")
    assert "may have run already" in again["approval"]["warning"]
    assert "still runs" not in again["approval"]["warning"]
    editor.allow(again, "deny")
    editor.until("plan_completed")
    assert editor.text("ran.log") == "ran\n" and editor.text("once.log") == "once\n"


def test_another_command_beside_what_a_dead_server_left_running_is_asked(left_running: Editor) -> None:
    editor = left_running
    editor.allow(editor.until("approval_request"), "deny")
    asked = editor.until("approval_request")
    process_in(asked)
    assert "goes on beside it" in asked["approval"]["warning"]
    assert asked["approval"]["command"] == "echo once >> once.log"
    editor.allow(asked)
    editor.until("plan_completed")
    open_gate(editor)


def test_killed_while_a_command_is_asked(start: Start) -> None:
    """What came before stays as it is, and nobody says that the command has run."""
    settings = {"approvals": {"plan": "none"}}
    editor = start(settings)
    plan_id = editor.approved(
        '1. Replace "two" with "two\nINS" in a.txt\n2. Run `echo ran >> ran.log`', "auto"
    )
    editor.until("approval_request")
    editor.kill()
    editor = start(settings)
    editor.request("planloom/plan/resume", {"planId": plan_id})
    asked = editor.until("approval_request")
    assert "started before" not in (asked["approval"].get("warning") or "")
    editor.allow(asked)
    editor.until("plan_completed")
    assert editor.text("a.txt") == INSERTED and editor.text("ran.log") == "ran\n"


def test_killed_between_the_unrolling_of_a_loop_and_each_of_its_items(start: Start) -> None:
    """Each item is done once, in whichever life."""
    settings = {"approvals": {"write": "allow"}}
    editor = start(settings)
    (editor.folder / "b.txt").write_text("one\ntwo\n")
    text = '1. Create file c.md with content "+"\n2. List files'
    ids = {"planId": editor.request("planloom/plan/create", {"text": text, "mode": "plan"})["plan"]["planId"]}
    ready = editor.until("plan_ready")["plan"]
    loop = {
        "tool": "edit_file",
        "forEach": "glob('*.txt')",
        "args": {"path": "{{item}}", "old_text": "two", "new_text": "two {{index}}"},
    }
    edits = [{"op": "update", "stepId": ready["steps"][0]["stepId"], "set": loop}]
    edited = editor.request("planloom/plan/edit", {**ids, "version": ready["version"], "edits": edits})[
        "plan"
    ]
    editor.request("planloom/plan/approve", {**ids, "version": edited["version"], "review": "each"})
    editor.until("steps_unrolled")
    editor.kill()
    for _ in range(2):
        # Each life makes one edit, and ends before the server hears of it.
        editor = start(settings, Editor.kill)
        with pytest.raises(EOFError):
            editor.request("planloom/plan/resume", ids)
            editor.until("plan_completed")
    editor = start(settings)
    editor.request("planloom/plan/resume", ids)
    assert editor.until("plan_completed")["summary"].startswith("4 of 4 steps done")
    assert (editor.text("a.txt"), editor.text("b.txt")) == ("one\ntwo 0\nthree\n", "one\ntwo 1\n")
