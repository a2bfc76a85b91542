"""Compiles a search pattern, and finds the plain text that every match must contain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from planloom.tools.search.matching_process import CannotCompile, MatchingProcess, TooSlow

_PLAIN_ESCAPES: Final = frozenset("\\.^$*+?{}[]()|/-\"'#&~@!%,:;<>=` ")
_SPECIAL: Final = frozenset("^$.*+?{}])")
_SIGNS: Final = _SPECIAL | frozenset("\\[(|")
_UNCERTAIN: Final = re.compile(r"\(\?(?!:)|\\[QEpPNxuUgGkKLmMXRhHoO0-9]")
"""Flags, look-arounds and named groups; escapes that take the characters after them, or refer to another part."""
_CLASS: Final = re.compile(r"(\\.)|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_GROUP: Final = re.compile(r"(\\.)|\((?:\\.|[^()\\])*\)", re.DOTALL)
_ITEM: Final = re.compile(r"(\\)?(.)([?*+]|\{[^}]*\})?", re.DOTALL)
"""A character, whether it is escaped, and how often it is repeated."""
_FOLDED: Final = frozenset("iIsSkK")
"""Letters that case-insensitively match more than their two cases: k matches the Kelvin sign."""
_SHORTEST_NEEDLE: Final = 3


class BadPattern(NamedTuple):
    """A pattern that cannot be searched for; `reason` says why, of a regular expression without a full stop."""

    reason: str


class Matcher(Protocol):
    """Finds where matches begin. `starts` blocks; `close` frees what it holds, also while `starts` runs."""

    def starts(self, text: str, seconds: float, /) -> Iterator[int]:
        """The offsets, in order. Raises TooSlow."""
        ...

    def close(self) -> None: ...


class _PlainText:
    """Finds a plain text, in time that grows with the searched text alone."""

    def __init__(self, text: str, *, ignore_case: bool) -> None:
        self._compiled = re.compile(re.escape(text), re.IGNORECASE if ignore_case else 0)

    def starts(self, text: str, _seconds: float, /) -> Iterator[int]:
        return (found.start() for found in self._compiled.finditer(text))

    def close(self) -> None:
        """It holds nothing."""


class Pattern(NamedTuple):
    """A compiled pattern. `needle` is ASCII text that every match contains; "" if none is known."""

    matcher: Matcher
    needle: str
    ignore_case: bool

    def may_match(self, data: bytes) -> bool:
        """Whether a file with these bytes can contain a match; fast, and never wrongly False."""
        return may_contain(data, self.needle, ignore_case=self.ignore_case)

    def matches(self, text: str, seconds: float) -> Iterator[int]:
        """The start offsets of the matches, in order. Raises TooSlow."""
        if seconds <= 0:
            raise TooSlow
        yield from self.matcher.starts(text, seconds)


def may_contain(data: bytes, needle: str, *, ignore_case: bool) -> bool:
    """Whether a file with these bytes can contain the needle in one of the encodings that are searched."""
    if not needle or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return True
    sought = needle.encode()
    return sought.lower() in data.lower() if ignore_case else sought in data


def read_pattern(pattern: str, *, literal: bool, ignore_case: bool) -> Pattern | BadPattern:
    """Compile a pattern; call it from a thread, and `close` its matcher.

    The text to search must have LF line ends; `^` and `$` match at line ends.
    """
    if not pattern:
        return BadPattern(reason="The pattern is empty. Give the text to search for.")
    needle = needle_of(pattern, literal=literal, ignore_case=ignore_case)
    if literal:
        return Pattern(_PlainText(pattern, ignore_case=ignore_case), needle, ignore_case)
    try:
        return Pattern(MatchingProcess(pattern, ignore_case=ignore_case), needle, ignore_case)
    except CannotCompile as error:
        return BadPattern(reason=f"The pattern is no usable regular expression ({error})")
    except OSError as error:
        return BadPattern(reason=f"Regular expressions cannot be searched for here ({error})")


def is_plain(pattern: str) -> bool:
    """Whether a pattern means the same as a text and as a regular expression."""
    return _SIGNS.isdisjoint(pattern)


def needle_of(pattern: str, *, literal: bool, ignore_case: bool) -> str:
    """ASCII text that every match contains byte for byte, or in either case of its letters; "" if none is known."""
    return _needle([pattern] if literal else _literal_runs(pattern), ignore_case)


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
