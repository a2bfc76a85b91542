"""Codex as the calling agent, with a scripted model: its client's dialogs are a person's, and its own no is none."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.peers import install
from bench.peers.endpoint import endpoint
from bench.run.warm import Lines
from tests.e2e.test_cli import own_state
from tests.mcp.agent import files

pytestmark = [
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.skipif(install.codex() is None, reason="`make peers` installs Codex"),
]
REQUEST = 'Replace "old" with "new" in a.txt'


def _model(_: str, body: Mapping[str, Any]) -> tuple[bytes, str]:
    """A model that has a plan created, waits for it, and says what came of it."""
    outputs = [each["output"] for each in body["input"] if str(each.get("type", "")).endswith("_output")]
    if len(outputs) == 2:
        text = [{"type": "output_text", "text": str(outputs[1])}]
        item: dict[str, Any] = {"type": "message", "role": "assistant", "content": text}
    else:
        found = re.search(r"[0-9a-f]{32}", str(outputs))
        name, args = ("wait", {"plan_id": found[0]}) if found else ("create_plan", {"request": REQUEST})
        item = {
            "type": "function_call",
            "name": name,
            "namespace": "mcp__planloom",
            "call_id": f"c{len(outputs)}",
        }
        item["arguments"] = json.dumps(args)
    events = [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"id": "r"}},
    ]
    lines = (f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
    return "".join(lines).encode(), "text/event-stream"


@pytest.fixture
def codex(work: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lines]:
    """Codex's app-server, whose client is the test."""
    home = work.parent / "codex"
    home.mkdir()
    monkeypatch.setenv("CODEX_HOME", str(home))
    monkeypatch.setenv("KEY", "none")
    variables = ",".join(f"{name}={json.dumps(value)}" for name, value in own_state(work).items())
    args = json.dumps(["-I", "-m", "planloom", "mcp", "--trust"])
    server = f"{{command={json.dumps(sys.executable)},args={args},env={{{variables}}},required=true}}"
    with endpoint(_model) as (url, _):
        provider = f'{{name="scripted",base_url="{url}",wire_api="responses",env_key="KEY"}}'
        options = (
            "model_provider=scripted",
            "analytics.enabled=false",
            f"model_providers.scripted={provider}",
        )
        set_ = [word for each in (*options, f"mcp_servers.planloom={server}") for word in ("-c", each)]
        peer = Lines((str(install.codex()), "app-server", *set_))
        try:
            peer.ask(1, "initialize", {"clientInfo": {"name": "test", "version": "1"}})
            peer.tell("initialized", {})
            yield peer
        finally:
            peer.end()


def _turn(codex: Lines, work: Path, policy: str) -> tuple[list[str], dict[str, Any]]:
    """One turn, in which the first answer of each question is taken: the questions, and what `wait` answered."""
    options = {
        "cwd": str(work),
        "model": "scripted",
        "approvalPolicy": policy,
        "sandbox": "danger-full-access",
    }
    thread = codex.ask(2, "thread/start", options)["result"]["thread"]["id"]
    turn = {"threadId": thread, "input": [{"type": "text", "text": "Go"}]}
    codex.send({"jsonrpc": "2.0", "id": 3, "method": "turn/start", "params": turn})
    asked: list[str] = []
    waited: dict[str, Any] = {}
    while (message := codex.read()).get("method") != "turn/completed":
        params = message.get("params", {})
        if message.get("method") == "mcpServer/elicitation/request":
            asked.append(params["message"])
            answers = params["requestedSchema"]["properties"]["answer"]["enum"]
            answer = {"action": "accept", "content": {"answer": answers[0]}}
            codex.send({"jsonrpc": "2.0", "id": message["id"], "result": answer})
        item = params.get("item", {})
        if message.get("method") == "item/completed" and item.get("tool") == "wait":
            waited = item["result"]["structuredContent"]
    return asked, waited


def test_codex_hands_work_over_and_its_person_approves_it(work: Path, codex: Lines) -> None:
    asked, waited = _turn(codex, work, "on-request")
    assert waited["status"] == "completed"
    assert ["Planloom has planned 1 step" in asked[0], "-old" in asked[1], len(asked)] == [True, True, 2]
    assert files(work) == {"a.txt": "new\n"}


def test_codex_that_declines_every_question_by_itself_decides_nothing(work: Path, codex: Lines) -> None:
    asked, waited = _turn(codex, work, "never")
    assert (asked, waited["status"]) == ([], "pending_approval")
    assert "planloom resume" in waited["next"]
    assert files(work) == {"a.txt": "old\n"}
