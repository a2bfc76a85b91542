"""Calls in tags: `<function=…>`, `<invoke name=…>`, `<arg_key>`, and tags named like the tool itself.

Values are raw text (T10): an end tag inside one only counts where the call goes on behind it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from planloom.agent.toolcalls.cursor import Broken, Cursor
from planloom.agent.toolcalls.loose_json import read_value
from planloom.agent.toolcalls.offers import Offers, RawCall
from planloom.domain.values import Json

_HEAD = 300
_NAME = re.compile(r"""\s*["']?([\w.:/-]{1,120})["']?\s*""")
_ATTRIBUTE = re.compile(r"""(?:\s*name)?\s*=\s*(?:"([^"]{1,200})"|'([^']{1,200})'|([^\s>"']{1,200}))""")


class Style(NamedTuple):
    """The tags of one way to write a call. `call` and `parameter` are without brackets."""

    call: str
    parameter: str


class Value(NamedTuple):
    """A raw value and where it and its end tag end."""

    text: str
    end: int


def style_of(token: str) -> Style:
    """The tags that go with a token that begins a call."""
    if token.startswith("<function"):
        return Style("function", "parameter")
    prefix = token[1 : token.index("invoke")]
    return Style(f"{prefix}invoke", f"{prefix}parameter")


def read_tagged(cursor: Cursor, token: str, offers: Offers) -> RawCall:
    """The call that begins with `token`, the cursor behind its end tag. Raises More or Broken."""
    style = style_of(token)
    cursor.at += len(token)
    name = cursor.match(_NAME, slack=1)
    if name is None:
        raise Broken("a name is missing", cut=cursor.at_end())
    if not cursor.take(">") and cursor.peek() != "{":
        raise Broken("the start tag is not closed", cut=cursor.at_end())
    cursor.space()
    if cursor.peek() == "{":
        arguments = read_value(cursor)
        cursor.space()
        if cursor.take("}"):
            cursor.space()
        if cursor.take(f"</{style.call}>") or cursor.take(f"<{style.call}>"):
            cursor.mended = False
        return RawCall(name[1], arguments)
    return RawCall(name[1], _parameters(cursor, style, offers.name_of(name[1]), offers))


def _parameters(cursor: Cursor, style: Style, name: str, offers: Offers) -> dict[str, Json]:
    arguments: dict[str, Json] = {}
    known = frozenset(offers.properties.get(name, ()))
    while True:
        cursor.space()
        if cursor.take(f"</{style.call}>"):
            return arguments
        if not cursor.take(f"<{style.parameter}"):
            if arguments or cursor.peek() == "<":
                token = cursor.token()
                if token is not None and token[1] == "close":
                    return arguments
            raise Broken("an end tag is missing", cut=cursor.at_end())
        head_end = cursor.find(">", _HEAD)
        head = cursor.text[cursor.at : head_end]
        attribute = _ATTRIBUTE.match(head)
        if attribute is None:
            raise Broken("a parameter has no name")
        key = next(group for group in attribute.groups() if group is not None)
        cursor.at = head_end + 1
        value = _value(cursor, style, known - set(arguments) - {key})
        arguments[key] = _decoded(value.text) if 'string="false"' in head else value.text
        cursor.at = value.end


def _decoded(text: str) -> Json:
    cursor = Cursor(text.strip(), 0, final=True)
    try:
        value = read_value(cursor)
    except Broken:
        return text
    return value if cursor.at_end() and not cursor.mended else text


def _value(cursor: Cursor, style: Style, others: frozenset[str]) -> Value:
    """The value that begins here. A call inside it is text (T14): its end tags are not ours."""
    try:
        return _value_end(cursor, style, others, nesting=True)
    except Broken:
        return _value_end(cursor, style, others, nesting=False)


def _value_end(cursor: Cursor, style: Style, others: frozenset[str], *, nesting: bool) -> Value:
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
            elif _goes_on(cursor, mark.end(), ()):
                return Value(_trimmed(cursor.text[start : mark.start()]), mark.start())
        elif depth:
            continue
        elif mark[1] is not None:
            if _goes_on(cursor, mark.end(), (f"<{style.parameter}", f"</{style.call}>")):
                return Value(_trimmed(cursor.text[start : mark.start()]), mark.end())
        elif cursor.text[mark.start() - 1] == "\n" and _names_one(cursor, mark.end(), others):
            return Value(_trimmed(cursor.text[start : mark.start()]), mark.start())
    cursor.wait()
    raise Broken("a value is open", cut=True)


def _names_one(cursor: Cursor, at: int, names: frozenset[str]) -> bool:
    """Whether a start tag names one of the parameters: then the one before it was never closed."""
    head_end = cursor.text.find(">", at, at + _HEAD)
    if head_end < 0:
        if len(cursor.text) - at < _HEAD:
            cursor.wait()
        return False
    head = cursor.text[at:head_end].strip().removeprefix("name=").strip("\"' ")
    return head in names


def _goes_on(cursor: Cursor, at: int, tags: tuple[str, ...]) -> bool:
    """Whether the structure of calls goes on at a place, behind white space."""
    ahead = Cursor(cursor.text, at, final=cursor.final)
    ahead.space()
    if any(ahead.looking_at(tag) for tag in tags):
        return True
    token = ahead.token()
    if token is not None:
        return token[1] in ("close", "open", "item", "noise", "unthink")
    return not tags and ahead.at_end()


def _trimmed(text: str) -> str:
    """The value without one line end at each side (T10)."""
    text = text.removeprefix("\r\n") if text.startswith("\r\n") else text.removeprefix("\n")
    return text.removesuffix("\r\n") if text.endswith("\r\n") else text.removesuffix("\n")


def read_pairs(cursor: Cursor, name: str) -> RawCall:
    """GLM's and LongCat's pairs of `<arg_key>` and `<arg_value>`, the cursor before the end tag."""
    arguments: dict[str, Json] = {}
    prefix = "longcat_" if cursor.looking_at("<longcat_arg_key>") else ""
    while cursor.take(f"<{prefix}arg_key>"):
        end = cursor.find(f"</{prefix}arg_key>", _HEAD)
        key = cursor.text[cursor.at : end].strip()
        cursor.at = end + len(f"</{prefix}arg_key>")
        cursor.space()
        if not cursor.take(f"<{prefix}arg_value>"):
            raise Broken("a value is missing", cut=cursor.at_end())
        try:
            value = _pair_end(cursor, prefix, nesting=True)
        except Broken:
            value = _pair_end(cursor, prefix, nesting=False)
        arguments[key] = value.text
        cursor.at = value.end
        cursor.space()
    token = cursor.token()
    if token is None or token[1] not in ("close", "open"):
        raise Broken("the end tag is missing", cut=cursor.at_end())
    return RawCall(name, arguments)


def _pair_end(cursor: Cursor, prefix: str, *, nesting: bool) -> Value:
    start = cursor.at
    depth = 0
    marks = re.compile(rf"<(?:(/{prefix}arg_value>)|(/{prefix}tool_call>)|({prefix}tool_call>))")
    for mark in marks.finditer(cursor.text, start):
        if mark[3] is not None:
            depth += nesting
        elif mark[2] is not None:
            depth = max(0, depth - 1)
        elif not depth and _goes_on(cursor, mark.end(), (f"<{prefix}arg_key>", f"</{prefix}tool_call>")):
            return Value(_trimmed(cursor.text[start : mark.start()]), mark.end())
    cursor.wait()
    raise Broken("a value is open", cut=True)


def read_named_tags(cursor: Cursor, name: str, properties: frozenset[str]) -> RawCall:
    """Cline's `<read_file><path>p</path></read_file>`, the cursor behind the tool's start tag."""
    arguments: dict[str, Json] = {}
    while True:
        cursor.space()
        if cursor.take(f"</{name}>"):
            return RawCall(name, arguments)
        key = next((key for key in sorted(properties) if cursor.take(f"<{key}>")), None)
        if key is None:
            raise Broken("a parameter is missing", cut=cursor.at_end())
        value = _named_end(cursor, key, (*(f"<{other}>" for other in properties), f"</{name}>"))
        arguments[key] = value.text
        cursor.at = value.end


def _named_end(cursor: Cursor, key: str, after: tuple[str, ...]) -> Value:
    start, close = cursor.at, f"</{key}>"
    at = start
    while True:
        at = cursor.text.find(close, at)
        if at < 0:
            cursor.wait()
            raise Broken("a value is open", cut=True)
        ahead = Cursor(cursor.text, at + len(close), final=cursor.final)
        ahead.space()
        if any(ahead.looking_at(tag) for tag in after):
            return Value(_trimmed(cursor.text[start:at]), at + len(close))
        at += len(close)
