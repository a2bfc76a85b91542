"""One language server: started when it is first needed, asked one thing at a time, restarted once, within bounds."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from lsprotocol import types

from planloom.domain.changes import sha256
from planloom.domain.values import Sha256, Uri
from planloom.languages import tsserver
from planloom.languages.finding import Found
from planloom.languages.limits import ServerGone
from planloom.languages.texts import Stamps, differences, stamps
from planloom.tools.confinement.confined_command import Prepared
from planloom.version import VERSION
from planloom.workspace.language import NotKnown, ServerState
from planloom.workspace.paths.uris import from_path, normalized, to_path

if TYPE_CHECKING:
    from planloom.languages.client import Client

START_SECONDS: Final = 60.0
"""How long a server may take to answer `initialize`; nobody waits as long, but it goes on starting."""
HANG_SECONDS: Final = 30.0
"""How long a server may be silent on a question before it counts as hanging, and is ended."""
MOST_STARTS: Final = 2
_QUIET_SECONDS: Final = 0.25
"""How long published diagnostics without a version must stay the same before they count as those of the text."""
_QUIET_LATER_SECONDS: Final = 0.1
_SECONDS_BETWEEN_LOOKS: Final = 0.5

Prepare = Callable[[Found, Path], Prepared]
"""Prepares the process of a server in its folder, confined. Blocks on file I/O; may raise OSError and NotKnown."""
T = TypeVar("T")
logger = logging.getLogger(__name__)


class _Open(NamedTuple):
    version: int
    text: str
    sha256: Sha256


class _Published(NamedTuple):
    version: int | None
    items: Any
    number: int


class Server:
    """A language server for one project. Every question waits only so long; the server may go on with it meanwhile."""

    def __init__(self, found: Found, root: Path, prepare: Prepare) -> None:
        self.found = found
        self.root = root
        self.state: ServerState = "ready to start"
        self.why = ""
        """Why it is given up, or was restarted, as a sentence."""
        self.generation = 0
        """Grows with every change of the disk that the server was told of."""
        self._prepare = prepare
        self._client: Client | None = None
        self._can: Mapping[str, Any] = {}
        self._starts = 0
        self._lock = asyncio.Lock()
        self._on_disk: Stamps | None = None
        self._looked_at = 0.0
        self._open: dict[Uri, _Open] = {}
        self._versions = 0
        self._published: dict[Uri, _Published] = {}
        self._news = asyncio.Event()
        self._overdue: asyncio.Task[Any] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def name(self) -> str:
        """Its name, for people."""
        return self.found.kind.name

    def serves(self, uri: Uri) -> bool:
        """Whether a file is one of its language, in its project."""
        path = to_path(uri)
        return (
            path is not None and path.suffix in self.found.kind.languages and path.is_relative_to(self.root)
        )

    async def within(self, seconds: float, work: Callable[[], Awaitable[T]]) -> T:
        """Do something that asks the server, alone. Raises NotKnown.

        After `seconds` nobody waits any more, and whoever asks next is told so at once until the server has answered.
        """
        if self.state == "given up":
            raise NotKnown(self.why)
        if self._overdue is not None:
            raise NotKnown(f"{self.name} has not answered an earlier question yet.")
        task = self._start_task(self._alone(work))
        await asyncio.wait({task}, timeout=seconds)
        if task.done():
            return task.result()
        if self._overdue is None:
            self._overdue = task
            task.add_done_callback(self._answered)
            self._start_task(self._give_time(task))
        task.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        is_new = self.state == "starting"
        raise NotKnown(
            f"{self.name} is still starting."
            if is_new
            else f"{self.name} did not answer within {seconds:g} seconds."
        )

    async def ask(self, method: str, params: Any) -> Any:
        """The result of a request, within `within`. Raises NotKnown."""
        if method == types.TEXT_DOCUMENT_DIAGNOSTIC and not self.can(method):
            uri, ask = params["textDocument"]["uri"], self._running().ask
            can_be_asked = tsserver.can_be_asked(self._can)
            return {
                "items": await (tsserver.diagnostics(ask, uri) if can_be_asked else self._published_for(uri))
            }
        if not self.can(method):
            raise NotKnown(f"{self.name} cannot tell that.")
        try:
            return await self._running().ask(method, params)
        except LookupError as refused:
            raise NotKnown(f"{self.name}: {str(refused)[:300]}") from refused

    def can(self, method: str) -> bool:
        """Whether the server has said that it answers such requests."""
        provider = _PROVIDERS.get(method)
        return provider is None or self._can.get(provider) not in (None, False)

    def show(self, texts: Mapping[Uri, str]) -> None:
        """Have just these texts open. Those of other languages are left out. Called within `within`."""
        client, on_disk = self._running(), self._on_disk or {}
        wanted = {uri: text for uri, text in texts.items() if self.serves(uri)}
        for uri in [uri for uri in self._open if uri not in wanted]:
            del self._open[uri]
            self._published.pop(uri, None)
            client.notify(types.TEXT_DOCUMENT_DID_CLOSE, {"textDocument": {"uri": uri}})
        # Files that are not on disk come first: others may name them.
        for uri, text in sorted(wanted.items(), key=lambda each: to_path(each[0]) in on_disk):
            is_open, found = self._open.get(uri), sha256(text)
            if is_open is not None and is_open.sha256 == found:
                continue
            self._versions += 1
            self._published.pop(uri, None)
            self._open[uri] = _Open(self._versions, text, found)
            if is_open is None:
                language = self.found.kind.languages[Path(uri).suffix]
                document = {"uri": uri, "languageId": language, "version": self._versions, "text": text}
                client.notify(types.TEXT_DOCUMENT_DID_OPEN, {"textDocument": document})
            else:
                self._change(client, uri, text)

    async def look_at_disk(self) -> None:
        """Tell the server which files were created, changed or deleted since the last look. Called within `within`."""
        before = self._on_disk
        if before is not None and time.monotonic() - self._looked_at < _SECONDS_BETWEEN_LOOKS:
            return
        self._on_disk = await asyncio.to_thread(stamps, self.root, frozenset(self.found.kind.languages))
        self._looked_at = time.monotonic()
        changes = [] if before is None else differences(before, self._on_disk)
        told = [{"uri": from_path(path), "type": kind.value} for path, kind in changes]
        if told:
            self.generation += 1
            self._running().notify(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, {"changes": told})

    def look_again(self, uri: Uri) -> None:
        """Have the problems of an open text told anew, since another one has changed. Called within `within`."""
        if self.can(types.TEXT_DOCUMENT_DIAGNOSTIC) or tsserver.can_be_asked(self._can):
            return
        self._versions += 1
        text = self._open[uri].text
        self._open[uri] = self._open[uri]._replace(version=self._versions)
        self._published.pop(uri, None)
        self._change(self._running(), uri, text)

    def _change(self, client: Client, uri: Uri, text: str) -> None:
        changed = {"uri": uri, "version": self._open[uri].version}
        client.notify(
            types.TEXT_DOCUMENT_DID_CHANGE, {"textDocument": changed, "contentChanges": [{"text": text}]}
        )

    async def _published_for(self, uri: Uri) -> Any:
        """The diagnostics that a server publishes by itself, once they are those of the text that is open."""
        version = self._open[uri].version
        while True:
            found = self._published.get(uri)
            if found is not None and found.version is not None and found.version >= version:
                return found.items
            if found is not None and found.version is None and await self._is_quiet(uri, found):
                return found.items
            if found is None or found.version is not None:
                await self._next_news()

    async def close(self) -> None:
        """End the server and whatever asks it."""
        self.state, self.why = "given up", f"{self.name} has been ended."
        for task in [*self._tasks]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.end()

    @property
    def process_id(self) -> int | None:
        """The id of its process, if it runs."""
        return None if self._client is None else self._client.process_id

    # How it is started and ended.

    async def _alone(self, work: Callable[[], Awaitable[T]]) -> T:
        async with self._lock:
            for attempt in range(2):
                try:
                    await self._started()
                    return await work()
                except ServerGone as gone:
                    await self._lost(str(gone))
                    if attempt or self.state == "given up":
                        raise NotKnown(self.why) from gone
            raise AssertionError

    async def _started(self) -> None:
        if self.state == "running":
            return
        if self.state == "given up":
            raise NotKnown(self.why)
        # The client of the protocol library is large, and few sessions start a server.
        from planloom.languages.client import CAPABILITIES, Client

        self.state = "starting"
        self._starts += 1
        client = self._client = Client(self._on_published)
        try:
            ready = await asyncio.to_thread(self._prepare, self.found, self.root)
            await client.start(ready, str(self.root))
        except NotKnown as error:
            self.state, self.why = "given up", str(error)
            raise
        except OSError as error:
            raise ServerGone(f"cannot be started: {error.strerror or error}") from error
        folder = {"uri": from_path(self.root), "name": self.root.name}
        params = {
            # Of its own view of processes it would not find ours, and end.
            "processId": None,
            "clientInfo": {"name": "planloom", "version": VERSION},
            "rootUri": folder["uri"],
            "workspaceFolders": [folder],
            "capabilities": CAPABILITIES,
            "initializationOptions": dict(self.found.kind.options) or None,
        }
        try:
            async with asyncio.timeout(START_SECONDS):
                answer = await client.ask(types.INITIALIZE, params)
        except TimeoutError as error:
            raise ServerGone(f"has not started within {START_SECONDS:g} seconds") from error
        except LookupError as error:
            raise ServerGone(f"refused to start: {str(error)[:300]}") from error
        can = answer.get("capabilities") if isinstance(answer, dict) else None
        self._can = can if isinstance(can, dict) else {}
        if self._can.get("positionEncoding", "utf-16") != "utf-16":
            self._starts = MOST_STARTS
            raise ServerGone("counts positions in another way than was agreed")
        client.notify(types.INITIALIZED, {})
        self.state = "running"

    async def _lost(self, how: str) -> None:
        """The server is gone, or must go: it is started once more, then no more."""
        self._open.clear()
        self._published.clear()
        if self._client is not None:
            await self._client.end()
            self._client = None
        self.why = f"The language server {self.name} {how}."
        logger.warning("%s", self.why)
        if self.state != "given up":
            self.state = "given up" if self._starts >= MOST_STARTS else "ready to start"

    async def _give_time(self, task: asyncio.Task[Any]) -> None:
        """End a server that hangs: what waits for it then fails."""
        done, _ = await asyncio.wait(
            {task}, timeout=HANG_SECONDS if self.state == "running" else START_SECONDS
        )
        if not done:
            task.cancel()
            with suppress(asyncio.CancelledError, NotKnown):
                await task
            await self._lost(f"has not answered for {HANG_SECONDS:g} seconds")

    def _answered(self, task: asyncio.Task[Any]) -> None:
        if self._overdue is task:
            self._overdue = None

    def _running(self) -> Client:
        if self._client is None:
            raise ServerGone("has ended")
        return self._client

    def _start_task(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # What it publishes.

    def _on_published(self, uri: str, version: int | None, items: Any) -> None:
        key = normalized(uri)
        if key not in self._open:
            return
        before = self._published.get(key)
        self._published[key] = _Published(version, items, 0 if before is None else before.number + 1)
        self._news.set()

    async def _next_news(self) -> None:
        """Wait until something is published. Raises ServerGone."""
        self._news.clear()
        gone = self._running().gone
        news: asyncio.Future[Any] = asyncio.ensure_future(self._news.wait())
        try:
            await asyncio.wait((news, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            news.cancel()
        if gone.done():
            raise ServerGone(gone.result())

    async def _is_quiet(self, uri: Uri, found: _Published) -> bool:
        """Whether nothing else is published for a while: some servers publish in parts, without a version."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_QUIET_SECONDS if not found.number else _QUIET_LATER_SECONDS):
                while self._published.get(uri) is found:
                    await self._next_news()
        return self._published.get(uri) is found


_PROVIDERS: Final = {
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: "documentSymbolProvider",
    types.WORKSPACE_SYMBOL: "workspaceSymbolProvider",
    types.TEXT_DOCUMENT_DEFINITION: "definitionProvider",
    types.TEXT_DOCUMENT_IMPLEMENTATION: "implementationProvider",
    types.TEXT_DOCUMENT_REFERENCES: "referencesProvider",
    types.TEXT_DOCUMENT_HOVER: "hoverProvider",
    types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: "callHierarchyProvider",
    types.TEXT_DOCUMENT_RENAME: "renameProvider",
    types.TEXT_DOCUMENT_CODE_ACTION: "codeActionProvider",
    types.TEXT_DOCUMENT_FORMATTING: "documentFormattingProvider",
    types.TEXT_DOCUMENT_DIAGNOSTIC: "diagnosticProvider",
}
"""What a server says of itself, by the request that it is about."""
