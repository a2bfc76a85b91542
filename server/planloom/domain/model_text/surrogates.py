"""Halves of surrogate pairs, which models and servers write and UTF-8 cannot hold."""

from __future__ import annotations

import re

SURROGATE = re.compile("[\ud800-\udfff]")


def mend(text: str) -> str:
    """The text with surrogate pairs joined and single halves replaced by U+FFFD."""
    if SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Joiner:
    """Mends a text that comes in pieces cut anywhere: half a pair waits for its other half."""

    def __init__(self) -> None:
        self._held = ""

    def add(self, piece: str) -> str:
        """What can be passed on now."""
        text = self._held + piece
        self._held = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        return mend(text[: len(text) - len(self._held)])

    def rest(self) -> str:
        """What is left at the end."""
        rest, self._held = mend(self._held), ""
        return rest
