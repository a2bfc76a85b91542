"""A client of the server in the same process: real JSON both ways, an editor in memory, nothing left unread.

    async with connected(make_application, folders=[tmp_path]) as client:
        client.open(uri, "text")
        answer = await client.request("planloom/plan/create", {"text": "…"})
        ready = await client.wait_event("plan_ready")

Leaving the block shuts the server down and fails if it asked something that nobody answers, answered something
that nobody asked, or told of an error or warning that the test did not take with `client.shown()`.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import itertools
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from planloom.lsp.language_server import PlanloomServer, ServerOptions, make_server
from planloom.serving.opening import MakeApplication
from tests.support.memory_editor import Buffer, MemoryEditor

Answer = Callable[[Any], Any]
TIMEOUT = 10.0

FULL: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True, "showDocument": {"support": True}, "showMessage": {}},
    "workspace": {
        "applyEdit": True,
        "configuration": True,
        "workspaceFolders": True,
        "didChangeConfiguration": {"dynamicRegistration": True},
        "workspaceEdit": {
            "documentChanges": True,
            "resourceOperations": ["create", "rename", "delete"],
            "failureHandling": "textOnlyTransactional",
            "normalizesLineEndings": True,
            "changeAnnotationSupport": {"groupsOnLabel": True},
        },
    },
}
"""An editor that can do all that LSP has, like VS Code."""
PLAIN: dict[str, Any] = {"workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}}
"""A client that applies versioned edits of texts, and nothing else."""
EGLOT: dict[str, Any] = {
    "window": {"workDoneProgress": True, "showDocument": {"support": True}},
    "workspace": {"applyEdit": True, "configuration": True, "workspaceFolders": True},
}
"""A client without `documentChanges` and `resourceOperations`."""
BARE: dict[str, Any] = {}
"""A client that declares nothing at all."""

EXTENSION: dict[str, Any] = {
    "events": True,
    "approvals": True,
    "clarifications": True,
    "recovery": True,
    "conflicts": True,
    "diagnostics": True,
    "language": True,
    "diff": True,
    "save": True,
}
"""What our own extension declares."""


class Failed(Exception):
    """The server answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error.get('code')}: {error.get('message')} {error.get('data')}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")

    @property
    def word(self) -> str | None:
        """The word that docs/protocol.md has for it."""
        return self.data.get("code") if isinstance(self.data, dict) else None


class NeverAnswered(Exception):
    """Raise it in an answering function to leave the server without an answer."""


