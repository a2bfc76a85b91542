"""What may be called: the offered tools by name, and the checks that every call passes (T1, T2, T6, T11)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from planloom.agent.toolcalls.cursor import Broken, Cursor, More
from planloom.agent.toolcalls.events import CallProblem, CallRead
from planloom.agent.toolcalls.loose_json import read_value
from planloom.agent.toolcalls.schema_types import typed
from planloom.domain.values import Args, Json
from planloom.models.json_text import mend
from planloom.models.port import ToolSpec

_BEFORE = ("functions.", "function.", "tools.", "default_api.")
_AFTER = re.compile(r":[0-9]+$")
_PLACEHOLDER = re.compile(r"\s*(?:<[^<>\n]{1,120}>|\.{3,}|…)\s*")
_HTML = re.compile(
    r"</?(?:a|b|i|p|u|s|em|br|hr|ul|ol|li|dl|dt|dd|h[1-6]|tr|td|th|div|span|nav|img|pre|code|body|head|html|main|form|"
    r"table|tbody|thead|section|article|header|footer|aside|strong|small|input|button|label|script|style|template)\s?/?>"
)
"""Tags that are edited for their own sake: alone in a text they stand for themselves."""
_TEXTS = frozenset({"content", "old_text", "new_text", "patch"})
_SHOWN = 2_000
_DEEPEST = 80
NO_TOOLS = frozenset({"directly-answer", "directly_answer"})
"""What Command R calls when it wants to call nothing."""


class RawCall(NamedTuple):
    """A call as a model wrote it: the arguments are a JSON value, absent (None), or texts from XML."""

    name: str
    arguments: Json


class Doubtful(NamedTuple):
    """A call that shows a form rather than asks for anything: a placeholder or a schema."""

    why: str


class Offers:
    """The offered tools, ready to look up."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.properties = {tool.name: _properties(tool) for tool in tools}
        self.parameters = frozenset(key for keys in self.properties.values() for key in keys)
        self.longest = max(map(len, self.tools), default=0)
        self.firsts = frozenset(name[0] for name in self.tools if name)

    def name_of(self, name: str) -> str:
        """The name without what models put around it (T1)."""
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
        """The call in the types of its tool, or what is wrong with it. `text` is what the model wrote."""
        name = self.name_of(raw.name)
        if name not in self.tools:
            known = ", ".join(self.tools)
            return problem("unknown_tool", name, text, f"there is no tool {name!r}; the tools are: {known}")
        arguments = opened(raw.arguments)
        if isinstance(arguments, str):
            return problem("malformed", name, text, arguments)
        converted = typed(arguments, self.tools[name].parameters)
        return CallRead(name=name, arguments=converted)

    def doubt(self, raw: RawCall) -> Doubtful | None:
        """Why a call that was found in a text only shows what one looks like (T2, T6)."""
        arguments = opened(raw.arguments)
        if isinstance(arguments, str):
            return None
        if _is_schema(arguments) and not {"type", "properties"} <= set(
            self.properties.get(self.name_of(raw.name), ())
        ):
            return Doubtful("its arguments are a schema")
        if _has_placeholder(arguments):
            return Doubtful("an argument is a placeholder")
        return None


def problem(cause: str, name: str, text: str, sentence: str) -> CallProblem:
    shown = text.strip()
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
    return CallProblem.model_validate({"cause": cause, "name": name, "text": shown, "problem": sentence})


def opened(value: Json) -> Args | str:
    """Arguments as an object, out of a text at most twice (T2); else a sentence."""
    for _ in range(3):
        if isinstance(value, dict):
            return {key: entry for key, entry in value.items() if entry is not None}
        if value is None or (isinstance(value, str) and not value.strip()):
            return {}
        if not isinstance(value, str):
            break
        cursor = Cursor(value, 0, final=True)
        try:
            cursor.space()
            read = read_value(cursor)
            cursor.space()
        except (Broken, More):
            return "the arguments must be a JSON object"
        if cursor.mended or not cursor.at_end():
            return "the arguments must be a JSON object"
        value = read
    return "the arguments must be a JSON object"


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


def native_call(name: str, arguments: object, tools: Sequence[ToolSpec]) -> CallRead | CallProblem:
    """A native call after the same checks of name, object and types; `arguments` is a text or decoded JSON."""
    value = _plain(arguments, 0)
    return Offers(tools).check(
        RawCall(mend(name), value), arguments if isinstance(arguments, str) else str(value)
    )


def _plain(value: object, depth: int) -> Json:
    """Any object as JSON; what JSON cannot hold becomes its text."""
    if isinstance(value, str):
        return mend(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth < _DEEPEST and isinstance(value, dict):
        return {mend(str(key)): _plain(entry, depth + 1) for key, entry in value.items()}
    if depth < _DEEPEST and isinstance(value, list | tuple):
        return [_plain(entry, depth + 1) for entry in value]
    return mend(repr(type(value).__name__))
