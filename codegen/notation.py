"""Models of the wire in a short notation, for people (`{ planId: string, files?: string[] }`) or as TypeScript."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import JsonValue
from pydantic.fields import FieldInfo

from planloom.lsp.wire import base as wire_base
from planloom.lsp.wire import edits as wire_edits
from planloom.lsp.wire import plan as wire_plan
from planloom.lsp.wire import review as wire_review
from planloom.lsp.wire import view as wire_view
from planloom.lsp.wire.base import Wire


class Notation(NamedTuple):
    """What differs between notations: the names of types, what stands before a list, and the key of a mapping."""

    names: Mapping[Any, str]
    before_list: str = ""
    key: str = "[name]"


PROSE: Final = Notation(
    {
        str: "string",
        int: "int",
        float: "number",
        bool: "bool",
        type(None): "null",
        Any: "any",
        JsonValue: "any",
        datetime: "time",
    }
)
_MODULES = (wire_base, wire_plan, wire_review, wire_edits, wire_view)
_WORDS = {
    get_args(value): name
    for module in _MODULES
    for name, value in vars(module).items()
    if get_origin(value) is Literal
}
"""The name of each Literal type, by its values in their order."""


def fields(model: type[Wire], leave_out: tuple[str, ...] = ()) -> str:
    """The fields of a model on one line."""
    # Models that refer to each other are completed by pydantic only at their first use.
    model.model_rebuild()
    shown = [field(name, info) for name, info in model.model_fields.items() if name not in leave_out]
    return f"{{ {', '.join(shown)} }}" if shown else "{}"


def named_words() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Every named Literal type, with its values."""
    for each, name in _WORDS.items():
        yield name, each


def words() -> Iterator[tuple[str, str]]:
    """Every named Literal type, with its values in this notation."""
    for name, each in named_words():
        yield name, quoted(each)


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


def reachable(models: Iterable[type[Wire]]) -> Iterator[type[Wire]]:
    """These models and every model that their fields name, each once."""
    seen: dict[type[Wire], None] = {}
    waiting = list(models)
    while waiting:
        model = waiting.pop(0)
        if model not in seen:
            seen[model] = None
            waiting += inner(model)
    yield from seen


def field(name: str, info: FieldInfo, notation: Notation = PROSE) -> str:
    """One field: `name: type`, or `name?: type` where it may be left out."""
    return f"{info.alias or name}{'?' if is_optional(info) else ''}: {written(shown_type(info), notation)}"


def is_optional(info: FieldInfo) -> bool:
    """Whether a field may be left out; one with a single value, which tells messages apart, never is."""
    kind = shown_type(info)
    fixed = get_origin(kind) is Literal and len(get_args(kind)) == 1
    return not fixed and (info.exclude_if is not None or not info.is_required())


def shown_type(info: FieldInfo) -> Any:
    """The type of a field as it is sent: one that may be left out is never null."""
    kind = plain(info.annotation)
    if info.exclude_if is not None and type(None) in get_args(kind):
        return Union[tuple(each for each in get_args(kind) if each is not type(None))]  # noqa: UP007
    return kind


def written(kind: Any, notation: Notation = PROSE) -> str:
    """A type in this notation."""
    if kind == wire_base.Event:
        return "Event"
    kind = plain(kind)
    if kind in notation.names:
        return notation.names[kind]
    if isinstance(kind, type) and issubclass(kind, Wire):
        return kind.__name__
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return _WORDS.get(arguments) or quoted(arguments)
    if origin in (Union, types.UnionType):
        return " | ".join(written(each, notation) for each in arguments)
    if origin is tuple and arguments[-1] is Ellipsis:
        item = written(arguments[0], notation)
        return f"{notation.before_list}({item})[]" if " | " in item else f"{notation.before_list}{item}[]"
    if origin is tuple:
        return f"{notation.before_list}[{', '.join(written(each, notation) for each in arguments)}]"
    assert origin is dict, kind
    return f"{{ {notation.key}: {written(arguments[1], notation)} }}"


def members(union: object) -> tuple[type[Any], ...]:
    """The models of an annotated union."""
    return get_args(plain(union))


def plain(kind: Any) -> Any:
    """A type without its annotations."""
    while hasattr(kind, "__metadata__"):
        kind = kind.__origin__
    return kind


def quoted(values: tuple[Any, ...], separator: str = " | ") -> str:
    """Words as they stand in code."""
    return separator.join(f'"{value}"' if isinstance(value, str) else str(value) for value in values)
