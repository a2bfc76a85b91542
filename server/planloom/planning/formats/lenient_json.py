"""JSON as models write it: cut short, with trailing commas, other quotes, comments, raw line breaks (T9)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from math import isfinite
from typing import Any

from planloom.domain.values import Json, Value

DEPTH = 64
"""Levels of nesting that are read; deeper text is no plan."""

_TOO_DEEP = 20_000
"""Characters that an attempt at endless nesting counts for: it is slow, and never a plan."""

_SLOWER = 3
"""How much slower the lenient reader is to be taken for than the strict one."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A container that the text ends in, or that is broken at its end: what of it was complete."""

    value: Loose


Loose = Any
"""JSON that may hold Cut containers anywhere inside; nothing outside of this package sees those."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A container and the position behind it; `effort` is what reading it took, in characters."""

    value: Loose
    end: int
    cut: bool
    effort: int


class Unreadable(Value):
    """Nothing can be read from a position; `effort` is what trying took, in characters."""

    effort: int


_BLANK = re.compile(r"(?:[\s\u200b\ufeff]+|//[^\n]*|/\*.*?(?:\*/|\Z)|\#[^\n]*)*", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9]+)(?![\w.])")
_WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_WORDS: dict[str, Json] = {
    "true": True,
    "false": False,
    "null": None,
    "none": None,
    "undefined": None,
    "nan": None,
}
_ELLIPSIS = re.compile(r"\.{3,}|…")
_CLOSING = {'"': '"', "'": "'", "“": "”", "”": "”", "‘": "’", "`": "`"}
_STRETCH = {mark: re.compile(rf"[^\\{mark}{closing}]+") for mark, closing in _CLOSING.items()}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'"}
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_AFTER_VALUE = re.compile(
    r"[ \t\r\n]*(?:[}\]]|$|//|/\*"
    r"|,[ \t\r\n]*(?:[\"'“‘{\[}\]]|-?[0-9]|//|/\*|\#|$|\.{3}|…"
    r"|(?:true|false|null|none)\b|[A-Za-z_$][\w$-]*[ \t]*:)"
    r"|\n[ \t\r\n]*(?:[\"'“]?[A-Za-z_$][\w $-]{0,40}[\"'”]?[ \t]*:|[\"'{\[])"
    r"|[ \t]*[\"'][A-Za-z_$][\w $-]{0,40}[\"'][ \t]*:|[ \t\r\n]*\{)",
    re.IGNORECASE,
)
_AFTER_KEY = re.compile(r"[ \t\r\n]*:")
_EXTRA_BRACE = re.compile(r"\}\s*,?\s*[\[{\"]")
_STRICT = json.JSONDecoder(strict=False)


class _Broken(Exception):
    """Here the text can no longer be read as JSON."""


def parse(text: str, start: int) -> Parsed | Unreadable:
    """Read the object or array that begins at `start`.

    What is broken behind its first members is given up there and flagged as cut, as is what the end of the
    text cuts short. Time is linear in what is read.
    """
    try:
        value, end = _STRICT.raw_decode(text, start)
    except ValueError as failure:
        tried = getattr(failure, "pos", start) - start
    except RecursionError:
        return Unreadable(effort=_TOO_DEEP)
    else:
        return Parsed(value=_sound(value), end=end, cut=False, effort=end - start)
    reader = _Reader(text, start)
    try:
        loose = reader.container(0)
    except _Broken:
        loose = Cut(None)
    effort = max(tried, _SLOWER * (reader.at - start), _TOO_DEEP if reader.too_deep else 1)
    if not isinstance(loose, Cut):
        return Parsed(value=loose, end=reader.at, cut=False, effort=effort)
    if not loose.value:
        return Unreadable(effort=effort)
    return Parsed(value=loose.value, end=reader.at, cut=True, effort=effort)


def _sound(value: Json, depth: int = 0) -> Json:
    """The value without lone surrogates, which no file and no database takes, and without endless depth."""
    if isinstance(value, str):
        return _whole(value)
    if depth > DEPTH:
        return None
    if isinstance(value, list):
        return [_sound(entry, depth + 1) for entry in value]
    if isinstance(value, dict):
        return {_whole(key): _sound(entry, depth + 1) for key, entry in value.items()}
    return None if isinstance(value, float) and not isfinite(value) else value


