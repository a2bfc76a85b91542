"""Reads JSON as models write it: other quotes, comments, trailing commas, raw line ends (docs/model-text.md, T9).

`read_value` reads a whole value or raises ParseError: it never guesses missing parts, since the value may be a call.
`read_container` also returns the complete part of a cut or damaged array or object, since the first steps of a plan are
better than none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from planloom.domain.json_numbers import is_sound
from planloom.domain.model_text.cursor import Cursor, ParseError
from planloom.domain.model_text.surrogates import mend
from planloom.domain.patterns import pattern
from planloom.domain.values import Json

DEPTH = 64
"""The deepest nesting that is read."""

_TOO_DEEP = 20_000
"""The effort, in characters, that too deep nesting counts for; it is slow to detect and never a plan."""
_MOST_STRICT = 16_000
"""Characters of a call that are given to the strict reader, whose errors cost time for all text before them."""
_SLOWER = 3
"""How many times slower the lenient reader is assumed to be than the strict one."""

_CLOSING = {'"': '"', "'": "'", "“": "”", "”": "”", "‘": "’", "`": "`"}
_CONTENT = {
    mark: pattern(rf"(?:[^\\{mark}{closing}]++|\\.)*+", re.DOTALL) for mark, closing in _CLOSING.items()
}
"""The content of a string up to a quote that may close it."""
_LONG_QUOTES = ('"""', "'''", "<escape>", '<|"|>')
"""Long quotes of Python and of the Gemma models."""
_OPENS_STRING = frozenset((*_CLOSING, "<"))
_AFTER_STRING = pattern(r"\s*[,:}\])]")
"""The character that must follow a closing quote that could also be an apostrophe."""
_AFTER_KEY = pattern(r"[ \t\r\n]*:")
_AFTER_VALUE = pattern(
    r"[ \t\r\n]*(?:[}\]]|$|//|/\*"
    r"|,[ \t\r\n]*(?:[\"'“‘{\[}\]]|-?[0-9]|//|/\*|\#|$|\.{3}|…"
    r"|(?:true|false|null|none)\b|[A-Za-z_$][\w$-]*[ \t]*:)"
    r"|\n[ \t\r\n]*(?:[\"'“]?[A-Za-z_$][\w $-]{0,40}[\"'”]?[ \t]*:|[\"'{\[])"
    r"|[ \t]*[\"'][A-Za-z_$][\w $-]{0,40}[\"'][ \t]*:|[ \t\r\n]*\{)",
    re.IGNORECASE,
)
"""The text that must follow the closing quote of a value where quotes inside strings may be unescaped."""
_ESCAPE = pattern(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"'}
_ESCAPES_IN_PLANS = {"'": "'", "\n": "\n"}
_BARE_KEY = pattern(r"[\w$][\w$-]{0,80}")
_ATOM = pattern(r"[-+.\w$]+")
_NUMBER = pattern(r"[-+]?(?:0[xX][0-9a-fA-F]+|[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9]+)")
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None, "none": None, "undefined": None}
_NOT_FINITE = ("nan", "infinity", "-infinity")
_ELLIPSIS = pattern(r"\.{3,}|…")
_STRICT = json.JSONDecoder(strict=False)

Watch = Callable[[str, dict[str, Json]], bool]
"""Called at each key of the outermost objects with the members before it; false stops reading the value."""
Ends = Callable[[Cursor], bool]
"""Whether the text at the cursor ends JSON whose closing brackets are missing, such as an end tag."""
Loose = Any
"""JSON that may contain CutObject and CutArray."""


class CutObject(dict[str, Loose]):
    """The members that could be read of an object that is cut or damaged."""


class CutArray(list[Loose]):
    """The entries that could be read of an array that is cut or damaged."""


class Parsed(NamedTuple):
    """A container and the offset after it; `effort` is the cost of reading it, in characters."""

    value: Loose
    end: int
    effort: int

    @property
    def cut(self) -> bool:
        return is_cut(self.value)


class Unreadable(NamedTuple):
    """Nothing can be read; `effort` is the cost of trying, in characters."""

    effort: int


def read_value(cursor: Cursor, watch: Watch | None = None, ends: Ends | None = None) -> Json:
    """Read the JSON value at the cursor, which moves past it. Raises NeedMoreText or ParseError.

    Missing closing brackets are added, and `cursor.repaired` is set, if `ends` or the bracket of an outer container
    shows that they are missing.
    """
    if watch is None and cursor.peek() in ("{", "["):
        try:
            value, end = _strict(cursor.text[cursor.at : cursor.at + _MOST_STRICT], 0)
        except (ValueError, RecursionError):
            pass
        else:
            cursor.at += end
            return value
    loose: Json = _Reader(cursor, ends=ends).value(0, watch)
    return loose


