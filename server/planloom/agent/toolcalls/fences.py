"""Code fences: which may hold calls, and whether one holds nothing but calls (T4)."""

from __future__ import annotations

import re
from typing import NamedTuple

from planloom.agent.toolcalls.cursor import Cursor
from planloom.agent.toolcalls.events import CallProblem
from planloom.agent.toolcalls.offers import Offers, RawCall
from planloom.agent.toolcalls.regions import read_marked
from planloom.agent.toolcalls.unmarked import read_unmarked

_RUN = re.compile(r"(`{3,99}|~{3,99})[ \t]*([\w+#.-]{0,40})[ \t]*")
_INFO = 200
_OPEN_LANGUAGES = frozenset(
    {"", "json", "json5", "jsonc", "jsonl", "xml", "text", "txt", "plaintext", "tool_call", "tool_calls"}
    | {"tool_code", "tool_use", "tool", "function_call", "function_calls", "action"}
)


class Fence(NamedTuple):
    """A fence that stands open; in a `scanned` one marked calls still count."""

    mark: str
    scanned: bool


class FenceStart(NamedTuple):
    """The first line of a fence, which ends at `body`."""

    run: str
    language: str
    body: int

    def open(self) -> bool:
        """Whether a fence of this language may hold calls."""
        return self.language.lower() in _OPEN_LANGUAGES


class Fenced(NamedTuple):
    """What a fence holds; `end` is 0 where it is not made of calls alone."""

    end: int = 0
    calls: tuple[RawCall, ...] = ()
    problem: CallProblem | None = None
    doubt: bool = False


def fence_start(cursor: Cursor, *, at_line_start: bool) -> FenceStart | None:
    """The start of a fence at the cursor, which stays; None where the marks are inline code."""
    found = _RUN.match(cursor.text, cursor.at)
    if found is None:
        return None
    ahead = Cursor(cursor.text, found.end(), final=cursor.final)
    sign = ahead.peek()
    if sign == "\r":
        ahead.at += 1
        sign = ahead.peek()
    if sign == "\n":
        return FenceStart(found[1], found[2], ahead.at + 1)
    if not at_line_start or sign in ("", found[1][0]):
        return None
    if sign in ("{", "["):
        return FenceStart(found[1], found[2], ahead.at)
    line_end = cursor.text.find("\n", ahead.at, ahead.at + _INFO)
    if line_end < 0:
        if len(cursor.text) - ahead.at < _INFO:
            cursor.wait()
        return None
    if found[1] in cursor.text[ahead.at : line_end]:
        return None
    return FenceStart(found[1], found[2], line_end + 1)


def fence_end(cursor: Cursor, mark: str) -> int | None:
    """Where the line that closes a fence ends, if the cursor stands before it; the line end stays."""
    ahead = Cursor(cursor.text, cursor.at, final=cursor.final)
    ahead.inline_space()
    if not ahead.take(mark):
        return None
    while ahead.peek() == mark[0]:
        ahead.at += 1
    ahead.inline_space()
    return ahead.at if ahead.peek() in ("\n", "\r", "") else None


def read_fence(cursor: Cursor, start: FenceStart, offers: Offers, *, marked_only: bool) -> Fenced:
    """What stands in a fence. Raises More."""
    inside = Cursor(cursor.text, start.body, final=cursor.final)
    calls: list[RawCall] = []
    inside.space()
    while True:
        token = inside.token()
        if token is not None and token[1] in ("open", "item"):
            before = inside.at
            inside.at += len(token[0]) if token[1] == "open" else 0
            region = read_marked(inside, offers, before, 0)
        elif token is not None or marked_only or calls or not _may_start(inside.peek()):
            return Fenced()
        else:
            region = read_unmarked(inside, offers, fence=start.run)
        if region is None:
            return Fenced()
        if region.problem is not None or region.doubt:
            only_cut = region.problem if region.end == start.body or not region.calls else None
            return Fenced(problem=only_cut if token is None else None, doubt=region.doubt)
        calls.extend(region.calls)
        inside.at = region.end
        inside.space()
        if inside.at_end():
            return Fenced(end=inside.at, calls=tuple(calls))
        end = fence_end(inside, start.run)
        if end is not None:
            return Fenced(end=end, calls=tuple(calls))
        if inside.looking_at(start.run):
            return Fenced()


def _may_start(sign: str) -> bool:
    """Whether an unmarked call can begin with a character."""
    return sign in ("{", "[", "<", "_") or sign.isalpha()
