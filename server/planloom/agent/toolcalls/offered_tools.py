"""The offered tools by name, and the checks that every call passes (docs/model-text.md: T1, T2, T6, T11)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from planloom.agent.toolcalls.events import CallProblem, CallRead
from planloom.agent.toolcalls.tokens import read_json
from planloom.domain.json_numbers import is_sound
from planloom.domain.model_text.cursor import Cursor, ParseError
from planloom.domain.model_text.surrogates import mend
from planloom.domain.patterns import pattern
from planloom.domain.values import Args, Json
from planloom.models.port import ToolSpec
from planloom.tools.synonyms import with_own_names

_BEFORE = ("functions.", "function.", "tools.", "default_api.")
_AFTER = pattern(r":[0-9]+$")
_PLACEHOLDER = pattern(r"\s*(?:<[^<>\n]{1,120}>|\.{3,}|…)\s*")
_HTML = pattern(
    r"</?(?:a|b|i|p|u|s|em|br|hr|ul|ol|li|dl|dt|dd|h[1-6]|tr|td|th|div|span|nav|img|pre|code|body|head|html|main|form|"
    r"table|tbody|thead|section|article|header|footer|aside|strong|small|input|button|label|script|style|template)\s?/?>"
    r"|<!doctype\s[^<>]{1,100}>",
    re.IGNORECASE,
)
"""HTML tags and document types. An argument for text may consist of one, which is then not a placeholder."""
_TEXTS = frozenset({"content", "old_text", "new_text", "patch"})
_INTEGER = pattern(r"[-+]?[0-9]{1,400}(?:\.0{1,20})?")
_NUMBER = pattern(r"[-+]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][-+]?[0-9]{1,3})?")
_ABSENT = ("null", "none")
_SHOWN = 2_000
_DEEPEST = 80
NO_TOOLS = frozenset({"directly-answer", "directly_answer"})
"""The pseudo tool that Command R calls in order to call none."""


class RawCall(NamedTuple):
    """A call as the model wrote it. `arguments` is any JSON value, None if absent; those from XML are strings."""

    name: str
    arguments: Json


class OfferedTools:
    """The offered tools, with the parameters of each. `firsts` are the first letters of their names."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.tools = {tool.name: tool for tool in tools}

    @cached_property
    def properties(self) -> dict[str, dict[str, Json]]:
        return {name: _properties(tool) for name, tool in self.tools.items()}

    @cached_property
    def parameters(self) -> frozenset[str]:
        return frozenset(key for keys in self.properties.values() for key in keys)

    @cached_property
    def firsts(self) -> frozenset[str]:
        return frozenset(name[0] for name in self.tools if name)

    def name_of(self, name: str) -> str:
        """The name without the prefixes and suffixes that models add (T1)."""
        name = name.strip()
        if name in self.tools:
            return name
        name = _AFTER.sub("", name)
        for before in _BEFORE:
            if name not in self.tools and name.startswith(before):
                name = name.removeprefix(before)
        return name

    def knows(self, name: object) -> bool:
        return isinstance(name, str) and self.name_of(name) in self.tools

    def required(self, name: str) -> frozenset[str]:
        needed = self.tools[name].parameters.get("required")
        return (
            frozenset(key for key in needed if isinstance(key, str))
            if isinstance(needed, list)
            else frozenset()
        )

    def check(self, raw: RawCall, text: str) -> CallRead | CallProblem:
        """The call with its arguments by the names and types of the tool's schema, or the problem with it.

        `text` is what the model wrote.
        """
        name = self.name_of(raw.name)
        if name not in self.tools:
            known = ", ".join(self.tools)
            return problem("unknown_tool", name, text, f"there is no tool {name!r}; the tools are: {known}")
        arguments = opened(raw.arguments)
        if isinstance(arguments, str):
            return problem("malformed", name, text, arguments)
        arguments = with_own_names(arguments, self.properties[name])
        converted = typed(arguments, self.tools[name].parameters)
        return CallRead(name=name, arguments=converted)

    def is_example(self, raw: RawCall) -> bool:
        """Whether a call is only an example, with a schema or a placeholder as its arguments (T2, T6)."""
        arguments = opened(raw.arguments)
        if isinstance(arguments, str):
            return False
        takes_schema = {"type", "properties"} <= set(self.properties.get(self.name_of(raw.name), ()))
        return (_is_schema(arguments) and not takes_schema) or _has_placeholder(arguments)


