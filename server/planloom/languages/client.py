"""The client of one language server, by pygls: its process, its messages as plain JSON, and answers to what it asks.

Answers are not turned into lsprotocol's classes: what a server says is read tolerantly and within bounds by
`spoken.py`, and lsprotocol refuses the answer to `initialize` of several servers, for their `notebookSelector`.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.io_ import run_async
from pygls.lsp.client import LanguageClient
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage

from planloom.languages.limits import MOST_AT_ONCE, MOST_MESSAGE, ServerGone
from planloom.tools.confinement.confined_command import Prepared
from planloom.tools.processes.server_process import ServerProcess
from planloom.version import VERSION

CAPABILITIES: Final = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        configuration=True,
        workspace_folders=True,
        workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
        symbol=types.WorkspaceSymbolClientCapabilities(),
    ),
    text_document=types.TextDocumentClientCapabilities(
        synchronization=types.TextDocumentSyncClientCapabilities(),
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(version_support=True),
        diagnostic=types.DiagnosticClientCapabilities(),
        document_symbol=types.DocumentSymbolClientCapabilities(hierarchical_document_symbol_support=True),
        definition=types.DefinitionClientCapabilities(),
        implementation=types.ImplementationClientCapabilities(),
        references=types.ReferenceClientCapabilities(),
        hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.PlainText]),
        rename=types.RenameClientCapabilities(),
        call_hierarchy=types.CallHierarchyClientCapabilities(),
        code_action=types.CodeActionClientCapabilities(
            code_action_literal_support=types.ClientCodeActionLiteralOptions(
                code_action_kind=types.ClientCodeActionKindOptions(value_set=[*types.CodeActionKind])
            ),
            data_support=True,
            is_preferred_support=True,
            resolve_support=types.ClientCodeActionResolveOptions(properties=["edit"]),
        ),
        formatting=types.DocumentFormattingClientCapabilities(),
    ),
    window=types.WindowClientCapabilities(work_done_progress=True),
    general=types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind.Utf16]),
)
"""What we understand; what we have no use for is not declared, so that nobody works for nothing."""

logger = logging.getLogger(__name__)


class Flooded(Exception):
    """A language server has sent more than anybody would read."""


class _Messages(LanguageServerProtocol):
    """Leaves messages as JSON. A notification that nobody wants is dropped without a word in the log."""

    def get_message_type(self, method: str) -> None:  # type: ignore[override]
        """No class for any message."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """One object of a message; all but the message itself stay as they are."""
        if "jsonrpc" not in data:
            return data
        ident, version = data.get("id"), data["jsonrpc"]
        if "method" in data:
            method, params = str(data["method"]), data.get("params")
            if ident is None:
                return JsonRPCNotification(method=method, jsonrpc=version, params=params)
            return JsonRPCRequestMessage(id=ident, method=method, jsonrpc=version, params=params)
        if isinstance(error := data.get("error"), dict):
            code = error.get("code")
            said = types.ResponseError(code if isinstance(code, int) else 0, str(error.get("message", "")))
            return types.ResponseErrorMessage(error=said, id=ident, jsonrpc=version)
        return JsonRPCResponseMessage(
            id=ident if ident is not None else "", jsonrpc=version, result=data.get("result")
        )

    def handle_message(self, message: Any) -> None:
        """Pass a message on."""
        is_known = getattr(message, "method", None) in self.fm.features
        if is_known or not isinstance(message, JsonRPCNotification):
            super().handle_message(message)


class _Bounded:
    """What a server sends, within limits; the event loop gets a turn between two messages."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self.taken = 0

    async def readline(self) -> bytes:
        """A line of a header."""
        return await self._reader.readline()

    async def readexactly(self, count: int) -> bytes:
        """The body of a message. Raises Flooded."""
        self.taken += count
        if count > MOST_MESSAGE or self.taken > MOST_AT_ONCE:
            raise Flooded
        await asyncio.sleep(0)
        return await self._reader.readexactly(count)


