"""What is no message, no known version, no session; a client that cannot ask, or does so twice."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from acp import schema

from planloom.acp import wire
from planloom.acp.wire import LineReader, announced
from planloom.serving.opening import ApplicationContext
from planloom.serving.process import CommandLine
from planloom.storage.decisions import FILE, Decisions
from planloom.user_folders import state_folder
from tests.support.acp_client import AcpClient, AcpError, always, check, connected, over

REQUEST = '1. Replace "old" with "new" in a.txt'


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("no json", -32700),
        ("[" * 100_000, -32700),
        ("[]", -32600),
        ("7", -32600),
        ('{"jsonrpc": "2.0", "id": null, "method": "session/new", "params": {}}', -32600),
        ('{"jsonrpc": "2.0", "id": true, "method": "session/new"}', -32600),
        ('{"jsonrpc": "2.0", "id": 1, "method": 5}', -32600),
        ("{}", -32600),
        ('{"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": [1]}', -32602),
        ('{"jsonrpc": "2.0", "id": 1, "method": "session/new"}', -32602),
        (
            '{"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": 5, "mcpServers": []}}',
            -32602,
        ),
        ('{"jsonrpc": "2.0", "id": 1, "method": "session/nothing", "params": {}}', -32601),
        (
            '{"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": {"sessionId": "x", "prompt": []}}',
            -32002,
        ),
    ],
)
async def test_what_is_no_request_is_answered_with_an_error(line: str, code: int) -> None:
    async with connected() as client:
        client.raw(line.encode())
        await client.until(lambda: client.errors)
        assert [each["code"] for each in client.errors] == [code]


async def test_answers_and_notifications_that_nobody_waits_for_are_ignored(folder: Path) -> None:
    async with connected() as client:
        for message in (
            {"id": 99, "result": {}},
            {"id": "99", "error": {}},
            {"id": [1], "result": {}},
            {"id": 98},
            {"id": 97, "error": 5},
            {"method": "session/cancel", "params": {"sessionId": "x"}},
            {"method": "session/cancel", "params": {"sessionId": 5}},
            {"method": "session/cancel", "params": [1]},
            {"method": "$/unknown", "params": {}},
        ):
            client.tell(message)
        assert await client.open(folder)
        assert client.errors == []


@pytest.mark.parametrize("version", [1, 0, 2, 65535])
async def test_whatever_version_a_client_speaks_it_is_told_ours(version: int) -> None:
    client = AcpClient(over(None), CommandLine())
    answer = await client.request("initialize", {"protocolVersion": version})
    assert answer["protocolVersion"] == 1
    client.tell({"id": 7, "method": "initialize", "params": {"protocolVersion": "2025-02-07"}})
    assert client.errors == []
    await client.end()


@pytest.mark.parametrize(
    "params", [{}, {"protocolVersion": ""}, {"protocolVersion": [1]}, {"protocolVersion": True}]
)
async def test_what_is_no_version_is_refused(params: dict[str, Any]) -> None:
    client = AcpClient(over(None), CommandLine())
    client.tell({"id": 1, "method": "initialize", "params": params})
    client.tell({"id": 2, "method": "session/new", "params": {"cwd": "/", "mcpServers": []}})
    assert [each["code"] for each in client.errors] == [-32602, -32600]
    await client.end()


def test_what_is_announced_fits_the_schema() -> None:
    check(schema.InitializeResponse, announced())


def test_lines_come_in_pieces_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_BYTES", 10)
    lines: list[bytes] = []
    problems: list[str] = []
    reader = LineReader(lines.append, problems.append)
    for data in (b"one\ntw", b"", b"o\n\n  \r\n", b"x" * 8, b"x" * 8, b"\nthree", b"\n"):
        reader.feed(data)
    assert lines == [b"one", b"two", b"three"] and len(problems) == 1


async def test_a_folder_that_is_none_is_refused(folder: Path) -> None:
    async with connected() as client:
        for cwd in (folder / "missing", folder / "a.txt", Path("relative")):
            with pytest.raises(AcpError) as refused:
                await client.open(cwd)
            assert refused.value.code == -32602


async def test_an_unknown_session_is_not_loaded(folder: Path) -> None:
    async with connected() as client:
        with pytest.raises(AcpError) as refused:
            await client.open(folder, "no-such-session")
        assert refused.value.code == -32002
        with pytest.raises(AcpError):
            await client.prompt("Hello")


async def test_unknown_modes_and_sound_are_refused(folder: Path) -> None:
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        with pytest.raises(AcpError, match="no mode"):
            await client.request("session/set_mode", {"sessionId": client.session_id, "modeId": "yolo"})
        with pytest.raises(AcpError, match="neither text"):
            await client.prompt("Listen", {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"})
        with pytest.raises(AcpError, match="base64"):
            await client.prompt("Look", {"type": "image", "data": "%", "mimeType": "image/png"})
        with pytest.raises(AcpError):
            await client.prompt("   ")


async def test_a_client_that_cannot_ask_leaves_the_plan_waiting(folder: Path) -> None:
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        client.refused.add("session/request_permission")
        assert await client.prompt(REQUEST) == "end_turn"
        assert "waits for your answer" in client.said()
        client.refused.clear()
        client.answers = always(switch_mode="Start execution", edit="Allow once")
        await client.prompt("/skip 1")
        assert (folder / "a.txt").read_text() == "old\n"


async def test_a_client_that_allows_all_by_itself_is_not_asked_without_end(folder: Path) -> None:
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        client.answers = lambda params: params["options"][0]["name"]
        assert await client.prompt("Say hello") == "end_turn"
        assert "needs a language model" in client.said() and len(client.asked) <= 4
        client.asked.clear()
        await client.prompt('1. Replace "nothing" with "new" in a.txt')
        assert len(client.asked) <= 5


async def test_one_prompt_at_a_time(folder: Path) -> None:
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        never = asyncio.get_running_loop().create_future()
        client.answers = lambda _: never
        turn = asyncio.ensure_future(client.prompt(REQUEST))
        await client.until(lambda: client.asked)
        with pytest.raises(AcpError, match="cancel it first"):
            await client.prompt("And this")
        client.cancel()
        assert await turn == "cancelled"


async def test_a_closed_session_is_gone_and_can_be_loaded(folder: Path, tmp_path: Path) -> None:
    async with connected(over(tmp_path / "ledger.sqlite3"), trusts=[folder]) as client:
        await client.open(folder)
        client.answers = always(switch_mode="Start execution", edit="Allow once")
        await client.prompt(REQUEST)
        await client.request("session/close", {"sessionId": client.session_id})
        with pytest.raises(AcpError):
            await client.prompt("Hello")
        await client.open(folder, client.session_id)
        await client.prompt("/undo")
        assert (folder / "a.txt").read_text() == "old\n"


async def test_trust_is_asked_once_a_plan_needs_it_and_kept(folder: Path) -> None:
    async with connected() as client:
        await client.open(folder)
        client.answers = lambda params: next(
            name
            for name in ("Only read", "Start execution", "Allow once", "End the plan")
            if any(each["name"].startswith(name) for each in params["options"])
        )
        await client.prompt(REQUEST)
        assert [each["toolCall"]["toolCallId"] for each in client.asked].count("ask-trust") == 1
        assert (folder / "a.txt").read_text() == "old\n"
        assert Decisions(state_folder() / FILE).is_trusted(folder) is False
    Decisions(state_folder() / FILE).decide_folder(folder, trusted=True)
    async with connected() as client:
        await client.open(folder)
        client.answers = always(switch_mode="Start execution", edit="Allow once")
        await client.prompt(REQUEST)
        assert (folder / "a.txt").read_text() == "new\n"


async def test_hidden_characters_and_half_characters_are_shown_as_what_they_are(folder: Path) -> None:
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        client.answers = lambda params: "Start" if params["toolCall"]["kind"] == "switch_mode" else None
        await client.prompt("1. Run `echo \u202ehello \ud83d`")
        told = json.dumps(client.updates) + json.dumps(client.asked)
        assert "<U+202E>" in told and "\\u202e" not in told


async def test_files_and_texts_are_attached(folder: Path) -> None:
    (folder / "b.txt").write_text("second\n")
    blocks: list[dict[str, Any]] = [
        {"type": "resource_link", "name": "a.txt", "uri": (folder / "a.txt").as_uri()},
        {"type": "resource", "resource": {"uri": (folder / "b.txt").as_uri(), "text": "second\n"}},
        {"type": "resource", "resource": {"uri": "zed:///thread/1", "text": "elsewhere"}},
    ]
    opened: list[Any] = []
    async with connected(over(None, None, opened), trusts=[folder]) as client:
        await client.open(folder)
        client.answers = always(switch_mode="Reject")
        await client.prompt("1. List files", *blocks)
        (listed,) = opened[0].plans.list(client.session_id, (), None, False)
        plan = opened[0].plans.get(listed.plan_id, None)
        assert [each.label for each in plan.attachments] == ["a.txt", "b.txt"]
        assert "zed:///thread/1:\n```\nelsewhere\n```" in plan.request


async def test_an_image_is_attached(folder: Path) -> None:
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    opened: list[Any] = []
    async with connected(over(None, None, opened), trusts=[folder]) as client:
        await client.open(folder)
        client.answers = always(switch_mode="Reject")
        await client.prompt("1. List files", {"type": "image", "data": pixel, "mimeType": "image/png"})
        (listed,) = opened[0].plans.list(client.session_id, (), None, False)
        assert [each.kind for each in opened[0].plans.get(listed.plan_id, None).attachments] == ["image"]


async def test_keys_of_the_environment_reach_every_session_and_no_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    found: list[str | None] = []
    make = over(None)

    async def looks(context: ApplicationContext) -> Any:
        found.append(context.environment.get("OPENAI_API_KEY"))
        return await make(context)

    async with connected(looks, trusts=[folder]) as client:
        await client.open(folder)
        await client.open(folder)
        assert found == ["sk-secret", "sk-secret"] and "OPENAI_API_KEY" not in os.environ