def problem(cause: str, name: str, text: str, sentence: str) -> CallProblem:
    shown = text.strip()
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
    return CallProblem.model_validate({"cause": cause, "name": name, "text": shown, "problem": sentence})


def opened(value: Json) -> Args | str:
    """Arguments as an object, decoded from a string at most twice (T2); else the problem as a phrase."""
    for _ in range(3):
        if isinstance(value, dict):
            return {key: entry for key, entry in value.items() if entry is not None}
        if value is None or (isinstance(value, str) and not value.strip()):
            return {}
        if not isinstance(value, str):
            break
        value = decoded(value)
    return "the arguments must be a JSON object"


def decoded(text: str) -> Json:
    """The JSON value that makes up the whole text; the text itself if it is not JSON."""
    cursor = Cursor(text.strip(), final=True)
    try:
        value = read_json(cursor)
    except ParseError:
        return text
    return value if cursor.at_end() and not cursor.repaired else text


def _is_schema(arguments: Args) -> bool:
    if arguments.get("type") == "object" and isinstance(arguments.get("properties"), dict):
        return True
    values = list(arguments.values())
    return bool(values) and all(
        isinstance(entry, dict)
        and isinstance(entry.get("type"), str)
        and set(entry) <= {"type", "description", "enum", "default", "items", "title"}
        for entry in values
    )


def _has_placeholder(arguments: Args) -> bool:
    ahead: list[tuple[str, Json]] = list(arguments.items())
    while ahead:
        key, entry = ahead.pop()
        if isinstance(entry, str):
            edited = key in _TEXTS and _HTML.fullmatch(entry.strip()) is not None
            if not edited and len(entry) < 200 and _PLACEHOLDER.fullmatch(entry):
                return True
        elif isinstance(entry, dict):
            ahead.extend(entry.items())
        elif isinstance(entry, list):
            ahead.extend((key, inner) for inner in entry)
    return False


def _properties(tool: ToolSpec) -> dict[str, Json]:
    found = tool.parameters.get("properties")
    return found if isinstance(found, dict) else {}


def typed(arguments: Args, schema: Json) -> Args:
    """The arguments without nulls. A string is converted if the schema allows no string there (T11)."""
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
    """The types that a schema allows in `type`, `anyOf` or `oneOf`."""
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
        integer = int(plain.partition(".")[0])
        return integer if is_sound(integer) else text
    if "number" in kinds and _NUMBER.fullmatch(plain):
        number = float(plain)
        return number if is_sound(number) else text
    if kinds & {"array", "object"} and plain[:1] in ("[", "{"):
        value = decoded(plain)
        return text if isinstance(value, str) else _converted(value, schema, depth + 1)
    return text


def native_call(name: str, arguments: object, tools: Sequence[ToolSpec]) -> CallRead | CallProblem:
    """A native call after the checks of name, object and types; `arguments` is JSON text or decoded JSON."""
    value = _plain(arguments, 0)
    return OfferedTools(tools).check(
        RawCall(mend(name), value), arguments if isinstance(arguments, str) else str(value)
    )


def _plain(value: object, depth: int) -> Json:
    """Any object as a JSON value; one that JSON cannot represent becomes the name of its type."""
    if isinstance(value, str):
        return mend(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth < _DEEPEST and isinstance(value, dict):
        return {mend(str(key)): _plain(entry, depth + 1) for key, entry in value.items()}
    if depth < _DEEPEST and isinstance(value, list | tuple):
        return [_plain(entry, depth + 1) for entry in value]
    return mend(repr(type(value).__name__))
