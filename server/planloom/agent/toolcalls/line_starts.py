"""What counts only where a line begins: unmarked calls (T4), fences, block quotes, diffs, invented results."""

from __future__ import annotations

import re

from planloom.agent.toolcalls.cursor import Cursor, More
from planloom.agent.toolcalls.fences import Fence, fence_end, fence_start, read_fence
from planloom.agent.toolcalls.lines import Brackets
from planloom.agent.toolcalls.regions import Region, read_marked
from planloom.agent.toolcalls.state import State
from planloom.agent.toolcalls.unmarked import read_unmarked

_INDENT = re.compile(r"[ \t]*")
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_STRIPPED_START = "analysis"
_FREE_TEXT = ("all\n", "all\r\n")
"""The recipient of free text in the Functionary family, with its line end."""
_OBSERVATION = "Observation:"


def free_text(cursor: Cursor) -> int:
    """The length of the header of free text that stands here, 0 if there is none."""
    return next((len(header) for header in _FREE_TEXT if cursor.looking_at(header)), 0)


class LineStarts(State):
    """The part of the reader that looks at the beginning of lines."""

    def _begin_line(self) -> bool:
        """Take what only counts at the start of a line; whether anything was taken."""
        if self._diff and self._fence is None:
            self._diff = self._text[self._at] in " +-\\@\n"
            self._line_is_text = self._line_is_text or self._diff
        if self._fence is not None:
            return self._begin_line_in_fence(self._fence)
        indent = _INDENT.match(self._text, self._at)
        if indent is not None and indent.end() > self._at:
            self._show(indent.end())
            return True
        sign = self._text[self._at]
        if sign == "\n" or self._line_is_text:
            self._line_start = False
            return False
        cursor = self._cursor()
        if sign in "`~" and cursor.looking_at(sign * 3):
            if self._open_fence(at_line_start=True):
                return True
        elif sign in ">+-@":
            self._begin_quote(cursor, sign)
        elif sign == "O" and cursor.looking_at(_OBSERVATION):
            self._stopped = True
        elif sign == "a" and self._base + self._at == 0 and self._begin_text(cursor):
            return True
        taken = self._unmarked(sign)
        self._line_start = False
        return taken

    def _begin_line_in_fence(self, fence: Fence) -> bool:
        cursor = self._cursor()
        cursor.inline_space()
        sign = cursor.peek()
        if sign == fence.mark[0]:
            end = fence_end(self._cursor(), fence.mark)
            if end is not None:
                self._show(end, quiet=True)
                self._fence = None
        elif sign in ("<", "["):
            token = cursor.token()
            # The end of reasoning also ends a fence that was left open in it.
            if token is not None and token[1] == "unthink":
                self._fence = None
        self._line_start = False
        return False

    def _begin_quote(self, cursor: Cursor, sign: str) -> None:
        """Block quotes and lines of a diff are text (T5)."""
        if sign == ">":
            if cursor.looking_at(">>>"):
                cursor.at += 3
                self._line_is_text = not (cursor.peek().isalpha() or cursor.peek() == "_")
            else:
                self._line_is_text = True
        elif sign == "@":
            self._diff = cursor.looking_at("@@ ")
            self._line_is_text = self._diff
        elif sign == "-":
            cursor.at += 1
            self._line_is_text = cursor.peek() not in (" ", "\t", "\n", "")
        else:
            self._line_is_text = True

    def _begin_text(self, cursor: Cursor) -> bool:
        """What a server leaves of a header at the very start of a text."""
        free = free_text(cursor)
        if free:
            self._at += free
            return True
        self._stripped = cursor.looking_at(_STRIPPED_START)
        return False

    def _unmarked(self, sign: str) -> bool:
        """Take a call without a marker that begins this line (T4)."""
        if self._marked_only or self._stopped or self._brackets is not None or not self._may_begin_call(sign):
            return False
        cursor = self._cursor()
        if cursor.token() is not None:
            return False
        region = read_unmarked(cursor, self._offers, fence="")
        start = self._at
        if region is None or region.problem is not None:
            if region is not None and not self._lines.cued():
                self._say.problem(region.problem)
            if sign in "{[":
                self._brackets = Brackets()
            self._show(start + 1)
            return True
        if self._lines.cued() or region.doubt or not self._deliver(region, marked=False):
            self._show(region.end, quiet=True)
        self._at = region.end
        return True

    def _may_begin_call(self, sign: str) -> bool:
        if sign in "{[":
            return True
        cursor = self._cursor()
        if sign == "<":
            behind = self._text[self._at + 1 : self._at + 2]
            if behind and behind not in self._offers.firsts:
                return False
            return any(cursor.looking_at(f"<{name}>") for name in self._offers.tools)
        if sign == "A" and cursor.looking_at("Action:"):
            # Command R's fenced actions carry their own marker.
            cursor.at += len("Action:")
            cursor.space()
            return cursor.peek() != "`" or not self._fenced_action(cursor)
        if sign not in self._offers.firsts:
            return False
        word = _NAME.match(self._text, self._at)
        if word is None:
            return False
        if word.end() == len(self._text) and not self._final:
            if any(name.startswith(word[0]) for name in self._offers.tools):
                raise More
            return False
        return self._offers.knows(word[0])

    def _fenced_action(self, cursor: Cursor) -> bool:
        region = read_marked(cursor, self._offers, self._at, self._wasted)
        if region is None:
            return False
        self._take_region(region)
        return True

    def _open_fence(self, *, at_line_start: bool) -> bool:
        start = fence_start(self._cursor(), at_line_start=at_line_start)
        if start is None:
            return False
        cued = start.open() and self._lines.cued()
        scanned = start.open() and not self._stopped and not cued
        if scanned:
            fenced = read_fence(self._cursor(), start, self._offers, marked_only=self._marked_only)
            if fenced.problem is not None:
                self._say.problem(fenced.problem)
            if fenced.end and self._deliver(Region(fenced.end, fenced.calls), marked=False):
                self._at = fenced.end
                self._line_start = False
                return True
            scanned = not fenced.doubt and not fenced.end
        self._show(start.body, quiet=True)
        if not cued:
            self._lines.set_last("```")
        self._fence = Fence(start.run, scanned)
        self._line_start = start.body == len(self._text) or self._text[start.body - 1] == "\n"
        return True
