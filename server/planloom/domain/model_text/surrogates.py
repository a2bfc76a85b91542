"""Repairs lone surrogates, which models and servers write and UTF-8 cannot represent."""

from __future__ import annotations

import re

SURROGATE = re.compile("[\ud800-\udfff]")


def mend(text: str) -> str:
    """The text with surrogate pairs joined and single halves replaced by U+FFFD."""
    if SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Joiner:
    """Repairs a streamed text, which may be cut inside a surrogate pair."""

    def __init__(self) -> None:
        self._held = ""

    def add(self, piece: str) -> str:
        """Add a piece. Returns the text that is complete now."""
        text = self._held + piece
        self._held = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        return mend(text[: len(text) - len(self._held)])

    def rest(self) -> str:
        """End the text. Returns the rest of it."""
        rest, self._held = mend(self._held), ""
        return rest
