"""Parses JSON from untrusted servers: bounded in depth; errors are values, never exceptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from planloom.domain.json_numbers import loaded
from planloom.domain.model_text.surrogates import SURROGATE, mend
from planloom.domain.values import Args, Json

MAX_DEPTH = 64
"""Most levels of nesting; the protocols of model servers need far fewer."""


class Unreadable(NamedTuple):
    """The fault of a text that should be JSON."""

    problem: str


def read_json(text: str, *, keep_surrogates: bool = False) -> Json | Unreadable:
    """Parse a JSON text.

    Lone surrogates become U+FFFD; `keep_surrogates` keeps them, for a pair that is split between two documents.
    """
    try:
        # Models put raw line ends into strings; the meaning is clear, so they are accepted.
        value: Json = loaded(text, strict=False)
    except RecursionError:
        return Unreadable(f"it is nested deeper than {MAX_DEPTH} levels")
    except ValueError as error:
        return Unreadable(str(error))
    if text.count("{") + text.count("[") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        return Unreadable(f"it is nested deeper than {MAX_DEPTH} levels")
    if not keep_surrogates and ("\\u" in text or SURROGATE.search(text)):
        return _mended(value)
    return value


def read_object(text: str, *, keep_surrogates: bool = False) -> dict[str, Json] | Unreadable:
    """Like `read_json`, for a text that must be an object."""
    value = read_json(text, keep_surrogates=keep_surrogates)
    if isinstance(value, Unreadable | dict):
        return value
    return Unreadable(f"it is not an object but {_kind(value)}")


def read_arguments(value: Json) -> Args | Unreadable:
    """The arguments of a tool call as servers send them: an object, its JSON text, or nothing."""
    for _ in range(2):
        if isinstance(value, dict):
            return value
        if value is None or (isinstance(value, str) and not value.strip()):
            return {}
        if not isinstance(value, str):
            return Unreadable(f"they are not an object but {_kind(value)}")
        # Some servers encode twice.
        read = read_json(value)
        if isinstance(read, Unreadable):
            return read
        value = read
    return value if isinstance(value, dict) else Unreadable(f"they are not an object but {_kind(value)}")


def text_of(value: Json) -> str:
    """The value if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def object_of(value: Json) -> dict[str, Json]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Json) -> list[Json]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def count_of(value: Json) -> int | None:
    """The value if it is a non-negative number, as an int, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < 2**53 else None


def first_count(data: Mapping[str, Json], fields: Iterable[str]) -> int | None:
    """The first positive count in these fields."""
    return next(filter(None, (count_of(data.get(field)) for field in fields)), None)


def _kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "a number"


def _depth(value: Json) -> int:
    deepest = 0
    ahead: list[tuple[Json, int]] = [(value, 1)]
    while ahead and deepest <= MAX_DEPTH:
        current, level = ahead.pop()
        deepest = max(deepest, level)
        if isinstance(current, dict):
            ahead.extend((item, level + 1) for item in current.values() if isinstance(item, dict | list))
        elif isinstance(current, list):
            ahead.extend((item, level + 1) for item in current if isinstance(item, dict | list))
    return deepest


def _mended(value: Json) -> Json:
    if isinstance(value, str):
        return mend(value)
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {mend(key): _mended(item) for key, item in value.items()}
    return value
