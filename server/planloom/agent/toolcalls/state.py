"""What a reader of calls knows between two marks of a text, and how it shows and passes on what it has read."""

from __future__ import annotations

import re

from planloom.agent.toolcalls.cursor import Cursor
from planloom.agent.toolcalls.events import ReaderEvent
from planloom.agent.toolcalls.fences import Fence
from planloom.agent.toolcalls.lines import Brackets, Lines
from planloom.agent.toolcalls.offers import Offers
from planloom.agent.toolcalls.regions import Region
from planloom.agent.toolcalls.sayings import Sayings
from planloom.agent.toolcalls.tokens import TOKENS, one_of

IN_LINE = f"{one_of(TOKENS)}|`{{1,99}}"
_LINE_STARTS = "{[`~>+@<OA-"
"""Characters that mean something where a line begins, besides those of the tools' names."""
_LINE_MARK = re.compile(rf"{IN_LINE}|\n")
_DEEP_MARK = re.compile(rf"{IN_LINE}|\n(?=[ \t\r\n`~>+@O-]|\Z)|(?<=\r)\n")
"""What is stopped at in brackets that are too deep to be JSON: no call without a marker begins there."""
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)*")


class State:
    """Where the reader is. `held` is how many characters wait for more text."""

    def __init__(self, offers: Offers, *, marked_only: bool = False) -> None:
        self._offers = offers
        self._marked_only = marked_only
        self._say = Sayings(offers)
        # Most lines are prose: only a line end before something that could matter is stopped at.
        starts = re.escape(_LINE_STARTS + "".join(sorted(offers.firsts)))
        self._mark = re.compile(rf"{IN_LINE}|\n(?=[ \t\n{starts}]|\Z)")
        self._text = ""
        self._at = 0
        self._base = 0
        self._before = ""
        self._final = False
        self._lines = Lines()
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

    def _pass(self, token: str) -> None:
        """Show a token that is text here."""
        self._show(self._at + len(token))
        self._line_start = False

    def _next_mark(self) -> re.Match[str] | None:
        """Where the next thing is that could matter."""
        if self._ticks or self._diff or self._line_is_text:
            # Here every line end does.
            pattern = _LINE_MARK
        elif self._brackets is not None and self._brackets.deep and self._fence is None:
            pattern = _DEEP_MARK
        else:
            pattern = self._mark
        return pattern.search(self._text, self._at)

    def _end_line(self) -> None:
        found = _BLANK_LINES.match(self._text, self._at)
        self._show(found.end() if found is not None else self._at + 1)
        self._line_start = True
        self._line_is_text = False
        self._ticks = 0

    def _take_region(self, region: Region) -> None:
        self._wasted += region.wasted
        if region.doubt:
            self._show(region.end, quiet=True)
        else:
            self._deliver(region, marked=True)
            self._at = region.end
        self._line_start = False

    def _deliver(self, region: Region, *, marked: bool) -> bool:
        """Say the calls of a region; false if it should stay visible, being unmarked and no call of ours."""
        good = [
            self._say.call(call, self._text[self._at : region.end], marked=marked) for call in region.calls
        ]
        if region.problem is not None and not self._stopped:
            self._say.problem(region.problem)
        return marked or any(good)

    def _retract(self) -> None:
        """The end of reasoning that never began: all before it was thought (T7)."""
        self._say.retract()
        self._lines.clear()
        self._stopped = self._stripped = self._line_is_text = self._diff = False
        self._fence = self._brackets = None
        self._ticks = 0
        self._line_start = True
