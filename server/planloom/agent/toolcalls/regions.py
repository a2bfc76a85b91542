"""A stretch of text that holds calls: from a marker to its end tag, or unmarked on lines of its own."""

from __future__ import annotations

import re
from typing import NamedTuple

from planloom.agent.toolcalls.cursor import Broken, Cursor
from planloom.agent.toolcalls.events import CallProblem
from planloom.agent.toolcalls.items import read_item, step_into_fence, take_fence_end
from planloom.agent.toolcalls.loose_json import read_value
from planloom.agent.toolcalls.offers import NO_TOOLS, Offers, RawCall, problem
from planloom.agent.toolcalls.pythonic import NAME, read_call, read_list
from planloom.agent.toolcalls.shapes import calls_in, may_be_call
from planloom.agent.toolcalls.tokens import CLOSE_OR_OPEN
from planloom.agent.toolcalls.xml_calls import read_named_tags
from planloom.domain.values import Json

_NAME_IN_TEXT = re.compile(
    r"""["']?(?:name|tool_name|tool)["']?\s*:\s*["']([\w.:-]{1,120})["']|^\W*([\w.:-]{1,120})"""
)
_MOST_MARKERS = 8
"""How many markers may stand before one call: wrappers in wrappers."""
_MOST_WASTED = 100_000
_ACTION_NAME = re.compile(r"[\w.:-]{1,120}")
_ASSIGNED = re.compile(r"[A-Za-z_]\w{0,80}[ \t]*=[ \t]*(?=[A-Za-z_])")
_LINE_END = "\n"


class Region(NamedTuple):
    """A stretch that ends at `end`. `doubt` keeps it text: it only shows what a call looks like."""

    end: int
    calls: tuple[RawCall, ...] = ()
    problem: CallProblem | None = None
    doubt: bool = False
    wasted: int = 0


def read_marked(
    cursor: Cursor, offers: Offers, start: int, wasted: int, name: str | None = None
) -> Region | None:
    """The calls behind a marker that began at `start`; None if none begin: then the marker is text.

    `name` is given where the marker has said it, and the arguments alone follow.
    `wasted` counts characters read in vain so far; beyond a limit a damaged call takes all that was read.
    """
    body = cursor.at
    calls: list[RawCall] = []
    try:
        while True:
            _separators(cursor, first=not calls)
            before = cursor.at
            found = _next(cursor, offers, name, first=not calls)
            if found is None:
                cursor.at = before
                break
            calls.extend(found)
            mended, cursor.mended = cursor.mended, False
            after = cursor.at
            closed = _closers(cursor)
            if mended and not closed:
                raise Broken("a closing bracket is missing", cut=cursor.at_end())
            if not closed:
                cursor.at = after
            if not calls or name is not None:
                break
    except Broken as broken:
        return _damaged(cursor, offers, start, body, broken, calls, wasted)
    if not calls and before == cursor.at:
        return None if before == body else Region(end=before, doubt=True)
    end = cursor.at
    while end > body and cursor.text[end - 1].isspace():
        end -= 1
    calls = [call for call in calls if offers.name_of(call.name) not in NO_TOOLS]
    doubt = any(offers.doubt(call) is not None for call in calls)
    return Region(end=end, calls=tuple(calls), doubt=doubt)


def _next(cursor: Cursor, offers: Offers, name: str | None, *, first: bool) -> tuple[RawCall, ...] | None:
    if first and name is not None:
        return (RawCall(name, read_value(cursor)),) if cursor.peek() == "{" else None
    return read_item(cursor, offers) if first or _may_go_on(cursor, offers) else None


def _separators(cursor: Cursor, *, first: bool) -> None:
    """Step over white space, and what stands between calls."""
    for _ in range(_MOST_MARKERS):
        cursor.space()
        if not first and cursor.peek() in (",", ";") and cursor.peek():
            cursor.at += 1
            continue
        token = cursor.token()
        if token is None or token[1] != "open" or not first or token[0] in (">>>", "functools"):
            return
        cursor.at += len(token[0])


