"""One MCP server: started when a plan first needs it, called one call at a time, restarted once, within bounds."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from planloom.domain.values import Args
from planloom.mcp_servers.cleaning import (
    content_images,
    content_text,
    one_text,
    remote_prompts,
    remote_tools,
    resource_text,
)
from planloom.mcp_servers.entries import Entry
from planloom.mcp_servers.forms import choices, filled, wanted
from planloom.mcp_servers.limits import (
    LIST_SECONDS,
    MOST_PAGES,
    MOST_PROGRESS,
    MOST_STARTS,
    START_SECONDS,
)
from planloom.tools.external_tools import (
    Answer,
    NotThere,
    RemotePrompt,
    RemoteResource,
    RemoteResult,
    RemoteTool,
)
from planloom.tools.processes.server_process import ServerProcess
from planloom.tools.terminal_text import plain
from planloom.tools.tool import Asks

if TYPE_CHECKING:
    from mcp.client.client import Client

State = Literal["ready to start", "starting", "running", "given up"]
Launch = Callable[[Entry], Awaitable[ServerProcess]]
T = TypeVar("T")
_MOST_QUESTION: Final = 1_000
_CHANGED: Final = "{} has changed its tools."
logger = logging.getLogger(__name__)


class Server:
    """A server. Every question waits only so long, and a failure of the server is a NotThere that says why."""

    def __init__(
        self, entry: Entry, launch: Launch, folders: Callable[[], Sequence[str]], seconds: Callable[[], float]
    ) -> None:
        """`folders` are told if its words allow that; `seconds` is the most that a call may take."""
        self.entry = entry
        self.state: State = "ready to start"
        self.why = ""
        """Why it is given up, or was restarted, as a sentence."""
        self.tools: tuple[RemoteTool, ...] = ()
        self._launch = launch
        self._folders = folders
        self._seconds = seconds
        self._starts = 0
        self._client: Client | None = None
        self._owner: asyncio.Task[None] | None = None
        self._leave = asyncio.Event()
        self._gone: asyncio.Future[str] | None = None
        self._opened: asyncio.Future[Client] | None = None
        self._is_stale = True
        self._starting = asyncio.Lock()
        self._calling = asyncio.Lock()
        self._answer: Answer = lambda _: None
        self._asks: Asks | None = None
        self._misfit = ""
        self._news: list[str] = []

    @property
    def name(self) -> str:
        """Its name, for people."""
        return self.entry.name

    def news(self) -> list[str]:
        """What a person should know, once."""
        news, self._news = self._news, []
        return list(dict.fromkeys(news))

    async def ready(self) -> None:
        """Have it started, and its tools listed as they are now. Raises NotThere."""
        async with self._starting:
            client = await self._started()
            if self._is_stale:
                await self._list(client)

    async def call(
        self, tool: RemoteTool, arguments: Args, tell: Callable[[str], None], answer: Answer
    ) -> RemoteResult:
        """Call a tool, alone; `tell` gets how far it is. Raises NotThere."""
        left = MOST_PROGRESS

        async def show(progress: float, total: float | None, message: str | None) -> None:
            nonlocal left
            left -= 1
            if left >= 0:
                share = f"{progress:g}" if total is None else f"{progress:g}/{total:g}"
                tell(f"{self.name}: {share} {one_text(message or '', 200)}".rstrip())

        await self.ready()
        if all(each.own_name != tool.own_name for each in self.tools):
            raise NotThere(f"{self.name} no longer has the tool {tool.name}.")
        seconds = self._seconds()
        async with self._calling:
            self._answer, self._asks, self._misfit = answer, None, ""
            try:
                found = await self._within(
                    seconds,
                    lambda client: client.call_tool(tool.own_name, dict(arguments), progress_callback=show),
                    lost="Whether the call was made is not known.",
                )
            except NotThere as failure:
                if self._asks is None and not self._misfit:
                    raise
                return RemoteResult(False, f"{failure}{self._misfit}", self._asks)
            finally:
                self._answer = lambda _: None
        text = content_text(found.content, found.structured_content) + self._misfit
        if self._is_stale:
            text += f"\n[{_CHANGED.format(self.name)}]"
        images = content_images(found.content)
        return RemoteResult(not found.is_error, text, self._asks, images)

    async def resources(self) -> tuple[RemoteResource, ...]:
        """What it offers to be attached. Raises NotThere."""
        await self.ready()

        async def listed(client: Client) -> Any:
            return (await client.list_resources()).resources if client.server_capabilities.resources else ()

        found = await self._within(LIST_SECONDS, listed)
        return tuple(
            RemoteResource(self.name, str(each.uri)[:2_000], one_text(each.title or each.name or "", 100))
            for each in found[:1_000]
        )

    async def read(self, uri: str) -> str:
        """The text of a resource. Raises NotThere."""
        await self.ready()
        found = await self._within(self._seconds(), lambda client: client.read_resource(uri))
        return plain("\n".join(resource_text(each) for each in found.contents))

    async def prompts(self) -> tuple[RemotePrompt, ...]:
        """What it offers to be asked for by name. Raises NotThere."""
        await self.ready()

        async def listed(client: Client) -> Any:
            return (await client.list_prompts()).prompts if client.server_capabilities.prompts else ()

        return tuple(remote_prompts(self.name, await self._within(LIST_SECONDS, listed)))

    async def prompt(self, name: str, values: Mapping[str, str]) -> str:
        """The text of a prompt with these arguments. Raises NotThere."""
        await self.ready()
        found = await self._within(LIST_SECONDS, lambda client: client.get_prompt(name, dict(values)))
        return plain(content_text([each.content for each in found.messages])).strip()

    async def close(self) -> None:
        """End it."""
        self._leave.set()
        if self._owner is not None:
            await asyncio.wait({self._owner})

    # Starting and listing.

    async def _started(self) -> Client:
        """The client of the running server; whoever comes while it starts waits for the same start."""
        if self._client is not None and self._gone is not None and not self._gone.done():
            return self._client
        if self._client is not None and self._owner is not None:
            await asyncio.wait({self._owner})
        if self._owner is None or self._owner.done():
            if self._starts >= MOST_STARTS:
                self.state = "given up"
                raise NotThere(f"{self.why} It is not started again.")
            self._starts += 1
            self.state, self._is_stale, self._leave = "starting", True, asyncio.Event()
            self._gone = asyncio.get_running_loop().create_future()
            self._opened = asyncio.get_running_loop().create_future()
            self._owner = asyncio.create_task(self._own(self._opened, self._gone), name=f"mcp:{self.name}")
        assert self._gone is not None and self._opened is not None
        both: set[asyncio.Future[Any]] = {self._opened, self._owner}
        await asyncio.wait(both, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if self._opened.done():
            return self._opened.result()
        if not self._gone.done():
            self._gone.set_result(f"did not answer within {START_SECONDS:g} seconds")
        self._owner.cancel()
        await asyncio.wait({self._owner})
        raise self._failed(self._gone.result())

    async def _own(self, opened: asyncio.Future[Client], gone: asyncio.Future[str]) -> None:
        """Hold the connection from its start to its end, which must be in one task."""

        def ended(how: str) -> None:
            if not gone.done():
                gone.set_result(how)

        try:
            # The library takes most of a second.
            library = await asyncio.to_thread(importlib.import_module, "planloom.mcp_servers.connection")
        except ImportError as error:
            ended(f"cannot be used, since {error.name} is not installed (pip install 'planloom[mcp]')")
            return
        folders = self._folders if "folders" in self.entry.words else None
        hooks = library.Hooks(ended, self._on_changed, self._on_question, folders)
        try:
            async with library.connected(self.entry, lambda: self._launch(self.entry), hooks) as client:
                self._client, self.state = client, "running"
                opened.set_result(client)
                leaving = asyncio.create_task(self._leave.wait())
                both: set[asyncio.Future[Any]] = {leaving, gone}
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                leaving.cancel()
        except BaseExceptionGroup as errors:
            ended(f"failed: {_words(errors.exceptions[0])}")
        except NotThere as why:
            ended(str(why))
        except Exception as error:
            logger.info("The MCP server %s has failed", self.name, exc_info=True)
            ended(f"failed: {_words(error)}")
        finally:
            ended("was ended")
            self._client = None

    def _failed(self, how: str) -> NotThere:
        self.why = f"The server {self.name} {how}."
        self.state = "given up" if self._starts >= MOST_STARTS else "ready to start"
        self._news.append(self.why)
        return NotThere(self.why)

    async def _list(self, client: Client) -> None:
        self._is_stale = False

        async def pages(_: Client) -> list[Any]:
            tools: list[Any] = []
            cursor: str | None = None
            for _number in range(MOST_PAGES):
                page = await client.list_tools(cursor=cursor)
                tools += page.tools
                if (cursor := page.next_cursor) is None:
                    break
            return tools

        if client.server_capabilities.tools is None:
            self.tools = ()
            return
        try:
            found = await self._within(LIST_SECONDS, pages)
        except NotThere as failure:
            self._is_stale = True
            self._news.append(str(failure))
            raise
        listed = [*remote_tools(self.name, found, believed="reads" in self.entry.words)]
        self._news += [each for each in listed if isinstance(each, str)]
        self.tools = tuple(each for each in listed if isinstance(each, RemoteTool))

    async def _within(
        self, seconds: float, work: Callable[[Client], Coroutine[Any, Any, T]], lost: str = ""
    ) -> T:
        """The answer of the server to what is asked of it, in time. Raises NotThere."""
        client, gone = self._client, self._gone
        if client is None or gone is None or gone.done():
            raise NotThere(f"The server {self.name} does not run.")
        asking = asyncio.create_task(work(client))
        try:
            both: set[asyncio.Future[Any]] = {asking, gone}
            await asyncio.wait(both, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if asking.done() and not asking.cancelled() and asking.exception() is None:
                return asking.result()
            # The error of a request says less than how its server has ended.
            with suppress(TimeoutError):
                async with asyncio.timeout(_SECONDS_TO_SAY if asking.done() else 0.0):
                    await asyncio.shield(gone)
            if gone.done():
                raise NotThere(f"{self._failed(gone.result())} {lost}".rstrip())
            if asking.done():
                error = asking.exception()
                assert error is not None
                raise NotThere(f"The server {self.name} refused: {_words(error)}") from error
            raise NotThere(
                f"The server {self.name} did not answer within {seconds:g} seconds. {lost}".rstrip()
            )
        finally:
            asking.cancel()
            await asyncio.wait({asking}, timeout=1.0)

    # What the server sends by itself.

    def _on_changed(self) -> None:
        if not self._is_stale and self.tools:
            self._news.append(_CHANGED.format(self.name))
        self._is_stale = True

    def _on_question(self, question: str, schema: dict[str, Any]) -> dict[str, Any] | None:
        """The user's answer to a question, if they have given one that fits; else None, and it is to be asked."""
        shown = one_text(question, _MOST_QUESTION)
        said = self._answer(shown)
        if said is None:
            self._asks = self._asks or Asks(f"{shown}{wanted(schema)}", choices(schema))
            return None
        content = filled(schema, said)
        if content is None:
            self._misfit += (
                f"\n[The user answered {one_text(said, 200)!r} to this, so it was declined: {shown}]"
            )
        return content


_SECONDS_TO_SAY: Final = 0.3
"""How long is waited for how a server has ended, once a request to it has failed."""


def _words(error: BaseException) -> str:
    """What went wrong, in a few words."""
    if isinstance(error, BaseExceptionGroup):
        return _words(error.exceptions[0])
    return one_text(str(error).splitlines()[0] if str(error) else type(error).__name__, 300)
