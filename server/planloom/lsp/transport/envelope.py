"""Reads one JSON-RPC message from bytes: what it asks, or why it cannot be taken, never an exception."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SERVER_NOT_INITIALIZED = -32002
REQUEST_CANCELLED = -32800
REQUEST_FAILED = -32803

MessageId = int | str


class Request(NamedTuple):
    """A message that wants an answer; `params` is plain JSON, None if absent."""

    id: MessageId
    method: str
    params: Any


class Notification(NamedTuple):
    """A message that wants no answer."""

    method: str
    params: Any


class Response(NamedTuple):
    """The answer to a request of ours. `error` is the error object if there is one, of any shape."""

    id: MessageId
    result: Any
    error: Any


class Refused(NamedTuple):
    """A message that cannot be taken, with the answer that it gets; `id` is None where none could be read."""

    id: MessageId | None
    code: int
    problem: str


Envelope = Request | Notification | Response | Refused


def read_envelope(body: bytes) -> Envelope:
    """Take one message apart. Objects inside its payload are never taken for messages."""
    try:
        message = json.loads(body, parse_constant=_no_constant)
    except RecursionError:
        return Refused(None, PARSE_ERROR, "The message is nested too deeply.")
    except ValueError as error:
        # Bytes that are no UTF-8 arrive here too: UnicodeDecodeError is a ValueError.
        return Refused(None, PARSE_ERROR, f"The message is not valid JSON: {error}.")
    if isinstance(message, list):
        return Refused(
            None, INVALID_REQUEST, "Batches of messages are not part of LSP: send them one by one."
        )
    if not isinstance(message, dict):
        return Refused(None, INVALID_REQUEST, "A message is a JSON object.")
    return _checked(message)


def _checked(message: dict[str, Any]) -> Envelope:
    ident = message.get("id")
    if "id" in message and not (isinstance(ident, str) or type(ident) is int):
        if "method" not in message:
            # The answer of a client that could not read our request; nothing can be told about it.
            return Refused(None, 0, "An answer without the id of a request.")
        return Refused(None, INVALID_REQUEST, "The id of a request is a string or an integer.")
    if message.get("jsonrpc") != "2.0":
        return Refused(ident, INVALID_REQUEST, 'A message says "jsonrpc": "2.0".')
    if "method" not in message:
        if ident is None:
            return Refused(
                None, INVALID_REQUEST, "A message has a method, or the id of the request it answers."
            )
        return Response(ident, message.get("result"), message.get("error"))
    method, params = message["method"], message.get("params")
    if not isinstance(method, str):
        return Refused(ident, INVALID_REQUEST, "The method of a message is a string.")
    if ident is None:
        return Notification(method, params)
    return Request(ident, method, params)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")
