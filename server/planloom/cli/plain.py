"""Text of others made safe to show: nothing in it can hide, reorder or command the terminal."""

from __future__ import annotations

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
_KEPT = frozenset({"\n", "\t"})
_BLANK_BUT_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Characters that count as letters or symbols and show nothing."""


def visible(text: str) -> str:
    """The text with every control, invisible and bidirectional character written out as `<U+202E>`.

    Line feeds and tabs stay; a carriage return before a line feed goes, since it shows nothing there.
    """
    text = text.replace("\r\n", "\n")
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if _shown(char) else f"<U+{ord(char):04X}>" for char in text)


def one_line(text: str, limit: int = 200) -> str:
    """The same on one line, cut with an ellipsis after `limit` characters."""
    line = " ".join(visible(text[: limit * 4]).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _shown(char: str) -> bool:
    if char in _KEPT or (char.isascii() and char.isprintable()):
        return True
    return char not in _BLANK_BUT_LETTERS and unicodedata.category(char) not in _HIDDEN
