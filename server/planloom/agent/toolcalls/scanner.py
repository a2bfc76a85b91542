"""Scans a model's text once, from mark to mark, and classifies each part of it (docs/model-text.md).

At each moment the scanner is in one of these states, tried in this order:

* reasoning (`_closes` holds the tags that end it): all text up to such a tag is reasoning.
* the start of a line (`_line_start`): unmarked calls, fences, quotations and invented results begin only here.
* a line of text (`_line_is_text`, or a fence in a programming language): shown to its end, whatever it holds.
* within a line: text is shown up to the next mark, which is a token, backticks or a line end.

Independent of the state are the open `_fence`, the `_json` that is skipped because it is not a call, the inline
`_code` of the line, and `_stopped`, set after an invented tool result: from there on nothing counts as a call.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from planloom.agent.toolcalls.events import ReaderEvent
from planloom.agent.toolcalls.headers import free_text_header, names_call, read_header
from planloom.agent.toolcalls.line_context import InlineCode, JsonSkipper, LineContext, is_quotation
from planloom.agent.toolcalls.offered_tools import OfferedTools
from planloom.agent.toolcalls.parser_output import ParserOutput
from planloom.agent.toolcalls.regions import Region, read_marked
from planloom.agent.toolcalls.tokens import STRIPPED_ANSWER, TOKEN_SET, Kind, kind_of, token_at
from planloom.agent.toolcalls.unmarked import (
    may_begin_call,
    may_hold_calls,
    read_fence,
    read_fenced_action,
    read_unmarked,
)
from planloom.domain.model_text.cursor import Cursor, NeedMoreText
from planloom.domain.model_text.fences import closing_at, opening_at
from planloom.domain.model_text.reasoning import HARMONY_ENDS, REASONING_TAGS
from planloom.domain.model_text.token_set import one_of

_IN_LINE = f"{TOKEN_SET.pattern.pattern}|`{{1,99}}"
_LINE_STARTS = "{[`~>+@<OA-"
"""Characters with a meaning at the start of a line, besides the first letters of the tools' names."""
_LINE_MARK = re.compile(rf"{_IN_LINE}|\n")
_DEEP_MARK = re.compile(rf"{_IN_LINE}|\n(?=[ \t\r\n`~>+@O-]|\Z)|(?<=\r)\n")
"""The marks inside brackets too deep to be JSON, where no unmarked call begins."""
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)*")
_INDENT = re.compile(r"[ \t]+")
_STRIPPED_START = "analysis"
_OBSERVATION = "Observation:"


@cache
def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(one_of(words))


class _Fence(NamedTuple):
    """An open fence; marked calls count only in a `scanned` one."""

    mark: str
    scanned: bool


