"""Reads JSON-RPC messages, runs their handlers and answers them, in place of pygls's own reading and answering.

Every request gets an answer, even a malformed one. pygls drops messages that it cannot read, mistakes any object with
a "jsonrpc" key for a message, puts Python tracebacks into errors, and fails on late answers. The params of our own
methods stay plain JSON here; `routing` parses them.
"""

from __future__ import annotations

import contextvars
import json
import logging
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from pathlib import Path
from typing import Any

import cattrs
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import lsp_method

from planloom.lsp.transport import deferred_types, lsp_params
from planloom.lsp.transport.outgoing import OutgoingProtocol
from planloom.serving import envelope
from planloom.serving.envelope import MessageId

logger = logging.getLogger(__name__)

ANNOUNCED = Path(__file__).with_name("announced.json")
"""The capabilities of the server, written by `python -m codegen`: the handlers that have them are imported later."""
_TEXT_SYNCHRONISATION = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_SAVE,
    types.TEXT_DOCUMENT_DID_CLOSE,
)

Endpoint = Callable[[Any], Awaitable[Any]]
Listener = Callable[[Any], None]


def wire_converter() -> cattrs.Converter:
    """The cattrs converter for the types of LSP."""
    return deferred_types.converter()


class PlanloomProtocol(OutgoingProtocol):
    """JSON-RPC by the rules of LSP. `receive` handles one message, given as bytes, and never raises.

    `endpoints` and `listeners` hold the requests and notifications whose params stay plain JSON; they go before the
    features of pygls. `client_params` are those of `initialize`; before each message that follows it, `on_initialized`
    is called. `on_exit` is called with the exit code when the client sends `exit`. `explain` says an error in the words
    of the user, for `data.explained`.
    """

    def __init__(self, server: LanguageServer, converter: cattrs.Converter) -> None:
        self.endpoints: dict[str, Endpoint] = {}
        self.listeners: dict[str, Listener] = {}
        self.client_params: types.InitializeParams | None = None
        self.on_initialized: Callable[[], object] = lambda: None
        self.on_exit: Callable[[int], None] = lambda _: None
        self.explain: Callable[[BaseException], dict[str, Any]] | None = None
        self._shutting_down = False
        self._is_shut_down = False
        super().__init__(server, converter)

    @property
    def _initialized(self) -> bool:
        return self.client_params is not None

    # Incoming messages.

    def receive(self, body: bytes) -> None:
        """Run the handler of one message, or answer with an error."""
        if self._initialized:
            self.on_initialized()
        message = envelope.read_envelope(body)
        context = contextvars.copy_context()
        match message:
            case envelope.Request():
                context.run(self._receive_request, message)
            case envelope.Notification():
                context.run(self._receive_notification, message)
            case envelope.Response():
                self._receive_response(message)
            case envelope.Refused(code=0):
                logger.warning("Ignored a message: %s", message.problem)
            case envelope.Refused():
                self.refuse(message.id, message.code, message.problem)

    def _receive_request(self, request: envelope.Request) -> None:
        if request.method == types.INITIALIZE:
            if self._initialized:
                return self.refuse(request.id, envelope.INVALID_REQUEST, "The server is already initialized.")
        elif not self._initialized:
            return self.refuse(
                request.id, envelope.SERVER_NOT_INITIALIZED, "The first request must be `initialize`."
            )
        if self._shutting_down:
            return self.refuse(
                request.id, envelope.INVALID_REQUEST, "The server is shutting down and accepts only `exit`."
            )
        handler, params = self.endpoints.get(request.method), request.params
        if handler is None:
            handler = self.fm.builtin_features.get(request.method) or self.fm.features.get(request.method)
            if handler is None:
                return self.refuse(
                    request.id, envelope.METHOD_NOT_FOUND, f"There is no method {request.method!r}."
                )
            try:
                params = lsp_params.read(self.converter, request.method, request.params, ident=request.id)
            except lsp_params.Unreadable as error:
                return self.refuse(request.id, envelope.INVALID_PARAMS, error.message, error.data())
        if request.method == types.SHUTDOWN:
            self._shutting_down = True
            self.cancel_requests()
        if not request.method.startswith("planloom/"):
            self._answering.add(request.id)
        answer = partial(self._answer, msg_id=request.id)
        try:
            self.run_handler(request.id, handler, params, answer)
        except Exception as error:
            self._send_error(request.id, error, request.method)
            self._no_longer_answering(request.id)
        return None

    def _accepts(self, method: str) -> bool:
        """Whether a notification is handled.

        Text synchronisation is until `shutdown` is answered: it shows the result of an edit that the editor was making
        when it asked for the shutdown.
        """
        if not self._initialized:
            return False
        return not self._shutting_down or (method in _TEXT_SYNCHRONISATION and not self._is_shut_down)

    def _receive_notification(self, note: envelope.Notification) -> None:
        if note.method == types.CANCEL_REQUEST:
            ident = note.params.get("id") if isinstance(note.params, dict) else None
            return self._cancel(ident)
        if note.method != types.EXIT and not self._accepts(note.method):
            logger.warning("Ignored %s, which came before `initialize` or after `shutdown`", note.method)
            return None
        listener, params = self.listeners.get(note.method), note.params
        if listener is None:
            listener = self.fm.builtin_features.get(note.method) or self.fm.features.get(note.method)
            if listener is None:
                logger.debug("Ignored the unknown notification %s", note.method)
                return None
            try:
                params = lsp_params.read(self.converter, note.method, note.params)
            except lsp_params.Unreadable as error:
                logger.warning("Ignored a malformed %s: %s", note.method, error.message)
                return None
        # pygls keeps running handlers by id. A fresh object is an id that no client can send in `$/cancelRequest`.
        ident = object()
        done = partial(self._end_notification, method=note.method, ident=ident)
        try:
            self.run_handler(ident, listener, params, done)
        except Exception as error:
            self._log_failure(note.method, error)
        return None

    def _cancel(self, ident: Any) -> None:
        future = self.running.get(ident) if isinstance(ident, int | str) else None
        if future is None or not future.cancel():
            logger.debug("No running request has the id %r", ident)

    # Answers.

    def _answer(self, future: Any, *, msg_id: MessageId) -> None:
        if self.running.get(msg_id) is future:
            del self.running[msg_id]
        self._send_outcome(future, msg_id)
        self._no_longer_answering(msg_id)

    def _send_outcome(self, future: Any, msg_id: MessageId) -> None:
        if future.cancelled():
            return self.refuse(msg_id, envelope.REQUEST_CANCELLED, "The request was cancelled.")
        if (error := future.exception()) is not None:
            return self._send_error(msg_id, error, f"request {msg_id!r}")
        try:
            body = self._encoded({"jsonrpc": "2.0", "id": msg_id, "result": future.result()})
        except Exception as unwritable:
            return self._send_error(msg_id, unwritable, f"request {msg_id!r}")
        return self._write(body)

    def _no_longer_answering(self, msg_id: MessageId) -> None:
        self._answering.discard(msg_id)
        if not self._answering:
            self._answered.set()

    def _send_error(self, msg_id: MessageId, error: BaseException, request: str) -> None:
        if isinstance(error, JsonRpcException):
            return self.refuse(msg_id, error.code, error.message, error.data)
        # `errors` imports the domain, which must not delay the answer to `initialize`.
        from planloom.serving import errors

        answer = errors.to_wire(error, request)
        if self.explain is not None:
            answer["data"]["explained"] = self.explain(error)
        return self._send({"jsonrpc": "2.0", "id": msg_id, "error": answer})

    def _end_notification(self, future: Any, *, method: str, ident: object) -> None:
        self.running.pop(ident, None)
        if not future.cancelled() and (error := future.exception()) is not None:
            self._log_failure(method, error)

    def _log_failure(self, method: str, error: BaseException) -> None:
        """Log a failed notification, which gets no answer: an expected failure in one line, a defect with its trace."""
        from planloom.domain.errors import PlanloomError

        if isinstance(error, PlanloomError):
            logger.warning("Ignored a %s: %s", method, error.message)
        else:
            logger.error("Handling %s failed unexpectedly", method, exc_info=error)

    def cancel_requests(self) -> None:
        """Cancel every handler that is still running."""
        for future in list(self.running.values()):
            future.cancel()

    # The methods of LSP that pygls handles differently.

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, Any]:
        """Answer with the announced capabilities. Other messages are refused until this has run."""
        result = yield from super().lsp_initialize(params)
        self.client_params = params
        encoding = result.capabilities.position_encoding
        return {
            "capabilities": {**json.loads(ANNOUNCED.read_bytes()), "positionEncoding": encoding},
            "serverInfo": result.server_info,
        }

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        """Close the connection's application, then answer. The caller has cancelled the running requests."""
        if (closing := self.fm.features.get(types.SHUTDOWN)) is not None:
            yield closing, args, None
        self._is_shut_down = True

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_: Any) -> None:  # type: ignore[override]
        """End the server with the exit code of LSP: 0 after a `shutdown`, else 1."""
        self.on_exit(0 if self._shutting_down else 1)

    @lsp_method(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def lsp_work_done_progress_cancel(self, params: types.WorkDoneProgressCancelParams) -> Any:
        """Ignore a token that is no string or integer: pygls raises on a token that cannot be hashed."""
        if isinstance(params.token, str | int):
            yield from super().lsp_work_done_progress_cancel(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Call our listener only. pygls's own copy of the documents stays empty, since it counts lines wrongly."""
        self._call_listener(types.TEXT_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Call our listener only."""
        self._call_listener(types.TEXT_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Call our listener only."""
        self._call_listener(types.TEXT_DOCUMENT_DID_CLOSE, params)

    def _call_listener(self, method: str, params: Any) -> None:
        if (listener := self.fm.features.get(method)) is not None:
            listener(params)
