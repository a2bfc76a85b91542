"""Arguments in the types that a tool's schema asks for (T11): strings stay strings, the rest is converted."""

from __future__ import annotations

import re
from math import isfinite

from planloom.agent.toolcalls.cursor import Broken, Cursor
from planloom.agent.toolcalls.loose_json import read_value
from planloom.domain.values import Args, Json

_INTEGER = re.compile(r"[-+]?[0-9]{1,400}(?:\.0{1,20})?")
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][-+]?[0-9]{1,3})?")
_ABSENT = ("null", "none")


def typed(arguments: Args, schema: Json) -> Args:
    """The arguments with null left out, and texts converted where the schema wants no string."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    known = properties if isinstance(properties, dict) else {}
    converted = {key: _converted(value, known.get(key), 0) for key, value in arguments.items()}
    return {key: value for key, value in converted.items() if value is not None}


def _converted(value: Json, schema: Json, depth: int) -> Json:
    if not isinstance(schema, dict) or depth > 8:
        return value
    kinds = _kinds(schema)
    if isinstance(value, str):
        return value if not kinds or "string" in kinds else _from_text(value, kinds, schema, depth)
    if isinstance(value, float) and "integer" in kinds and "number" not in kinds and value.is_integer():
        return int(value)
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [_converted(entry, schema["items"], depth + 1) for entry in value]
    properties = schema.get("properties")
    if isinstance(value, dict) and isinstance(properties, dict):
        return {key: _converted(entry, properties.get(key), depth + 1) for key, entry in value.items()}
    return value


def _kinds(schema: dict[str, Json]) -> frozenset[str]:
    """The types that a schema allows, out of `type`, a list of types, `anyOf` or `oneOf`."""
    found: set[str] = set()
    kind = schema.get("type")
    found.update(entry for entry in (kind if isinstance(kind, list) else [kind]) if isinstance(entry, str))
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        for option in options if isinstance(options, list) else []:
            if isinstance(option, dict) and isinstance(option.get("type"), str):
                found.add(str(option["type"]))
    return frozenset(found)


def _from_text(text: str, kinds: frozenset[str], schema: dict[str, Json], depth: int) -> Json:
    plain = text.strip()
    word = plain.lower()
    if word in _ABSENT:
        return None
    if "boolean" in kinds and word in ("true", "false"):
        return word == "true"
    if "integer" in kinds and _INTEGER.fullmatch(plain):
        return int(plain.partition(".")[0])
    if "number" in kinds and _NUMBER.fullmatch(plain):
        value = float(plain)
        return value if isfinite(value) else text
    if kinds & {"array", "object"} and plain[:1] in ("[", "{"):
        cursor = Cursor(plain, 0, final=True)
        try:
            read = read_value(cursor)
            if cursor.at_end() and not cursor.mended:
                return _converted(read, schema, depth + 1)
        except Broken:
            return text
    return text
