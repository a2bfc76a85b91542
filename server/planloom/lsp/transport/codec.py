"""The protocol library's protocol, except that no malformed request is left unanswered and no trace is shown.

Whatever a client sends gets an answer if it asked for one: the library drops a message that it cannot read,
takes any object with a "jsonrpc" key for a message, shows Python traces in errors, and is upset by late answers.
Payloads of our own methods stay plain JSON here; `routing` gives them types.
"""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any

import cattrs
from lsprotocol import converters, types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import lsp_method

from planloom.lsp.transport import envelope
from planloom.lsp.transport import lsp_params as standard
from planloom.lsp.transport.envelope import MessageId
from planloom.lsp.transport.outgoing import OutgoingProtocol

logger = logging.getLogger(__name__)

Endpoint = Callable[[Any], Awaitable[Any]]
Listener = Callable[[Any], None]


def wire_converter() -> cattrs.Converter:
    """What reads and writes the messages of LSP itself."""
    return converters.get_converter()


class PlanloomProtocol(OutgoingProtocol):
    """JSON-RPC as LSP wants it. `receive` takes one message as bytes and never raises.

    `endpoints` and `listeners` hold the methods whose params stay plain JSON; they are looked up before the
    library's own features. `on_exit` is called with the exit code when the client says `exit`.
    """

    def __init__(self, server: LanguageServer, converter: cattrs.Converter) -> None:
        self.endpoints: dict[str, Endpoint] = {}
        self.listeners: dict[str, Listener] = {}
        self.experimental: Any = None
        self.commands: list[str] = []
        self.on_exit: Callable[[int], None] = lambda _: None
        self._initialized = False
        self._shutting_down = False
        super().__init__(server, converter)

    # Incoming messages.

    def receive(self, body: bytes) -> None:
        """Take one message: run it, or answer why not."""
        message = envelope.read_envelope(body)
        context = contextvars.copy_context()
        match message:
            case envelope.Request():
                context.run(self._take_request, message)
            case envelope.Notification():
                context.run(self._take_notification, message)
            case envelope.Response():
                self._take_response(message)
            case envelope.Refused(code=0):
                logger.warning("Passing over a message: %s", message.problem)
            case envelope.Refused():
                self.refuse(message.id, message.code, message.problem)

    def _take_request(self, request: envelope.Request) -> None:
        if request.method == types.INITIALIZE:
            if self._initialized:
                return self.refuse(request.id, envelope.INVALID_REQUEST, "The server is initialized already.")
        elif not self._initialized:
            return self.refuse(
                request.id, envelope.SERVER_NOT_INITIALIZED, "The first request must be `initialize`."
            )
        if self._shutting_down:
            return self.refuse(
                request.id, envelope.INVALID_REQUEST, "The server is shutting down: only `exit` is left."
            )
        handler, params = self.endpoints.get(request.method), request.params
        if handler is None:
            handler = self.fm.builtin_features.get(request.method) or self.fm.features.get(request.method)
            if handler is None:
                return self.refuse(
                    request.id, envelope.METHOD_NOT_FOUND, f"There is no method {request.method!r}."
                )
            try:
                params = standard.read(self.converter, request.method, request.params, ident=request.id)
            except standard.Unreadable as error:
                return self.refuse(request.id, envelope.INVALID_PARAMS, error.message, error.data())
        if request.method == types.SHUTDOWN:
            self._shutting_down = True
            self.cancel_requests()
        answer = partial(self._answer, msg_id=request.id)
        try:
            self.run_handler(request.id, handler, params, answer)
        except Exception as error:
            self._send_error(request.id, error, request.method)
        return None

    def _take_notification(self, note: envelope.Notification) -> None:
        if note.method == types.CANCEL_REQUEST:
            ident = note.params.get("id") if isinstance(note.params, dict) else None
            return self._cancel(ident)
        if note.method != types.EXIT and (self._shutting_down or not self._initialized):
            logger.warning(
                "Passing over %s, which comes before `initialize` or after `shutdown`", note.method
            )
            return None
        listener, params = self.listeners.get(note.method), note.params
        if listener is None:
            listener = self.fm.builtin_features.get(note.method) or self.fm.features.get(note.method)
            if listener is None:
                logger.debug("Passing over the unknown notification %s", note.method)
                return None
            try:
                params = standard.read(self.converter, note.method, note.params)
            except standard.Unreadable as error:
                logger.warning("Passing over a %s that cannot be read: %s", note.method, error.message)
                return None
        # The library holds what runs under an id; an object of our own is one that no client can name.
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
            logger.debug("Nothing to cancel under %r", ident)

    # Answers.

    def _answer(self, future: Any, *, msg_id: MessageId) -> None:
        if self.running.get(msg_id) is future:
            del self.running[msg_id]
        if future.cancelled():
            return self.refuse(msg_id, envelope.REQUEST_CANCELLED, "The request was cancelled.")
        if (error := future.exception()) is not None:
            return self._send_error(msg_id, error, f"request {msg_id!r}")
        try:
            body = self._encoded({"jsonrpc": "2.0", "id": msg_id, "result": future.result()})
        except Exception as unwritable:
            return self._send_error(msg_id, unwritable, f"request {msg_id!r}")
        return self._write(body)

    def _send_error(self, msg_id: MessageId, error: BaseException, asked: str) -> None:
        if isinstance(error, JsonRpcException):
            return self.refuse(msg_id, error.code, error.message, error.data)
        # The table imports the domain, which the answer to `initialize` must not wait for.
        from planloom.lsp.transport import errors

        return self._send({"jsonrpc": "2.0", "id": msg_id, "error": errors.to_wire(error, asked)})

    def _end_notification(self, future: Any, *, method: str, ident: object) -> None:
        self.running.pop(ident, None)
        if not future.cancelled() and (error := future.exception()) is not None:
            self._log_failure(method, error)

    def _log_failure(self, asked: str, error: BaseException) -> None:
        """A notification gets no answer, so the log says why it came to nothing: in a line if that was foreseen."""
        from planloom.domain.errors import PlanloomError

        if isinstance(error, PlanloomError):
            logger.warning("Passing over a %s: %s", asked, error.message)
        else:
            logger.error("A defect while taking %s", asked, exc_info=error)

    def cancel_requests(self) -> None:
        """Cancel every request of the client that is still at work."""
        for future in list(self.running.values()):
            future.cancel()

    # The methods of LSP that the library would treat otherwise.

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """Answer with what the server can do; only this makes the server take anything else."""
        result: types.InitializeResult = yield from super().lsp_initialize(params)
        result.capabilities.experimental = self.experimental
        if self.commands:
            result.capabilities.execute_command_provider = types.ExecuteCommandOptions(commands=self.commands)
        self._initialized = True
        return result

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        """End the work in hand, then answer; after it only `exit` is taken."""
        if (closing := self.fm.features.get(types.SHUTDOWN)) is not None:
            yield closing, args, None

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_: Any) -> None:  # type: ignore[override]
        """Leave, with the exit code that LSP wants: 0 only after a `shutdown`."""
        self.on_exit(0 if self._shutting_down else 1)

    @lsp_method(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def lsp_work_done_progress_cancel(self, params: types.WorkDoneProgressCancelParams) -> Any:
        """The library looks a token up whatever it is, and breaks on one that is a list."""
        if isinstance(params.token, str | int):
            yield from super().lsp_work_done_progress_cancel(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Pass it on; the library's own copy of open documents is left empty, since it counts lines wrongly."""
        self._pass_on(types.TEXT_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Pass it on."""
        self._pass_on(types.TEXT_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Pass it on."""
        self._pass_on(types.TEXT_DOCUMENT_DID_CLOSE, params)

    def _pass_on(self, method: str, params: Any) -> None:
        if (listener := self.fm.features.get(method)) is not None:
            listener(params)
