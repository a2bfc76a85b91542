"""Walks through a model's text once, from one mark to the next, and says what each stretch is."""

from __future__ import annotations

import re
from functools import cache

from planloom.agent.toolcalls.cursor import Cursor, More
from planloom.agent.toolcalls.events import ReaderEvent
from planloom.agent.toolcalls.fences import Fence, fence_end, fence_start, read_fence
from planloom.agent.toolcalls.harmony import Header, read_header
from planloom.agent.toolcalls.lines import Brackets, Lines
from planloom.agent.toolcalls.offers import Offers
from planloom.agent.toolcalls.regions import Region, read_marked, read_unmarked
from planloom.agent.toolcalls.sayings import Sayings
from planloom.agent.toolcalls.tokens import (
    HARMONY_ENDS,
    STRIPPED_ANSWER,
    THINK,
    TOKENS,
    Kind,
    kind_of,
    one_of,
    partial_at_end,
)

_IN_LINE = f"{one_of(TOKENS)}|`{{1,99}}"
_LINE_STARTS = "{[`~>+@<OA-"
"""Characters that mean something where a line begins, besides those of the tools' names."""
_INDENT = re.compile(r"[ \t]*")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)*")
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_CALL_LINE = re.compile(r">>>(?=[A-Za-z_])")
_STRIPPED_START = "analysis"
_ALL = "all\n"
_OBSERVATION = "Observation:"


