"""What to search for: a text or a regular expression, with a limit of time, and what a file must hold to match."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from planloom.domain.values import Value

MAX_PATTERN: Final = 1_000
_QUANTIFIED: Final = "?*{"
_PLAIN_ESCAPES: Final = frozenset("\\.^$*+?{}[]()|/-\"'#&~@!%,:;<>=` ")
_FOLDED: Final = frozenset("iIsSkK")
"""Letters that match others than their own two cases, such as the sign for kelvin."""
_LEAST: Final = 3
_RECURSION: Final = re.compile(r"(?<!\\)(?:\\\\)*\(\?(?:R|[+-]?\d|&|P>|\(DEFINE\))")
"""Constructs that match a group of the pattern, or all of it, once more inside of it."""


class BadPattern(Value):
    """A pattern that cannot be searched for; the sentence says what to do instead."""

    reason: str


class TooSlow(Exception):
    """The pattern needs more time, or memory, than it is given."""


class Pattern(NamedTuple):
    """A compiled pattern. `needle` is plain ASCII that every match holds, whatever else; empty if none is known."""

    compiled: Any
    needle: str
    ignore_case: bool

    def may_match(self, data: bytes) -> bool:
        """Whether a file of these bytes can hold a match at all; quick, and never wrongly False."""
        if not self.needle or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return True
        needle = self.needle.encode()
        return needle.lower() in data.lower() if self.ignore_case else needle in data

    def matches(self, text: str, seconds: float) -> Iterator[int]:
        """Where matches begin, from the first on. Raises TooSlow."""
        if seconds <= 0:
            raise TooSlow
        try:
            for found in self.compiled.finditer(text, timeout=seconds):
                yield found.start()
        except (TimeoutError, MemoryError) as error:
            raise TooSlow from error


def read_pattern(pattern: str, *, literal: bool, ignore_case: bool) -> Pattern | BadPattern:
    """Compile what is searched for. Line ends in the text searched must be LF; `^` and `$` are those of lines."""
    # The standard module cannot be stopped on a pattern that backtracks for ever; this one has a limit of time.
    # It is large, and only searches need it.
    import regex

    if not pattern:
        return BadPattern(reason="The pattern is empty. Give the text to search for.")
    if not literal and _RECURSION.search(pattern):
        return BadPattern(
            reason="The pattern calls itself or another group, such as (?R) or (?1), which can take any amount of "
            "memory. Write the nesting out as deep as it is needed, or search for a plain text."
        )
    flags = regex.MULTILINE | (regex.IGNORECASE if ignore_case else 0)
    try:
        compiled = regex.compile(regex.escape(pattern) if literal else pattern, flags)
    except (regex.error, RecursionError, OverflowError, ValueError, MemoryError) as error:
        return BadPattern(
            reason=f"The pattern is no regular expression ({error}). Mend it, or leave regex out."
        )
    runs = [pattern] if literal else list(_literal_runs(pattern))
    return Pattern(compiled, _needle(runs, ignore_case), ignore_case)


def _needle(runs: list[str], ignore_case: bool) -> str:
    """The longest piece that stands in every match byte for byte, or in either case of its letters."""
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
    return longest if len(longest) >= _LEAST else ""


def _literal_runs(pattern: str) -> Iterator[str]:
    """Stretches of plain text that every match of a regular expression must hold; none if that is not sure.

    Only what stands at the top level counts: groups and classes are passed over, and any alternative there,
    or flags set inside, leave nothing sure.
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
                # These take more of what follows, or mean another part of the pattern.
                return
        elif char == "|":
            return
        elif char == "(":
            end = _group_end(pattern, at)
            if end is None or (pattern[at + 1 : at + 2] == "?" and pattern[at + 2 : at + 3] != ":"):
                # Flags may be set, or something looked for that is no part of the match.
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
