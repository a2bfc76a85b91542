"""Calls in the syntax of Python: `read_file(path="p", start_line=2)`."""

from __future__ import annotations

import re

from planloom.agent.toolcalls.cursor import Broken, Cursor
from planloom.agent.toolcalls.loose_json import read_value
from planloom.agent.toolcalls.offers import Offers, RawCall
from planloom.domain.values import Json

NAME = re.compile(r"[A-Za-z_][\w.-]{0,120}")
_KEYWORD = re.compile(r"[A-Za-z_]\w{0,120}")


def read_list(cursor: Cursor, offers: Offers) -> tuple[RawCall, ...]:
    """`[f(a="b"), g()]`, the cursor behind it. Raises More, or Broken where it is no such list."""
    if not cursor.take("["):
        raise Broken("a list is missing")
    found: list[RawCall] = []
    while True:
        cursor.space()
        if found and cursor.take("]"):
            return tuple(found)
        if found and not cursor.take(","):
            raise Broken("a comma is missing", cut=cursor.at_end())
        cursor.space()
        if found and cursor.take("]"):
            return tuple(found)
        found.append(read_call(cursor, offers))


def read_call(cursor: Cursor, offers: Offers) -> RawCall:
    """`f(a="b")`, the cursor behind it; `f.call(…)` and `print(f(…))` mean the same."""
    name = _begin(cursor)
    if name != "print" or offers.knows("print"):
        return read_arguments(cursor, name.removesuffix(".call"), offers)
    # Nobody prints what is printed: one level, so that no depth of them matters.
    cursor.space()
    inner = read_arguments(cursor, _begin(cursor).removesuffix(".call"), offers)
    cursor.space()
    if not cursor.take(")"):
        raise Broken("a bracket is missing", cut=cursor.at_end())
    return inner


def _begin(cursor: Cursor) -> str:
    """Step over a name and the bracket that opens its arguments."""
    name = cursor.match(NAME)
    if name is None:
        raise Broken("a name is missing", cut=cursor.at_end())
    cursor.inline_space()
    if not cursor.take("("):
        raise Broken("a bracket is missing", cut=cursor.at_end())
    return name[0]


def read_arguments(cursor: Cursor, name: str, offers: Offers) -> RawCall:
    """What stands behind the opening bracket of a call. Values without a keyword follow the schema's order."""
    arguments: dict[str, Json] = {}
    order = list(offers.properties.get(offers.name_of(name), ()))
    first = True
    while True:
        cursor.space_and_comments()
        if cursor.take(")"):
            return RawCall(name, arguments)
        if not first:
            if not cursor.take(","):
                raise Broken("a comma is missing", cut=cursor.at_end())
            cursor.space_and_comments()
            if cursor.take(")"):
                return RawCall(name, arguments)
        start = cursor.at
        key = cursor.match(_KEYWORD)
        cursor.inline_space()
        if key is not None and cursor.take("="):
            cursor.space_and_comments()
            arguments[key[0]] = read_value(cursor)
        else:
            cursor.at = start
            if len(arguments) >= len(order):
                raise Broken("an argument has no name", cut=cursor.at_end())
            arguments[order[len(arguments)]] = read_value(cursor)
        if cursor.mended:
            raise Broken("a bracket is missing")
        first = False
