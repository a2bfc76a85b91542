"""The user's MCP servers: which there are now, started for a trusted workspace alone, and asked on behalf of plans."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from planloom.domain.errors import StorageFailed
from planloom.domain.safety.confinement import Confinement
from planloom.domain.values import Args
from planloom.execution.session import Session, expanded
from planloom.mcp_servers.entries import Entry, of_settings, proposed
from planloom.mcp_servers.limits import MOST_MESSAGE
from planloom.mcp_servers.server import Server
from planloom.tools.confinement.abilities import abilities
from planloom.tools.confinement.confined_command import Confined, prepared
from planloom.tools.confinement.places import Reach
from planloom.tools.confinement.program_needs import needs_of
from planloom.tools.external_tools import (
    Answer,
    NotThere,
    RemotePrompt,
    RemoteReport,
    RemoteResource,
    RemoteResult,
    RemoteTool,
)
from planloom.tools.processes.server_process import MOST_MEMORY, ServerProcess
from planloom.workspace.index.programs import environment as environment_of_commands

AskProposal = Callable[[str, str, str], Awaitable[bool | None]]
"""Asks the user about a server that a folder proposes: its name, its whole line, the folder. None if dismissed."""
logger = logging.getLogger(__name__)


class McpServers:
    """`ExternalTools` for a session. Nothing is started, and nothing of a folder read, before a plan needs it."""

    def __init__(
        self,
        session: Session,
        folder: Path,
        environment: Mapping[str, str],
        ask: AskProposal | None = None,
        named: tuple[Entry, ...] = (),
    ) -> None:
        """`folder` is one of our own, for the homes of the servers. Without `ask` no proposal is taken anew.

        `named` are proposals of the client, which may have them from a folder.
        """
        self._session = session
        self._folder = folder
        self._environment = environment
        self._ask = ask
        self._named = named
        self._servers: dict[str, Server] = {}
        self._proposals: tuple[Entry, ...] = ()
        self._dismissed: set[str] = set()
        self._said: set[str] = set()
        self._lock = asyncio.Lock()

    def tools(self) -> tuple[RemoteTool, ...]:
        """The tools that are known now."""
        if not self._servers:
            return ()
        return tuple(tool for server in self._servers.values() for tool in server.tools)

    def names(self) -> tuple[str, ...]:
        """The names of the servers."""
        return tuple(each.name for each in self._entries()[0])

    async def ready(self) -> tuple[str, ...]:
        """Start the servers, and read which tools they have now."""
        if not self._session.trusted:
            return ()
        async with self._lock:
            await self._look_for_proposals()
            entries, problems = self._entries()
            await self._keep(entries)
            if self._servers:
                await asyncio.gather(
                    *(server.ready() for server in self._servers.values()), return_exceptions=True
                )
        news = [sentence for server in self._servers.values() for sentence in server.news()]
        news += [problem for problem in problems if problem not in self._said]
        self._said.update(problems)
        return tuple(news)

    async def call(
        self, tool: RemoteTool, arguments: Args, progress: Callable[[str], None], answer: Answer
    ) -> RemoteResult:
        """Call a tool. Raises NotThere."""
        return await (await self._server(tool.server)).call(tool, arguments, progress, answer)

    async def resources(self, server: str) -> tuple[RemoteResource, ...]:
        """What a server offers to be attached. Raises NotThere."""
        return await (await self._server(server)).resources()

    async def read(self, server: str, uri: str) -> str:
        """The text of what a server offers. Raises NotThere."""
        return await (await self._server(server)).read(uri)

    async def prompts(self) -> tuple[RemotePrompt, ...]:
        """What the servers offer to be asked for. A server that fails offers nothing."""
        if not self._session.trusted:
            return ()
        await self.ready()
        asked = (server.prompts() for server in self._servers.values())
        found = await asyncio.gather(*asked, return_exceptions=True)
        return tuple(prompt for each in found if not isinstance(each, BaseException) for prompt in each)

    async def prompt(self, server: str, name: str, values: Mapping[str, str]) -> str:
        """The text of a prompt with these arguments. Raises NotThere."""
        return await (await self._server(server)).prompt(name, values)

    def is_confined(self, server: str) -> bool:
        """Whether a server is a process of ours that is confined."""
        entry = next((each for each in self._entries()[0] if each.name == server), None)
        return entry is not None and entry.is_confined and abilities().hold(self._confinement(entry))

    def reports(self) -> tuple[RemoteReport, ...]:
        """The servers, and how each is."""
        entries, problems = self._entries()
        found = []
        for entry in entries:
            server = self._servers.get(entry.name)
            if server is None:
                found.append(RemoteReport(entry.name, entry.line, "ready to start"))
            else:
                count = len(server.tools)
                found.append(RemoteReport(entry.name, entry.line, server.state, server.why, count))
        return (*found, *(RemoteReport("mcp.servers", "", "wrong", each) for each in problems))

    async def close(self) -> None:
        """End all servers."""
        servers, self._servers = [*self._servers.values()], {}
        await asyncio.gather(*(server.close() for server in servers))

    # Which servers.

    def _entries(self) -> tuple[tuple[Entry, ...], tuple[str, ...]]:
        """The servers of the settings, and those that folders propose and the user has accepted."""
        entries, problems = of_settings(self._session.settings.mcp.servers, self._environment)
        names = {each.name for each in entries}
        return (*entries, *(each for each in self._proposals if each.name not in names)), problems

    async def _look_for_proposals(self) -> None:
        decisions = self._session.decisions
        if not self._session.settings.mcp.proposals or decisions is None:
            self._proposals = ()
            return
        roots = [root.path for root in self._session.view.roots.folders if not root.is_virtual]
        accepted: dict[str, Entry] = {}
        for root in roots:
            named = tuple(each for each in self._named if each.folder == root)
            for entry in (*named, *await asyncio.to_thread(proposed, root)):
                decided = await asyncio.to_thread(decisions.are_kept, entry.digest)
                if decided is None and self._ask is not None and entry.digest not in self._dismissed:
                    decided = await self._ask(entry.name, entry.line, str(root))
                    self._dismissed.add(entry.digest)
                    if decided is not None:
                        try:
                            await asyncio.to_thread(decisions.decide_options, entry.digest, kept=decided)
                        except StorageFailed as error:
                            logger.warning("%s", error.message)
                if decided:
                    accepted.setdefault(entry.name, entry)
        self._proposals = tuple(accepted.values())

    async def _keep(self, entries: tuple[Entry, ...]) -> None:
        """Keep the servers of these entries; those whose entry has gone or changed are ended."""
        wanted = {each.name: each for each in entries}
        gone = [name for name, server in self._servers.items() if wanted.get(name) != server.entry]
        await asyncio.gather(*(self._servers.pop(name).close() for name in gone))
        for name, entry in wanted.items():
            if name not in self._servers:
                self._servers[name] = Server(entry, self._launch, self._folders, self._seconds)
        self._servers = {name: self._servers[name] for name in wanted}

    async def _server(self, name: str) -> Server:
        self._session.require_trust("no server is asked for it")
        if name not in self._servers:
            async with self._lock:
                await self._keep(self._entries()[0])
        if name not in self._servers:
            raise NotThere(f"There is no server called {name}.")
        return self._servers[name]

    def _folders(self) -> tuple[str, ...]:
        return self._session.folders

    def _seconds(self) -> float:
        return self._session.settings.mcp.call_seconds

    # Processes.

    def _confinement(self, entry: Entry) -> Confinement:
        network = entry.network or self._session.settings.commands.network
        return Confinement(confined=entry.is_confined, network=network)

    async def _launch(self, entry: Entry) -> ServerProcess:
        """Start the process of a server in the first folder. Raises OSError, NotThere."""
        roots = tuple(root.path for root in self._session.view.roots.folders if not root.is_virtual)
        confinement = self._confinement(entry)
        if entry.folder is not None and not abilities().hold(confinement):
            raise NotThere("is proposed by the folder, and nothing confines it here, so it is not started")
        commands = self._session.settings.commands
        own = self._folder / entry.name
        await asyncio.to_thread(own.mkdir, mode=0o700, parents=True, exist_ok=True)
        writable, readable = map(expanded, (commands.writable, commands.readable))
        variables = {**environment_of_commands(os.environ), **dict(entry.given)}
        needs = await asyncio.to_thread(_needs, entry, variables, roots)
        reach = Reach(roots, (self._folder.parent,), writable, (*readable, *needs))
        reads_only = "writes" not in entry.words
        confined = Confined(confinement, reach, own, memory_bytes=MOST_MEMORY, reads_only=reads_only)
        folder = entry.folder or (roots[0] if roots else own)
        ready = await asyncio.to_thread(prepared, entry.command, folder, variables, confined)
        return await ServerProcess.start(ready, str(folder), MOST_MESSAGE)


def _needs(entry: Entry, variables: Mapping[str, str], roots: Sequence[Path]) -> tuple[Path, ...]:
    """What a server's process must see beside the workspace: its program, and places that the user's line names."""
    program = shutil.which(entry.command[0], path=variables.get("PATH"))
    named = () if entry.folder is not None else map(Path, entry.command[1:])
    found = [path for path in named if path.is_absolute() and path.exists()]
    if program is not None:
        found += needs_of(Path(program))
    return tuple(path for path in found if not any(path.is_relative_to(root) for root in roots))