class LspClient:
    """One client, connected to one server object."""

    congested = False
    """Whether the server is to take this client for one that reads too slowly."""

    def __init__(self, server: PlanloomServer, capabilities: dict[str, Any], **editor: Any) -> None:
        self.server = server
        self.capabilities = capabilities
        self.editor = MemoryEditor(self.notify, **editor)
        self.configuration: dict[str, Any] = {}
        self.initialized: dict[str, Any] = {}
        self.events: list[dict[str, Any]] = []
        self.notifications: list[tuple[str, Any]] = []
        self.asked: list[tuple[str, Any]] = []
        self.sent: list[dict[str, Any]] = []
        self.unaddressed: list[dict[str, Any]] = []
        self.exit_code: int | None = None
        self._faults: list[str] = []
        self._shown: list[dict[str, Any]] = []
        self._ids = itertools.count(1)
        self._waiting: dict[int | str, asyncio.Future[dict[str, Any]]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self._answers: dict[str, Answer] = {
            "workspace/applyEdit": self.editor.apply,
            "workspace/configuration": lambda asked: [self.configuration for _ in asked["items"]],
            "client/registerCapability": lambda _: None,
            "client/unregisterCapability": lambda _: None,
            "window/workDoneProgress/create": lambda _: None,
            "window/showDocument": lambda _: {"success": True},
            "window/showMessageRequest": lambda _: None,
            "workspace/codeLens/refresh": lambda _: None,
            "planloom/editor/save": self._save,
            "planloom/editor/createFolder": self.editor.create_folder,
            "planloom/editor/diagnostics": lambda asked: {
                "diagnostics": [{"uri": uri, "items": []} for uri in asked["uris"]]
            },
            "planloom/editor/language": lambda asked: {
                "result": None,
                "problem": f"No language server here answers {asked['method']}.",
            },
        }
        server.messages.set_writer(self, include_headers=False)
        server.messages.on_exit = self._exited

    @property
    def buffers(self) -> dict[str, Buffer]:
        """The open documents by URI."""
        return self.editor.buffers

    # What the client says.

    async def request(self, method: str, params: Any = None, *, timeout: float = TIMEOUT) -> Any:
        """Ask and wait. Raises Failed if the answer is an error."""
        _, answer = self.start(method, params)
        async with asyncio.timeout(timeout):
            return await answer

    def start(self, method: str, params: Any = None) -> tuple[int, Awaitable[Any]]:
        """Ask, and wait later: the id of the request, and its answer."""
        ident = next(self._ids)
        waiting = self._waiting[ident] = asyncio.get_running_loop().create_future()
        message = {"jsonrpc": "2.0", "id": ident, "method": method}
        self.raw(message if params is None else {**message, "params": params})
        return ident, _outcome(waiting)

    async def fails(self, method: str, params: Any = None) -> Failed:
        """Ask for something that must fail; the error."""
        try:
            answer = await self.request(method, params)
        except Failed as error:
            return error
        raise AssertionError(f"{method} should have failed, and answered {answer}")

    def start_text(self, text: Callable[[int], str]) -> tuple[int, Awaitable[Any]]:
        """Send the JSON that `text` makes with the id of a request; the id, and its answer."""
        ident = next(self._ids)
        waiting = self._waiting[ident] = asyncio.get_running_loop().create_future()
        self.raw(text(ident))
        return ident, _outcome(waiting)

    def taken_faults(self) -> list[str]:
        """What the server did that no client may expect; with that everything that it has said is forgotten."""
        faults, self._faults = self._faults, []
        faults += [f"unaddressed: {message}" for message in self.unaddressed]
        for said in (self.unaddressed, self.sent, self.events, self.notifications, self.asked, self._shown):
            said.clear()
        return faults

    def notify(self, method: str, params: Any = None) -> None:
        """Tell the server something."""
        message = {"jsonrpc": "2.0", "method": method}
        self.raw(message if params is None else {**message, "params": params})

    def raw(self, message: Any) -> None:
        """Send a message as it is: JSON, text or bytes."""
        if not isinstance(message, bytes | str):
            message = json.dumps(message)
        self.server.messages.receive(message.encode() if isinstance(message, str) else message)

    async def unaddressed_answer(self, message: Any) -> dict[str, Any]:
        """Send a message whose answer cannot name it; that answer's error."""
        known = len(self.unaddressed)
        self.raw(message)
        await self.until(lambda: len(self.unaddressed) > known)
        answer: dict[str, Any] = self.unaddressed.pop()["error"]
        return answer

    def cancel(self, ident: int) -> None:
        """Take a request back."""
        self.notify("$/cancelRequest", {"id": ident})

    def open(self, uri: str, text: str | None = None, language_id: str = "plaintext") -> Buffer:
        """Open a document, with the text on disk unless another (unsaved) one is given."""
        return self.editor.open(uri, text, language_id)

    def type(self, uri: str, range_: dict[str, Any] | None, text: str) -> Buffer:
        """Type over a range of an open document, or over all of it."""
        return self.editor.type(uri, range_, text)

    def save(self, uri: str) -> None:
        """Save an open document."""
        self.editor.save(uri)

    def close(self, uri: str) -> None:
        """Close a document."""
        self.editor.close(uri)

    def answer(self, method: str, answer: Answer) -> None:
        """Answer a request of the server from now on; `answer` gets the params and may be async.

        It may raise Failed to answer with an error, or NeverAnswered to leave the server waiting.
        """
        self._answers[method] = answer

    # What the server says.

    async def until(self, reached: Callable[[], Any], timeout: float = TIMEOUT) -> Any:
        """Wait until something holds, looked at after every message of the server and now and then; what it is."""
        async with asyncio.timeout(timeout):
            while not (found := reached()):
                self._news.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.005):
                        await self._news.wait()
        return found

    async def wait_event(
        self, type_: str, timeout: float = TIMEOUT, *, plan_id: str | None = None, after: int = 0
    ) -> dict[str, Any]:
        """The first event of a type, of a plan if given, with a `seq` above `after`; waits for it if need be."""

        def found() -> dict[str, Any] | None:
            return next(
                (
                    event
                    for event in self.events
                    if event["type"] == type_
                    and (plan_id is None or event["planId"] == plan_id)
                    and event["seq"] > after
                ),
                None,
            )

        event: dict[str, Any] = await self.until(found, timeout)
        return event

    def told(self, method: str) -> list[Any]:
        """The params of all notifications of this method so far."""
        return [params for name, params in self.notifications if name == method]

    def shown(self) -> list[dict[str, Any]]:
        """The messages shown to the user since the last look."""
        shown, self._shown = self._shown, []
        return shown

    async def wait_shown(self, part: str, timeout: float = TIMEOUT) -> dict[str, Any]:
        """Take the first message shown that holds `part`; waits for it if need be."""
        message: dict[str, Any] = await self.until(
            lambda: next((each for each in self._shown if part in each["message"]), None), timeout
        )
        self._shown.remove(message)
        return message

    # The connection.

    def write(self, data: bytes) -> None:
        """Take a message of the server, as its writer."""
        message = json.loads(data)
        self.sent.append(message)
        if "method" in message and "id" in message:
            self._take_request(message)
        elif "method" in message:
            self._take_notification(message["method"], message.get("params"))
        elif message["id"] is None:
            self.unaddressed.append(message)
        elif (waiting := self._waiting.pop(message["id"], None)) is None:
            self._faults.append(f"an answer that nobody asked for: {message}")
        elif not waiting.done():
            waiting.set_result(message)
        self._news.set()

    def _take_notification(self, method: str, params: Any) -> None:
        self.notifications.append((method, params))
        if method == "planloom/event":
            self.events.append(params)
        elif method == "window/showMessage":
            self._shown.append(params)

    def _take_request(self, message: dict[str, Any]) -> None:
        self.asked.append((message["method"], message.get("params")))
        task = asyncio.get_running_loop().create_task(self._reply(message))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _reply(self, message: dict[str, Any]) -> None:
        answer = self._answers.get(message["method"])
        if answer is None:
            self._faults.append(f"nobody answers {message['method']}")
            return
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            result = answer(message.get("params"))
            reply["result"] = await result if inspect.isawaitable(result) else result
        except NeverAnswered:
            return
        except Failed as error:
            reply["error"] = {"code": error.code, "message": error.message}
        self.raw(reply)

    def _save(self, asked: dict[str, Any]) -> dict[str, Any]:
        failed = [{"uri": uri, "reason": "not open"} for uri in asked["uris"] if uri not in self.buffers]
        saved = [uri for uri in asked["uris"] if uri in self.buffers]
        for uri in saved:
            self.editor.save(uri)
        return {"saved": saved, "failed": failed}

    def _exited(self, code: int) -> None:
        self.exit_code = code
        self._news.set()

    async def initialize(
        self, folders: Iterable[Path] = (), options: dict[str, Any] | None = None, **more: Any
    ) -> dict[str, Any]:
        """Say `initialize` and `initialized`; the server's capabilities."""
        named = [{"uri": Path(folder).as_uri(), "name": Path(folder).name} for folder in folders]
        params = {
            "processId": os.getpid(),
            "rootUri": named[0]["uri"] if named else None,
            "workspaceFolders": named,
            "capabilities": self.capabilities,
            "initializationOptions": options or {},
            **more,
        }
        self.initialized = await self.request("initialize", params)
        self.notify("initialized", {})
        return self.initialized

    async def shut_down(self) -> None:
        """Say `shutdown` and `exit`, and fail if anything was left unread."""
        if self.exit_code is None:
            with contextlib.suppress(Failed):
                # A test may have shut the server down itself.
                await self.request("shutdown")
            self.notify("exit")
        await self.until(lambda: self.exit_code is not None)
        self.server.messages.disconnect()
        for task in tuple(self._answering):
            task.cancel()
        loud = [message for message in self._shown if message["type"] in (1, 2)]
        unread = [f"unaddressed: {message}" for message in self.unaddressed]
        faults = [*self._faults, *unread, *(f"shown to the user: {message}" for message in loud)]
        assert not faults, "left unread:\n" + "\n".join(faults)