@cache
def _ends_of(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(one_of(words))


@cache
def _closing_run(ticks: int) -> re.Pattern[str]:
    """What closes inline code that so many backticks opened, or the end of the line."""
    return re.compile(rf"(?<!`)`{{{ticks}}}(?!`)|\n")


_LINE_MARK = re.compile(rf"{_IN_LINE}|\n")


class Scanner:
    """The state between two marks. `held` is how many characters wait for more text."""

    def __init__(self, offers: Offers, *, marked_only: bool = False) -> None:
        self._offers = offers
        self._marked_only = marked_only
        self._say = Sayings(offers)
        # Most lines are prose: only a line end before something that could matter is stopped at.
        starts = re.escape(_LINE_STARTS + "".join(sorted(offers.firsts)))
        self._mark = re.compile(rf"{_IN_LINE}|\n(?=[ \t\n{starts}]|\Z)")
        self._text = ""
        self._at = 0
        self._base = 0
        self._before = ""
        self._final = False
        self._lines = Lines()
        self._fresh = True
        self._line_start = True
        self._line_is_text = False
        self._diff = False
        self._fence: Fence | None = None
        self._brackets: Brackets | None = None
        self._ticks = 0
        self._code_until = 0
        self._thinking: tuple[str, ...] = ()
        self._thought: list[str] = []
        self._stripped = False
        self._stopped = False
        self._wasted = 0

    @property
    def held(self) -> int:
        return len(self._text) - self._at

    def said(self) -> tuple[ReaderEvent, ...]:
        return self._say.flush()

    def release(self) -> None:
        """Show what is held as it is."""
        self._show(len(self._text))

    def read(self, more: str, *, final: bool) -> None:
        """Go on as far as the text allows."""
        if self._at:
            self._before = self._text[self._at - 1]
        self._base += self._at
        self._text = self._text[self._at :] + more
        self._at = 0
        self._final = final
        try:
            while self._at < len(self._text):
                if self._thinking:
                    self._think_on()
                else:
                    self._step()
        except More:
            if final:
                raise
        if final and self._thinking:
            self._read_open_thought()

    def _cursor(self, at: int | None = None) -> Cursor:
        return Cursor(self._text, self._at if at is None else at, final=self._final)

    def _show(self, end: int, *, quiet: bool = False) -> None:
        """Show the text up to `end`; `quiet` where it says nothing about what follows it."""
        text = self._text[self._at : end]
        self._at = end
        self._say.text(text)
        if not quiet:
            self._lines.add(text)
        if self._brackets is not None:
            self._brackets.add(text)
            if not self._brackets.open:
                self._brackets = None

    def _step(self) -> None:
        if self._line_start and self._begin_line():
            return
        if self._line_is_text or (self._fence is not None and not self._fence.scanned):
            self._skip_line()
            return
        mark = (_LINE_MARK if self._careful() else self._mark).search(self._text, self._at)
        if mark is None:
            end = len(self._text) if self._final else partial_at_end(self._text, self._at)
            if end > self._at:
                self._show(end)
                self._line_start = False
            if end < len(self._text):
                raise More
            return
        if mark.start() > self._at:
            self._show(mark.start())
            self._line_start = False
        sign = mark[0]
        if sign == "\n":
            self._end_line()
        elif sign[0] == "`":
            self._tick(mark)
        else:
            self._token(sign)

    def _skip_line(self) -> None:
        """Show the rest of a line that is text whatever it holds."""
        end = self._text.find("\n", self._at)
        self._show(len(self._text) if end < 0 else end)
        self._line_start = False
        if end >= 0:
            self._end_line()

    def _careful(self) -> bool:
        """Whether every line end matters here."""
        return bool(self._ticks or self._diff or self._line_is_text)

    def _pass(self, token: str) -> None:
        """Show a token that is text here."""
        self._show(self._at + len(token))
        self._line_start = False

    def _end_line(self) -> None:
        found = _BLANK_LINES.match(self._text, self._at)
        self._show(found.end() if found is not None else self._at + 1)
        self._line_start = True
        self._line_is_text = False
        self._ticks = 0

    def _tick(self, mark: re.Match[str]) -> None:
        if mark.end() == len(self._text) and not self._final and len(mark[0]) < 99:
            raise More
        run = len(mark[0])
        if (
            self._fence is None
            and run >= 3
            and not self._line_is_text
            and self._open_fence(at_line_start=False)
        ):
            return
        if self._fence is None:
            if self._ticks == 0:
                self._ticks = run
            elif self._ticks == run:
                self._ticks = 0
        self._show(mark.end())
        self._line_start = False

    # How a line begins.

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
        elif self._fresh and sign == "a" and self._begin_text(cursor):
            return True
        self._fresh = False
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
        if cursor.looking_at(_ALL):
            self._at += len(_ALL)
            self._fresh = False
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
        region = read_unmarked(cursor, self._offers, fence=False)
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

    # Tokens.

    def _token(self, token: str) -> None:
        before = self._text[self._at - 1] if self._at else self._before
        kind = kind_of(token)
        if token[0].isalpha() and before.isalnum() and not token.startswith("assistant"):
            self._pass(token[0])
        elif self._is_text(token, kind):
            self._pass(token)
        elif kind == "think":
            self._at += len(token)
            self._thinking = THINK[token]
        elif kind == "unthink":
            self._at += len(token)
            self._retract()
        elif kind == "result":
            self._stopped = True
            self._pass(token)
        elif kind == "noise":
            self._at += len(token)
        elif kind == "close" or (self._stopped and kind != "harmony"):
            self._pass(token)
        elif kind == "harmony":
            self._harmony(token)
        else:
            self._call(token, kind)

    def _is_text(self, token: str, kind: Kind) -> bool:
        """Whether a token means nothing here: in inline code, in a string of data, in reasoning that is read again."""
        if self._marked_only and kind in ("think", "unthink"):
            return True
        return self._in_code(token) or (self._brackets is not None and self._brackets.in_string)

    def _in_code(self, token: str) -> bool:
        """Whether a token stands in inline code that is closed on its line."""
        if not self._ticks:
            return False
        here = self._base + self._at
        if here < self._code_until:
            return True
        found = _closing_run(self._ticks).search(self._text, self._at + len(token))
        if not self._final and (found is None or found.end() == len(self._text)):
            raise More
        if found is None or found[0] == "\n":
            self._ticks = 0
            return False
        self._code_until = self._base + found.start()
        return True

    def _call(self, token: str, kind: Kind) -> None:
        cursor = self._cursor()
        if kind == "open":
            cursor.at += len(token)
        if token == ">>>" and not self._functionary(cursor):
            return
        if token == "functools" and cursor.peek() != "[":
            self._pass(token)
            return
        region = read_marked(cursor, self._offers, self._at, self._wasted)
        if region is None:
            self._pass(token)
            return
        if token.startswith("assistant") and self._stripped:
            self._retract()
        self._take_region(region)

    def _take_region(self, region: Region) -> None:
        self._wasted += region.wasted
        if region.doubt:
            self._show(region.end, quiet=True)
        else:
            self._deliver(region, marked=True)
            self._at = region.end
        self._line_start = False

    def _functionary(self, cursor: Cursor) -> bool:
        """Whether a name and an object follow `>>>`; free text under `all` is shown without its header."""
        if cursor.looking_at(_ALL):
            self._at = cursor.at + len(_ALL)
            self._line_start = True
            return False
        ahead = self._cursor(cursor.at)
        if ahead.match(_NAME) is not None and ahead.peek() == "\n":
            ahead.space()
            if ahead.peek() == "{":
                return True
        self._pass(">>>")
        return False

    def _harmony(self, token: str) -> None:
        if token == STRIPPED_ANSWER:
            if not self._stripped:
                self._pass(token)
                return
            self._at += len(token)
            self._retract()
            return
        header = read_header(self._cursor())
        if header is None:
            self._at += len(token)
            return
        if header.role.startswith(("functions.", "tool")):
            self._stopped = True
        if header.recipient and header.recipient != "assistant" and not self._stopped:
            self._addressed(header)
            return
        self._at = header.end
        self._line_start = True
        if header.channel == "analysis" and not self._marked_only:
            self._thinking = HARMONY_ENDS

    def _addressed(self, header: Header) -> None:
        cursor = self._cursor(header.end)
        cursor.space()
        region = read_marked(cursor, self._offers, self._at, self._wasted, header.recipient)
        if region is None:
            self._at = header.end
            return
        self._take_region(region)

    def _deliver(self, region: Region, *, marked: bool) -> bool:
        """Say the calls of a region; false if it should stay visible, being unmarked and no call of ours."""
        good = [
            self._say.call(call, self._text[self._at : region.end], marked=marked) for call in region.calls
        ]
        if region.problem is not None and not self._stopped:
            self._say.problem(region.problem)
        return marked or any(good)

    # Reasoning.

    def _think_on(self) -> None:
        closing = _ends_of(self._thinking).search(self._text, self._at)
        if closing is None:
            end = len(self._text) if self._final else partial_at_end(self._text, self._at)
            self._think(end)
            if end < len(self._text):
                raise More
            return
        quoted = self._text[closing.start() - 1 : closing.start()] == "`"
        if quoted and self._cursor(closing.end()).peek() == "`":
            self._think(closing.end())
            return
        self._think(closing.start())
        if closing[0] not in ("<|start|>", "<|channel|>"):
            self._at = closing.end()
        self._thinking = ()
        self._thought.clear()
        self._line_start = self._line_start or self._lines.blank()

    def _think(self, end: int) -> None:
        text = self._text[self._at : end]
        self._at = end
        self._thought.append(text)
        self._say.thought(text)

    def _read_open_thought(self) -> None:
        """A marked call in reasoning that is never closed counts (T7)."""
        inner = Scanner(self._offers, marked_only=True)
        inner.read("".join(self._thought), final=True)
        self._thinking = ()
        if not self._stopped:
            self._say.take_from(inner._say)

    def _retract(self) -> None:
        """The end of reasoning that never began: all before it was thought (T7)."""
        self._say.retract()
        self._lines.clear()
        self._stopped = self._stripped = self._line_is_text = self._diff = False
        self._fence = self._brackets = None
        self._ticks = 0
        self._line_start = True
