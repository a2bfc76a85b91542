"""The client of the protocol's own library against the real process: spawned, asked, and shown everything."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process, text_block
from acp.contrib.session_state import SessionAccumulator
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    FileSystemCapabilities,
    PermissionOption,
    ReadTextFileResponse,
    RequestPermissionResponse,
    SessionNotification,
    WriteTextFileResponse,
)

from planloom.storage.decisions import FILE, Decisions
from planloom.user_folders import state_folder

pytestmark = pytest.mark.process


class Approving:
    """A client as the library's examples have one: it takes the first option that allows."""

    def __init__(self) -> None:
        self.seen = SessionAccumulator()
        self.written: list[str] = []

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        chosen = next(each for each in options if each.kind.startswith("allow"))
        return RequestPermissionResponse(
            outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        )

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.seen.apply(SessionNotification(session_id=session_id, update=update))

    async def read_text_file(self, path: str, session_id: str, **_: Any) -> ReadTextFileResponse:
        if not os.path.exists(path):  # noqa: ASYNC240, PTH110
            raise RequestError.resource_not_found(path)
        return ReadTextFileResponse(content=await asyncio.to_thread(Path(path).read_text))

    async def write_text_file(
        self, path: str, content: str, session_id: str, **_: Any
    ) -> WriteTextFileResponse:
        self.written.append(path)
        await asyncio.to_thread(Path(path).write_text, content)
        return WriteTextFileResponse()

    def on_connect(self, conn: Any) -> None:
        """Nothing is asked of the agent by itself."""


async def test_the_librarys_client_plays_a_journey(folder: Path) -> None:
    Decisions(state_folder() / FILE).decide_folder(folder, trusted=True)
    client: Any = Approving()
    command = (sys.executable, "-I", "-m", "planloom", "acp", "--set", "model.provider=embedded")
    async with spawn_agent_process(client, *command, env=dict(os.environ)) as (agent, process):
        capabilities = ClientCapabilities(
            fs=FileSystemCapabilities(read_text_file=True, write_text_file=True)
        )
        answer = await agent.initialize(protocol_version=PROTOCOL_VERSION, client_capabilities=capabilities)
        assert answer.agent_info is not None and answer.agent_info.name == "planloom"
        session = await agent.new_session(cwd=str(folder), mcp_servers=[])
        assert session.modes is not None and session.modes.current_mode_id == "plan"
        request = '1. Replace "old" with "new" in a.txt\n2. Run `cat a.txt`'
        done = await agent.prompt(session_id=session.session_id, prompt=[text_block(request)])
        assert done.stop_reason == "end_turn"
        assert (folder / "a.txt").read_text() == "new\n" and client.written == [str(folder / "a.txt")]
        seen = client.seen.snapshot()
        assert [each.status for each in seen.plan_entries] == ["completed", "completed"]
        calls = seen.tool_calls.values()
        assert {each.kind for each in calls} >= {"edit", "execute", "switch_mode"}
        assert {each.status for each in calls} == {"completed"}
    assert process.returncode is not None
