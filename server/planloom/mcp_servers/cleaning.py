"""Bounds and cleans what a server says of itself: names, descriptions and schemas of its tools, contents of results."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from planloom.domain.image_types import image_type
from planloom.domain.patterns import pattern
from planloom.domain.text.counted import cut
from planloom.models.port import Image
from planloom.tools.external_tools import SEPARATOR, RemotePrompt, RemoteTool
from planloom.tools.terminal_text import one_line, plain

MOST_TOOLS: Final = 300
MOST_RESULT: Final = 200_000
"""The most characters of a result that are taken from a server."""
MOST_IMAGES: Final = 4
"""The most images of one result that are passed on."""
_MOST_IMAGE: Final = 7_000_000
"""The most characters of an image in base64: about 5 MB, which is the most that models take."""
_MOST_DESCRIPTION: Final = 600
_MOST_PROMPTS: Final = 100
_MOST_ARGUMENTS: Final = 20
_MOST_SCHEMA: Final = 8_000
_DEEPEST: Final = 6
_MOST_NODES: Final = 400
_LONGEST_NAME: Final = 64
_ODD: Final = pattern(r"[^A-Za-z0-9_-]+")
_KEPT: Final = (
    "type",
    "description",
    "enum",
    "const",
    "default",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "format",
)
"""Keywords that are passed on as they are, if they are small. `pattern` is not: matching it could take for ever."""
_ANY: Final[dict[str, Any]] = {"type": "object", "properties": {}}


def remote_tools(server: str, tools: Iterable[Any], *, believed: bool) -> Iterator[RemoteTool | str]:
    """The tools of a server, or sentences on those that cannot be used."""
    names: set[str] = set()
    for count, each in enumerate(tools):
        if count >= MOST_TOOLS:
            yield f"{server} has more than {MOST_TOOLS} tools, of which the first are used."
            return
        own = _ODD.sub("_", each.name).strip("_")
        name = f"{server}{SEPARATOR}{own}"[:_LONGEST_NAME]
        if not own or name in names:
            yield f"{server} has a tool without a name of its own, which is not used: {plain(each.name)[:80]!r}."
            continue
        names.add(name)
        hints = each.annotations
        reads = believed and hints is not None and hints.read_only_hint is True
        description = one_text(each.description or each.title or own, _MOST_DESCRIPTION)
        yield RemoteTool(server, each.name, name, description, schema_text(each.input_schema), reads)


def remote_prompts(server: str, prompts: Iterable[Any]) -> Iterator[RemotePrompt]:
    """The prompts of a server that can be asked for by a name that people can read."""
    for each in [*prompts][:_MOST_PROMPTS]:
        if not each.name.isprintable() or len(each.name) > _LONGEST_NAME:
            continue
        stated = [one for one in each.arguments or () if one.name.isprintable()][:_MOST_ARGUMENTS]
        yield RemotePrompt(
            server,
            each.name,
            one_text(each.description or each.title or "", _MOST_DESCRIPTION),
            tuple((one.name[:_LONGEST_NAME], one_text(one.description or "", 200)) for one in stated),
            frozenset(one.name for one in stated if one.required),
        )


def one_text(text: str, most: int) -> str:
    """Words of a server for a model or a person: on one line, without hidden characters, cut."""
    return cut(one_line(text[: 4 * most]), most)


def schema_text(schema: Mapping[str, Any]) -> str:
    """A schema as text: references inside it resolved, its depth and size bounded; all else is left to the server."""
    left = [_MOST_NODES]
    try:
        cleaned = _cleaned(schema, schema, 0, left) if left[0] else _ANY
    except RecursionError:
        cleaned = _ANY
    cleaned = {**cleaned, "type": "object", "properties": cleaned.get("properties", {})}
    if len(text := json.dumps(cleaned, ensure_ascii=False)) <= _MOST_SCHEMA:
        return text
    # What each argument means is lost, but not which there are.
    names = [*cleaned["properties"]][:100]
    required = [each for each in cleaned.get("required", ()) if each in names]
    bare = {"type": "object", "properties": {name: {} for name in names}, "required": required}
    return json.dumps(bare if len(json.dumps(bare)) <= _MOST_SCHEMA else _ANY, ensure_ascii=False)


def _cleaned(node: Any, whole: Mapping[str, Any], depth: int, left: list[int]) -> dict[str, Any]:
    left[0] -= 1
    if not isinstance(node, Mapping) or depth > _DEEPEST or left[0] < 0:
        return {}
    if "$ref" in node:
        return _cleaned(_referred(node["$ref"], whole), whole, depth + 1, left)
    found: dict[str, Any] = {}
    for key in _KEPT:
        value = node.get(key)
        if isinstance(value, str) and value:
            found[key] = one_text(value, _MOST_DESCRIPTION // 2)
        elif value is not None and not isinstance(value, str) and len(json.dumps(value)) <= 2_000:
            found[key] = value
    if isinstance(properties := node.get("properties"), Mapping):
        found["properties"] = {
            name: _cleaned(each, whole, depth + 1, left)
            for name, each in properties.items()
            if len(name) <= _LONGEST_NAME and name.isprintable()
        }
        required = node.get("required")
        names = required if isinstance(required, list) else []
        found["required"] = [each for each in names if isinstance(each, str) and each in found["properties"]]
    if node.get("additionalProperties") is False:
        found["additionalProperties"] = False
    if isinstance(node.get("items"), Mapping):
        found["items"] = _cleaned(node["items"], whole, depth + 1, left)
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(choices := node.get(key), list):
            found[key] = [_cleaned(each, whole, depth + 1, left) for each in choices[:20]]
    return found


def _referred(reference: Any, whole: Mapping[str, Any]) -> Any:
    """What a reference inside the schema refers to; nothing is fetched for another."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return {}
    node: Any = whole
    for part in reference[2:].split("/")[:8]:
        node = node.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(node, Mapping) else None
    return node


def content_text(blocks: Sequence[Any], structured: Any = None) -> str:
    """The contents of a result as text; of what is no text it says what it is."""
    parts: list[str] = []
    for block in blocks[:1_000]:
        match block.type:
            case "text":
                parts.append(block.text)
            case "image" | "audio":
                parts.append(f"[{block.type}, {block.mime_type}, {_size(block.data)} bytes]")
            case "resource_link":
                parts.append(f"[resource {block.uri}: {block.title or block.name or ''}]")
            case "resource":
                parts.append(resource_text(block.resource))
    if not parts and structured is not None:
        parts.append(json.dumps(structured, ensure_ascii=False))
    return "\n".join(parts)[:MOST_RESULT]


def content_images(blocks: Iterable[Any]) -> tuple[Image, ...]:
    """The images of a result, of kinds that models take: the first, up to a size. What they are, their bytes say."""
    found: list[Image] = []
    for block in blocks:
        if block.type != "image" or len(found) == MOST_IMAGES or len(block.data) > _MOST_IMAGE:
            continue
        with suppress(ValueError):
            data = base64.b64decode(block.data)
            if media_type := image_type(data):
                found.append(Image(media_type=media_type, data=data))
    return tuple(found)


def resource_text(resource: Any) -> str:
    """The text of a resource; of one that is no text, what it is."""
    text = getattr(resource, "text", None)
    if isinstance(text, str):
        return text
    kind = getattr(resource, "mime_type", None) or "data"
    return f"[{kind}, {_size(getattr(resource, 'blob', ''))} bytes, from {resource.uri}: it is not shown]"


def _size(data: str) -> int:
    """The bytes that a text in base64 stands for."""
    return len(data) * 3 // 4 - data[-2:].count("=")
