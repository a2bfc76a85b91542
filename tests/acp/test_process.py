"""The real process: its start beside that of the language server, what it imports, its end, a kill and two clients."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from planloom.storage.decisions import FILE, Decisions
from planloom.user_folders import state_folder

pytestmark = pytest.mark.process

REQUEST = '1. Replace "old" with "new" in a.txt\n2. Create b.txt with "hello"'
INITIALIZE = {"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": False}}}


class Process:
    """A client of the real agent, whose questions are answered by the beginning of an option's name."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.answer: Callable[[dict[str, Any]], str | None] = lambda _: None
        self.updates: list[dict[str, Any]] = []
        self._ident = 0

    def tell(self, **message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the agent has ended"
        message: dict[str, Any] = json.loads(line)
        return message

    def send(self, method: str, params: dict[str, Any]) -> int:
        self._ident += 1
        self.tell(id=self._ident, method=method, params=params)
        return self._ident

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer, after what the agent tells and asks before it."""
        ident = self.send(method, params)
        while True:
            message = self.read()
            if message.get("id") == ident and "method" not in message:
                return message
            self.hear(message)

    def hear(self, message: dict[str, Any]) -> None:
        params = message["params"]
        if message["method"] == "session/update":
            self.updates.append(params["update"])
            return
        chosen = self.answer(params)
        if chosen is not None:
            found = next(each["optionId"] for each in params["options"] if each["name"].startswith(chosen))
            self.tell(id=message["id"], result={"outcome": {"outcome": "selected", "optionId": found}})

    def prompt(self, session_id: str, text: str) -> dict[str, Any]:
        prompt = [{"type": "text", "text": text}]
        return self.request("session/prompt", {"sessionId": session_id, "prompt": prompt})


@contextmanager
def started(command: str = "acp", *more: str) -> Iterator[Process]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-m", "planloom", command, "--set", "model.provider=embedded", *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        yield Process(process)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def opened(agent: Process, folder: Path, session_id: str | None = None) -> str:
    assert "result" in agent.request("initialize", INITIALIZE)
    where: dict[str, Any] = {"cwd": str(folder), "mcpServers": []}
    if session_id is None:
        found: str = agent.request("session/new", where)["result"]["sessionId"]
        return found
    assert "result" in agent.request("session/load", {**where, "sessionId": session_id})
    return session_id


@pytest.fixture
def trusted(folder: Path) -> Path:
    Decisions(state_folder() / FILE).decide_folder(folder, trusted=True)
    return folder


def allows(params: dict[str, Any]) -> str:
    return "Start execution" if params["toolCall"]["kind"] == "switch_mode" else "Allow once"


def test_a_journey_and_the_end_of_the_input(trusted: Path) -> None:
    with started("acp", "--set", "approvals.plan=none") as agent:
        session_id = opened(agent, trusted)
        agent.answer = allows
        assert agent.prompt(session_id, REQUEST)["result"]["stopReason"] == "end_turn"
        assert (trusted / "a.txt").read_text() == "new\n"
        assert agent.process.stdin is not None
        agent.process.stdin.close()
        assert agent.process.wait(20) == 0
        agent.process.stdin = open(os.devnull, "wb")  # noqa: PTH123, SIM115 - closed by `started`


def test_a_killed_agent_is_loaded_and_goes_on(trusted: Path) -> None:
    with started("acp", "--set", "approvals.plan=none") as agent:
        session_id = opened(agent, trusted)
        agent.answer = lambda params: "Start" if params["toolCall"]["kind"] == "switch_mode" else None
        agent.send("session/prompt", {"sessionId": session_id, "prompt": [{"type": "text", "text": REQUEST}]})
        while (message := agent.read()).get("params", {}).get("toolCall", {}).get("kind") != "edit":
            agent.hear(message)
        os.kill(agent.process.pid, signal.SIGKILL)
        agent.process.wait()
    with started("acp", "--set", "approvals.plan=none") as again:
        opened(again, trusted, session_id)
        assert any(each["sessionUpdate"] == "user_message_chunk" for each in again.updates)
        again.answer = allows
        assert again.prompt(session_id, "/resume")["result"]["stopReason"] == "end_turn"
        assert (trusted / "a.txt").read_text() == "new\n" and (
            trusted / "b.txt"
        ).read_text().strip() == "hello"


def test_two_clients_do_not_run_one_plan(trusted: Path) -> None:
    with started("acp", "--set", "approvals.plan=none") as one, started() as other:
        session_id = opened(one, trusted)
        one.answer = lambda params: "Start" if params["toolCall"]["kind"] == "switch_mode" else None
        one.send("session/prompt", {"sessionId": session_id, "prompt": [{"type": "text", "text": REQUEST}]})
        while (asked := one.read()).get("params", {}).get("toolCall", {}).get("kind") != "edit":
            one.hear(asked)
        opened(other, trusted, session_id)
        refused = other.prompt(session_id, "/resume")
        assert refused["error"]["code"] < 0
        refused = other.prompt(session_id, "Do something else")
        assert refused["error"]["data"]["code"] == "owned_elsewhere"
        assert (trusted / "a.txt").read_text() == "old\n"


def test_the_language_server_imports_nothing_of_it_and_the_answer_does_not_wait_for_the_library() -> None:
    code = (
        "import sys, threading; from planloom.lsp import server, registration, language_server;"
        "from planloom.serving import opening;"
        "print([each for each in sys.modules if each.split('.')[0] == 'acp' or each.startswith('planloom.acp')])"
    )
    assert subprocess.check_output([sys.executable, "-I", "-c", code]).strip() == b"[]"
    code = (
        "import sys; from planloom.acp import server; print([each for each in sys.modules if each == 'acp'])"
    )
    assert subprocess.check_output([sys.executable, "-I", "-c", code]).strip() == b"[]"


@pytest.mark.slow
def test_initialize_is_answered_about_as_soon_as_by_the_language_server(folder: Path) -> None:
    """Alternately, so that what else the machine does meets both."""

    def lsp() -> float:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}})
        message = f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        began = time.perf_counter()
        with started("serve") as server:
            assert server.process.stdin is not None and server.process.stdout is not None
            server.process.stdin.write(message)
            server.process.stdin.flush()
            assert server.process.stdout.readline()
            return time.perf_counter() - began

    def acp() -> float:
        began = time.perf_counter()
        with started() as agent:
            assert "result" in agent.request("initialize", INITIALIZE)
            return time.perf_counter() - began

    lsp(), acp()
    pairs = [(acp(), lsp()) for _ in range(9)]
    ratio = statistics.median(ours for ours, _ in pairs) / statistics.median(theirs for _, theirs in pairs)
    assert ratio < 1.2, f"acp takes {ratio:.2f} times as long as serve"
