"""Renders wire models in a short notation: `{ planId: string, files?: string[] }`."""

from __future__ import annotations

import types
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import JsonValue
from pydantic.fields import FieldInfo

from planloom.lsp.wire import base as wire_base
from planloom.lsp.wire import edits as wire_edits
from planloom.lsp.wire import params as wire_params
from planloom.lsp.wire import plan as wire_plan
from planloom.lsp.wire import results as wire_results
from planloom.lsp.wire import review as wire_review
from planloom.lsp.wire.base import Wire

_NAMES = {str: "string", int: "int", float: "number", bool: "bool", type(None): "null", Any: "any"}
_ROOMS = (wire_base, wire_plan, wire_review, wire_edits, wire_params, wire_results)
_WORDS = {
    get_args(value): name
    for room in _ROOMS
    for name, value in vars(room).items()
    if get_origin(value) is Literal
}
"""The name of each Literal type, by its values in their order."""


def fields(model: type[Wire], leave_out: tuple[str, ...] = ()) -> str:
    """The fields of a model on one line."""
    # Models that refer to each other are completed by pydantic only at their first use.
    model.model_rebuild()
    shown = [_field(name, field) for name, field in model.model_fields.items() if name not in leave_out]
    return f"{{ {', '.join(shown)} }}" if shown else "{}"


def named_words() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Every named Literal type, with its values."""
    for each, name in _WORDS.items():
        yield name, each


def words() -> Iterator[tuple[str, str]]:
    """Every named Literal type, with its values in this notation."""
    for name, each in named_words():
        yield name, _quoted(each)


def inner(model: type[Wire]) -> Iterator[type[Wire]]:
    """The models in the fields of a model, each once, in order."""
    model.model_rebuild()
    found: dict[type[Wire], None] = {}
    for field in model.model_fields.values():
        found.update(dict.fromkeys(_models(field.annotation)))
    yield from found


def _models(kind: Any) -> Iterator[type[Wire]]:
    if isinstance(kind, type) and issubclass(kind, Wire):
        yield kind
    elif kind is not JsonValue:
        for each in get_args(kind):
            yield from _models(each)


def _field(name: str, field: FieldInfo) -> str:
    absent = field.exclude_if is not None
    kind = plain(field.annotation)
    if absent and type(None) in get_args(kind):
        kind = Union[tuple(each for each in get_args(kind) if each is not type(None))]  # noqa: UP007
    optional = absent or not field.is_required()
    fixed = get_origin(kind) is Literal and len(get_args(kind)) == 1
    return f"{field.alias or name}{'?' if optional and not fixed else ''}: {written(kind)}"


def written(kind: Any) -> str:
    """A type in this notation."""
    if kind == wire_results.Event:
        return "Event"
    kind = plain(kind)
    if kind is JsonValue or kind in _NAMES:
        return _NAMES.get(kind, "any")
    if kind is datetime:
        return "time"
    if isinstance(kind, type) and issubclass(kind, Wire):
        return kind.__name__
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return _WORDS.get(arguments) or _quoted(arguments)
    if origin in (Union, types.UnionType):
        return " | ".join(written(each) for each in arguments)
    if origin is tuple and arguments[-1] is Ellipsis:
        item = written(arguments[0])
        return f"({item})[]" if " | " in item else f"{item}[]"
    if origin is tuple:
        return f"[{', '.join(written(each) for each in arguments)}]"
    assert origin is dict, kind
    return f"{{ [name]: {written(arguments[1])} }}"


def plain(kind: Any) -> Any:
    """A type without its annotations."""
    while hasattr(kind, "__metadata__"):
        kind = kind.__origin__
    return kind


def _quoted(values: tuple[Any, ...]) -> str:
    return " | ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in values)
