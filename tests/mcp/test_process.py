"""The server as a process: broken and strange clients, two at once, a killed server, a terminal beside it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_cli import own_state
from tests.mcp.agent import REQUEST, choosing, connected, files, started
from tests.support import command_line

pytestmark = pytest.mark.process
SERVER = (sys.executable, "-I", "-m", "planloom", "mcp", "--trust")


class Lines:
    """A client that sends whatever it likes, a line each."""

    def __init__(self, folder: Path, command: Sequence[str] = SERVER) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, text=True)
        self._ids = iter(range(1, 1_000))

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()

    def line(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def send(self, **message: Any) -> None:
        self.line(json.dumps({"jsonrpc": "2.0", **message}))

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to a request; everything before it is passed over."""
        number = next(self._ids)
        self.send(id=number, method=method, params=params)
        return self.until(lambda message: message.get("id") == number and "method" not in message)

    def until(self, holds: Any) -> dict[str, Any]:
        while not holds(message := self.read()):
            pass
        return message

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.ask("tools/call", name=tool, arguments=arguments)
        found: dict[str, Any] = answer["result"]["structuredContent"]
        return found

    def hello(self, version: str = "2025-06-18") -> dict[str, Any]:
        info = {"name": "lines", "version": "1"}
        answer = self.ask(
            "initialize", protocolVersion=version, capabilities={"elicitation": {}}, clientInfo=info
        )
        self.send(method="notifications/initialized")
        return answer


@pytest.fixture
def lines(work: Path) -> Iterator[Lines]:
    with contextlib.closing(Lines(work)) as client:
        yield client


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_real_client_hands_work_over_and_its_person_approves(work: Path, mode: Any) -> None:
    person = choosing("Start execution", "Allow once")
    async with started(work, person, mode=mode, environment=own_state(work)) as agent:
        assert [each.name for each in (await agent.client.list_tools()).tools][:1] == ["create_plan"]
        plan = await agent.planned()
        assert (await agent.call("wait", plan_id=plan["plan_id"]))["status"] == "completed"
    assert files(work) == {"a.txt": "new\n", "b.txt": "b"}


def test_an_unknown_version_of_the_protocol_is_answered_by_a_known_one(lines: Lines) -> None:
    assert lines.hello("1999-01-01")["result"]["protocolVersion"] == "2025-11-25"
    assert lines.call("get_plan") == {"plans": []}


def test_an_unknown_version_of_a_call_is_refused_by_the_known_ones(lines: Lines) -> None:
    key = "io.modelcontextprotocol/"
    meta = {f"{key}protocolVersion": "2099-01-01", f"{key}clientCapabilities": {}}
    refused = lines.ask("tools/call", name="get_plan", arguments={}, _meta=meta)["error"]
    assert "2026-07-28" in refused["data"]["supported"]


def test_modules_that_lie_in_the_workspace_are_not_imported(work: Path) -> None:
    for name in ("mcp", "mcp_types", "anyio", "json", "starlette", "sqlite3"):
        (work / f"{name}.py").write_text("open('evil', 'w')\n")
    client = Lines(work, (sys.executable, "-m", "planloom", "mcp"))
    with contextlib.closing(client):
        client.hello()
        assert client.call("get_plan") == {"plans": []}
    assert not (work / "evil").exists()


def test_messages_that_are_none_are_answered_or_passed_over_and_the_next_is_served(lines: Lines) -> None:
    for text in (
        "",
        "{",
        "[]",
        "null",
        '{"jsonrpc": "2.0"}',
        '{"jsonrpc":"1.0","id":1,"method":"x"}',
        "\ufffd\x00",
    ):
        lines.line(text)
    assert "result" in lines.hello()
    for text in ("{", '{"jsonrpc":"2.0","id":null,"method":"tools/call"}', "[" * 50_000):
        lines.line(text)
    assert "error" in lines.ask("tools/call", name=1)
    assert "error" in lines.ask("no/such/method")
    assert lines.call("get_plan") == {"plans": []}


def test_a_server_without_a_handshake_runs_no_tool(lines: Lines) -> None:
    assert "error" in lines.ask("tools/call", name="get_plan", arguments={})


def _waiting_for_an_effect(client: Lines) -> str:
    """A plan that was approved, and whose first effect is asked; its id."""
    client.hello()
    plan_id: str = client.call("create_plan", request=REQUEST)["plan_id"]
    client.send(id="w", method="tools/call", params={"name": "wait", "arguments": {"plan_id": plan_id}})
    review = client.until(lambda message: message.get("method") == "elicitation/create")
    answer = {"action": "accept", "content": {"answer": "Start execution"}}
    client.send(id=review["id"], result=answer)
    client.until(lambda message: message.get("method") == "elicitation/create")
    return plan_id


async def test_a_killed_server_leaves_its_plan_paused_and_the_next_one_goes_on(
    work: Path, lines: Lines
) -> None:
    plan_id = await asyncio.to_thread(_waiting_for_an_effect, lines)
    lines.process.kill()
    await asyncio.to_thread(lines.process.wait)
    assert files(work) == {"a.txt": "old\n"}
    async with connected(work, choosing("Resume", "Allow once")) as agent:
        left = await agent.call("get_plan", plan_id=plan_id)
        assert (left["status"], left["waits_for"]) == ("paused", "is paused and waits for you")
        ended = await agent.call("wait", plan_id=plan_id)
        assert ended["status"] == "completed"
    assert files(work) == {"a.txt": "new\n", "b.txt": "b"}


@pytest.mark.parametrize("how", ["close", "terminate"])
async def test_a_client_that_leaves_ends_the_server_and_its_plan_is_kept(
    work: Path, lines: Lines, how: str
) -> None:
    plan_id = await asyncio.to_thread(_waiting_for_an_effect, lines)
    if how == "terminate":
        lines.process.terminate()
    else:
        assert lines.process.stdin is not None
        lines.process.stdin.close()
    assert await asyncio.to_thread(lines.process.wait, 20) == (143 if how == "terminate" else 0)
    async with connected(work, choosing("Resume", "Allow once")) as agent:
        assert (await agent.call("wait", plan_id=plan_id))["status"] == "completed"


async def test_a_second_client_waits_for_the_plan_that_the_first_one_runs(work: Path, lines: Lines) -> None:
    plan_id = await asyncio.to_thread(_waiting_for_an_effect, lines)
    async with connected(work, choosing("Start execution", "Allow once")) as agent:
        found = await agent.call("wait", plan_id=plan_id, timeout_seconds=0.1)
        assert found["status"] == "executing"
        assert "open in another Planloom" in found["next"]
        refused = await agent.tried("edit_plan", plan_id=plan_id, version=1, feedback="Other")
        assert refused["code"] == "owned_elsewhere"
        assert agent.asked == []


async def test_a_person_goes_on_in_a_terminal_while_the_agent_waits(work: Path) -> None:
    async with started(work, environment=own_state(work)) as agent:
        plan = await agent.planned()
        words = ["resume", plan["plan_id"][:8], "--yes", "--workspace", str(work)]
        state = own_state(work)
        ran = await asyncio.to_thread(lambda: command_line.run(work.parent, words, cold=True, **state))
        assert ran.code == 0, ran
        assert (await agent.call("wait", plan_id=plan["plan_id"]))["status"] == "completed"
    assert files(work) == {"a.txt": "new\n", "b.txt": "b"}


def test_at_a_terminal_it_says_who_starts_it(work: Path) -> None:
    with contextlib.closing(command_line.AtTerminal(work.parent, ["mcp"], **own_state(work))) as terminal:
        terminal.wait_for("An agent's client starts `planloom mcp`")
