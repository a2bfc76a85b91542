"""Reads calls in Python syntax: `read_file(path="p", start_line=2)`."""

from __future__ import annotations

import re

from planloom.agent.toolcalls.offered_tools import OfferedTools, RawCall
from planloom.agent.toolcalls.tokens import read_json
from planloom.domain.model_text.cursor import Cursor, ParseError
from planloom.domain.values import Json

NAME = re.compile(r"[A-Za-z_][\w.-]{0,120}")
_KEYWORD = re.compile(r"[A-Za-z_]\w{0,120}")


def read_list(cursor: Cursor, offered: OfferedTools) -> tuple[RawCall, ...]:
    """The calls of `[f(a="b"), g()]`; the cursor moves past it. Raises NeedMoreText or ParseError."""
    if not cursor.accept("["):
        raise ParseError("a list is missing")
    found: list[RawCall] = []
    while True:
        cursor.skip_space()
        if found and cursor.accept("]"):
            return tuple(found)
        if found and not cursor.accept(","):
            raise ParseError("a comma is missing", cut=cursor.at_end())
        cursor.skip_space()
        if found and cursor.accept("]"):
            return tuple(found)
        found.append(read_call(cursor, offered))


def read_call(cursor: Cursor, offered: OfferedTools) -> RawCall:
    """The call `f(a="b")`, also as `f.call(…)` or `print(f(…))`; the cursor moves past it."""
    name = _begin(cursor)
    if name != "print" or offered.knows("print"):
        return read_arguments(cursor, name.removesuffix(".call"), offered)
    # Accept one level of `print(call(…))`; deeper nesting is not a call.
    cursor.skip_space()
    inner = read_arguments(cursor, _begin(cursor).removesuffix(".call"), offered)
    cursor.skip_space()
    if not cursor.accept(")"):
        raise ParseError("a bracket is missing", cut=cursor.at_end())
    return inner


def _begin(cursor: Cursor) -> str:
    """Step over a name and the bracket that opens its arguments."""
    name = cursor.match(NAME)
    if name is None:
        raise ParseError("a name is missing", cut=cursor.at_end())
    cursor.skip_blanks()
    if not cursor.accept("("):
        raise ParseError("a bracket is missing", cut=cursor.at_end())
    return name[0]


def read_arguments(cursor: Cursor, name: str, offered: OfferedTools) -> RawCall:
    """The call whose opening bracket is before the cursor. Positional values are named in the schema's order."""
    arguments: dict[str, Json] = {}
    order = list(offered.properties.get(offered.name_of(name), ()))
    first = True
    while True:
        cursor.skip_space_and_comments()
        if cursor.accept(")"):
            return RawCall(name, arguments)
        if not first:
            if not cursor.accept(","):
                raise ParseError("a comma is missing", cut=cursor.at_end())
            cursor.skip_space_and_comments()
            if cursor.accept(")"):
                return RawCall(name, arguments)
        start = cursor.at
        key = cursor.match(_KEYWORD)
        cursor.skip_blanks()
        if key is not None and cursor.accept("="):
            cursor.skip_space_and_comments()
            arguments[key[0]] = read_json(cursor)
        else:
            cursor.at = start
            if len(arguments) >= len(order):
                raise ParseError("an argument has no name", cut=cursor.at_end())
            arguments[order[len(arguments)]] = read_json(cursor)
        if cursor.repaired:
            raise ParseError("a bracket is missing")
        first = False
