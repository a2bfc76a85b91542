"""Shows something long a screen at a time, and counts the lines that nobody has seen."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.segment import SegmentLines

_FOR_THE_QUESTION = 6
"""Lines of the screen that stay free for the question below."""
_SHORTEST = 8


class Pages:
    """Output for `console`, with the lines that have not been shown yet."""

    def __init__(self, console: Console, whole: RenderableType) -> None:
        self._console = console
        self._lines = console.render_lines(whole, pad=False, new_lines=True)
        self._shown = 0

    @property
    def unseen(self) -> int:
        """The number of lines that have not been shown."""
        return len(self._lines) - self._shown

    def show_next(self) -> None:
        """Show the next lines, as many as the screen has room for."""
        room = max(self._console.height - _FOR_THE_QUESTION, _SHORTEST)
        page = self._lines[self._shown : self._shown + room]
        self._shown += len(page)
        self._console.print(SegmentLines(page), end="")
