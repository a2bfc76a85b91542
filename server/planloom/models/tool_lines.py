"""Writes a tool on one line of a prompt: for models that do not get tools natively, and for those that plan calls."""

from __future__ import annotations

import json
from collections.abc import Iterator

from planloom.domain.values import Json
from planloom.models.http.json_text import list_of, object_of, text_of
from planloom.models.port import ToolSpec

LEGEND = "An argument is a text unless its type follows the colon; one with ? may be left out."


def signature(spec: ToolSpec) -> str:
    """The tool's name and arguments, as in `read_file(path, start_line?: integer)`."""
    return f"{spec.name}({_members(spec.parameters)})"


def tool_line(spec: ToolSpec) -> str:
    """The signature, what the tool does, and what of its arguments the signature does not say."""
    return " ".join([f"- {signature(spec)}: {spec.description}", *_notes(spec.parameters)])


def short_line(spec: ToolSpec) -> str:
    """The names of the tool and its arguments, and the first sentence of what it does.

    That is what a planner needs: a schema binds the types, and the rest is for those who get the result.
    """
    needed = list_of(spec.parameters.get("required"))
    names = (name if name in needed else f"{name}?" for name in object_of(spec.parameters.get("properties")))
    return f"- {spec.name}({', '.join(names)}): {spec.description.split('. ')[0].removesuffix('.')}."


def _members(schema: dict[str, Json]) -> str:
    needed = list_of(schema.get("required"))
    return ", ".join(
        _member(name, object_of(each), needed=name in needed)
        for name, each in object_of(schema.get("properties")).items()
    )


def _member(name: str, schema: dict[str, Json], *, needed: bool) -> str:
    kind = _kind(schema)
    shown = name if needed else f"{name}?"
    if kind != "string":
        shown += f": {kind}"
    return f"{shown} = {json.dumps(schema['default'])}" if "default" in schema else shown


def _kind(schema: dict[str, Json]) -> str:
    if options := list_of(schema.get("enum")):
        return "|".join(json.dumps(option, ensure_ascii=False) for option in options)
    if variants := list_of(schema.get("anyOf")):
        return "|".join(_kind(object_of(variant)) for variant in variants)
    if schema.get("type") == "array":
        return f"{_kind(object_of(schema.get('items')))}[]"
    if "properties" in schema:
        return f"{{{_members(schema)}}}"
    return text_of(schema.get("type")) or "any"


def _notes(schema: dict[str, Json]) -> Iterator[str]:
    """The descriptions of arguments, also of those within others."""
    for name, each in object_of(schema.get("properties")).items():
        argument = object_of(each)
        if description := text_of(argument.get("description")):
            yield f"{name}: {description}"
        yield from _notes(argument)
        yield from _notes(object_of(argument.get("items")))