def _whole(text: str) -> str:
    if _SURROGATE.search(text) is None:
        return text
    return _SURROGATE.sub("\ufffd", text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


class _Reader:
    """A place in a text, moved on while values are read."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.at = start
        self.too_deep = False

    def blank(self) -> str:
        """Step over white space and comments; the character that follows, empty at the end."""
        found = _BLANK.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return self.text[self.at : self.at + 1]

    def container(self, depth: int) -> Loose:
        if depth > DEPTH:
            self.too_deep = True
            raise _Broken
        sign = self.text[self.at : self.at + 1]
        self.at += 1
        return self.array(depth) if sign == "[" else self.object(depth)

    def array(self, depth: int) -> Loose:
        entries: list[Loose] = []
        while True:
            sign = self.blank()
            if sign == "":
                return Cut(entries)
            if sign == "]":
                self.at += 1
                return entries
            if sign in ",;":
                self.at += 1
                continue
            if sign == "}":
                if self.extra_brace():
                    self.at += 1
                    continue
                return entries
            dots = _ELLIPSIS.match(self.text, self.at)
            if dots is not None:
                self.at = dots.end()
                continue
            try:
                entry = self.value(depth)
            except _Broken:
                return Cut(entries)
            if entry is not _NOTHING:
                entries.append(entry)
            if isinstance(entry, Cut) or entry is _NOTHING:
                return Cut(entries)

    def extra_brace(self) -> bool:
        """Whether a closing brace in an array is one too many: more entries follow it."""
        return _EXTRA_BRACE.match(self.text, self.at) is not None

    def object(self, depth: int) -> Loose:
        members: dict[str, Loose] = {}
        while True:
            sign = self.blank()
            if sign == "":
                return Cut(members)
            if sign == "}":
                self.at += 1
                return members
            if sign in ",;":
                self.at += 1
                continue
            if sign == "]":
                return members
            dots = _ELLIPSIS.match(self.text, self.at)
            if dots is not None:
                self.at = dots.end()
                continue
            try:
                key = self.key()
                if key is None or self.blank() not in (":", "="):
                    return Cut(members)
                self.at += 1
                self.blank()
                entry = self.value(depth)
            except _Broken:
                return Cut(members)
            if entry is not _NOTHING:
                members[key] = entry
            if isinstance(entry, Cut) or entry is _NOTHING:
                return Cut(members)

    def key(self) -> str | None:
        if self.text[self.at] in _CLOSING:
            return self.string(_AFTER_KEY)
        word = _WORD.match(self.text, self.at) or _NUMBER.match(self.text, self.at)
        if word is None:
            raise _Broken
        self.at = word.end()
        return word[0]

    def value(self, depth: int) -> Loose:
        """A value, _NOTHING where the text ends inside a string. Raises _Broken where none begins."""
        sign = self.text[self.at : self.at + 1]
        if sign in ("{", "["):
            return self.container(depth + 1)
        if sign in _CLOSING and sign:
            text = self.string(_AFTER_VALUE)
            return _NOTHING if text is None else text
        number = _NUMBER.match(self.text, self.at)
        if number is not None:
            self.at = number.end()
            return _number(number[0])
        word = _WORD.match(self.text, self.at)
        if word is not None and word[0].lower() in _WORDS:
            self.at = word.end()
            return _WORDS[word[0].lower()]
        raise _Broken

    def string(self, after: re.Pattern[str]) -> str | None:
        """A string; a quote that nothing of JSON follows is part of it. None if the text ends first."""
        opening = self.text[self.at]
        closing = _CLOSING[opening]
        stretch = _STRETCH[opening]
        pieces: list[str] = []
        self.at += 1
        while self.at < len(self.text):
            run = stretch.match(self.text, self.at)
            if run is not None:
                pieces.append(run[0])
                self.at = run.end()
                continue
            sign = self.text[self.at]
            if sign == "\\":
                pieces.append(self.escape())
                continue
            self.at += 1
            if sign in (closing, opening) and after.match(self.text, self.at) is not None:
                return _whole("".join(pieces))
            pieces.append(sign)
        return None

    def escape(self) -> str:
        """What an escape stands for; an unknown one keeps its backslash."""
        sign = self.text[self.at + 1 : self.at + 2]
        if sign == "u":
            digits = _HEX.match(self.text, self.at + 2)
            if digits is not None:
                self.at += 6
                return chr(int(digits[0], 16))
        if sign == "\n":
            self.at += 2
            return "\n"
        known = _ESCAPES.get(sign)
        if known is None:
            self.at += 1
            return "\\"
        self.at += 2
        return known


_NOTHING = Cut(None)


def _number(text: str) -> Json:
    try:
        return int(text, 16) if "x" in text.lower() else int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e308 else None
