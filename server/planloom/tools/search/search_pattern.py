"""Compiles a search pattern with a time limit, and finds the plain text that every match must contain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from planloom.domain.values import Value

MAX_PATTERN: Final = 1_000
_QUANTIFIED: Final = "?*{"
_PLAIN_ESCAPES: Final = frozenset("\\.^$*+?{}[]()|/-\"'#&~@!%,:;<>=` ")
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
    runs = [pattern] if literal else list(_literal_runs(pattern))
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


def _literal_runs(pattern: str) -> Iterator[str]:
    """Plain text that every match of a regular expression must contain; empty if uncertain.

    Considers only the top level: groups and classes are skipped, and a top-level alternative or inline flags make
    the result empty.
    """
    runs: list[str] = []
    run = ""
    at = 0
    while at < len(pattern):
        char = pattern[at]
        size = 1
        if char == "\\":
            size = 2
            char = pattern[at + 1 : at + 2]
            plain = char in _PLAIN_ESCAPES
            if not plain and char in "QEpPNxuUgGkKLmMXRhHoO0123456789":
                # These consume following characters, or refer to another part of the pattern.
                return
        elif char == "|":
            return
        elif char == "(":
            end = _group_end(pattern, at)
            if end is None or (pattern[at + 1 : at + 2] == "?" and pattern[at + 2 : at + 3] != ":"):
                # It may set flags, or be a look-around, which is not part of the match.
                return
            size, plain = end - at, False
        elif char == "[":
            end = _class_end(pattern, at)
            if end is None:
                return
            size, plain = end - at, False
        else:
            plain = char not in "^$.*+?{}])"
        follows = pattern[at + size : at + size + 1]
        if plain and follows not in (*_QUANTIFIED,):
            run += char
            if follows == "+":
                runs.append(run)
                run = ""
        else:
            runs.append(run)
            run = ""
        if char == "{" and size == 1:
            size = max(1, pattern.find("}", at) + 1 - at)
        at += size
    yield from (*runs, run)


def _group_end(pattern: str, at: int) -> int | None:
    depth = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif char == "[":
            end = _class_end(pattern, at)
            if end is None:
                return None
            at = end - 1
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return None


def _class_end(pattern: str, at: int) -> int | None:
    at += 1
    if pattern[at : at + 1] == "^":
        at += 1
    if pattern[at : at + 1] == "]":
        at += 1
    while at < len(pattern):
        if pattern[at] == "\\":
            at += 1
        elif pattern[at] == "[":
            return None
        elif pattern[at] == "]":
            return at + 1
        at += 1
    return None
