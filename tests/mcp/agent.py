"""Another agent's client over a real server of ours, in this process or in one of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.context import ClientRequestContext

from planloom.mcp.server import make_server
from planloom.mcp.workspace import Options, Workspace
from planloom.service.application import Application

REQUEST = '1. Replace "old" with "new" in a.txt\n2. Create file b.txt with content "b"'
Answer = Callable[[types.ElicitRequestFormParams], types.ElicitResult | Awaitable[types.ElicitResult]]
Person = Answer | asyncio.Event
"""How the client's person answers; an event is waited for first, and then the question is dismissed."""
Mode = Literal["legacy", "auto"]
"""The protocol of the handshake, with requests to the client, or the newest, in which a call is sent again."""


def choosing(*wanted: str, feedback: str = "") -> Answer:
    """A person who takes the first of these answers that is offered, and dismisses any other question."""

    def answer(params: types.ElicitRequestFormParams) -> types.ElicitResult:
        offered = params.requested_schema["properties"]["answer"].get("enum", wanted)
        chosen = next((each for each in wanted if each in offered), None)
        if chosen is None:
            return types.ElicitResult(action="cancel")
        more = {"feedback": feedback} if feedback else {}
        return types.ElicitResult(action="accept", content={"answer": chosen, **more})

    return answer


def files(folder: Path) -> dict[str, str]:
    """The files of a workspace."""
    return {path.name: path.read_text() for path in folder.iterdir()}


class Agent:
    """A connected client, the questions that its person got, and the progress that it was told."""

    def __init__(self) -> None:
        self.client: Client
        self.workspace: Workspace
        self.person: Person | None = None
        self.heard = asyncio.Event()
        self.asked: list[types.ElicitRequestFormParams] = []
        self.progress: list[str] = []

    async def call(self, tool: str, **args: Any) -> dict[str, Any]:
        """What a call answers. A failure is a failure of the test."""
        found = await self.tried(tool, **args)
        assert "error" not in found, found
        return found

    async def tried(self, tool: str, **args: Any) -> dict[str, Any]:
        """What a call answers, also if it fails."""

        async def told(_: float, __: float | None, message: str | None) -> None:
            self.progress.append(message or "")

        answer = await self.client.call_tool(tool, args, progress_callback=told)
        assert answer.is_error == ("error" in answer.structured_content)
        found: dict[str, Any] = answer.structured_content
        return found

    async def application(self) -> Application:
        """The application of a server in this process, once a call has opened it."""
        return await self.workspace.application(lambda: pytest.fail("it is open"))

    async def planned(self, request: str = REQUEST) -> dict[str, Any]:
        """A plan that is ready for review."""
        created = await self.call("create_plan", request=request)
        return await self.until(created["plan_id"], "pending_approval")

    async def until(self, plan_id: str, status: str) -> dict[str, Any]:
        """The plan, once it has this status."""
        while (found := await self.call("get_plan", plan_id=plan_id))["status"] != status:
            assert found["status"] not in ("failed", "completed"), found
        return found


def callbacks(agent: Agent, person: Person | None, roots: Sequence[Path] | None) -> dict[str, Any]:
    """The part of the client that stands for its person."""
    agent.person = person

    async def elicit(
        _: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        assert isinstance(params, types.ElicitRequestFormParams) and agent.person is not None
        agent.asked.append(params)
        agent.heard.set()
        if isinstance(agent.person, asyncio.Event):
            await agent.person.wait()
            return types.ElicitResult(action="cancel")
        answer = agent.person(params)
        return answer if isinstance(answer, types.ElicitResult) else await answer

    async def list_roots(_: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=each.as_uri()) for each in roots or ()])

    return {
        "elicitation_callback": None if person is None else elicit,
        "list_roots_callback": None if roots is None else list_roots,
        "client_info": types.Implementation(name="another agent", version="1"),
    }


@asynccontextmanager
async def connected(
    folder: Path | None,
    person: Person | None = None,
    *,
    mode: Mode = "legacy",
    roots: Sequence[Path] | None = None,
    **options: Any,
) -> AsyncIterator[Agent]:
    """An agent that works in a folder, or in what its client names, with a server in this process."""
    agent = Agent()
    named = () if folder is None else (folder,)
    agent.workspace = workspace = Workspace(Options(named, **{"trust": True, **options}))
    client = Client(make_server(workspace), mode=mode, **callbacks(agent, person, roots))
    try:
        async with client as agent.client:
            yield agent
    finally:
        await workspace.close()


@asynccontextmanager
async def started(
    folder: Path, person: Person | None = None, *, mode: Mode = "legacy", environment: Mapping[str, str]
) -> AsyncIterator[Agent]:
    """The same with a server process of its own."""
    agent = Agent()
    server = StdioServerParameters(
        command=sys.executable,
        args=["-I", "-m", "planloom", "mcp", "--trust"],
        env=dict(environment),
        cwd=folder,
    )
    async with Client(server, mode=mode, **callbacks(agent, person, None)) as agent.client:
        yield agent
