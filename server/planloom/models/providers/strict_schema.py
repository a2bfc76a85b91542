"""Whether a JSON schema keeps to the rules that OpenAI sets for `strict: true`.

https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
"""

from __future__ import annotations

from collections.abc import Mapping

from planloom.domain.values import Json
from planloom.models.http.json_text import list_of, object_of

_KEYWORDS = frozenset(
    {
        *("type", "enum", "const", "title", "description", "properties", "required", "additionalProperties"),
        *("items", "minItems", "maxItems", "anyOf", "$ref", "$defs", "pattern", "format"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    }
)
_DEEPEST = 10
"""The most levels of nesting."""


def fits_strict(schema: Mapping[str, Json]) -> bool:
    """Whether a server that enforces the rules takes the schema: every property required, no other ones allowed."""
    return schema.get("type") == "object" and "anyOf" not in schema and _fits(schema, 0)


def _fits(schema: Mapping[str, Json], depth: int) -> bool:
    if depth > _DEEPEST or not schema.keys() <= _KEYWORDS:
        return False
    properties = object_of(schema.get("properties"))
    types = schema.get("type")
    if types == "object" or (isinstance(types, list) and "object" in types) or properties:
        closed = schema.get("additionalProperties") is False
        if not closed or set(properties) != set(map(str, list_of(schema.get("required")))):
            return False
    parts = [
        *properties.values(),
        *object_of(schema.get("$defs")).values(),
        *list_of(schema.get("anyOf")),
        *([schema["items"]] if "items" in schema else []),
    ]
    return all(isinstance(part, Mapping) and _fits(part, depth + 1) for part in parts)