def _may_go_on(cursor: Cursor, offers: Offers) -> bool:
    """Whether another call of the same stretch may begin here, behind a whole one."""
    sign = cursor.peek()
    if sign in ("{", "["):
        token = cursor.token()
        return token is None
    if sign == "<":
        token = cursor.token()
        return token is not None and token[1] == "item" and token[0].startswith("<")
    ahead = Cursor(cursor.text, cursor.at, final=cursor.final)
    name = ahead.match(NAME)
    return (
        name is not None and ahead.peek() in ("(", "{", "[") and offers.knows(name[0].removesuffix(".call"))
    )


def _closers(cursor: Cursor) -> bool:
    """Step over what ends a call: one brace too many, end tags, and a start tag in their place."""
    closed = False
    braces = 0
    while True:
        start = cursor.at
        cursor.space()
        if not closed and not braces and cursor.peek() == "}":
            cursor.at += 1
            braces = 1
            continue
        token = cursor.token()
        if token is not None and token[1] in ("close", "noise"):
            cursor.at += len(token[0])
            closed = True
            continue
        if token is not None and not closed and token[0].startswith("<") and token[1] == "open":
            cursor.at += len(token[0])
            cursor.space()
            if not _starts_item(cursor):
                return True
        cursor.at = start
        return closed


def _starts_item(cursor: Cursor) -> bool:
    """Whether a start tag is followed by a call, so that it is no end tag in disguise."""
    sign = cursor.peek()
    if sign in ("{", "[", "`"):
        return True
    if sign == "<":
        token = cursor.token()
        return token is not None and token[1] == "item"
    ahead = Cursor(cursor.text, cursor.at, final=cursor.final)
    if ahead.match(_ACTION_NAME) is None:
        return False
    ahead.inline_space()
    return ahead.peek() in ("\n", "(", "{", "[", "<")


def _damaged(
    cursor: Cursor, offers: Offers, start: int, body: int, broken: Broken, calls: list[RawCall], wasted: int
) -> Region:
    """Where a damaged call ends, and what is told about it. Calls before it in the stretch still count."""
    reached = max(cursor.at, body)
    closing = CLOSE_OR_OPEN.search(cursor.text, body)
    if closing is not None and wasted < _MOST_WASTED:
        end = closing.end()
    else:
        cursor.wait()
        closing = None
        end = len(cursor.text)
    text = cursor.text[start:end]
    said = _NAME_IN_TEXT.search(text[:2_000], min(body - start, 2_000))
    name = offers.name_of(next((group for group in said.groups() if group), "")) if said else ""
    cut = broken.cut and closing is None
    sentence = "the call was cut off" if cut else f"the call cannot be read: {broken.problem}"
    return Region(
        end=end,
        calls=tuple(calls),
        problem=problem("cut" if cut else "malformed", name, text, sentence),
        wasted=max(0, (len(cursor.text) if broken.cut else reached) - end),
    )


def read_unmarked(cursor: Cursor, offers: Offers, *, fence: bool) -> Region | None:
    """Calls without a marker on lines of their own (T4), or in a fence; None if it is text.

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
            if cursor.peek() in (_LINE_END, "\r", "") or (fence and cursor.looking_at("```")):
                break
            continue
        if (fence and not cursor.at_end() and not cursor.looking_at("```")) or sign in ("{", "["):
            continue
        if fence or sign in (_LINE_END, "\r", ""):
            break
        return None
    doubt = any(offers.doubt(call) is not None for call in calls)
    return Region(end=ends, calls=tuple(calls), doubt=doubt)


def _cut(cursor: Cursor, offers: Offers, broken: Broken, start: int) -> Region | None:
    """An unmarked call that the end of the text cuts is told, and stays visible."""
    if not broken.cut or not cursor.final:
        return None
    text = cursor.text[start:]
    said = _NAME_IN_TEXT.search(text[:2_000])
    name = offers.name_of(next((group for group in said.groups() if group), "")) if said else ""
    if name not in offers.tools:
        return None
    return Region(end=start, problem=problem("cut", name, text, "the call was cut off"))


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


def _read_bare(cursor: Cursor, offers: Offers, *, fence: bool) -> tuple[RawCall, ...] | None:
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
    name = cursor.match(_ACTION_NAME)
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


def _named_line(cursor: Cursor, offers: Offers, *, fence: bool) -> tuple[RawCall, ...] | None:
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
