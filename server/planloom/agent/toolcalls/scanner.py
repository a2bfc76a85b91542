"""Walks through a model's text once, from one mark to the next, and says what each stretch is."""

from __future__ import annotations

import re
from functools import cache

from planloom.agent.toolcalls.cursor import Cursor, More
from planloom.agent.toolcalls.harmony import Header, read_header
from planloom.agent.toolcalls.line_starts import LineStarts, free_text
from planloom.agent.toolcalls.regions import read_marked
from planloom.agent.toolcalls.tokens import (
    HARMONY_ENDS,
    STRIPPED_ANSWER,
    THINK,
    Kind,
    kind_of,
    one_of,
    partial_at_end,
)

_NAME = re.compile(r"[A-Za-z_][\w.-]*")


@cache
def _ends_of(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(one_of(words))


@cache
def _closing_run(ticks: int) -> re.Pattern[str]:
    """What closes inline code that so many backticks opened, or the end of the line."""
    return re.compile(rf"(?<!`)`{{{ticks}}}(?!`)|\n")


class Scanner(LineStarts):
    """The walk. `read` takes more text; `said` gives what it came to."""

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

    def _step(self) -> None:
        if self._line_start and self._begin_line():
            return
        if self._line_is_text or (self._fence is not None and not self._fence.scanned):
            self._skip_line()
            return
        mark = self._next_mark()
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

    def _functionary(self, cursor: Cursor) -> bool:
        """Whether a name and an object follow `>>>`; free text under `all` is shown without its header."""
        free = free_text(cursor)
        if free:
            self._at = cursor.at + free
            self._line_start = True
            return False
        ahead = self._cursor(cursor.at)
        if ahead.match(_NAME) is not None and ahead.peek() in ("\n", "\r"):
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
