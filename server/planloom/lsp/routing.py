"""Gives the params of our own methods their types, or answers which field is off; then calls the handler."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from planloom.lsp.methods import Method, Note

if TYPE_CHECKING:
    from pydantic import ValidationError

    from planloom.domain.errors import InvalidParams
    from planloom.domain.values import Json
    from planloom.lsp.connection import Connection
    from planloom.lsp.transport.codec import PlanloomProtocol
    from planloom.lsp.wire.base import Wire

T = TypeVar("T")

MOST_DETAILS = 100
"""Fields that one answer names as off; a client needs no more to see its mistake."""


def route(
    protocol: PlanloomProtocol, connection: Connection, methods: tuple[Method, ...], notes: tuple[Note, ...]
) -> None:
    """Register every method of the catalogue. Models and handlers are imported when first called."""
    for method in methods:
        protocol.endpoints[method.name] = _endpoint(method, connection)
    for note in notes:
        protocol.listeners[note.name] = _listener(note, connection)


def _endpoint(method: Method, connection: Connection) -> Any:
    async def answer(params: Any) -> Any:
        parsed = parsed_params(method.params, method.name, params)
        await connection.application()
        work = _function(method.handler)(connection, parsed)
        return await (uninterrupted(work) if method.kind == "change" else work)

    return answer


def _listener(note: Note, connection: Connection) -> Any:
    async def take(params: Any) -> None:
        parsed = parsed_params(note.params, note.name, params)
        await _function(note.handler)(connection, parsed)

    return take


def _function(name: str) -> Any:
    module, _, function = name.partition(".")
    return getattr(import_module(f"planloom.lsp.handlers.{module}"), function)


def parsed_params(model: str, method: str, params: Any) -> Wire:
    """The params as the wire model of this name; absent params count as an empty object. Raises InvalidParams."""
    # Types load with the first request, after the answer to `initialize`.
    from pydantic import ValidationError

    from planloom.lsp.wire import lookup as wire

    given = {} if params is None else params
    try:
        return wire.model(model).model_validate(given, by_alias=True, by_name=False)
    except ValidationError as error:
        raise invalid(method, error, given) from error


def invalid(method: str, error: ValidationError, given: Any) -> InvalidParams:
    """The failure that names every field of `given` that is off."""
    from planloom.domain.errors import InvalidParams

    found = error.errors(include_url=False, include_input=False, include_context=False)
    # A list that holds something off is also told to be too short, which no client would understand.
    places = [problem["loc"] for problem in found]
    shown = [
        (_field(problem["loc"], given), _problem(problem))
        for problem in found
        if problem["type"] != "too_short" or not any(_within(place, problem["loc"]) for place in places)
    ]
    details: list[Json] = [{"field": field, "problem": problem} for field, problem in shown[:MOST_DETAILS]]
    told = f"The params of {method} are off: {shown[0][0]}: {shown[0][1]}."
    return InvalidParams(told, details=details)


def _within(place: tuple[int | str, ...], whole: tuple[int | str, ...]) -> bool:
    return len(place) > len(whole) and place[: len(whole)] == whole


def _field(place: tuple[int | str, ...], given: Any) -> str:
    """The place in the client's own words: a union also names its member there, which no client wrote."""
    text = ""
    for depth, part in enumerate(place, start=1):
        if isinstance(part, int):
            text += f"[{part}]"
            given = given[part] if isinstance(given, list) and part < len(given) else None
        elif isinstance(given, dict) and part in given:
            text += f".{part}" if text else part
            given = given[part]
        elif depth == len(place) and isinstance(given, dict):
            text += f".{part}" if text else part
    return text or "params"


def _problem(problem: Any) -> str:
    if problem["type"] == "missing":
        return "it is missing"
    if problem["type"] == "extra_forbidden":
        return "there is no such field"
    return str(problem["msg"]).removeprefix("Value error, ")


async def uninterrupted(work: Awaitable[T]) -> T:
    """Let `work` finish before a cancellation takes effect: what is half done would be told as not done.

    The task has no supervisor: it never outlives this wait, and its failure is the answer to the request.
    """
    job = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(job)
    except asyncio.CancelledError:
        await asyncio.wait({job})
        if not job.cancelled():
            # Its failure is nobody's any more: the answer says that the request was cancelled.
            job.exception()
        raise
