"""Sends answers, notifications and the server's own requests, and receives the answers to those."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Literal

import cattrs
from lsprotocol import types
from pygls.lsp.server import LanguageServer

from planloom.lsp.transport.pygls_private import PyglsProtocol
from planloom.serving import envelope
from planloom.serving.envelope import MessageId

logger = logging.getLogger(__name__)


class ClientGone(ConnectionError):
    """The connection to the client is closed, so no answer can arrive."""


class ClientRefused(Exception):
    """The client answered a request of the server with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def is_unknown(self) -> bool:
        """Whether the client does not have the method, rather than that it cannot answer now."""
        return self.code == envelope.METHOD_NOT_FOUND


MessageKind = Literal["error", "warning", "info"]
MESSAGE_TYPES: dict[MessageKind, int] = {"error": 1, "warning": 2, "info": 3}
"""LSP's numbers for the kinds of message that a client shows."""
_CLOSE_SECONDS = 10.0
"""How long a message that was taken back may stay open before the next one is shown all the same."""
_SHOW_SECONDS, _CATCH_UP_SECONDS = 10.0, 2.0
LATER = "Later"
"""The first choice of every message, which does nothing: some editors take the first one when only Enter is pressed."""
CHOICES = "Choices: {0}"


class OutgoingProtocol(PyglsProtocol):
    """The outgoing half of the protocol. Params and results are plain JSON, wire models or types of LSP.

    `later` are the words of the first choice of messages, `choices` those by which a message names its choices for a
    client that may not show them; None for one that does.
    """

    later: str = LATER
    choices: str | None = None

    def __init__(self, server: LanguageServer, converter: cattrs.Converter) -> None:
        self.converter = converter
        self._encode = json.JSONEncoder(
            separators=(",", ":"), default=self._json_value, allow_nan=False
        ).encode
        self._closed = False
        self._framed = True
        self._request_numbers = itertools.count(1)
        self._unanswered: dict[MessageId, Future[Any]] = {}
        self._message = asyncio.Lock()
        self._answering: set[MessageId] = set()
        self._answered = asyncio.Event()
        super().__init__(server, converter)

    def set_writer(self, writer: Any, include_headers: bool = True) -> None:
        """Send to this writer from now on, each message with LSP's headers or, for tests, without them."""
        super().set_writer(writer, include_headers)
        self._framed = include_headers

    def refuse(self, ident: MessageId | None, code: int, problem: str, data: Any = None) -> None:
        """Answer with an error. `ident` is None if the id of the message could not be read."""
        error = {"code": code, "message": _for_people(problem)}
        if data is not None:
            error["data"] = data
        self._send({"jsonrpc": "2.0", "id": ident, "error": error})

    def _send(self, message: Mapping[str, Any]) -> None:
        try:
            body = self._encoded(message)
        except Exception:
            logger.exception("A message could not be encoded and was not sent")
            return
        self._write(body)

    def _encoded(self, message: Mapping[str, Any]) -> bytes:
        members = (b'"%b":%b' % (name.encode(), self._json(value)) for name, value in message.items())
        return b"{%b}" % b",".join(members)

    def _json(self, value: Any) -> bytes:
        if hasattr(value, "model_dump_json"):
            # A model writes itself in a fraction of the time. Only half of a surrogate pair has no form in UTF-8.
            with suppress(ValueError):
                return bytes(value.model_dump_json(by_alias=True), "utf-8")
        try:
            text = self._encode(value)
        except ValueError:
            # JSON allows 1e999, which Python reads as infinity and would write as the invalid `Infinity`.
            text = self._encode(_finite(value))
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
        raise TypeError(f"{type(data).__name__} is not JSON")

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification, params as plain JSON, a wire model or a type of LSP."""
        message = {"jsonrpc": "2.0", "method": method}
        self._send(message if params is None else {**message, "params": params})

    def show_message(self, kind: MessageKind, message: str) -> None:
        """Show the user a message, by `window/showMessage`."""
        params = {"type": MESSAGE_TYPES[kind], "message": _for_people(message)}
        self.notify(types.WINDOW_SHOW_MESSAGE, params)

    async def ask_by_message(
        self, kind: MessageKind, message: str, buttons: Sequence[str], later: str | None = None
    ) -> str | None:
        """Show a message with buttons, by `window/showMessageRequest`, when no other one is open.

        It is sent when no request of LSP waits for its answer: eglot closes a message when that answer comes, and
        never answers it. Our own requests do not count, since some wait for the user.

        Returns the pressed button; None for `later`, the first one, if the message was dismissed, or if the answer is
        malformed. Raises what `request` raises.
        """
        later = self.later if later is None else later
        titles = {_for_people(button): button for button in (later, *buttons)}
        if self.choices is not None:
            message = f"{message}\n{self.choices.format(', '.join(titles))}"
        params = {
            "type": MESSAGE_TYPES[kind],
            "message": _for_people(message),
            "actions": [{"title": title} for title in titles],
        }
        ident = f"planloom-{next(self._request_numbers)}"
        shown: asyncio.Future[Any] | None = None
        await self._message.acquire()
        try:
            while self._answering:
                self._answered.clear()
                await self._answered.wait()
            request = self.send_request(types.WINDOW_SHOW_MESSAGE_REQUEST, params, msg_id=ident)
            shown = asyncio.wrap_future(request)
            answer = await asyncio.shield(shown)
        except asyncio.CancelledError:
            if shown is not None and not shown.done():
                self.notify(types.CANCEL_REQUEST, {"id": ident})
            raise
        finally:
            self._let_next_message(shown)
        chosen = answer.get("title") if isinstance(answer, dict) else None
        pressed = titles.get(chosen) if isinstance(chosen, str) else None
        return None if pressed == later else pressed

    def _let_next_message(self, shown: asyncio.Future[Any] | None) -> None:
        """Let the next message be shown once this one is closed.

        A client that ignores `$/cancelRequest` still shows one that was taken back; it may do so for a while.
        """
        if shown is None or shown.done():
            self._message.release()
            return
        loop = asyncio.get_running_loop()
        closed: asyncio.Future[None] = loop.create_future()
        closed.add_done_callback(lambda _: self._message.release())

        def close() -> None:
            if not closed.done():
                closed.set_result(None)

        def answered(answer: asyncio.Future[Any]) -> None:
            # Whatever it is, nobody waits for it any more.
            if not answer.cancelled():
                answer.exception()
            close()

        shown.add_done_callback(answered)
        loop.call_later(_CLOSE_SECONDS, close)

    async def show_document(self, uri: str, *, focus: bool = True) -> bool:
        """Show a document, by `window/showDocument`; False if the client does not. Raises ClientGone."""
        params = {"uri": uri, "takeFocus": focus}
        try:
            answer = await self.request(types.WINDOW_SHOW_DOCUMENT, params, timeout=_SHOW_SECONDS)
        except (ClientRefused, TimeoutError) as error:
            logger.info("The client did not show %s: %s", uri, error)
            return False
        return isinstance(answer, dict) and answer.get("success") is True

    async def catch_up(self) -> None:
        """Wait until the client has drawn what it was sent before: until it answers a request that asks nothing.

        Some editors draw only when they wait for a key, so that a message with buttons would stand over what was
        there before. Raises ClientGone.
        """
        with suppress(ClientRefused, TimeoutError):
            await self.request(types.WORKSPACE_CONFIGURATION, {"items": []}, timeout=_CATCH_UP_SECONDS)

    def send_request(
        self,
        method: str,
        params: Any = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: MessageId | None = None,
    ) -> Future[Any]:
        """Send a request. The future gets the answer as plain JSON, or the failure; this call raises nothing."""
        ident = f"planloom-{next(self._request_numbers)}" if msg_id is None else msg_id
        future: Future[Any] = Future()
        if self._closed:
            future.set_exception(ClientGone("the client is gone"))
            return future
        if callback is not None:
            future.add_done_callback(lambda done: callback(done.result()))
        self._unanswered[ident] = future
        message = {"jsonrpc": "2.0", "id": ident, "method": method}
        try:
            body = self._encoded(message if params is None else {**message, "params": params})
        except Exception as unwritable:
            del self._unanswered[ident]
            future.set_exception(unwritable)
            return future
        self._write(body)
        return future

    async def request(self, method: str, params: Any = None, *, timeout: float | None = None) -> Any:
        """Send a request before the first suspension, and await its answer as plain JSON.

        Raises TimeoutError after `timeout` seconds, ClientGone if the connection closes, ClientRefused if the
        client answers with an error. On a timeout or cancellation the client gets `$/cancelRequest`, and a late
        answer is ignored.
        """
        ident = f"planloom-{next(self._request_numbers)}"
        answer = asyncio.wrap_future(self.send_request(method, params, msg_id=ident))
        try:
            async with asyncio.timeout(timeout):
                return await answer
        except (asyncio.CancelledError, TimeoutError):
            if self._unanswered.pop(ident, None) is not None:
                self.notify(types.CANCEL_REQUEST, {"id": ident})
            raise

    def disconnect(self) -> None:
        """Send nothing more, and raise ClientGone in everyone who awaits an answer."""
        self._closed = True
        waiting, self._unanswered = self._unanswered, {}
        for future in waiting.values():
            if future.set_running_or_notify_cancel():
                future.set_exception(ClientGone("the client is gone"))

    def _receive_response(self, response: envelope.Response) -> None:
        future = self._unanswered.pop(response.id, None)
        if future is None or not future.set_running_or_notify_cancel():
            logger.debug("Ignored the late or unknown answer %r", response.id)
        elif response.error is None:
            future.set_result(response.result)
        else:
            future.set_exception(_refusal(response.error))


def _for_people(text: str) -> str:
    """A text of a message: nothing in it is hidden, and it contains no link."""
    # Nothing of the domain is imported before the answer to `initialize`.
    from planloom.domain.text.hidden_characters import in_message

    return in_message(text)


def _refusal(error: Any) -> ClientRefused:
    """The client's error, which may have any shape."""
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
