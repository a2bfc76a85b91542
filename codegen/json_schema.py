"""Writes the wire as a JSON schema (draft 2020-12), from the catalogue and the models of the wire.

Its one instance has a member for each group of messages, and in it one for each method; so each message has an address,
such as `#/properties/requests/properties/planloom~1plan~1create/properties/params`, and the whole is a single type.
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, Literal, Union, get_args, get_origin

from pydantic import JsonValue
from pydantic.fields import FieldInfo

from codegen import notation
from codegen.protocol_page import CLIENT_CAN, doc, error_codes, event_summary
from planloom.lsp import methods
from planloom.lsp.client_options import camel_case
from planloom.lsp.wire import base as wire_base
from planloom.lsp.wire import events as wire_events
from planloom.lsp.wire.base import Closed, Wire
from planloom.lsp.wire.view import Explained
from planloom.version import PROTOCOL_VERSION

Schema = dict[str, Any]
_SIMPLE: Final[Mapping[Any, Schema]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
    Any: {},
    JsonValue: {},
}
_WIDTH: Final = 120
_BOUNDS: Final = {"ge": "minimum", "le": "maximum", "min_length": "minLength", "max_length": "maxLength"}
_WORDS: Final = {words: name for name, words in notation.named_words()}


def text() -> str:
    """The whole file."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"The protocol of Planloom, version {PROTOCOL_VERSION}",
        "description": "Every message, by its method; docs/protocol.md says when each is sent.",
        "type": "object",
        "properties": {
            "initializationOptions": _initialization_options(),
            "requests": _group(methods.CLIENT_REQUESTS, "Each request of the client."),
            "editorRequests": _group(methods.SERVER_REQUESTS, "Each request of the server."),
            "notifications": _group(
                methods.CLIENT_NOTIFICATIONS, "The params of each notification of the client."
            ),
            "serverNotifications": _group(methods.SERVER_NOTIFICATIONS, "The params of each of the server."),
            "errorData": _error_data(),
        },
        "$defs": dict(sorted(_definitions())),
    }
    return _written(schema) + "\n"


def _written(value: Any, indent: str = "") -> str:
    """JSON in which an object is on one line where it fits."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) <= _WIDTH or not isinstance(value, dict):
        return line
    inner = indent + " "
    fields = (f"{inner}{json.dumps(name)}: {_written(each, inner)}" for name, each in value.items())
    return "{\n" + ",\n".join(fields) + f"\n{indent}}}"


def _definitions() -> Iterator[tuple[str, Schema]]:
    named = [model for each in methods.REQUESTS for model in (each.params, each.result)]
    named += [each.params for each in methods.NOTIFICATIONS if each.params is not None]
    events = wire_events.messages()
    yield (
        "Event",
        {"description": "Any event.", "anyOf": [_reference(each.__name__) for each in events.values()]},
    )
    for name, words in notation.named_words():
        yield name, {"enum": list(words)}
    for model in notation.reachable((*named, *events.values(), Explained)):
        yield model.__name__, _object(model, event_summary(model) if model in events.values() else doc(model))


def _object(model: type[Wire], description: str) -> Schema:
    # Models that name each other are made whole only when they are first used.
    model.model_rebuild()
    properties = {info.alias or name: _field(info) for name, info in model.model_fields.items()}
    required = [
        info.alias or name for name, info in model.model_fields.items() if not notation.is_optional(info)
    ]
    return {
        **({"description": description} if description else {}),
        "type": "object",
        **({"properties": properties} if properties else {}),
        **({"required": required} if required else {}),
        **({"additionalProperties": False} if issubclass(model, Closed) else {}),
    }


def _field(info: FieldInfo) -> Schema:
    return {**_schema(notation.shown_type(info)), **_bounds(info.metadata)}


def _schema(kind: Any) -> Schema:
    if kind == wire_base.Event:
        return _reference("Event")
    if hasattr(kind, "__metadata__"):
        return {**_schema(kind.__origin__), **_bounds(kind.__metadata__)}
    if kind in _SIMPLE:
        return dict(_SIMPLE[kind])
    if isinstance(kind, type) and issubclass(kind, Wire):
        return _reference(kind.__name__)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        words = arguments
        return (
            _reference(_WORDS[words])
            if words in _WORDS
            else {"const": words[0]}
            if len(words) == 1
            else {"enum": [*words]}
        )
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(each) for each in arguments]}
    if origin is tuple and arguments[-1] is Ellipsis:
        return {"type": "array", "items": _schema(arguments[0])}
    if origin is tuple:
        return {
            "type": "array",
            "prefixItems": [*map(_schema, arguments)],
            "minItems": len(arguments),
            "items": False,
        }
    assert origin is dict, kind
    values = _schema(arguments[1])
    return {"type": "object", **({"additionalProperties": values} if values else {})}


def _bounds(metadata: Iterable[Any]) -> Schema:
    """The bounds of a number or a text, among what is annotated to its type."""
    found: Schema = {}
    for each in metadata:
        if isinstance(each, FieldInfo):
            found |= _bounds(each.metadata)
        values = {word: getattr(each, name, None) for name, word in _BOUNDS.items()}
        found |= {word: value for word, value in values.items() if isinstance(value, int)}
    return found


def _reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _group(table: Iterable[Any], description: str) -> Schema:
    """The messages of a table by their methods: params and results of requests, params of notifications."""
    properties = {}
    for each in table:
        params = _reference("Event" if each.params is None else each.params.__name__)
        if hasattr(each, "result"):
            properties[each.name] = {
                "type": "object",
                "properties": {"params": params, "result": _reference(each.result.__name__)},
            }
        else:
            properties[each.name] = params
    return {"description": description, "type": "object", "properties": properties}


def _initialization_options() -> Schema:
    declared = {
        camel_case(name): {"description": words, "type": "boolean"} for name, words in CLIENT_CAN.items()
    }
    client = {"type": "object", "properties": declared}
    settings = {"description": "Settings, as docs/settings.md names them.", "type": "object"}
    return {"type": "object", "properties": {"planloom": settings, "planloomClient": client}}


def _error_data() -> Schema:
    return {
        "description": "`data` of an error.",
        "type": "object",
        "properties": {
            "code": {"enum": list(error_codes())},
            "message": {"type": "string"},
            "hint": {"type": "string"},
            "details": {},
            "explained": _reference("Explained"),
        },
        "required": ["code", "message", "explained"],
    }
