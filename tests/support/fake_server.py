"""A server that speaks from a script: a real process for tests of the command line, quick since it imports little.

Run as `python fake_server.py SCRIPT TRANSCRIPT`. The script is JSON: for each method a list of turns, one for each
time it is called (the last serves all further calls); a turn is a list of actions, done in order:

    {"reply": result} · {"error": {code, message, data}} · {"events": [event, ...]} (seq and planId are added)
    {"notify": [method, params]} · {"ask": [method, params]} (waits for the answer) · {"exit": code} · {"hang": true}
    {"raw": text} (these bytes, whatever they are)

`$ROOT` in any string stands for the URI of the first workspace folder. A method without turns is answered with
null, except `planloom/plan/view`: the view of the plan of the last reply follows the events, as far as tests look at
it. The transcript gets the further arguments (`{"argv": [...]}`), then every message of the
client, each as one JSON line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

INITIALIZE = [[{"reply": {"capabilities": {"positionEncoding": "utf-32"}}}]]
STATUS = [[{"reply": {"version": "0", "protocolVersion": 1, "logPath": "/fake/server.log"}}]]

STATUSES = {
    "task_started": "running",
    "task_completed": "completed",
    "task_failed": "failed",
    "task_skipped": "skipped",
    "plan_executing": "executing",
    "plan_paused": "paused",
    "plan_resumed": "executing",
    "plan_direct": "executing",
    "plan_completed": "completed",
    "plan_failed": "failed",
    "plan_cancelled": "cancelled",
    "plan_rejected": "rejected",
}
WORDS = {"completed": "Done", "failed": "Failed", "cancelled": "Cancelled", "rejected": "Rejected"}
PAUSE, RESUME = "planloom.pause", "planloom.resume"
OFFERS = {"draft": [PAUSE], "pending_approval": [PAUSE], "executing": [PAUSE], "paused": [RESUME]}
KINDS = {"create": "new file", "edit": "edited", "delete": "deleted", "createFolder": "new folder"}
APPLIED = {"state": "applied", "words": "", "byCommand": False, "lasting": False}


def view_of(plan: dict[str, Any], files: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """A plan as people see it; its `files` are edited ones of events."""
    steps, status = plan.get("steps", []), plan.get("status", "")
    done = sum(each.get("status") == "completed" for each in steps)
    return {
        "plan": plan,
        "sign": status,
        "state": WORDS.get(status, status),
        "live": status not in WORDS,
        "partly": False,
        "progress": {"total": len(steps), "completed": done},
        "used": "",
        "actions": [{"title": "Resume", "command": each} for each in OFFERS.get(status, [])],
        "steps": [
            {"step": each, "number": number, "sign": each.get("status", ""), "words": each.get("status", "")}
            for number, each in enumerate(steps, 1)
        ],
        "files": [{**APPLIED, "kind": KINDS.get(file["change"], ""), **file} for file in files],
    }


class Fake:
    def __init__(self, script: dict[str, Any], transcript: Path, source: BinaryIO, sink: BinaryIO) -> None:
        self.turns = {"initialize": INITIALIZE, "planloom/status": STATUS} | script
        self.transcript = transcript
        self.source, self.sink = source, sink
        self.calls: dict[str, int] = {}
        self.waiting: list[dict[str, Any]] = []
        self.root = ""
        self.seq = 0
        self.asked = 0
        self.plan: dict[str, Any] = {}
        self.files: dict[str, dict[str, Any]] = {}

    def serve(self) -> int:
        while True:
            message = self.waiting.pop(0) if self.waiting else self.read()
            if message is None or message.get("method") == "exit":
                return 0
            method = message.get("method")
            if method == "initialize":
                folders = message["params"].get("workspaceFolders") or [{"uri": ""}]
                self.root = folders[0]["uri"]
            if method is not None:
                code = self.answer(message)
                if code is not None:
                    return code

    def answer(self, message: dict[str, Any]) -> int | None:
        method = message["method"]
        turns = self.turns.get(method, [])
        number = self.calls.get(method, 0)
        self.calls[method] = number + 1
        replied = "id" not in message
        if method == "planloom/plan/view" and not turns:
            turns = [[{"reply": {"number": self.seq + 1, "view": self.view()}}]]
        for action in turns[min(number, len(turns) - 1)] if turns else []:
            match json.loads(json.dumps(action).replace("$ROOT", self.root)):
                case {"reply": result}:
                    if isinstance(result, dict) and "plan" in result:
                        self.plan = result["plan"] = {**result["plan"], "seq": self.seq}
                        self.show()
                    self.write({"id": message["id"], "result": result})
                    replied = True
                case {"error": error}:
                    self.write({"id": message["id"], "error": error})
                    replied = True
                case {"events": events}:
                    for event in events:
                        self.seq += 1
                        whole = {"seq": self.seq, "planId": "p", "sessionId": "s", "at": ""} | event
                        self.write({"method": "planloom/event", "params": whole})
                        self.take(whole)
                        self.show()
                case {"notify": [name, params]}:
                    self.write({"method": name, "params": params})
                case {"ask": [name, params]}:
                    self.ask(name, params)
                case {"exit": code}:
                    return int(code)
                case {"raw": text}:
                    self.sink.write(text.encode())
                    self.sink.flush()
                case {"hang": _}:
                    replied = True
        if not replied:
            self.write({"id": message["id"], "result": None})
        return None

    def take(self, event: dict[str, Any]) -> None:
        """Change the plan as an event says."""
        name, step_id = event["type"], event.get("taskId")
        self.plan = {**self.plan, **event.get("plan", {}), "seq": event["seq"], "planId": event["planId"]}
        steps = self.plan.setdefault("steps", [])
        status = STATUSES.get(name)
        if name == "task_created" and event["task"] not in steps:
            self.plan["steps"] = [*steps, event["task"]]
        elif name == "task_failed" and event["willRetry"]:
            status = "pending"
        if status is not None and step_id is not None:
            now = {"status": status, "result": event.get("result")}
            self.plan["steps"] = [each | now if each["stepId"] == step_id else each for each in steps]
        elif status is not None:
            more = {name: event[name] for name in ("report", "error") if name in event}
            if name == "plan_paused":
                more |= {"pauseReason": event["reason"], "pauseDetail": event.get("detail")}
            self.plan |= {"status": status, "executionSummary": event.get("summary", ""), **more}
        for file in event.get("files", []) if name == "edit_applied" else []:
            self.files[file["uri"]] = file

    def show(self) -> None:
        """Send the view of the plan."""
        params = {"planId": self.plan.get("planId", "p"), "number": self.seq, "view": self.view()}
        self.write({"method": "planloom/plan/view", "params": params})

    def view(self) -> dict[str, Any]:
        return view_of({"planId": "p", **self.plan}, list(self.files.values()))

    def ask(self, method: str, params: Any) -> None:
        self.asked += 1
        self.write({"id": f"fake-{self.asked}", "method": method, "params": params})
        while (message := self.read()) is not None and message.get("id") != f"fake-{self.asked}":
            self.waiting.append(message)

    def read(self) -> dict[str, Any] | None:
        length = 0
        while (line := self.source.readline()).strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            return None
        body = self.source.read(length)
        with self.transcript.open("ab") as file:
            file.write(body + b"\n")
        message: dict[str, Any] = json.loads(body)
        return message

    def write(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0"} | message).encode()
        self.sink.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.sink.flush()


if __name__ == "__main__":
    script = json.loads(Path(sys.argv[1]).read_text())
    Path(sys.argv[2]).write_text(json.dumps({"argv": sys.argv[3:]}) + "\n")
    sys.exit(Fake(script, Path(sys.argv[2]), sys.stdin.buffer, sys.stdout.buffer).serve())
