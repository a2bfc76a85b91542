"""Reads a region of text that holds calls, from a marker to its end tag."""

from __future__ import annotations

import re
from typing import NamedTuple

from planloom.agent.toolcalls.events import CallProblem
from planloom.agent.toolcalls.items import read_item
from planloom.agent.toolcalls.offered_tools import NO_TOOLS, OfferedTools, RawCall, problem
from planloom.agent.toolcalls.pythonic import NAME
from planloom.agent.toolcalls.tokens import END_TAGS, read_json, token_at
from planloom.domain.model_text.cursor import Cursor, ParseError

_NAME_IN_JSON = re.compile(r"""["']?(?:name|tool_name|tool)["']?\s{0,9}:\s{0,9}["']([\w.:-]{1,120})["']""")
_NAME_FIRST = re.compile(r"\W{0,40}([\w.:-]{1,120})")
_SEARCHED = 2_000
_MOST_MARKERS = 8
"""Markers that may precede one call: some families nest their wrappers."""
_MOST_WASTED = 100_000
ACTION_NAME = re.compile(r"[\w.:-]{1,120}")


class Region(NamedTuple):
    """A region that ends at `end`. An `example` only shows what a call looks like, and stays text.

    `wasted` counts characters that were read in vain.
    """

    end: int
    calls: tuple[RawCall, ...] = ()
    problem: CallProblem | None = None
    example: bool = False
    wasted: int = 0


def read_marked(
    cursor: Cursor, offered: OfferedTools, start: int, wasted: int, name: str | None = None
) -> Region | None:
    """The calls after a marker that begins at `start`; None if no call follows, so that the marker is text.

    `name` is the tool's name if the marker holds it and only the arguments follow.
    `wasted` counts the characters read in vain so far; beyond a limit a damaged call extends to the end of the
    text, which keeps time linear.
    """
    body = cursor.at
    calls: list[RawCall] = []
    try:
        while True:
            _skip_separators(cursor, first=not calls)
            before = cursor.at
            found = _next_calls(cursor, offered, name, first=not calls)
            if found is None:
                cursor.at = before
                break
            repaired, cursor.repaired = cursor.repaired, False
            after = cursor.at
            closed = _skip_closers(cursor)
            if repaired and not closed:
                raise ParseError("a closing bracket is missing", cut=cursor.at_end())
            calls.extend(found)
            if not closed:
                cursor.at = after
            if closed or not calls or name is not None:
                break
    except ParseError as error:
        # Calls before the damaged one in the region still count.
        return _damaged(cursor, offered, start, body, error, wasted)._replace(calls=tuple(calls))
    if not calls and before == cursor.at:
        return None if before == body else Region(end=before, example=True)
    end = cursor.at
    while end > body and cursor.text[end - 1].isspace():
        end -= 1
    calls = [call for call in calls if offered.name_of(call.name) not in NO_TOOLS]
    return Region(end, tuple(calls), example=any(map(offered.is_example, calls)))


def _next_calls(
    cursor: Cursor, offered: OfferedTools, name: str | None, *, first: bool
) -> tuple[RawCall, ...] | None:
    if first and name is not None:
        return (RawCall(name, read_json(cursor)),) if cursor.peek() == "{" else None
    return read_item(cursor, offered) if first or _may_begin_next(cursor, offered) else None


def _skip_separators(cursor: Cursor, *, first: bool) -> None:
    """Step over white space and over separators between calls."""
    for _ in range(_MOST_MARKERS):
        cursor.skip_space()
        if not first and cursor.peek() in (",", ";"):
            cursor.at += 1
            continue
        token = token_at(cursor)
        if token.kind != "open" or not first or token.text in (">>>", "functools"):
            return
        cursor.at += len(token.text)


def _may_begin_next(cursor: Cursor, offered: OfferedTools) -> bool:
    """Whether another call of the same region may begin at the cursor, after a complete one."""
    sign = cursor.peek()
    if sign in ("{", "["):
        return token_at(cursor).kind is None
    if sign == "<":
        return token_at(cursor).kind == "item"
    ahead = cursor.ahead()
    name = ahead.match(NAME)
    return (
        name is not None and ahead.peek() in ("(", "{", "[") and offered.knows(name[0].removesuffix(".call"))
    )


def _skip_closers(cursor: Cursor) -> bool:
    """Step over one extra brace, end tags, and a start tag written for an end tag. Returns whether there was a tag."""
    closed = False
    braces = 0
    while True:
        start = cursor.at
        cursor.skip_space()
        if not closed and not braces and cursor.peek() == "}":
            cursor.at += 1
            braces = 1
            continue
        token = token_at(cursor)
        if token.kind in ("close", "noise") or cursor.accept("</s>"):
            if token.kind in ("close", "noise"):
                cursor.at += len(token.text)
            closed = True
            continue
        if not closed and token.kind == "open" and token.text.startswith("<"):
            cursor.at += len(token.text)
            cursor.skip_space()
            if not _starts_item(cursor):
                return True
        cursor.at = start
        return closed


def _starts_item(cursor: Cursor) -> bool:
    """Whether a call follows a start tag, which then was not written for an end tag."""
    sign = cursor.peek()
    if sign in ("{", "[", "`"):
        return True
    if sign == "<":
        return token_at(cursor).kind == "item"
    ahead = cursor.ahead()
    if ahead.match(ACTION_NAME) is None:
        return False
    ahead.skip_blanks()
    return ahead.peek() in ("\n", "(", "{", "[", "<")


def _damaged(
    cursor: Cursor,
    offered: OfferedTools,
    start: int,
    body: int,
    error: ParseError,
    wasted: int,
) -> Region:
    """The region of a damaged call, with the problem to report."""
    reached = max(cursor.at, body)
    closing = END_TAGS.search(cursor.text, body)
    if closing is not None and wasted < _MOST_WASTED:
        end = closing.end()
    else:
        cursor.require_final()
        closing = None
        end = len(cursor.text)
    text = cursor.text[start:end]
    name = name_in(cursor.text[body:end], offered)
    cut = error.cut and closing is None
    sentence = "the call was cut off" if cut else f"the call cannot be read: {error.problem}"
    return Region(
        end=end,
        problem=problem("cut" if cut else "malformed", name, text, sentence),
        wasted=max(0, (len(cursor.text) if error.cut else reached) - end),
    )


def name_in(text: str, offered: OfferedTools) -> str:
    """The tool that a damaged call seems to name, for the problem's message; empty if it names none."""
    found = _NAME_IN_JSON.search(text[:_SEARCHED]) or _NAME_FIRST.match(text)
    return offered.name_of(found[1].removeprefix("function=")) if found else ""
