"""Reads calls without a marker, which count on lines of their own or in a fence (docs/model-text.md, T4)."""

from __future__ import annotations

import re

from planloom.agent.toolcalls.offered_tools import OfferedTools, RawCall, problem
from planloom.agent.toolcalls.pythonic import NAME, read_call, read_list
from planloom.agent.toolcalls.regions import ACTION_NAME, Region, name_in, read_marked
from planloom.agent.toolcalls.shapes import calls_in, may_be_call
from planloom.agent.toolcalls.tokens import read_json, token_at
from planloom.agent.toolcalls.xml_calls import read_named_tags
from planloom.domain.model_text.cursor import Cursor, NeedMoreText, ParseError
from planloom.domain.model_text.fences import (
    JSON_LANGUAGES,
    TEXT_LANGUAGES,
    Opening,
    closing_at,
    enter_fence,
    leave_fence,
)
from planloom.domain.values import Json

_ASSIGNED = re.compile(r"[A-Za-z_]\w{0,80}[ \t]*=[ \t]*(?=[A-Za-z_])")
_CALL_LANGUAGES = (
    TEXT_LANGUAGES
    | JSON_LANGUAGES
    | {
        "xml",
        "tool_call",
        "tool_calls",
        "tool_code",
        "tool_use",
        "tool",
        "function_call",
        "function_calls",
        "action",
    }
)
"""The languages of fences that may hold calls."""
_ACTION = "Action:"
_WORD = re.compile(r"[A-Za-z_][\w.-]*")
_LINE_END = "\n"
_LONGEST_TOKEN = 40
_SPECIAL_TOKEN = re.compile(r"<[|｜][^<>|｜\n]+[|｜]>|</s>|<eos>")


def may_begin_call(cursor: Cursor, offered: OfferedTools) -> bool:
    """Whether the line at the cursor may begin an unmarked call; the cursor does not move."""
    sign = cursor.peek()
    if sign in "{[":
        return True
    if sign == "<":
        first = cursor.text[cursor.at + 1 : cursor.at + 2]
        if first and first not in offered.firsts:
            return False
        return any(cursor.looking_at(f"<{name}>") for name in offered.tools)
    if sign == "A" and cursor.looking_at(_ACTION):
        return True
    word = _WORD.match(cursor.text, cursor.at) if sign in offered.firsts else None
    if word is None:
        return False
    if word.end() == len(cursor.text) and not cursor.final:
        if any(name.startswith(word[0]) for name in offered.tools):
            raise NeedMoreText
        return False
    return offered.knows(word[0])


def read_fenced_action(cursor: Cursor, offered: OfferedTools, wasted: int) -> Region | None:
    """Command R's `Action:` with a list of calls in a fence below it, which counts as marked."""
    start = cursor.at
    if not cursor.accept(_ACTION):
        return None
    cursor.skip_space()
    return read_marked(cursor, offered, start, wasted) if cursor.peek() == "`" else None


def may_hold_calls(language: str) -> bool:
    """Whether a fence in this language may hold calls; one in a programming language may not."""
    return language.lower() in _CALL_LANGUAGES


def read_fence(cursor: Cursor, opening: Opening, offered: OfferedTools, *, marked_only: bool) -> Region:
    """The calls of a fence that holds nothing else; else a region with the end 0. Raises NeedMoreText."""
    inside = cursor.ahead(opening.content)
    calls: list[RawCall] = []
    inside.skip_space()
    while True:
        token = token_at(inside)
        if token.kind in ("open", "item"):
            before = inside.at
            inside.at += len(token.text) if token.kind == "open" else 0
            region = read_marked(inside, offered, before, 0)
        elif token.text or marked_only or calls or not _may_start(inside.peek()):
            return Region(0)
        else:
            region = read_unmarked(inside, offered, fence=opening.mark)
        if region is None:
            return Region(0)
        if region.problem is not None or region.example:
            alone = not token.text and (region.end == opening.content or not region.calls)
            return Region(0, problem=region.problem if alone else None, example=region.example)
        calls.extend(region.calls)
        inside.at = region.end
        inside.skip_space()
        end = inside.at if inside.at_end() else closing_at(inside, opening.mark)
        if end is not None:
            return Region(end, tuple(calls))
        if inside.looking_at(opening.mark):
            return Region(0)


def _may_start(sign: str) -> bool:
    """Whether an unmarked call can begin with a character."""
    return sign in ("{", "[", "<", "_") or sign.isalpha()


