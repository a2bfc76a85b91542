"""Keeps what a background command has printed and nobody has read yet, in bounded memory."""

from __future__ import annotations

import asyncio
import codecs

from planloom.tools.processes.child_process import Capture
from planloom.tools.processes.kept_output import KeptOutput
from planloom.tools.terminal_text import Cleaner, plain


class UnreadOutput:
    """The output since the last `take`: its beginning and its end, if it is long.

    `news` is set while there is some. `whole` keeps all that was printed.
    """

    def __init__(self, whole: KeptOutput) -> None:
        self.news = asyncio.Event()
        self._unread = Capture()
        self.whole = whole
        self._start_clean()

    def add(self, data: bytes) -> None:
        """Append what was printed."""
        self._unread.add(data)
        self.whole.add(data)
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
        return f"{before.rstrip()}\n[… {lost} bytes were printed here: give pattern or lines to read them …]\n{after}"

    def end(self) -> str:
        """The clean end of all output."""
        return plain(self.whole.raw().decode("utf-8", "replace"))

    def _start_clean(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._cleaner = Cleaner()

    def _clean(self, data: bytes, *, last: bool) -> str:
        return self._cleaner.clean(self._decoder.decode(data, final=last), last=last)
