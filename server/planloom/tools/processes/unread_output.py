"""Keeps what a background command has printed and nobody has read yet, in bounded memory."""

from __future__ import annotations

import asyncio
import codecs
from typing import Final

from planloom.tools.processes.child_process import Capture
from planloom.tools.terminal_text import Cleaner, plain

_END_BYTES: Final = 8_000


class UnreadOutput:
    """The output since the last `take`: its beginning and its end, if it is long.

    `news` is set while there is some. What was taken is dropped, but for `end`, the last lines of all.
    """

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self._unread = Capture()
        self._last = Capture(head=0, tail=_END_BYTES)
        self._start_clean()

    def add(self, data: bytes) -> None:
        """Append what was printed."""
        self._unread.add(data)
        self._last.add(data)
        self.news.set()

    def take(self, *, last: bool) -> str:
        """The clean text that was not taken yet, with a line that says how much of its middle was lost.

        A character or an escape sequence that is not complete at the end waits for the next call, unless this is the
        `last` one.
        """
        head, lost, tail = self._unread.parts()
        self._unread = Capture()
        self.news.clear()
        if not lost:
            return self._clean(head, last=last)
        before = self._clean(head, last=True)
        self._start_clean()
        after = self._clean(tail, last=last)
        return f"{before.rstrip()}\n[… {lost} bytes were printed here that are not kept …]\n{after}"

    def end(self) -> str:
        """The clean end of all output."""
        return plain(self._last.raw().decode("utf-8", "replace"))

    def _start_clean(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._cleaner = Cleaner()

    def _clean(self, data: bytes, *, last: bool) -> str:
        return self._cleaner.clean(self._decoder.decode(data, final=last), last=last)
