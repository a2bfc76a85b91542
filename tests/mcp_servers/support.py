"""What the tests of MCP servers stand on: the port over servers that behave as they are told, and plans that use it."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from planloom.mcp_servers.servers import AskProposal, McpServers
from planloom.tools.external_tools import RemoteResult, RemoteTool
from tests.support.studio import Studio, a_session, studio

PYTHON = os.path.realpath(sys.executable)
SCRIPT = Path(__file__).with_name("scripted_server.py")


def line(folder: Path, how: str, name: str = "box", words: str = "writes") -> str:
    """The line of the settings for a scripted server, which notes in the workspace what it is asked."""
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    program = folder / "server.py"
    program.write_bytes(SCRIPT.read_bytes())
    return f"{name} ({words}): {PYTHON} {program} '{how}' {workspace}/asked"


class Bench:
    """A workspace folder and the servers of its user."""

    def __init__(self, folder: Path, settings: Mapping[str, Any], ask: AskProposal | None) -> None:
        self.folder = folder / "workspace"
        self.folder.mkdir(exist_ok=True)
        self.session = a_session(settings, [self.folder])
        self.servers = McpServers(self.session, folder / "private" / "mcp", {"SECRET": "s3cret"}, ask)
        self.session.external = self.servers
        self.progress: list[str] = []

    def tool(self, name: str) -> RemoteTool:
        """The tool that a server calls so."""
        return next(each for each in self.servers.tools() if each.own_name == name)

    async def call(self, name: str, answer: str | None = None, **args: Any) -> RemoteResult:
        """Call a tool of the only server."""
        return await self.servers.call(self.tool(name), args, self.progress.append, lambda _: answer)

    def asked(self) -> str:
        """All that the scripted server was asked."""
        path = self.folder / "asked"
        return path.read_text("utf-8") if path.exists() else ""


@asynccontextmanager
async def bench(
    folder: Path, *lines: str, settings: Mapping[str, Any] = {}, ask: AskProposal | None = None
) -> AsyncIterator[Bench]:
    """A bench, whose servers are ended."""
    found = Bench(folder, {"mcp.servers": list(lines), **settings}, ask)
    try:
        yield found
    finally:
        await found.servers.close()


@asynccontextmanager
async def scripted(folder: Path, how: str, words: str = "writes", **settings: Any) -> AsyncIterator[Bench]:
    """A bench over one scripted server, which is ready."""
    named = {f"mcp.{name}": value for name, value in settings.items()}
    async with bench(folder, line(folder, how, words=words), settings=named) as found:
        yield found


@asynccontextmanager
async def at_work(folder: Path, how: str, words: str = "writes", **more: Any) -> AsyncIterator[Studio]:
    """A person at work, who has one scripted server."""
    settings = {"mcp.servers": [line(folder, how, words=words)], **more.pop("settings", {})}
    async with studio(
        folder,
        settings=settings,
        external=lambda session: McpServers(session, folder / "private" / "mcp", {}),
        **more,
    ) as found:
        yield found
