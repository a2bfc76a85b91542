"""Compiles a search pattern with a time limit, and finds the plain text that every match must contain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from planloom.domain.values import Value

MAX_PATTERN: Final = 1_000
_PLAIN_ESCAPES: Final = frozenset("\\.^$*+?{}[]()|/-\"'#&~@!%,:;<>=` ")
_SPECIAL: Final = frozenset("^$.*+?{}])")
_UNCERTAIN: Final = re.compile(r"\(\?(?!:)|\\[QEpPNxuUgGkKLmMXRhHoO0-9]")
"""Flags, look-arounds and named groups; escapes that take the characters after them, or refer to another part."""
_CLASS: Final = re.compile(r"(\\.)|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_GROUP: Final = re.compile(r"(\\.)|\((?:\\.|[^()\\])*\)", re.DOTALL)
_ITEM: Final = re.compile(r"(\\)?(.)([?*+]|\{[^}]*\})?", re.DOTALL)
"""A character, whether it is escaped, and how often it is repeated."""
_FOLDED: Final = frozenset("iIsSkK")
"""Letters that case-insensitively match more than their two cases: k matches the Kelvin sign."""
_SHORTEST_NEEDLE: Final = 3
_RECURSION: Final = re.compile(r"(?<!\\)(?:\\\\)*\(\?(?:R|[+-]?\d|&|P>|\(DEFINE\))")
"""Recursive constructs: they match a group, or the whole pattern, inside itself."""


class BadPattern(Value):
    """A pattern that cannot be searched for; `reason` says what to do instead."""

    reason: str


class TooSlow(Exception):
    """The pattern exceeds its limit of time or memory."""


class Pattern(NamedTuple):
    """A compiled pattern. `needle` is ASCII text that every match contains; "" if none is known."""

    compiled: Any
    needle: str
    ignore_case: bool

    def may_match(self, data: bytes) -> bool:
        """Whether a file with these bytes can contain a match; fast, and never wrongly False."""
        if not self.needle or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return True
        needle = self.needle.encode()
        return needle.lower() in data.lower() if self.ignore_case else needle in data

    def matches(self, text: str, seconds: float) -> Iterator[int]:
        """The start offsets of the matches, in order. Raises TooSlow."""
        if seconds <= 0:
            raise TooSlow
        try:
            for found in self.compiled.finditer(text, timeout=seconds):
                yield found.start()
        except (TimeoutError, MemoryError) as error:
            raise TooSlow from error


def read_pattern(pattern: str, *, literal: bool, ignore_case: bool) -> Pattern | BadPattern:
    """Compile a pattern. The text to search must have LF line ends; `^` and `$` match at line ends."""
    # The standard `re` cannot be stopped when a pattern backtracks for ever; `regex` takes a timeout. It is large,
    # and only searches need it.
    import regex

    if not pattern:
        return BadPattern(reason="The pattern is empty. Give the text to search for.")
    if not literal and _RECURSION.search(pattern):
        return BadPattern(
            reason="The pattern calls itself or another group, such as (?R) or (?1), which can take unlimited "
            "memory. Write the nesting out as deep as needed, or search for a plain text."
        )
    flags = regex.MULTILINE | (regex.IGNORECASE if ignore_case else 0)
    try:
        compiled = regex.compile(regex.escape(pattern) if literal else pattern, flags)
    except (regex.error, RecursionError, OverflowError, ValueError, MemoryError) as error:
        return BadPattern(
            reason=f"The pattern is not a valid regular expression ({error}). Correct it, or leave regex out."
        )
    runs = [pattern] if literal else _literal_runs(pattern)
    return Pattern(compiled, _needle(runs, ignore_case), ignore_case)


def _needle(runs: list[str], ignore_case: bool) -> str:
    """The longest piece that every match contains byte for byte, or in either case of its letters."""
    pieces: list[str] = []
    for run in runs:
        piece = ""
        for char in run + "\n":
            if not (char.isascii() and char.isprintable()) or (ignore_case and char in _FOLDED):
                pieces.append(piece)
                piece = ""
            else:
                piece += char
    longest = max(pieces, key=len, default="")
    return longest if len(longest) >= _SHORTEST_NEEDLE else ""


def _literal_runs(pattern: str) -> list[str]:
    """Plain text that every match of a regular expression must contain; nothing if uncertain.

    Considers only the top level: what groups and classes match is left out, and a top-level alternative leaves nothing.
    """
    if _UNCERTAIN.search(pattern):
        return []
    outside = _CLASS.sub(_without_content, pattern)
    while (outer := _GROUP.sub(_without_content, outside)) != outside:
        outside = outer
    if "|" in outside:
        return []
    runs = [""]
    for item in _ITEM.finditer(outside):
        sign, repeated = item[2], item[3]
        plain = sign in _PLAIN_ESCAPES if item[1] else sign not in _SPECIAL
        if plain and repeated in (None, "+"):
            runs[-1] += sign
        if repeated or not plain:
            runs.append("")
    return runs


def _without_content(found: re.Match[str]) -> str:
    """An escaped character as it is, else a character that is not plain in place of a class or group."""
    return found[1] or "."
