"""What the server sends: answers, notifications, and requests of its own with the answers to them."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import math
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, Literal

import cattrs
from lsprotocol import types
from pygls.lsp.server import LanguageServer

from planloom.lsp.transport import envelope
from planloom.lsp.transport.envelope import MessageId
from planloom.lsp.transport.pygls_private import PyglsProtocol

logger = logging.getLogger(__name__)


class ClientGone(ConnectionError):
    """The connection to the client is closed: nothing will be answered any more."""


class ClientRefused(Exception):
    """The client answered a request of ours with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


MessageKind = Literal["error", "warning", "info"]
MESSAGE_TYPES: dict[MessageKind, int] = {"error": 1, "warning": 2, "info": 3}
"""LSP's numbers for the kinds of message that a client shows."""


class OutgoingProtocol(PyglsProtocol):
    """The outgoing half of the protocol: plain JSON, models of the wire, or types of LSP go out."""

    def __init__(self, server: LanguageServer, converter: cattrs.Converter) -> None:
        self.converter = converter
        self._closed = False
        self._framed = True
        self._numbers = itertools.count(1)
        self._outgoing: dict[MessageId, Future[Any]] = {}
        super().__init__(server, converter)

    def set_writer(self, writer: Any, include_headers: bool = True) -> None:
        """Send to this writer from now on, each message with LSP's headers or, for tests, without them."""
        super().set_writer(writer, include_headers)
        self._framed = include_headers

    def refuse(self, ident: MessageId | None, code: int, problem: str, data: Any = None) -> None:
        """Answer with an error; an id of None stands for a message whose id could not be read."""
        error = {"code": code, "message": problem}
        if data is not None:
            error["data"] = data
        self._send({"jsonrpc": "2.0", "id": ident, "error": error})

    def _send(self, data: Any) -> None:
        try:
            body = self._encoded(data)
        except Exception:
            logger.exception("A message that cannot be written was left out")
            return
        self._write(body)

    def _encoded(self, data: Any) -> bytes:
        encode = partial(json.dumps, separators=(",", ":"), default=self._json_value, allow_nan=False)
        try:
            text: str = encode(data)
        except ValueError:
            # A client may have sent 1e999, which JSON allows and Python reads as infinite.
            text = encode(_finite(data))
        return text.encode("ascii")

    def _write(self, body: bytes) -> None:
        if self.writer is None or self._closed:
            return
        if self._framed:
            body = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        self.writer.write(body)

    def _json_value(self, data: Any) -> Any:
        if hasattr(data, "model_dump"):
            return data.model_dump(mode="json", by_alias=True)
        if isinstance(data, tuple | set | frozenset):
            return list(data)
        if hasattr(data, "__attrs_attrs__"):
            return self.converter.unstructure(data)
        raise TypeError(f"{type(data).__name__} cannot be written as JSON")

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification, params as plain JSON, a wire model or a type of LSP."""
        message = {"jsonrpc": "2.0", "method": method}
        self._send(message if params is None else {**message, "params": params})

    def show_message(self, kind: MessageKind, message: str) -> None:
        """Show the user a message, by `window/showMessage`."""
        self.notify(types.WINDOW_SHOW_MESSAGE, {"type": MESSAGE_TYPES[kind], "message": message})

    def send_request(
        self,
        method: str,
        params: Any = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: MessageId | None = None,
    ) -> Future[Any]:
        """Send a request; the answer arrives as plain JSON. Raises nothing: failures come with the future."""
        ident = f"planloom-{next(self._numbers)}" if msg_id is None else msg_id
        future: Future[Any] = Future()
        if self._closed:
            future.set_exception(ClientGone("the client is gone"))
            return future
        if callback is not None:
            future.add_done_callback(lambda done: callback(done.result()))
        self._outgoing[ident] = future
        message = {"jsonrpc": "2.0", "id": ident, "method": method}
        try:
            body = self._encoded(message if params is None else {**message, "params": params})
        except Exception as unwritable:
            del self._outgoing[ident]
            future.set_exception(unwritable)
            return future
        self._write(body)
        return future

    async def ask(self, method: str, params: Any = None, *, timeout: float | None = None) -> Any:
        """Send a request before the first suspension, and await its answer as plain JSON.

        Raises TimeoutError after `timeout` seconds, ClientGone if the connection closes, ClientRefused if the
        client answers with an error. A request that nobody waits for any more is withdrawn, and an answer that
        comes all the same is passed over.
        """
        ident = f"planloom-{next(self._numbers)}"
        answer = asyncio.wrap_future(self.send_request(method, params, msg_id=ident))
        try:
            async with asyncio.timeout(timeout):
                return await answer
        except (asyncio.CancelledError, TimeoutError):
            if self._outgoing.pop(ident, None) is not None:
                self.notify(types.CANCEL_REQUEST, {"id": ident})
            raise

    def disconnect(self) -> None:
        """The client is gone: send no more, and wake whoever waits for its answers."""
        self._closed = True
        waiting, self._outgoing = self._outgoing, {}
        for future in waiting.values():
            if future.set_running_or_notify_cancel():
                future.set_exception(ClientGone("the client is gone"))

    def _take_response(self, response: envelope.Response) -> None:
        future = self._outgoing.pop(response.id, None)
        # Whoever asked may have stopped waiting; the late answer is then nobody's.
        if future is None or not future.set_running_or_notify_cancel():
            logger.debug("Nobody waits for the answer %r", response.id)
        elif response.error is None:
            future.set_result(response.result)
        else:
            future.set_exception(_refusal(response.error))


def _refusal(error: Any) -> ClientRefused:
    """The client's error, whatever shape it has."""
    if not isinstance(error, dict):
        return ClientRefused(envelope.INTERNAL_ERROR, str(error))
    code = error.get("code")
    return ClientRefused(
        code if isinstance(code, int) else envelope.INTERNAL_ERROR,
        str(error.get("message") or "no reason given"),
    )


def _finite(data: Any) -> Any:
    if hasattr(data, "model_dump"):
        data = data.model_dump(mode="json", by_alias=True)
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
