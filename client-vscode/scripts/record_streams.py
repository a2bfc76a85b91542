"""Records what the real server says of a few plans, for the tests of the fold.

Each file of `test/streams/` holds the events of one plan and the plan as the server has it after the last. Run it
with the project's own Python when events change: `.venv/bin/python client-vscode/scripts/record_streams.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

STREAMS = Path(__file__).resolve().parent.parent / "test" / "streams"
NOTE = "alpha\nbeta\ngamma\n"


class Server:
    """A server process, and a client that takes no edits, so the server writes the files."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "work"
        self.folder.mkdir()
        (self.folder / "note.txt").write_text(NOTE, encoding="utf-8")
        self.events: list[dict[str, Any]] = []
        self.number = 0
        self.taken = 0
        command = [sys.executable, "-I", "-m", "planloom", "serve", "--stdio"]
        environment = {**os.environ, "XDG_STATE_HOME": str(home / "state"), "HOME": str(home)}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=home, env=environment
        )
        uri = self.folder.as_uri()
        folders = [{"uri": uri, "name": "work"}]
        declared = {"events": True, "approvals": True, "clarifications": True, "recovery": True}
        options = {"planloomClient": declared, "planloom": {"model.provider": "embedded"}}
        params = {"processId": None, "rootUri": uri, "workspaceFolders": folders, "capabilities": {}}
        self.ask("initialize", {**params, "initializationOptions": options})
        self.send({"method": "initialized", "params": {}})

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """The next message; what the server asks of the editor is answered on the way."""
        assert self.process.stdout is not None
        length = 0
        while (line := self.process.stdout.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        if message.get("method") == "planloom/event":
            self.events.append(message["params"])
        elif "method" in message and "id" in message:
            self.send({"id": message["id"], "result": None})
        return message

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while (message := self.read()).get("id") != self.number or "method" in message:
            pass
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        result: dict[str, Any] = message["result"]
        return result

    def until(self, *types: str) -> dict[str, Any]:
        """The next event of one of these types; some may have come before the answer to what caused them."""
        while True:
            while self.taken < len(self.events):
                event = self.events[self.taken]
                self.taken += 1
                if event["type"] in types:
                    return event
            self.read()


def record(name: str, text: str, act: Callable[[Server, dict[str, Any]], None]) -> None:
    """Make one plan of `text`, let `act` carry it on, and write what was said."""
    with tempfile.TemporaryDirectory() as home:
        server = Server(Path(home).resolve())
        try:
            plan = server.ask("planloom/plan/create", {"text": text, "mode": "plan"})["plan"]
            ready = server.until("plan_approval_request")["plan"]
            act(server, ready)
            now = server.ask("planloom/plan/get", {"planId": plan["planId"]})["plan"]
            events = [event for event in server.events if event["seq"] <= now["seq"]]
            said = json.dumps({"events": events, "plan": now}, indent=1, ensure_ascii=False)
            (STREAMS / f"{name}.json").write_text(
                said.replace(server.folder.as_uri(), "file:///work").replace(str(server.folder), "/work")
                + "\n",
                encoding="utf-8",
            )
        finally:
            server.process.kill()
            server.process.wait()


def approve(server: Server, plan: dict[str, Any]) -> None:
    server.ask("planloom/plan/approve", {"planId": plan["planId"], "version": plan["version"]})


def allow_all(server: Server, plan: dict[str, Any]) -> None:
    """Allow whatever is asked, answer whatever is unclear, skip whatever fails, until the plan has ended."""
    while True:
        event = server.until(
            "approval_request",
            "clarification_request",
            "recovery_request",
            "plan_completed",
            "plan_failed",
            "plan_cancelled",
        )
        about = {"planId": plan["planId"], "stepId": event.get("taskId")}
        if event["type"] == "approval_request":
            asked = event["approval"]["approvalId"]
            server.ask("planloom/approval/respond", {"approvalId": asked, "decision": "allow"})
        elif event["type"] == "clarification_request":
            server.ask("planloom/step/answer", {**about, "answer": "green"})
        elif event["type"] == "recovery_request":
            server.ask("planloom/step/recover", {**about, "action": "skip"})
        else:
            return


def run_through(server: Server, plan: dict[str, Any]) -> None:
    approve(server, plan)
    allow_all(server, plan)


def edit_first(server: Server, plan: dict[str, Any]) -> None:
    edits = [
        {"op": "update", "stepId": plan["steps"][0]["stepId"], "set": {"description": "Say hello"}},
        {"op": "skip", "stepId": plan["steps"][1]["stepId"]},
    ]
    about = {"planId": plan["planId"], "version": plan["version"]}
    run_through(server, server.ask("planloom/plan/edit", {**about, "edits": edits})["plan"])


def with_nodes(last: dict[str, Any]) -> Callable[[Server, dict[str, Any]], None]:
    """Replace the steps by a check, a gate and a loop, and stop where the loop asks for its second step."""
    checks = [{"kind": "file_exists", "path": "note.txt"}, {"kind": "condition", "text": "platform != 'x'"}]
    steps: list[dict[str, Any]] = [
        {"description": "Check it", "kind": "check", "checks": checks},
        {"description": "Ask", "kind": "approval", "question": "Go on?"},
        {"description": "Write", "tool": "write_file", "kind": "tool_call", **last},
    ]

    def act(server: Server, plan: dict[str, Any]) -> None:
        edits = [
            *({"op": "add", "step": step} for step in steps),
            *({"op": "remove", "stepId": each["stepId"]} for each in plan["steps"]),
        ]
        about = {"planId": plan["planId"], "version": plan["version"]}
        approve(server, server.ask("planloom/plan/edit", {**about, "edits": edits})["plan"])
        for _ in range(2):
            asked = server.until("approval_request")["approval"]["approvalId"]
            server.ask("planloom/approval/respond", {"approvalId": asked, "decision": "allow"})
        server.until("approval_request")
        server.ask("planloom/status", {})

    return act


def cancel_it(server: Server, plan: dict[str, Any]) -> None:
    approve(server, plan)
    server.until("approval_request")
    server.ask("planloom/plan/cancel", {"planId": plan["planId"]})
    server.until("plan_cancelled")


def reject_it(server: Server, plan: dict[str, Any]) -> None:
    server.ask("planloom/plan/reject", {"planId": plan["planId"], "reason": "Not now"})
    server.ask("planloom/status", {})


def wait_for_decision(server: Server, plan: dict[str, Any]) -> None:
    approve(server, plan)
    server.until("recovery_request", "plan_paused")
    server.ask("planloom/status", {})


def undo_and_redo(server: Server, plan: dict[str, Any]) -> None:
    run_through(server, plan)
    for redo in (False, True, False):
        server.ask("planloom/plan/undo", {"planId": plan["planId"], "redo": redo})


def main() -> None:
    """Record every stream anew."""
    STREAMS.mkdir(parents=True, exist_ok=True)
    literal = '1. Create file hello.txt with content "hello"\n2. Replace "beta" with "BETA" in note.txt'
    asking = '1. Ask me which colour it should have\n2. Create file colour.txt with content "x"'
    failing = '1. Replace "no such text" with "B" in note.txt\n2. Create file after.txt with content "x"'
    record("completed", literal, run_through)
    record("edited", literal, edit_first)
    record("cancelled", literal, cancel_it)
    record("rejected", literal, reject_it)
    record("undone-redone-undone", literal, undo_and_redo)
    record("asked", asking, run_through)
    record("failed-and-skipped", failing, run_through)
    record("waiting-for-a-decision", failing, wait_for_decision)
    item = {"path": "{{item}}.txt", "content": "x"}
    record("loop-under-way", literal, with_nodes({"args": item, "forEach": '["a", "b", "c"]'}))
    number = {"path": "{{index}}.txt", "content": "x"}
    record("rounds-under-way", literal, with_nodes({"args": number, "repeatUntil": "false", "repeatMost": 4}))


if __name__ == "__main__":
    main()
