"""Writes the protocol as TypeScript for the extension, from the catalogue and the models of the wire."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from pydantic import JsonValue

from codegen import notation
from codegen.notation import PROSE, Notation
from codegen.protocol_page import doc, error_codes, event_summary
from planloom.lsp import methods
from planloom.lsp.wire import base as wire_base
from planloom.lsp.wire import declared_events as wire_declared_events
from planloom.lsp.wire import edits as wire_edits
from planloom.lsp.wire import events as wire_events
from planloom.lsp.wire import plan as wire_plan
from planloom.lsp.wire import report as wire_report
from planloom.lsp.wire import review as wire_review
from planloom.lsp.wire import view as wire_view
from planloom.lsp.wire.base import Closed, Wire
from planloom.lsp.wire.methods import decisions, editor, memory, plans, references, rules, server, templates

_WIDTH: Final = 120
_MODULES: Final = (
    wire_base,
    wire_review,
    wire_report,
    wire_plan,
    wire_edits,
    wire_view,
    plans,
    decisions,
    references,
    memory,
    rules,
    templates,
    server,
    editor,
    wire_declared_events,
)
_UNIONS: Final[dict[Any, str]] = {
    notation.plain(wire_edits.StepEdit): "StepEdit",
    notation.plain(wire_review.AnyPerspective): "AnyPerspective",
    notation.plain(wire_events.any_event()): "Event",
}
_OWN: Final = {
    int: "number",
    bool: "boolean",
    datetime: "string",
    JsonValue: "Json",
    dict[str, JsonValue]: "JsonObject",
}
_TYPESCRIPT: Final = Notation({**PROSE.names, **_OWN, **_UNIONS}, "readonly ", "readonly [name: string]")
_HEAD: Final = """\
// The protocol as the server speaks it. Written by `make generate`; a test compares it with the server's models.

/** Any value of JSON. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [name: string]: Json };
"""


def module() -> str:
    """The whole module. Its lines are broken as the extension's formatter breaks them."""
    parts = [
        *_words(),
        *(_interface(model) for model in _models()),
        *(
            _broken(f"export type {name} =", [each.__name__ for each in notation.members(union)])
            for union, name in _UNIONS.items()
        ),
        _list("EVENTS", tuple(wire_events.messages())),
        _list("ERROR_CODES", error_codes(), "export type ErrorCode = (typeof ERROR_CODES)[number];"),
        _table("Requests", "Each request of the client.", _both(methods.CLIENT_REQUESTS)),
        _table("EditorRequests", "Each request of the server.", _both(methods.SERVER_REQUESTS)),
        _table("Notifications", "Each notification of the client.", _params(methods.CLIENT_NOTIFICATIONS)),
        _table(
            "ServerNotifications", "Each notification of the server.", _params(methods.SERVER_NOTIFICATIONS)
        ),
    ]
    return "\n".join((_HEAD, *("\n".join(part) + "\n" for part in parts)))


def _words() -> Iterator[Iterator[str]]:
    """Every named set of words, as a list and as a type."""
    for name, words in notation.named_words():
        plural = re.sub(r"s$", "se", re.sub(r"y$", "ie", name)) + "s"
        constant = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", plural).upper()
        yield _list(constant, words, f"export type {name} = (typeof {constant})[number];")


def _list(name: str, words: Sequence[str], *after: str) -> Iterator[str]:
    line = f"export const {name} = [{notation.quoted(tuple(words), ', ')}] as const;"
    if len(line) <= _WIDTH:
        yield line
    else:
        yield f"export const {name} = ["
        yield from (f'  "{word}",' for word in words)
        yield "] as const;"
    yield from after


def _models() -> Iterator[type[Wire]]:
    """Every model that a message names, and its bases, in the order of the modules; then the messages of events."""
    named = [model for each in methods.REQUESTS for model in (each.params, each.result)]
    named += [each.params for each in methods.NOTIFICATIONS if each.params is not None]
    events = tuple(wire_events.messages().values())
    seen = {
        base for model in notation.reachable((*named, *events)) for base in model.__mro__ if _is_shown(base)
    }
    for origin in _MODULES:
        classes = (each for each in vars(origin).values() if isinstance(each, type))
        shown = (each for each in classes if each in seen and each not in events)
        yield from (each for each in shown if each.__module__ == origin.__name__)
    yield from events


def _is_shown(kind: type) -> bool:
    return issubclass(kind, Wire) and kind not in (Wire, Closed) and not kind.__name__.startswith("_")


def _interface(model: type[Wire]) -> Iterator[str]:
    base = next((each for each in model.__mro__[1:] if issubclass(each, Wire) and _is_shown(each)), None)
    inherited = () if base is None else _fields(base)
    is_event = model in wire_events.messages().values()
    yield from _comment(event_summary(model) if is_event else doc(model))
    if not (fields := _fields(model)):
        yield f"export type {model.__name__} = Record<string, never>;"
        return
    yield f"export interface {model.__name__}{'' if base is None else f' extends {base.__name__}'} {{"
    for line in fields:
        if line not in inherited:
            name, _, kind = line.partition(": ")
            yield from _broken(f"  {name}:", kind.split(" | "))
    yield "}"


def _fields(model: type[Wire]) -> tuple[str, ...]:
    # Models that name each other are made whole only when they are first used.
    model.model_rebuild()
    return tuple(notation.field(name, info, _TYPESCRIPT) for name, info in model.model_fields.items())


def _broken(start: str, kinds: Sequence[str]) -> Iterator[str]:
    """A union on one line, or on one for each of its members."""
    line = f"{start} {' | '.join(kinds)};"
    if len(line) <= _WIDTH:
        yield line
    else:
        indent = " " * (len(start) - len(start.lstrip()) + 2)
        yield start
        yield from (f"{indent}| {kind}{';' if kind is kinds[-1] else ''}" for kind in kinds)


def _comment(text: str) -> Iterator[str]:
    if not text:
        return
    line = f"/** {text} */"
    if len(line) <= _WIDTH:
        yield line
    else:
        yield "/**"
        yield from (f" * {each}" for each in textwrap.wrap(text, _WIDTH - 3))
        yield " */"


def _table(name: str, comment: str, types: Mapping[str, str]) -> Iterator[str]:
    """A type for each method."""
    yield from _comment(comment)
    yield f"export interface {name} {{"
    yield from (f'  "{method}": {kind};' for method, kind in types.items())
    yield "}"


def _both(table: Sequence[methods.ClientRequest | methods.ServerRequest]) -> Mapping[str, str]:
    return {
        each.name: f"{{ params: {each.params.__name__}; result: {each.result.__name__} }}" for each in table
    }


def _params(table: Sequence[methods.ClientNotification | methods.ServerNotification]) -> Mapping[str, str]:
    return {each.name: "Event" if each.params is None else each.params.__name__ for each in table}