async def _outcome(waiting: asyncio.Future[dict[str, Any]]) -> Any:
    message = await waiting
    if "error" in message:
        raise Failed(message["error"])
    return message["result"]


@contextlib.asynccontextmanager
async def connected(
    make_application: MakeApplication,
    *,
    capabilities: dict[str, Any] = FULL,
    extension: dict[str, Any] | None = EXTENSION,
    folders: Iterable[Path] = (),
    settings: dict[str, Any] | None = None,
    configuration: dict[str, Any] | None = None,
    given: ServerOptions | None = None,
    initialize: bool = True,
    name: str | None = None,
    locale: str | None = None,
    **editor: Any,
) -> AsyncIterator[LspClient]:
    """A client that has said `initialize`, unless told not to.

    `settings` go into initializationOptions, `configuration` is what the client answers when asked for its
    settings, `extension` what our extension declares (None: a plain client). `name` is the editor's for itself,
    `locale` the language of its user.
    """
    client = LspClient(make_server(make_application, given), capabilities, **editor)
    client.configuration = configuration or {}
    options: dict[str, Any] = {} if extension is None else {"planloomClient": extension}
    if settings is not None:
        options["planloom"] = settings
    if initialize:
        more = {} if name is None else {"clientInfo": {"name": name}}
        await client.initialize(folders, options, **more, **({} if locale is None else {"locale": locale}))
    try:
        yield client
    except BaseException:
        with contextlib.suppress(AssertionError, TimeoutError):
            await client.shut_down()
        raise
    await client.shut_down()
