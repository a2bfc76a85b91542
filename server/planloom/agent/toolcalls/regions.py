"""A stretch of text that holds calls: from a marker to its end tag."""

from __future__ import annotations

import re
from typing import NamedTuple

from planloom.agent.toolcalls.cursor import Broken, Cursor
from planloom.agent.toolcalls.events import CallProblem
from planloom.agent.toolcalls.items import read_item
from planloom.agent.toolcalls.loose_json import read_value
from planloom.agent.toolcalls.offers import NO_TOOLS, Offers, RawCall, problem
from planloom.agent.toolcalls.pythonic import NAME
from planloom.agent.toolcalls.tokens import CLOSE_OR_OPEN

_NAME_IN_JSON = re.compile(r"""["']?(?:name|tool_name|tool)["']?\s{0,9}:\s{0,9}["']([\w.:-]{1,120})["']""")
_NAME_FIRST = re.compile(r"\W{0,40}([\w.:-]{1,120})")
_SEARCHED = 2_000
_MOST_MARKERS = 8
"""How many markers may stand before one call: wrappers in wrappers."""
_MOST_WASTED = 100_000
ACTION_NAME = re.compile(r"[\w.:-]{1,120}")


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
            mended, cursor.mended = cursor.mended, False
            after = cursor.at
            closed = _closers(cursor)
            if mended and not closed:
                raise Broken("a closing bracket is missing", cut=cursor.at_end())
            calls.extend(found)
            if not closed:
                cursor.at = after
            if closed or not calls or name is not None:
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
        if cursor.peek() == "<" and cursor.take("</s>"):
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
    if ahead.match(ACTION_NAME) is None:
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
    name = name_in(cursor.text[body:end], offers)
    cut = broken.cut and closing is None
    sentence = "the call was cut off" if cut else f"the call cannot be read: {broken.problem}"
    return Region(
        end=end,
        calls=tuple(calls),
        problem=problem("cut" if cut else "malformed", name, text, sentence),
        wasted=max(0, (len(cursor.text) if broken.cut else reached) - end),
    )


def name_in(text: str, offers: Offers) -> str:
    """The tool that a damaged call seems to mean, for the message about it; empty if it says none."""
    said = _NAME_IN_JSON.search(text[:_SEARCHED]) or _NAME_FIRST.match(text)
    return offers.name_of(said[1].removeprefix("function=")) if said else ""
