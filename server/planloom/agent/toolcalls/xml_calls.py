"""Reads calls in tags: `<function=…>`, `<invoke name=…>`, `<arg_key>`, and tags named after the tool.

Values are raw text: an end tag counts only if the rest of the call follows it (docs/model-text.md, T10).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from planloom.agent.toolcalls.offered_tools import OfferedTools, RawCall, decoded
from planloom.agent.toolcalls.tokens import read_json, token_at
from planloom.domain.model_text.cursor import Cursor, ParseError
from planloom.domain.values import Json

_HEAD = 300
_CONTINUES_CALL = ("close", "open", "item", "noise", "unthink")
_NAME = re.compile(r"""\s*["']?([\w.:/-]{1,120})["']?\s*""")
_ATTRIBUTE = re.compile(r"""(?:\s*name)?\s*=\s*(?:"([^"]{1,200})"|'([^']{1,200})'|([^\s>"']{1,200}))""")


class TagStyle(NamedTuple):
    """The tag names of a call and of its parameters."""

    call: str
    parameter: str


class RawValue(NamedTuple):
    """A raw value; `end` is the position after its end tag."""

    text: str
    end: int


def style_of(token: str) -> TagStyle:
    """The tag names of a call that begins with `token`."""
    if token.startswith("<function"):
        return TagStyle("function", "parameter")
    prefix = token[1 : token.index("invoke")]
    return TagStyle(f"{prefix}invoke", f"{prefix}parameter")


def read_tagged(cursor: Cursor, token: str, offered: OfferedTools) -> RawCall:
    """The call that begins with `token`; the cursor moves past its end tag. Raises NeedMoreText or ParseError."""
    style = style_of(token)
    cursor.at += len(token)
    name = cursor.match(_NAME, slack=1)
    if name is None:
        raise ParseError("a name is missing", cut=cursor.at_end())
    if not cursor.accept(">") and cursor.peek() != "{":
        raise ParseError("the start tag is not closed", cut=cursor.at_end())
    cursor.skip_space()
    if cursor.peek() == "{":
        arguments = read_json(cursor)
        cursor.skip_space()
        if cursor.accept("}"):
            cursor.skip_space()
        if cursor.accept(f"</{style.call}>") or cursor.accept(f"<{style.call}>"):
            cursor.repaired = False
        return RawCall(name[1], arguments)
    return RawCall(name[1], _parameters(cursor, style, offered.name_of(name[1]), offered))


def _parameters(cursor: Cursor, style: TagStyle, name: str, offered: OfferedTools) -> dict[str, Json]:
    arguments: dict[str, Json] = {}
    known = frozenset(offered.properties.get(name, ()))
    while True:
        cursor.skip_space()
        if cursor.accept(f"</{style.call}>"):
            return arguments
        if not cursor.accept(f"<{style.parameter}"):
            if (arguments or cursor.peek() == "<") and token_at(cursor).kind == "close":
                return arguments
            raise ParseError("an end tag is missing", cut=cursor.at_end())
        head_end = cursor.find(">", _HEAD)
        head = cursor.text[cursor.at : head_end]
        attribute = _ATTRIBUTE.match(head)
        if attribute is None:
            raise ParseError("a parameter has no name")
        key = next(group for group in attribute.groups() if group is not None)
        cursor.at = head_end + 1
        value = _value(cursor, style, known - set(arguments) - {key})
        arguments[key] = decoded(value.text) if 'string="false"' in head else value.text
        cursor.at = value.end


def _value(cursor: Cursor, style: TagStyle, others: frozenset[str]) -> RawValue:
    """The value at the cursor. A call inside it is text, including its end tags (T14)."""
    try:
        return _value_end(cursor, style, others, nesting=True)
    except ParseError:
        return _value_end(cursor, style, others, nesting=False)


def _value_end(cursor: Cursor, style: TagStyle, others: frozenset[str], *, nesting: bool) -> RawValue:
    start = cursor.at
    call, parameter = re.escape(style.call), re.escape(style.parameter)
    marks = re.compile(rf"<(?:(/{parameter}>)|(/{call}>)|({call}[ =])|({parameter}[ =]))")
    depth = 0
    for mark in marks.finditer(cursor.text, start):
        if mark[3] is not None:
            depth += nesting
        elif mark[2] is not None:
            if depth:
                depth -= 1
            elif _call_continues(cursor, mark.end(), ()):
                return RawValue(_trimmed(cursor.text[start : mark.start()]), mark.start())
        elif depth:
            continue
        elif mark[1] is not None:
            if _call_continues(cursor, mark.end(), (f"<{style.parameter}", f"</{style.call}>")):
                return RawValue(_trimmed(cursor.text[start : mark.start()]), mark.end())
        elif cursor.text[mark.start() - 1] == "\n" and _names_parameter(cursor, mark.end(), others):
            return RawValue(_trimmed(cursor.text[start : mark.start()]), mark.start())
    cursor.require_final()
    raise ParseError("a value is open", cut=True)


def _names_parameter(cursor: Cursor, start: int, names: frozenset[str]) -> bool:
    """Whether a start tag names one of the parameters: then the parameter before it was never closed."""
    head_end = cursor.text.find(">", start, start + _HEAD)
    if head_end < 0:
        if len(cursor.text) - start < _HEAD:
            cursor.require_final()
        return False
    head = cursor.text[start:head_end].strip().removeprefix("name=").strip("\"' ")
    return head in names


def _call_continues(cursor: Cursor, position: int, tags: tuple[str, ...]) -> bool:
    """Whether one of `tags` or another tag of a call follows the position, after white space."""
    ahead = cursor.ahead(position)
    ahead.skip_space()
    if any(ahead.looking_at(tag) for tag in tags):
        return True
    kind = token_at(ahead).kind
    return not tags and ahead.at_end() if kind is None else kind in _CONTINUES_CALL


def _trimmed(text: str) -> str:
    """The value without one line end at each side (T10)."""
    text = text.removeprefix("\r\n") if text.startswith("\r\n") else text.removeprefix("\n")
    return text.removesuffix("\r\n") if text.endswith("\r\n") else text.removesuffix("\n")


def read_pairs(cursor: Cursor, name: str) -> RawCall:
    """A call in GLM's and LongCat's pairs of `<arg_key>` and `<arg_value>`; the cursor moves to its end tag."""
    arguments: dict[str, Json] = {}
    prefix = "longcat_" if cursor.looking_at("<longcat_arg_key>") else ""
    while cursor.accept(f"<{prefix}arg_key>"):
        end = cursor.find(f"</{prefix}arg_key>", _HEAD)
        key = cursor.text[cursor.at : end].strip()
        cursor.at = end + len(f"</{prefix}arg_key>")
        cursor.skip_space()
        if not cursor.accept(f"<{prefix}arg_value>"):
            raise ParseError("a value is missing", cut=cursor.at_end())
        try:
            value = _pair_end(cursor, prefix, nesting=True)
        except ParseError:
            value = _pair_end(cursor, prefix, nesting=False)
        arguments[key] = value.text
        cursor.at = value.end
        cursor.skip_space()
    if token_at(cursor).kind not in ("close", "open"):
        raise ParseError("the end tag is missing", cut=cursor.at_end())
    return RawCall(name, arguments)


def _pair_end(cursor: Cursor, prefix: str, *, nesting: bool) -> RawValue:
    start = cursor.at
    depth = 0
    marks = re.compile(rf"<(?:(/{prefix}arg_value>)|(/{prefix}tool_call>)|({prefix}tool_call>))")
    for mark in marks.finditer(cursor.text, start):
        if mark[3] is not None:
            depth += nesting
        elif mark[2] is not None:
            depth = max(0, depth - 1)
        elif not depth and _call_continues(
            cursor, mark.end(), (f"<{prefix}arg_key>", f"</{prefix}tool_call>")
        ):
            return RawValue(_trimmed(cursor.text[start : mark.start()]), mark.end())
    cursor.require_final()
    raise ParseError("a value is open", cut=True)


def read_named_tags(cursor: Cursor, name: str, properties: frozenset[str]) -> RawCall:
    """Cline's `<read_file><path>p</path></read_file>`, from after the tool's start tag."""
    arguments: dict[str, Json] = {}
    while True:
        cursor.skip_space()
        if cursor.accept(f"</{name}>"):
            return RawCall(name, arguments)
        key = next((key for key in sorted(properties) if cursor.accept(f"<{key}>")), None)
        if key is None:
            raise ParseError("a parameter is missing", cut=cursor.at_end())
        value = _named_end(cursor, key, (*(f"<{other}>" for other in properties), f"</{name}>"))
        arguments[key] = value.text
        cursor.at = value.end


def _named_end(cursor: Cursor, key: str, after: tuple[str, ...]) -> RawValue:
    start, close = cursor.at, f"</{key}>"
    index = start
    while True:
        index = cursor.text.find(close, index)
        if index < 0:
            cursor.require_final()
            raise ParseError("a value is open", cut=True)
        ahead = cursor.ahead(index + len(close))
        ahead.skip_space()
        if any(ahead.looking_at(tag) for tag in after):
            return RawValue(_trimmed(cursor.text[start:index]), index + len(close))
        index += len(close)
