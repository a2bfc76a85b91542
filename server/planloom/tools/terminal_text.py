"""Makes the output of programs safe to show: removes escape sequences and escapes invisible characters."""

from __future__ import annotations

from typing import Final

from planloom.domain.patterns import pattern
from planloom.domain.text.hidden_characters import folded_blanks, hides, plain_spaces, visible

__all__ = ["Cleaner", "escaped", "hides", "plain", "visible"]

_ESCAPES: Final = pattern(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,16}(?:[@-~]|\Z)?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]{0,16}[0-~]?"
)
"""CSI sequences; OSC and other strings (ECMA-48), up to BEL, ST or the end of the line; other escapes."""
_OPEN: Final = pattern(
    r"(?:(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,16}|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,4096}\x1b?"
    r"|\x1b[ -/]{0,16}|\r)\Z"
)
"""A sequence at the end of a piece that may continue in the next piece of the stream."""
_LONGEST_OPEN: Final = 4200


def plain(text: str) -> str:
    """The text without escape sequences, with hidden characters as `<U+202E>` and odd spaces as blanks.

    Of a line overwritten after a carriage return, only the last text remains. Linear in time.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _ESCAPES.sub("", text) if "\x1b" in text or not text.isascii() else text
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return visible(plain_spaces(text), keep="\n\t")


def one_line(text: str) -> str:
    """Plain text with one blank for any space in it."""
    return " ".join(plain(text).split())


def escaped(command: str) -> str:
    """A command on one line for approval, with line ends, tabs, invisible characters and very many blanks escaped."""
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    if any(char in command for char in named):
        # A literal backslash must not look like one of these escapes.
        command = command.replace("\\", "\\\\")
        for char, name in named.items():
            command = command.replace(char, name)
    return folded_blanks(visible(command))


class Cleaner:
    """Applies `plain` to a stream piece by piece, also to sequences that are split between pieces."""

    def __init__(self) -> None:
        self._held = ""

    def clean(self, piece: str, *, last: bool = False) -> str:
        """The clean text so far; an unfinished sequence at the end is held back unless this is the `last` piece."""
        text = self._held + piece
        self._held = ""
        if not last:
            # Only the end can be unfinished, and an unfinished sequence has a bounded length.
            tail = text[-_LONGEST_OPEN:]
            opened = _OPEN.search(tail, max(tail.rfind("\x1b", 0, -1), tail.rfind("\n"), 0)) or (
                _OPEN.search(tail, len(tail) - 1) if tail else None
            )
            if opened is not None:
                start = len(text) - len(tail) + opened.start()
                text, self._held = text[:start], text[start:]
        return plain(text)
