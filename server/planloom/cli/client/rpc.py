"""JSON-RPC with a server over its pipes: plain JSON in both directions, with no library of the protocol."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

logger = logging.getLogger(__name__)

Handler = Callable[[Any], Any]
"""Gets the params of a message as plain JSON; its result is the answer."""

METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603


class RpcError(Exception):
    """The server answered with an error. `code` and `data` are as they came, and may have any shape."""

    def __init__(self, error: Any) -> None:
        fields = error if isinstance(error, Mapping) else {"message": error}
        self.message = str(fields.get("message") or "no reason given")
        self.code = fields.get("code")
        self.data = fields.get("data")
        super().__init__(self.message)


class BrokenMessage(Exception):
    """Something that the server sent is no message, so nothing after it can be understood; the text says why."""


class Peer:
    """The client's end. `handlers` answer the requests and take the notifications of the server, in their order."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        write: Callable[[bytes], None],
        handlers: Mapping[str, Handler],
    ) -> None:
        self._reader = reader
        self._write = write
        self._handlers = handlers
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}

    def request(self, method: str, params: Any) -> asyncio.Future[Any]:
        """Send a request. The future gets the result as plain JSON, or RpcError."""
        number = next(self._numbers)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._send({"id": number, "method": method, "params": params})
        return answer

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    async def read(self) -> None:
        """Handle the server's messages until its stream ends, also where it breaks off within a message.

        Raises BrokenMessage.
        """
        try:
            while (body := await self._body()) is not None:
                self._receive(body)
        except (asyncio.IncompleteReadError, ConnectionError):
            logger.debug("The server's stream broke off within a message")

    async def _body(self) -> bytes | None:
        """The next message; None at the end of the stream. Raises BrokenMessage."""
        length: int | None = None
        while line := await self._line():
            if line.strip():
                name, _, value = line.partition(b":")
                if name.strip().lower() == b"content-length":
                    length = int(value) if value.strip().isdigit() else None
            elif length is None:
                raise BrokenMessage("it has no length")
            else:
                return await self._reader.readexactly(length)
        return None

    async def _line(self) -> bytes:
        try:
            return await self._reader.readline()
        except ValueError as error:
            raise BrokenMessage("a line before it is too long") from error

    def _receive(self, body: bytes) -> None:
        message = _message(body)
        if "method" not in message:
            self._answered(message)
            return
        try:
            result = self._handlers[message["method"]](message.get("params"))
        except Exception as error:
            self._refuse(message, error)
            return
        if "id" in message:
            self._send({"id": message["id"], "result": result})

    def _refuse(self, message: Mapping[str, Any], error: Exception) -> None:
        method = message["method"]
        if method in self._handlers:
            logger.error("Handling %s failed", method, exc_info=error)
            code, text = INTERNAL_ERROR, f"{method} failed: {error}"
        else:
            code, text = METHOD_NOT_FOUND, f"There is no method {method!r}."
        if "id" in message:
            self._send({"id": message["id"], "error": {"code": code, "message": text}})

    def _answered(self, message: Mapping[str, Any]) -> None:
        answer = self._waiting.pop(message["id"], None)
        if answer is None or answer.done():
            return
        if message.get("error") is None:
            answer.set_result(message.get("result"))
        else:
            answer.set_exception(RpcError(message["error"]))

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode("ascii")
        self._write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


def _message(body: bytes) -> dict[str, Any]:
    """A request, notification or answer. Raises BrokenMessage.

    An answer without the id of a request is one to what the server could not read: nobody can tell which.
    """
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BrokenMessage(f"it is not JSON ({error})") from error
    if not isinstance(message, dict):
        raise BrokenMessage("it is not an object")
    if not isinstance(message.get("method", ""), str):
        raise BrokenMessage("its method is not a text")
    if "method" not in message and not isinstance(message.get("id"), int):
        said = message.get("error")
        raise BrokenMessage(f"it answers no request ({RpcError(said)})" if said else "it answers no request")
    return message
