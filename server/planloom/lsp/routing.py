"""Parses the params of our own methods, names each invalid field, and calls the handler."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from planloom.domain.errors import InvalidParams
from planloom.domain.model_text.surrogates import mend
from planloom.lsp.methods import ClientNotification, ClientRequest
from planloom.lsp.wire.base import Wire
from planloom.shielded import uninterrupted

if TYPE_CHECKING:
    from planloom.domain.values import Json
    from planloom.lsp.connection import Connection
    from planloom.lsp.transport.codec import PlanloomProtocol

W = TypeVar("W", bound=Wire)
MAX_DETAILS = 100
"""The most invalid fields that one answer lists."""


def route(
    protocol: PlanloomProtocol,
    connection: Connection,
    requests: tuple[ClientRequest, ...],
    notifications: tuple[ClientNotification, ...],
) -> None:
    """Register every method of the catalogue."""
    for request in requests:
        protocol.endpoints[request.name] = _endpoint(request, connection)
    for notification in notifications:
        protocol.listeners[notification.name] = _listener(notification, connection)


def _endpoint(request: ClientRequest, connection: Connection) -> Any:
    async def answer(params: Any) -> Any:
        parsed = parsed_params(request.params, request.name, params)
        await connection.application()
        work = request.handler(connection, parsed)
        return await (uninterrupted(work) if request.kind == "change" else work)

    return answer


def _listener(notification: ClientNotification, connection: Connection) -> Any:
    async def listen(params: Any) -> None:
        parsed = parsed_params(notification.params, notification.name, params)
        await notification.handler(connection, parsed)

    return listen


def parsed_params(model: type[W], method: str, params: Any) -> W:
    """The params as this wire model; missing params count as an empty object. Raises InvalidParams.

    A half of a surrogate pair, which neither the ledger nor a path can hold, is replaced by U+FFFD.
    """
    params = {} if params is None else _mended(params)
    try:
        return model.model_validate(params, by_alias=True, by_name=False)
    except ValidationError as error:
        if (lenient := _with_objects(params, error)) is not None:
            return parsed_params(model, method, lenient)
        raise invalid(method, error, params) from error


def _with_objects(params: Any, error: ValidationError) -> Any:
    """The params with an empty object for each empty list that stands for one, as Lua writes it; None if none does."""
    places = [
        problem["loc"]
        for problem in error.errors(include_url=False, include_context=False)
        if problem["type"] in ("model_type", "model_attributes_type", "dict_type") and problem["input"] == []
    ]
    if not places:
        return None
    if () in places:
        return {}
    found = copy.deepcopy(params)
    for *path, last in places:
        holder = found
        for part in path:
            # A union's path also has the name of its member.
            holder = holder[part] if isinstance(part, int) or part in holder else holder
        holder[last] = {}
    return found


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return mend(value)
    if isinstance(value, list):
        return [_mended(each) for each in value]
    if isinstance(value, dict):
        return {mend(name): _mended(each) for name, each in value.items()}
    return value


def invalid(method: str, error: ValidationError, params: Any) -> InvalidParams:
    """The failure that lists every invalid field of `params`."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    # pydantic also reports a list as too short if one of its items is invalid; that problem is left out.
    paths = [problem["loc"] for problem in found]
    shown = [
        (_field(problem["loc"], params), _problem(problem))
        for problem in found
        if problem["type"] != "too_short" or not any(_within(path, problem["loc"]) for path in paths)
    ]
    details: list[Json] = [{"field": field, "problem": problem} for field, problem in shown[:MAX_DETAILS]]
    message = f"The params of {method} are invalid: {shown[0][0]}: {shown[0][1]}."
    return InvalidParams(message, details=details)


def _within(path: tuple[int | str, ...], outer: tuple[int | str, ...]) -> bool:
    return len(path) > len(outer) and path[: len(outer)] == outer


def _field(path: tuple[int | str, ...], value: Any) -> str:
    """The path as the client wrote it. For a union, pydantic's path also has the name of the member; it is left out."""
    text = ""
    for depth, part in enumerate(path, start=1):
        if isinstance(part, int):
            text += f"[{part}]"
            value = value[part] if isinstance(value, list) and part < len(value) else None
        elif isinstance(value, dict) and part in value:
            text += f".{part}" if text else part
            value = value[part]
        elif depth == len(path) and isinstance(value, dict):
            text += f".{part}" if text else part
    return text or "params"


def _problem(problem: Any) -> str:
    if problem["type"] == "missing":
        return "it is missing"
    if problem["type"] == "extra_forbidden":
        return "there is no such field"
    return str(problem["msg"]).removeprefix("Value error, ")
