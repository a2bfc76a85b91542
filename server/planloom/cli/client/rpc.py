"""A pygls client whose handlers get plain JSON. Importing pygls is slow, so only `connection.connected` does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import cattrs
from lsprotocol.types import ResponseError, ResponseErrorMessage
from pygls.client import JsonRPCClient
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCProtocol,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
)

if TYPE_CHECKING:
    from planloom.cli.client.connection import Handler


class RawProtocol(JsonRPCProtocol):
    """Leaves the payload of messages as plain JSON.

    pygls tries to parse every JSON object, nested ones too, as a message if it has a `jsonrpc` key; here only the
    outermost object is one.
    """

    def structure_message(self, data: dict[str, Any]) -> Any:
        return data

    def handle_message(self, message: Any) -> None:
        if isinstance(message, dict):
            super().handle_message(_message(message))


def raw_client(handlers: Mapping[str, Handler]) -> JsonRPCClient:
    """A client whose handlers get and return plain JSON."""
    # pygls logs the body of every message, with the texts of files and with keys.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    client = JsonRPCClient(protocol_cls=RawProtocol, converter_factory=cattrs.Converter)
    for method, handler in handlers.items():
        client.feature(method)(_wrapped(handler))
    return client


def _wrapped(handler: Handler) -> Any:
    # pygls cannot register bound methods, and passes itself to a parameter of a certain name. A plain function
    # with one parameter avoids both.
    if asyncio.iscoroutinefunction(handler):

        async def answer_later(params: Any) -> Any:
            return await handler(params)

        return answer_later

    def answer(params: Any) -> Any:
        return handler(params)

    return answer


def _message(data: dict[str, Any]) -> Any:
    version = data.get("jsonrpc", "")
    params = data.get("params")
    if "method" in data:
        method = data["method"]
        if "id" in data:
            return JsonRPCRequestMessage(id=data["id"], method=method, jsonrpc=version, params=params)
        if method == "$/cancelRequest" and isinstance(params, dict):
            params = SimpleNamespace(id=params.get("id"))
        return JsonRPCNotification(method=method, jsonrpc=version, params=params)
    number = data.get("id", "")
    if "error" in data:
        fields = data["error"] if isinstance(data["error"], dict) else {}
        code = fields.get("code")
        error = ResponseError(
            code=code if isinstance(code, int) else -32603,
            message=str(fields.get("message", "")),
            data=fields.get("data"),
        )
        return ResponseErrorMessage(id=number, error=error, jsonrpc=version)
    return JsonRPCResponseMessage(id=number, jsonrpc=version, result=data.get("result"))