class Client:
    """A language server's process and the messages from and to it, from `start` to `end`."""

    def __init__(self, on_diagnostics: Callable[[str, int | None, Any], None]) -> None:
        """`on_diagnostics` gets what is published: URI, version, items."""
        self._client = LanguageClient("planloom", VERSION, protocol_cls=_Messages)
        self._on_diagnostics = on_diagnostics
        self._process: ServerProcess | None = None
        self._reader: _Bounded | None = None
        self._reading: asyncio.Task[None] | None = None
        self.gone: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Done once the server is gone: how it ended."""
        self._answer_its_questions()

    async def start(self, ready: Prepared, folder: str) -> None:
        """Start the process. Raises OSError."""
        self._process = await ServerProcess.start(ready, folder)
        self._client.protocol.set_writer(self._process.stdin)
        self._reader = _Bounded(self._process.stdout)
        self._reading = asyncio.create_task(self._read(self._reader))

    async def ask(self, method: str, params: Any) -> Any:
        """The result of a request, as JSON. Raises ServerGone, and LookupError with the words of a refusal."""
        self._require()
        if self._reader is not None:
            self._reader.taken = 0
        try:
            answer = asyncio.wrap_future(self._client.protocol.send_request(method, params))
        except OSError as error:
            raise ServerGone("has closed its input") from error
        await asyncio.wait({answer, self.gone}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            answer.cancel()
            raise ServerGone(self.gone.result())
        try:
            return answer.result()
        except JsonRpcException as error:
            raise LookupError(error.message) from error

    def notify(self, method: str, params: Any) -> None:
        """Send a notification. Raises ServerGone."""
        self._require()
        with suppress(OSError):
            self._client.protocol.notify(method, params)

    async def end(self) -> None:
        """End the process and all that it has started."""
        self._leave("has been ended")
        if self._process is not None:
            await self._process.end()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    @property
    def process_id(self) -> int | None:
        """The id of the process that stands for the server."""
        return None if self._process is None else self._process.process_id

    def _require(self) -> None:
        if self.gone.done():
            raise ServerGone(self.gone.result())

    async def _read(self, reader: _Bounded) -> None:
        how = ""
        try:
            await run_async(threading.Event(), reader, self._client.protocol, logger)
        except Flooded:
            how = "has sent more than can be read"
        except (ValueError, asyncio.IncompleteReadError):
            how = "has sent what is no message"
        except OSError:
            how = "cannot be read from"
        if not how and self._process is not None:
            words = await self._process.last_words()
            how = f"has ended{f': {words}' if words else ''}"
        self._leave(how)

    def _leave(self, how: str) -> None:
        if not self.gone.done():
            self.gone.set_result(how)

    def _answer_its_questions(self) -> None:
        """Answer what servers wait for; a question that is not here gets the error of an unknown method."""

        def published(params: Any) -> None:
            if isinstance(params, dict) and isinstance(params.get("uri"), str):
                version = params.get("version")
                known = version if isinstance(version, int) else None
                self._on_diagnostics(params["uri"], known, params.get("diagnostics"))

        def configuration(params: Any) -> list[Any]:
            # The defaults of the server hold.
            items = params.get("items") if isinstance(params, dict) else None
            return [None for _ in items or ()]

        def apply_edit(_: Any) -> dict[str, Any]:
            return {"applied": False, "failureReason": "Changes are made by the plan alone."}

        def nothing(_: Any = None) -> None:
            """Nothing is to be done, or chosen."""

        answers: dict[str, Callable[..., Any]] = {
            **dict.fromkeys(_ANSWERED_WITH_NOTHING, nothing),
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: published,
            types.WORKSPACE_CONFIGURATION: configuration,
            types.WORKSPACE_APPLY_EDIT: apply_edit,
        }
        for method, answer in answers.items():
            self._client.feature(method)(answer)


_ANSWERED_WITH_NOTHING: Final = (
    types.CLIENT_REGISTER_CAPABILITY,
    types.CLIENT_UNREGISTER_CAPABILITY,
    types.WINDOW_WORK_DONE_PROGRESS_CREATE,
    types.WINDOW_SHOW_MESSAGE_REQUEST,
    types.WORKSPACE_WORKSPACE_FOLDERS,
    types.WORKSPACE_CODE_LENS_REFRESH,
    types.WORKSPACE_INLAY_HINT_REFRESH,
    types.WORKSPACE_SEMANTIC_TOKENS_REFRESH,
    types.WORKSPACE_DIAGNOSTIC_REFRESH,
)
