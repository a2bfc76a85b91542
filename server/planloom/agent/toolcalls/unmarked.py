"""Calls without a marker: they count on lines of their own or in a fence, and nowhere else (T4)."""

from __future__ import annotations

import re

from planloom.agent.toolcalls.cursor import Broken, Cursor
from planloom.agent.toolcalls.items import step_into_fence, take_fence_end
from planloom.agent.toolcalls.loose_json import read_value
from planloom.agent.toolcalls.offers import Offers, RawCall, problem
from planloom.agent.toolcalls.pythonic import NAME, read_call, read_list
from planloom.agent.toolcalls.regions import ACTION_NAME, Region, name_in
from planloom.agent.toolcalls.shapes import calls_in, may_be_call
from planloom.agent.toolcalls.xml_calls import read_named_tags
from planloom.domain.values import Json

_ASSIGNED = re.compile(r"[A-Za-z_]\w{0,80}[ \t]*=[ \t]*(?=[A-Za-z_])")
_LINE_END = "\n"
_LONGEST_TOKEN = 40
_SPECIAL_TOKEN = re.compile(r"<[|｜][^<>|｜\n]+[|｜]>|</s>|<eos>")


def read_unmarked(cursor: Cursor, offers: Offers, *, fence: str) -> Region | None:
    """Calls without a marker on lines of their own (T4), or in a fence of these marks; None if it is text.

    The cursor stands at the first character that is no white space.
    """
    calls: list[RawCall] = []
    ends = cursor.at
    while True:
        try:
            found = _read_bare(cursor, offers, fence=fence)
        except Broken as broken:
            return _cut(cursor, offers, broken, ends) if not calls else None
        if not found or cursor.mended:
            return None
        calls.extend(found)
        ends = cursor.at
        if fence:
            cursor.space()
        else:
            _line_tail(cursor)
            ends = cursor.at
        sign = cursor.peek()
        if sign in (",", ";") and sign:
            cursor.at += 1
            ends = cursor.at
            cursor.inline_space()
            if fence:
                cursor.space()
            if cursor.peek() in (_LINE_END, "\r", "") or (fence and cursor.looking_at(fence)):
                break
            continue
        if (fence and not cursor.at_end() and not cursor.looking_at(fence)) or sign in ("{", "["):
            continue
        if fence or sign in (_LINE_END, "\r", "") or _at_token(cursor):
            break
        return None
    doubt = any(offers.doubt(call) is not None for call in calls)
    return Region(end=ends, calls=tuple(calls), doubt=doubt)


def _cut(cursor: Cursor, offers: Offers, broken: Broken, start: int) -> Region | None:
    """An unmarked call that the end of the text cuts is told, and stays visible."""
    if not broken.cut or not cursor.final:
        return None
    text = cursor.text[start:]
    name = name_in(text, offers)
    if name not in offers.tools:
        return None
    return Region(end=start, problem=problem("cut", name, text, "the call was cut off"))


def _at_token(cursor: Cursor) -> bool:
    """Whether a special token of any model stands here: what it ends is a line of its own."""
    if cursor.peek() != "<":
        return False
    window = cursor.text[cursor.at : cursor.at + _LONGEST_TOKEN]
    if len(window) < _LONGEST_TOKEN and not any(sign in window for sign in ">\n"):
        cursor.wait()
    return _SPECIAL_TOKEN.match(window) is not None


def _line_tail(cursor: Cursor) -> None:
    """Step over an extra brace and over tokens that a server left at the end of a line."""
    cursor.inline_space()
    if cursor.peek() == "}":
        cursor.at += 1
        cursor.inline_space()
    while True:
        token = cursor.token()
        if token is None or token[1] not in ("noise", "close"):
            return
        cursor.at += len(token[0])
        cursor.inline_space()


def _read_bare(cursor: Cursor, offers: Offers, *, fence: str) -> tuple[RawCall, ...] | None:
    sign = cursor.peek()
    if sign == "{" or (sign == "[" and _holds_json(cursor)):

        def watch(key: str, members: dict[str, Json]) -> bool:
            return may_be_call(key, members, offers)

        return calls_in(read_value(cursor, watch), offers, marked=False)
    if sign == "[":
        found = read_list(cursor, offers)
        return found if all(offers.knows(call.name) for call in found) else None
    if sign == "<":
        return _tags(cursor, offers)
    if sign == "A" and cursor.take("Action:"):
        return _react(cursor)
    if sign.isalpha() or sign == "_":
        return _named_line(cursor, offers, fence=fence)
    return None


def _holds_json(cursor: Cursor) -> bool:
    ahead = Cursor(cursor.text, cursor.at + 1, final=cursor.final)
    ahead.space()
    return ahead.peek() == "{"


def _tags(cursor: Cursor, offers: Offers) -> tuple[RawCall, ...] | None:
    for name in sorted(offers.tools):
        if cursor.take(f"<{name}>"):
            return (read_named_tags(cursor, name, frozenset(offers.properties[name])),)
    return None


def _react(cursor: Cursor) -> tuple[RawCall, ...] | None:
    cursor.inline_space()
    name = cursor.match(ACTION_NAME)
    if name is None:
        return None
    cursor.space()
    if not cursor.take("Action Input:"):
        return None
    cursor.space()
    fenced = step_into_fence(cursor)
    if cursor.peek() != "{":
        return None
    call = RawCall(name[0], read_value(cursor))
    if fenced:
        take_fence_end(cursor)
    return (call,)


def _named_line(cursor: Cursor, offers: Offers, *, fence: str) -> tuple[RawCall, ...] | None:
    """GLM-4's name on a line above its arguments; in a fence also a call in the syntax of Python."""
    start = cursor.at
    name = cursor.match(NAME)
    if name is None:
        return None
    cursor.inline_space()
    if offers.knows(name[0]) and cursor.peek() in ("\n", "\r"):
        cursor.space()
        return (RawCall(name[0], read_value(cursor)),) if cursor.peek() == "{" else None
    if not fence:
        return None
    cursor.at = start
    cursor.match(_ASSIGNED, slack=1)
    call = read_call(cursor, offers)
    return (call,) if offers.knows(call.name) else None
