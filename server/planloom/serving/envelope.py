"""Parses one JSON-RPC message from bytes; a malformed message is a value, not an exception."""

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
    """A message that needs an answer; `params` is plain JSON, None if absent."""

    id: MessageId
    method: str
    params: Any


class Notification(NamedTuple):
    """A message that gets no answer."""

    method: str
    params: Any


class Response(NamedTuple):
    """The answer to a request of the server. `error` is the error object, of any shape, or None."""

    id: MessageId
    result: Any
    error: Any


class Refused(NamedTuple):
    """A malformed message, and the error to answer with. `id` is None if it could not be read.

    A `code` of 0 means that the message gets no answer.
    """

    id: MessageId | None
    code: int
    problem: str


Envelope = Request | Notification | Response | Refused


def read_envelope(body: bytes) -> Envelope:
    """Parse one message. Only the outermost object counts as a message."""
    try:
        message = json.loads(body, parse_constant=_no_constant)
    except RecursionError:
        return Refused(None, PARSE_ERROR, "The message is nested too deeply.")
    except ValueError as error:
        # Bytes that are not UTF-8 end here too: UnicodeDecodeError is a ValueError.
        return Refused(None, PARSE_ERROR, f"The message is not valid JSON: {error}.")
    if isinstance(message, list):
        return Refused(None, INVALID_REQUEST, "There are no batches: send messages one by one.")
    if not isinstance(message, dict):
        return Refused(None, INVALID_REQUEST, "A message must be a JSON object.")
    return _checked(message)


def _checked(message: dict[str, Any]) -> Envelope:
    ident = message.get("id")
    if "id" in message and not (isinstance(ident, str) or type(ident) is int):
        if "method" not in message:
            # A client answers so if it could not read the id of our request.
            return Refused(None, 0, "The answer has no id of a request.")
        return Refused(None, INVALID_REQUEST, "The id of a request must be a string or an integer.")
    if message.get("jsonrpc") != "2.0":
        return Refused(ident, INVALID_REQUEST, 'A message must have "jsonrpc": "2.0".')
    if "method" not in message:
        if ident is None:
            return Refused(
                None,
                INVALID_REQUEST,
                "A message must have a method, or the id of the request that it answers.",
            )
        return Response(ident, message.get("result"), message.get("error"))
    method, params = message["method"], message.get("params")
    if not isinstance(method, str):
        return Refused(ident, INVALID_REQUEST, "The method of a message must be a string.")
    if ident is None:
        return Notification(method, params)
    return Request(ident, method, params)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