def read_container(text: str, start: int) -> Parsed | Unreadable:
    """Read the object or array that begins at `start`, or the complete part of it, in linear time."""
    try:
        value, end = _strict(text, start)
    except ValueError as failure:
        tried = getattr(failure, "pos", start) - start
    except RecursionError:
        return Unreadable(_TOO_DEEP)
    else:
        return Parsed(value, end, effort=end - start)
    cursor = Cursor(text, start, final=True)
    reader = _Reader(cursor, partial=True)
    loose = reader.value(0)
    effort = max(tried, _SLOWER * (cursor.at - start), _TOO_DEEP if reader.too_deep else 1)
    return Unreadable(effort) if is_cut(loose) and not loose else Parsed(loose, cursor.at, effort)


def objects_in(text: str, most: int = 40) -> Iterator[dict[str, Json]]:
    """The whole objects that begin at the first `most` braces of a text, outer ones before those inside them."""
    start = text.find("{")
    for _ in range(most):
        if start < 0:
            return
        try:
            value = read_value(Cursor(text, start, final=True))
        except ParseError:
            value = None
        if isinstance(value, dict):
            yield value
        start = text.find("{", start + 1)


def is_cut(value: Loose) -> bool:
    """Whether a value is a container of which only a part could be read."""
    return isinstance(value, CutObject | CutArray)


def _strict(text: str, start: int) -> tuple[Json, int]:
    """Read strict JSON: the value and the offset after it. Raises ValueError or RecursionError."""
    value, end = _STRICT.raw_decode(text, start)
    return _sound(value, 0), end


def _sound(value: Json, depth: int) -> Json:
    """The value without lone surrogates. Raises ValueError if it is too deep or a number is too large."""
    if isinstance(value, str):
        return mend(value)
    if isinstance(value, dict | list) and depth > DEPTH:
        raise ValueError(f"it is nested deeper than {DEPTH} levels")
    if isinstance(value, list):
        return [_sound(entry, depth + 1) for entry in value]
    if isinstance(value, dict):
        return {mend(key): _sound(entry, depth + 1) for key, entry in value.items()}
    if isinstance(value, int | float) and not is_sound(value):
        raise ValueError("a number is too large")
    return value