def read_unmarked(cursor: Cursor, offered: OfferedTools, *, fence: str) -> Region | None:
    """The unmarked calls on lines of their own, or inside a fence with the mark `fence`; None if it is text.

    The cursor must be at a character other than white space.
    """
    calls: list[RawCall] = []
    end = cursor.at
    while True:
        try:
            found = _read_call(cursor, offered, fence=fence)
        except ParseError as error:
            return _cut_call(cursor, offered, error, end) if not calls else None
        if not found or cursor.repaired:
            return None
        calls.extend(found)
        end = cursor.at
        if fence:
            cursor.skip_space()
        else:
            _skip_line_tail(cursor)
            end = cursor.at
        sign = cursor.peek()
        if sign in (",", ";"):
            cursor.at += 1
            end = cursor.at
            cursor.skip_blanks()
            if fence:
                cursor.skip_space()
            if cursor.peek() in (_LINE_END, "\r", "") or (fence and cursor.looking_at(fence)):
                break
            continue
        if (fence and not cursor.at_end() and not cursor.looking_at(fence)) or sign in ("{", "["):
            continue
        if fence or sign in (_LINE_END, "\r", "") or _at_special_token(cursor):
            break
        return None
    return Region(end, tuple(calls), example=any(map(offered.is_example, calls)))


def _cut_call(cursor: Cursor, offered: OfferedTools, error: ParseError, start: int) -> Region | None:
    """The problem with an unmarked call that is cut by the end of the text; the call stays visible."""
    if not error.cut or not cursor.final:
        return None
    text = cursor.text[start:]
    name = name_in(text, offered)
    if name not in offered.tools:
        return None
    return Region(end=start, problem=problem("cut", name, text, "the call was cut off"))


def _at_special_token(cursor: Cursor) -> bool:
    """Whether a special token of any model follows, which ends a call like a line end."""
    if cursor.peek() != "<":
        return False
    window = cursor.text[cursor.at : cursor.at + _LONGEST_TOKEN]
    if len(window) < _LONGEST_TOKEN and not any(sign in window for sign in ">\n"):
        cursor.require_final()
    return _SPECIAL_TOKEN.match(window) is not None


def _skip_line_tail(cursor: Cursor) -> None:
    """Step over an extra brace, and over tokens that a server left at the end of a line."""
    cursor.skip_blanks()
    if cursor.peek() == "}":
        cursor.at += 1
        cursor.skip_blanks()
    while True:
        token = token_at(cursor)
        if token.kind not in ("noise", "close"):
            return
        cursor.at += len(token.text)
        cursor.skip_blanks()


def _read_call(cursor: Cursor, offered: OfferedTools, *, fence: str) -> tuple[RawCall, ...] | None:
    sign = cursor.peek()
    if sign == "{" or (sign == "[" and _holds_json(cursor)):

        def watch(key: str, members: dict[str, Json]) -> bool:
            return may_be_call(key, members, offered)

        return calls_in(read_json(cursor, watch), offered, marked=False)
    if sign == "[":
        found = read_list(cursor, offered)
        return found if all(offered.knows(call.name) for call in found) else None
    if sign == "<":
        return _read_tags(cursor, offered)
    if sign == "A" and cursor.accept(_ACTION):
        return _read_react(cursor)
    if sign.isalpha() or sign == "_":
        return _read_name_above(cursor, offered, fence=fence)
    return None


def _holds_json(cursor: Cursor) -> bool:
    ahead = cursor.ahead(cursor.at + 1)
    ahead.skip_space()
    return ahead.peek() == "{"


def _read_tags(cursor: Cursor, offered: OfferedTools) -> tuple[RawCall, ...] | None:
    for name in sorted(offered.tools):
        if cursor.accept(f"<{name}>"):
            return (read_named_tags(cursor, name, frozenset(offered.properties[name])),)
    return None


def _read_react(cursor: Cursor) -> tuple[RawCall, ...] | None:
    cursor.skip_blanks()
    name = cursor.match(ACTION_NAME)
    if name is None:
        return None
    cursor.skip_space()
    if not cursor.accept("Action Input:"):
        return None
    cursor.skip_space()
    fenced = enter_fence(cursor)
    if cursor.peek() != "{":
        return None
    call = RawCall(name[0], read_json(cursor))
    if fenced:
        leave_fence(cursor)
    return (call,)


def _read_name_above(cursor: Cursor, offered: OfferedTools, *, fence: str) -> tuple[RawCall, ...] | None:
    """GLM-4's name on a line above its arguments; in a fence also a call in Python syntax."""
    start = cursor.at
    name = cursor.match(NAME)
    if name is None:
        return None
    cursor.skip_blanks()
    if offered.knows(name[0]) and cursor.peek() in ("\n", "\r"):
        cursor.skip_space()
        return (RawCall(name[0], read_json(cursor)),) if cursor.peek() == "{" else None
    if not fence:
        return None
    cursor.at = start
    cursor.match(_ASSIGNED, slack=1)
    call = read_call(cursor, offered)
    return (call,) if offered.knows(call.name) else None
