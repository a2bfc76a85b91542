"""A day of work with one server: plans of every kind, by rules and by a model, with what people do meanwhile."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from planloom.models.offline.scripted import Turn, fails, makes, says
from tests.service.test_perspectives import CHAPO, DEVO, KODA
from tests.support.lsp_client import LspClient
from tests.support.model_server import ScriptedServer

FILE, NOTES = "a.txt", "notes.txt"
LINES = "".join(f"line {number:03} is new\n" for number in range(200))
_REPORTS: Mapping[str, Any] = {"Chapo": CHAPO, "Koda": KODA, "Devo": DEVO}
_LITERAL: Mapping[str, Sequence[tuple[str, Any]]] = {
    "edits": [
        (
            "edit_file",
            {"path": FILE, "old_text": f"line {n:03} is new", "new_text": f"line {n:03} is old"},
        )
        for n in range(1, 5)
    ],
    "reads": [("read_file", {"path": FILE}), ("list_files", {}), ("read_file", {"path": FILE})],
    "command": [("run_command", {"command": "seq 1 2000"}), ("list_files", {})],
    "long": [("run_command", {"command": "exec sleep 6000"})],
}
_MARK = re.compile(r"DAY-(\w+)-(\d+)")


class DayModel(ScriptedServer):
    """An OpenAI-compatible server whose model plans what a request marks with DAY-word-number, and works on it."""

    def __init__(self) -> None:
        super().__init__(())

    def choose(self, body: Any) -> Turn:
        """The answer to a request, by what it says alone."""
        self.requests.clear()
        messages = body.get("messages", ())
        texts = [_text(message) for message in messages]
        whole = "\n".join(texts)
        names = [tool["function"]["name"] for tool in body.get("tools") or ()]
        if "report" in names:
            return makes(
                ("report", next(made for who, made in _REPORTS.items() if f"You are {who}," in whole))
            )
        if "task_completed" not in names:
            word, number = _MARK.findall(whole)[-1]
            return says(json.dumps(_plan(word, number)))
        task = max(place for place, text in enumerate(texts) if "CURRENT TASK\n" in text)
        word, number = _MARK.findall(texts[task].rpartition("CURRENT TASK\n")[2])[0]
        if word == "refused":
            return fails("refused")
        made = sum(message.get("role") == "tool" for message in messages[task + 1 :])
        calls = _calls(word, number)
        return makes(calls[made] if made < len(calls) else ("task_completed", {"summary": f"Did {word}."}))


def _plan(word: str, number: str) -> Any:
    """The plan for a mark: literal steps, or one for the model, which finds the mark in its instruction."""
    literal = _LITERAL.get(word, ())
    steps = [
        {"id": f"s{place}", "description": f"{tool} {place}", "tool": tool, "args": args}
        for place, (tool, args) in enumerate(literal, start=1)
    ]
    work = {"id": "work", "description": f"Work {word}", "instruction": f"Do DAY-{word}-{number}."}
    return {"summary": f"The work {word}.", "steps": steps or [work]}


def _calls(word: str, number: str) -> Sequence[tuple[str, Any]]:
    read = ("read_file", {"path": FILE})
    match word:
        case "message":
            waits = "until [ -e go ]; do sleep 0.02; done; rm go"
            return (read, ("run_command", {"command": waits}), read)
        case "background":
            return (("run_command", {"command": "echo up; exec sleep 6000", "background": True}), read)
        case _:
            text = f"{LINES}note {number}\n"
            notes = ("read_file", {"path": NOTES})
            return (notes, ("write_file", {"path": NOTES, "content": text}))


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


class Person:
    """One user with one client: `plan(n)` does the n-th piece of work of the day, to its end."""

    def __init__(self, client: LspClient, root: Path) -> None:
        (root / FILE).write_text(LINES, encoding="utf-8")
        (root / NOTES).write_text("", encoding="utf-8")
        self._client = client
        self._root = root
        self.kinds: Sequence[Callable[[int], Awaitable[None]]] = (
            self._edits,
            self._reads,
            self._command,
            self._model,
            self._perspectives,
            self._cancelled,
            self._failed,
            self._message,
            self._background,
            self._reopened,
        )

    async def plan(self, number: int) -> None:
        """One request from its creation to its end, with what is done meanwhile."""
        await self.kinds[number % len(self.kinds)](number)
        forget(self._client)

    async def _edits(self, number: int) -> None:
        plan_id = await self._ended("edits", number)
        await self._client.request("planloom/plan/undo", {"planId": plan_id})

    async def _reads(self, number: int) -> None:
        await self._ended("reads", number)

    async def _command(self, number: int) -> None:
        await self._ended("command", number)

    async def _model(self, number: int) -> None:
        plan_id = await self._ended("notes", number)
        await self._client.request("planloom/plan/undo", {"planId": plan_id})

    async def _perspectives(self, number: int) -> None:
        await self._ended("notes", number, mode="perspectives")

    async def _cancelled(self, number: int) -> None:
        plan_id = await self._running("long", number)
        await self._client.request("planloom/plan/cancel", {"planId": plan_id})
        await self._wait(plan_id, "cancelled")

    async def _failed(self, number: int) -> None:
        plan_id = await self._approved("refused", number)
        asked = await self._client.wait_event("recovery_request", plan_id=plan_id)
        answer = {"planId": plan_id, "stepId": asked["taskId"], "action": "abort"}
        await self._client.request("planloom/step/recover", answer)
        await self._wait(plan_id, "cancelled", "failed")

    async def _message(self, number: int) -> None:
        plan_id = await self._running("message", number)
        message = {"planId": plan_id, "text": "Look at the numbers, too."}
        await self._client.request("planloom/plan/message", message)
        (self._root / "go").touch()
        await self._wait(plan_id, "completed")

    async def _background(self, number: int) -> None:
        await self._ended("background", number)

    async def _reopened(self, number: int) -> None:
        """The editor opens a document and closes it again."""
        uri = (self._root / FILE).as_uri()
        self._client.open(uri, LINES)
        await self._ended("edits", number)
        self._client.close(uri)

    async def _approved(self, word: str, number: int, mode: str = "plan") -> str:
        text = f"Please do the work DAY-{word}-{number} with care"
        created = await self._client.request("planloom/plan/create", {"text": text, "mode": mode})
        plan_id: str = created["plan"]["planId"]
        ready = await self._client.request("planloom/plan/wait", {"planId": plan_id, "until": "ready"})
        params = {"planId": plan_id, "version": ready["plan"]["version"]}
        await self._client.request("planloom/plan/approve", params)
        return plan_id

    async def _running(self, word: str, number: int) -> str:
        """Approve a plan, and wait until a command of it runs."""
        plan_id = await self._approved(word, number)
        await self._client.until(
            lambda: any(
                event["type"] == "tool_started" and event["tool"] == "run_command"
                for event in self._client.events
            )
        )
        return plan_id

    async def _ended(self, word: str, number: int, mode: str = "plan") -> str:
        plan_id = await self._approved(word, number, mode)
        await self._wait(plan_id, "completed")
        return plan_id

    async def _wait(self, plan_id: str, *statuses: str) -> None:
        """Wait for the end of a plan; a plan that asks something is a failure."""
        waits = {"planId": plan_id, "until": "ended" if "cancelled" in statuses else "attention"}
        plan = (await self._client.request("planloom/plan/wait", waits))["plan"]
        if plan["status"] not in statuses:
            raise AssertionError(f"the plan is {plan['status']}: {plan['request']} {plan['pending']}")


def forget(client: LspClient) -> None:
    """Drop what the client has recorded, which would grow with the day."""
    for recorded in (client.events, client.notifications, client.asked, client.sent):
        recorded.clear()
