"""Escapes untrusted text for the terminal, so that nothing in it is hidden, reordered or run as a control sequence."""

from __future__ import annotations

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
_KEPT = frozenset({"\n", "\t"})
_BLANK_BUT_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols by their Unicode category that are displayed as blanks."""


def visible(text: str) -> str:
    """Replace each control, invisible and bidirectional character by its code, such as `<U+202E>`.

    Line feeds and tabs stay. A carriage return before a line feed is removed, since it has no effect there.
    """
    text = text.replace("\r\n", "\n")
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if _shown(char) else f"<U+{ord(char):04X}>" for char in text)


def one_line(text: str, limit: int = 200) -> str:
    """Like `visible`, but on one line of at most `limit` characters, cut with an ellipsis."""
    line = " ".join(visible(text[: limit * 4]).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _shown(char: str) -> bool:
    if char in _KEPT or (char.isascii() and char.isprintable()):
        return True
    return char not in _BLANK_BUT_LETTERS and unicodedata.category(char) not in _HIDDEN
