"""The JSON schema of tool calls, for engines that constrain an answer.

It says names and types alone: what tools and arguments are for stands in the prompt, where every model reads it.
Definitions that many arguments share stand once, under `$defs`. A weak model writes for as long as it may, and
llama.cpp compiles the schema to a grammar that grows with every bound, so texts are bounded only where asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from planloom.domain.values import Json
from planloom.models.http.json_text import list_of, object_of
from planloom.models.port import ToolSpec

PATH_PATTERN = r"^[^/~\"\\\n][^\"\\\n]{0,199}$"
"""A relative path. Without the quotation mark, since llama.cpp lets a model write what the pattern allows unescaped."""
MOST_ITEMS = 24
"""The most items of a list."""
_MOST = 1_000_000
_PATHS = frozenset({"path", "new_path", "cwd"})
_UNBOUNDED: Json = {"type": "string"}


def definitions() -> dict[str, Json]:
    """The definitions that `call_variants` and `bounded` refer to, for `$defs` of the whole schema."""
    return {
        "path": {"type": "string", "pattern": PATH_PATTERN},
        "number": {"type": "integer", "minimum": 0, "maximum": _MOST},
    }


def call_variants(tools: Iterable[ToolSpec], text: Json = _UNBOUNDED) -> list[Json]:
    """Objects with the `name` of a tool and, beside it, its arguments: one for all tools with the same arguments.

    `text` is the schema of an argument that is a string.
    """
    alike: dict[str, tuple[list[str], dict[str, Json], list[str]]] = {}
    for tool in tools:
        arguments = {
            name: bounded(each, text, name)
            for name, each in object_of(tool.parameters.get("properties")).items()
        }
        needed = [str(each) for each in list_of(tool.parameters.get("required"))]
        names, *_ = alike.setdefault(json.dumps([arguments, needed]), ([], arguments, needed))
        names.append(tool.name)
    return [
        closed({"name": _one_of(names), **arguments}, ("name", *needed))
        for names, arguments, needed in alike.values()
    ]


def _one_of(names: Sequence[str]) -> Json:
    return {"const": names[0]} if len(names) == 1 else {"enum": [*names]}


def closed(properties: dict[str, Json], required: Iterable[str] | None = None) -> dict[str, Json]:
    """The schema of an object with these properties and no others; all are required unless some are named."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


def bounded(schema: Json, text: Json = _UNBOUNDED, name: str = "") -> Json:
    """The schema of an argument without its descriptions, and with bounds on numbers, lists and objects."""
    each = object_of(schema)
    if "enum" in each or "const" in each:
        return {key: value for key, value in each.items() if key != "description"}
    if variants := list_of(each.get("anyOf")):
        return {"anyOf": [bounded(variant, text, name) for variant in variants]}
    match each.get("type"):
        case "string" if "maxLength" in each:
            return {"type": "string", "maxLength": each["maxLength"]}
        case "string":
            return {"$ref": "#/$defs/path"} if name in _PATHS else text
        case "integer" | "number":
            return {"$ref": "#/$defs/number"}
        case "array":
            items = bounded(each.get("items"), text, name)
            return {"type": "array", "maxItems": each.get("maxItems", MOST_ITEMS), "items": items}
        case "object" if "properties" in each:
            members = object_of(each["properties"])
            needed = map(str, list_of(each.get("required")))
            return closed({key: bounded(value, text, key) for key, value in members.items()}, needed)
        case kind:
            return {} if kind is None else {"type": kind}