class Scanner:
    """`read` adds text, `events` returns the results. With `marked_only`, unmarked calls are text."""

    def __init__(self, offered: OfferedTools, *, marked_only: bool = False) -> None:
        self._offered = offered
        self._marked_only = marked_only
        self._output = ParserOutput(offered)
        # Most lines are prose: the scanner stops only at a line end before a character with a meaning.
        starts = re.escape(_LINE_STARTS + "".join(sorted(offered.firsts)))
        self._mark = re.compile(rf"{_IN_LINE}|\n(?=[ \t\n{starts}]|\Z)")
        self._call_starts = offered.firsts.union("{[<A")
        self._text = ""
        self._at = 0
        self._base = 0
        self._before = ""
        self._final = False
        self._context = LineContext()
        self._line_start = True
        self._line_is_text = False
        self._diff = False
        self._fence: _Fence | None = None
        self._json: JsonSkipper | None = None
        self._code = InlineCode()
        self._closes: tuple[str, ...] = ()
        self._reasoning: list[str] = []
        self._stripped = False
        self._stopped = False
        self._wasted = 0

    @property
    def held(self) -> int:
        """How many characters are held back until more text comes."""
        return len(self._text) - self._at

    def events(self) -> tuple[ReaderEvent, ...]:
        return self._output.flush()

    def release(self) -> None:
        """Show the held text as it is."""
        self._show(len(self._text))

    def read(self, more: str, *, final: bool) -> None:
        """Scan as far as the text allows. Raises NeedMoreText if the final text is still undecided."""
        if self._at:
            self._before = self._text[self._at - 1]
        self._base += self._at
        self._text = self._text[self._at :] + more
        self._at = 0
        self._final = final
        try:
            while self._at < len(self._text):
                self._step()
        except NeedMoreText:
            if final:
                raise
        if final and self._closes:
            self._read_unclosed_reasoning()

    def _step(self) -> None:
        if self._closes:
            self._reason()
        elif not (self._line_start and self._begin_line()):
            if self._line_is_text or (self._fence is not None and not self._fence.scanned):
                self._show_line()
            else:
                self._take_mark()

    # Output

    def _cursor(self, at: int | None = None) -> Cursor:
        return Cursor(self._text, self._at if at is None else at, final=self._final)

    def _show(self, end: int, *, quiet: bool = False) -> None:
        """Show the text up to `end`; if `quiet`, it is not context for the text after it."""
        text = self._text[self._at : end]
        self._at = end
        self._output.text(text)
        if not quiet:
            self._context.add(text)
        if self._json is not None:
            self._json.add(text)
            if not self._json.open:
                self._json = None

    def _show_within_line(self, end: int) -> None:
        if end > self._at:
            self._show(end)
            self._line_start = False

    def _show_line(self) -> None:
        end = self._text.find("\n", self._at)
        self._show(len(self._text) if end < 0 else end)
        self._line_start = False
        if end >= 0:
            self._end_line()

    def _end_line(self) -> None:
        found = _BLANK_LINES.match(self._text, self._at)
        self._show(found.end() if found is not None else self._at + 1)
        self._line_start = True
        self._line_is_text = False
        self._code.end()

    def _take_region(self, region: Region) -> None:
        self._wasted += region.wasted
        if region.example:
            self._show(region.end, quiet=True)
        else:
            self._deliver(region, marked=True)
            self._at = region.end
        self._line_start = False

    def _deliver(self, region: Region, *, marked: bool) -> bool:
        """Emit the calls of a region. False if it is to stay visible: unmarked, and without a call of a tool."""
        text = self._text[self._at : region.end]
        accepted = [self._output.call(call, text, marked=marked) for call in region.calls]
        if region.problem is not None and not self._stopped:
            self._output.problem(region.problem)
        return marked or any(accepted)

    def _retract(self) -> None:
        """Turn all text so far into reasoning: a closing tag came that no tag had opened (T7)."""
        self._output.retract()
        self._context.clear()
        self._stopped = self._stripped = self._line_is_text = self._diff = False
        self._fence = self._json = None
        self._code.end()
        self._line_start = True

    # Reasoning

    def _reason(self) -> None:
        closing = _any_of(self._closes).search(self._text, self._at)
        if closing is None:
            end = len(self._text) if self._final else TOKEN_SET.partial_at_end(self._text, self._at)
            self._put_reasoning(end)
            if end < len(self._text):
                raise NeedMoreText
            return
        quoted = self._text[closing.start() - 1 : closing.start()] == "`"
        if quoted and self._cursor(closing.end()).peek() == "`":
            self._put_reasoning(closing.end())
            return
        self._put_reasoning(closing.start())
        if closing[0] not in ("<|start|>", "<|channel|>"):
            self._at = closing.end()
        self._closes = ()
        self._reasoning.clear()
        self._line_start = self._line_start or self._context.blank()

    def _put_reasoning(self, end: int) -> None:
        text = self._text[self._at : end]
        self._at = end
        self._reasoning.append(text)
        self._output.reasoning(text)

    def _read_unclosed_reasoning(self) -> None:
        """Emit the marked calls of reasoning that is never closed (T7)."""
        inner = Scanner(self._offered, marked_only=True)
        inner.read("".join(self._reasoning), final=True)
        self._closes = ()
        if not self._stopped:
            self._output.take_calls(inner.events())

    # The start of a line

    def _begin_line(self) -> bool:
        """Process what counts only at the start of a line. Returns whether anything was consumed."""
        if self._fence is not None:
            self._begin_line_in_fence(self._fence)
            return False
        if self._diff:
            self._diff = self._text[self._at] in " +-\\@\n"
            self._line_is_text = self._line_is_text or self._diff
        indent = _INDENT.match(self._text, self._at)
        if indent is not None:
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
            self._line_is_text = is_quotation(cursor, sign)
            self._diff = sign == "@" and self._line_is_text
        elif sign == "O" and cursor.looking_at(_OBSERVATION):
            self._stopped = True
        elif sign == "a" and self._base + self._at == 0:
            # A server that strips tokens leaves this of a header, at the very start of a text.
            free = free_text_header(cursor)
            if free:
                self._at += free
                return True
            self._stripped = cursor.looking_at(_STRIPPED_START)
        taken = self._take_unmarked(sign)
        self._line_start = False
        return taken

    def _begin_line_in_fence(self, fence: _Fence) -> None:
        cursor = self._cursor()
        cursor.skip_blanks()
        sign = cursor.peek()
        if sign == fence.mark[0]:
            end = closing_at(self._cursor(), fence.mark)
            if end is not None:
                self._show(end, quiet=True)
                self._fence = None
        elif sign in ("<", "[") and token_at(cursor).kind == "unthink":
            # The end of reasoning also ends a fence that was left open in it.
            self._fence = None
        self._line_start = False

    def _take_unmarked(self, sign: str) -> bool:
        """Process an unmarked call at the start of this line (T4). Returns whether anything was consumed."""
        if sign not in self._call_starts or self._marked_only or self._stopped or self._json is not None:
            return False
        action = read_fenced_action(self._cursor(), self._offered, self._wasted) if sign == "A" else None
        if action is not None:
            self._take_region(action)
            return True
        if not may_begin_call(self._cursor(), self._offered) or token_at(self._cursor()).text:
            return False
        region = read_unmarked(self._cursor(), self._offered, fence="")
        if region is None or region.problem is not None:
            if region is not None and region.problem is not None and not self._context.cued():
                self._output.problem(region.problem)
            if sign in "{[":
                self._json = JsonSkipper()
            self._show(self._at + 1)
        elif self._context.cued() or region.example or not self._deliver(region, marked=False):
            self._show(region.end, quiet=True)
        else:
            self._at = region.end
        return True

    def _open_fence(self, *, at_line_start: bool) -> bool:
        opening = opening_at(self._cursor(), at_line_start=at_line_start)
        if opening is None:
            return False
        cued = may_hold_calls(opening.language) and self._context.cued()
        scanned = may_hold_calls(opening.language) and not self._stopped and not cued
        if scanned:
            fenced = read_fence(self._cursor(), opening, self._offered, marked_only=self._marked_only)
            if fenced.problem is not None:
                self._output.problem(fenced.problem)
            if fenced.end and self._deliver(fenced, marked=False):
                self._at = fenced.end
                self._line_start = False
                return True
            scanned = not fenced.example and not fenced.end
        self._show(opening.content, quiet=True)
        if not cued:
            self._context.set_last("```")
        self._fence = _Fence(opening.mark, scanned)
        self._line_start = opening.content == len(self._text) or self._text[opening.content - 1] == "\n"
        return True

    # Marks within a line

    def _take_mark(self) -> None:
        """Show the text up to the next mark, then process the mark."""
        if self._code.ticks:
            # Every line end ends inline code.
            pattern = _LINE_MARK
        elif self._json is not None and self._json.deep and self._fence is None:
            pattern = _DEEP_MARK
        else:
            pattern = self._mark
        mark = pattern.search(self._text, self._at)
        if mark is None:
            end = len(self._text) if self._final else TOKEN_SET.partial_at_end(self._text, self._at)
            self._show_within_line(end)
            if end < len(self._text):
                raise NeedMoreText
            return
        self._show_within_line(mark.start())
        if mark[0] == "\n":
            self._end_line()
        elif mark[0][0] == "`":
            self._take_ticks(mark)
        else:
            self._take_token(mark[0])

    def _take_ticks(self, mark: re.Match[str]) -> None:
        run = len(mark[0])
        if mark.end() == len(self._text) and not self._final and run < 99:
            raise NeedMoreText
        if self._fence is None:
            if run >= 3 and self._open_fence(at_line_start=False):
                return
            self._code.toggle(run)
        self._show_within_line(mark.end())

    def _take_token(self, token: str) -> None:
        before = self._text[self._at - 1] if self._at else self._before
        kind = kind_of(token)
        end = self._at + len(token)
        if token[0].isalpha() and before.isalnum() and not token.startswith("assistant"):
            self._show_within_line(self._at + 1)
        elif self._is_text(token, kind) or kind == "close" or (self._stopped and kind in ("open", "item")):
            self._show_within_line(end)
        elif kind == "think":
            self._at = end
            self._closes = REASONING_TAGS[token]
        elif kind == "unthink":
            self._at = end
            self._retract()
        elif kind == "result":
            self._stopped = True
            self._show_within_line(end)
        elif kind == "noise":
            self._at = end
        elif kind == "harmony":
            self._take_header(token)
        else:
            self._take_marked(token, kind)

    def _is_text(self, token: str, kind: Kind) -> bool:
        """Whether a token has no meaning here: in reasoning that is read again, in inline code, in a JSON string."""
        if self._marked_only and kind in ("think", "unthink"):
            return True
        after = self._cursor(self._at + len(token))
        return self._code.holds(after, self._base) or (self._json is not None and self._json.in_string)

    def _take_marked(self, token: str, kind: Kind) -> None:
        """Emit the calls after a token, or show the token if none follow."""
        cursor = self._cursor(self._at + len(token) if kind == "open" else self._at)
        if token == ">>>":
            free = free_text_header(cursor)
            if free:
                self._at = cursor.at + free
                self._line_start = True
                return
        begins = names_call(cursor) if token == ">>>" else token != "functools" or cursor.peek() == "["
        region = read_marked(cursor, self._offered, self._at, self._wasted) if begins else None
        if region is None:
            self._show_within_line(self._at + len(token))
            return
        if token.startswith("assistant") and self._stripped:
            self._retract()
        self._take_region(self._reported(region))

    def _reported(self, region: Region) -> Region:
        """The region as an example, if the words before it say that somebody else has written it."""
        reported = self._context.reported() and not self._marked_only
        return region._replace(example=True) if reported else region

    def _take_header(self, token: str) -> None:
        if token == STRIPPED_ANSWER:
            if self._stripped:
                self._at += len(token)
                self._retract()
            else:
                self._show_within_line(self._at + len(token))
            return
        header = read_header(self._cursor())
        if header is None:
            self._at += len(token)
            return
        if header.role.startswith(("functions.", "tool")):
            self._stopped = True
        if header.recipient and header.recipient != "assistant" and not self._stopped:
            cursor = self._cursor(header.end)
            cursor.skip_space()
            region = read_marked(cursor, self._offered, self._at, self._wasted, header.recipient)
            if region is None:
                self._at = header.end
            else:
                self._take_region(self._reported(region))
            return
        self._at = header.end
        self._line_start = True
        if header.channel == "analysis" and not self._marked_only:
            self._closes = HARMONY_ENDS