class _Reader:
    """Reads values at a cursor. `partial` tolerates more, and returns the complete part of a damaged container."""

    def __init__(self, cursor: Cursor, *, ends: Ends | None = None, partial: bool = False) -> None:
        self.too_deep = False
        self._cursor = cursor
        self._ends = ends
        self._partial = partial

    def value(self, depth: int, watch: Watch | None = None) -> Loose:
        cursor = self._cursor
        sign = cursor.peek()
        if sign in ("{", "["):
            return self._container(sign, depth, watch)
        if sign in _OPENS_STRING:
            return self._string(_AFTER_VALUE)
        atom = cursor.match(_ATOM)
        if atom is not None and atom[0].lower() in _WORDS:
            return _WORDS[atom[0].lower()]
        if atom is not None and self._partial and atom[0].lower() in _NOT_FINITE:
            return None
        if atom is not None and _NUMBER.fullmatch(atom[0]):
            return _number(atom[0])
        raise ParseError("a value is missing" if sign else "it ends early", cut=not sign)

    def _container(self, sign: str, depth: int, watch: Watch | None) -> Loose:
        self.too_deep = self.too_deep or depth > DEPTH
        if depth > DEPTH:
            raise ParseError(f"it is nested deeper than {DEPTH} levels")
        members: dict[str, Loose] = {}
        entries: list[Loose] = []
        self._cursor.at += 1
        try:
            if sign == "{":
                self._object(members, depth, watch)
            else:
                self._array(entries, depth, watch)
        except ParseError:
            if not self._partial:
                raise
            return CutObject(members) if sign == "{" else CutArray(entries)
        return members if sign == "{" else entries

    def _object(self, members: dict[str, Loose], depth: int, watch: Watch | None) -> None:
        cursor = self._cursor
        for sign in self._entries("}", depth):
            key = self._key(sign)
            if watch is not None and not watch(key, members):
                raise ParseError("it is no call")
            cursor.skip_space_and_comments()
            if not cursor.accept(":") and not (self._partial and cursor.accept("=")):
                raise ParseError("a colon is missing", cut=cursor.at_end())
            cursor.skip_space_and_comments()
            members[key] = self.value(depth + 1)
            _require_whole(members[key])

    def _array(self, entries: list[Loose], depth: int, watch: Watch | None) -> None:
        for _ in self._entries("]", depth):
            entries.append(self.value(depth + 1, watch))
            _require_whole(entries[-1])

    def _entries(self, closing: str, depth: int) -> Iterator[str]:
        """Move the cursor to each entry of a container and yield its first character; at the end move past it."""
        cursor = self._cursor
        entered = False
        separated = True
        while True:
            cursor.skip_space_and_comments()
            sign = cursor.peek()
            if sign == closing:
                cursor.at += 1
                return
            if (sign == "," and (entered or self._partial)) or (sign == ";" and self._partial):
                cursor.at += 1
                separated = True
            elif self._partial and cursor.match(_ELLIPSIS):
                pass
            elif sign == "}" and (entered or self._partial) and self._is_extra():
                cursor.at += 1
            elif self._ends_without_bracket(sign, depth):
                cursor.repaired = True
                return
            elif separated or self._partial:
                entered, separated = True, False
                yield sign
            else:
                raise ParseError("a comma is missing")

    def _is_extra(self) -> bool:
        """Whether the closing brace at the cursor is one too many, so that the array continues after it."""
        ahead = self._cursor.ahead(self._cursor.at + 1)
        ahead.skip_space()
        if not self._partial:
            return ahead.peek() in ("]", ",")
        ahead.accept(",")
        ahead.skip_space()
        return ahead.peek() in ("{", "[", '"')

    def _ends_without_bracket(self, sign: str, depth: int) -> bool:
        if sign == "":
            raise ParseError("it ends early", cut=True)
        if sign in "]}":
            return depth > 0 or self._partial
        return self._ends is not None and self._ends(self._cursor)

    def _key(self, sign: str) -> str:
        if sign in _OPENS_STRING:
            return self._string(_AFTER_KEY)
        word = self._cursor.match(_BARE_KEY)
        if word is None:
            raise ParseError("a key is missing")
        return word[0]

    def _string(self, after_unescaped: re.Pattern[str]) -> str:
        """Read the string at the cursor. With `partial`, only a quote before `after_unescaped` closes it."""
        cursor, text = self._cursor, self._cursor.text
        quote = text[cursor.at]
        for mark in _LONG_QUOTES:
            if quote == mark[0] and cursor.looking_at(mark):
                return self._long_string(mark)
        if quote not in _CLOSING or (quote == "`" and not self._partial):
            raise ParseError("a string is missing")
        after = after_unescaped if self._partial else None if quote == '"' else _AFTER_STRING
        start = end = cursor.at + 1
        while True:
            content = _CONTENT[quote].match(text, end)
            assert content is not None, "the pattern matches nothing as well"
            end = content.end()
            if end == len(text) or text[end] == "\\":
                raise self._open_string()
            if after is None or after.match(text, end + 1):
                cursor.at = end + 1
                return self._unescape(text[start:end], quote)
            end += 1

    def _long_string(self, mark: str) -> str:
        cursor, text = self._cursor, self._cursor.text
        start = cursor.at + len(mark)
        end = text.find(mark, start)
        if end < 0:
            raise self._open_string()
        cursor.at = end + len(mark)
        if cursor.at == len(text):
            cursor.require_final()
        return self._unescape(text[start:end], mark[0]) if mark[0] in "\"'" else text[start:end]

    def _open_string(self) -> ParseError:
        self._cursor.require_final()
        self._cursor.at = len(self._cursor.text)
        return ParseError("a string is open", cut=True)

    def _unescape(self, text: str, quote: str) -> str:
        """The text of a string with its escapes resolved; an unknown escape keeps its backslash."""
        if "\\" not in text:
            return mend(text)

        def meaning(found: re.Match[str]) -> str:
            sign = found[1]
            if len(sign) > 1:
                return chr(int(sign[1:], 16))
            known = _ESCAPES.get(sign) or (self._partial and _ESCAPES_IN_PLANS.get(sign))
            return known or (quote if sign == quote else found[0])

        return mend(_ESCAPE.sub(meaning, text))


def _require_whole(value: Loose) -> None:
    if is_cut(value):
        raise ParseError("it ends early", cut=True)


def _number(text: str) -> Json:
    try:
        value: float = int(text, 16) if "x" in text.lower() else int(text)
    except ValueError:
        value = float(text)
    if not is_sound(value):
        raise ParseError("a number is too large")
    return value
