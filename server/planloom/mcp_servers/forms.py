"""The forms in which MCP servers ask the user something, and the user's answer as the content of such a form.

Source: the elicitation of the Model Context Protocol, whose forms are flat objects of simple values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from planloom.mcp_servers.cleaning import one_text

_YES: Final = frozenset({"y", "yes", "true", "ok", "1", "ja"})
_NO: Final = frozenset({"n", "no", "false", "0", "nein"})
_MOST_FIELDS: Final = 20
_MOST_CHOICES: Final = 20


class _Misfit(ValueError):
    """The answer is none to what was asked."""


def wanted(schema: dict[str, Any]) -> str:
    """How a form of several fields is to be answered, to stand behind its question; empty for another."""
    fields = dict(_fields(schema))
    if len(fields) < 2:
        return ""
    return f" Answer one line for each: {', '.join(f'{one_text(name, 60)}: …' for name in fields)}"


def choices(schema: dict[str, Any]) -> tuple[str, ...]:
    """The answers that a form of one field leaves to choose from; empty if any may be given."""
    fields = [field for _, field in _fields(schema)]
    if len(fields) > 1:
        return ()
    if not fields or fields[0].get("type") == "boolean":
        return ("yes", "no")
    found = [each[0] for each in _choices(fields[0])]
    return tuple(found) if len(found) <= _MOST_CHOICES else ()


def filled(schema: dict[str, Any], said: str) -> dict[str, Any] | None:
    """An answer in words as the content of a form; None if it does not fit, or says no to a form without fields."""
    fields = dict(_fields(schema))
    if not fields:
        return {} if said.strip().casefold() in _YES else None
    given = {next(iter(fields)): said} if len(fields) == 1 else dict(_lines(said, fields))
    required = schema.get("required")
    wanted_fields = [each for each in required if each in fields] if isinstance(required, list) else []
    try:
        content = {name: _value(fields[name], text.strip()) for name, text in given.items()}
    except _Misfit:
        return None
    return content if content and content.keys() >= set(wanted_fields) else None


def _fields(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    properties = schema.get("properties")
    for name, field in [*properties.items()][:_MOST_FIELDS] if isinstance(properties, dict) else ():
        yield str(name), field if isinstance(field, dict) else {}


def _lines(said: str, fields: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The fields that the lines of an answer name, in letters of any case."""
    known = {name.casefold(): name for name in fields}
    for line in said.replace(";", "\n").splitlines():
        name, _, text = line.partition(":")
        if (field := known.get(name.strip().casefold())) is not None:
            yield field, text


def _choices(field: dict[str, Any]) -> list[tuple[str, Any]]:
    """What a field can be: as people see it, and as it is sent. Titles stand in `enumNames`, or beside each `const`."""
    values, titles = field.get("enum"), field.get("enumNames")
    if isinstance(values, list):
        shown = titles if isinstance(titles, list) and len(titles) == len(values) else values
        return [(one_text(str(title), 100), value) for title, value in zip(shown, values, strict=True)]
    options = field.get("oneOf", field.get("anyOf"))
    named = (
        [each for each in options if isinstance(each, dict) and "const" in each]
        if isinstance(options, list)
        else []
    )
    return [(one_text(str(each.get("title", each["const"])), 100), each["const"]) for each in named]


def _value(field: dict[str, Any], said: str) -> Any:
    """Raises _Misfit."""
    if found := _choices(field):
        for title, value in found:
            if said.casefold() in (title.casefold(), str(value).casefold()):
                return value
        raise _Misfit
    match field.get("type"):
        case "array":
            items = field.get("items")
            return [
                _value(items if isinstance(items, dict) else {}, each.strip()) for each in said.split(",")
            ]
        case "boolean":
            if (word := said.casefold()) not in _YES | _NO:
                raise _Misfit
            return word in _YES
        case "integer" | "number" as kind:
            try:
                return int(said) if kind == "integer" else float(said)
            except ValueError:
                raise _Misfit from None
    return said
