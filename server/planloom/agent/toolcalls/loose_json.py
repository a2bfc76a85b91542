"""JSON as models write it in calls: other quotes, comments, trailing commas, raw line ends (T9), never a guess."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite

from planloom.agent.toolcalls.cursor import Broken, Cursor
from planloom.domain.values import Json
from planloom.models.json_text import mend

DEPTH = 64
_DOUBLE = re.compile(r'"((?:[^"\\]++|\\.)*+)"', re.DOTALL)
# These quotes occur as apostrophes, so one only closes where JSON goes on behind it.
_LOOSE = {
    "'": re.compile(r"'((?:[^'\\]++|\\.|'(?!\s*[,:}\])]))*+)'(?=\s*[,:}\])])", re.DOTALL),
    "‘": re.compile(r"‘((?:[^’\\]++|\\.|’(?!\s*[,:}\])]))*+)’(?=\s*[,:}\])])", re.DOTALL),
    "“": re.compile(r"“((?:[^“”\\]++|\\.|[“”](?!\s*[,:}\])]))*+)[“”](?=\s*[,:}\])])", re.DOTALL),
    "”": re.compile(r"”((?:[^”\\]++|\\.|”(?!\s*[,:}\])]))*+)”(?=\s*[,:}\])])", re.DOTALL),
}
_FENCES = ('"""', "'''", "<escape>", '<|"|>')
"""Longer quotes: Python's, and those of the Gemma family."""
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"'}
_NUMBER = re.compile(r"[-+]?[0-9]{1,400}(?:\.[0-9]{0,400})?(?:[eE][-+]?[0-9]{1,4})?")
_WORD = re.compile(r"[A-Za-z_$][\w$-]{0,80}")
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None, "none": None, "undefined": None}

Watch = Callable[[str, dict[str, Json]], bool]
"""Asked at each key of the outermost object, with the members before it; false gives the value up."""


def read_value(cursor: Cursor, watch: Watch | None = None) -> Json:
    """The JSON value that begins here.

    Raises More, or Broken where it cannot be read. Closers that an end tag makes plain are added, and
    `cursor.mended` set.
    """
    return _value(cursor, 0, watch)


def _value(cursor: Cursor, depth: int, watch: Watch | None = None) -> Json:
    if depth > DEPTH:
        raise Broken(f"it is nested deeper than {DEPTH} levels")
    sign = cursor.peek()
    if sign == "{":
        return _object(cursor, depth, watch)
    if sign == "[":
        return _array(cursor, depth, watch)
    if sign == '"' or sign in _LOOSE or sign == "<":
        return read_string(cursor)
    number = cursor.match(_NUMBER, slack=3)
    if number is not None:
        return _number(number[0])
    word = cursor.match(_WORD)
    if word is not None and word[0].lower() in _WORDS:
        return _WORDS[word[0].lower()]
    raise Broken("a value is missing" if sign else "it ends early", cut=not sign)


def _object(cursor: Cursor, depth: int, watch: Watch | None) -> Json:
    members: dict[str, Json] = {}
    cursor.at += 1
    separated = True
    while True:
        cursor.space_and_comments()
        sign = cursor.peek()
        if sign == "}":
            cursor.at += 1
            return members
        if sign == "," and members:
            cursor.at += 1
            separated = True
            continue
        if _ends_here(cursor, sign, depth):
            return members
        if not separated:
            raise Broken("a comma is missing")
        key = _key(cursor, sign)
        if watch is not None and not watch(key, members):
            raise Broken("it is no call")
        cursor.space_and_comments()
        if not cursor.take(":"):
            raise Broken("a colon is missing", cut=cursor.at_end())
        cursor.space_and_comments()
        members[key] = _value(cursor, depth + 1)
        separated = False


def _array(cursor: Cursor, depth: int, watch: Watch | None) -> Json:
    entries: list[Json] = []
    cursor.at += 1
    separated = True
    while True:
        cursor.space_and_comments()
        sign = cursor.peek()
        if sign == "]":
            cursor.at += 1
            return entries
        if sign == "," and entries:
            cursor.at += 1
            separated = True
            continue
        if sign == "}" and entries and _one_too_many(cursor):
            continue
        if _ends_here(cursor, sign, depth):
            return entries
        if not separated:
            raise Broken("a comma is missing")
        entries.append(_value(cursor, depth + 1, watch))
        separated = False


def _one_too_many(cursor: Cursor) -> bool:
    """Step over a closing brace in an array if the array plainly goes on or ends behind it."""
    start = cursor.at
    cursor.at += 1
    cursor.space()
    if cursor.peek() in ("]", ","):
        return True
    cursor.at = start
    return False


def _ends_here(cursor: Cursor, sign: str, depth: int) -> bool:
    """Whether a container ends without its closer, since an end tag or a closer of its parent stands here."""
    if sign == "":
        raise Broken("it ends early", cut=True)
    if sign in "]}" and depth:
        cursor.mended = True
        return True
    if sign not in "<[":
        return False
    token = cursor.token()
    if token is None or token[1] not in ("close", "noise", "open"):
        return False
    cursor.mended = True
    return True


def _key(cursor: Cursor, sign: str) -> str:
    if sign == '"' or sign in _LOOSE or sign == "<":
        return read_string(cursor)
    word = cursor.match(_WORD)
    if word is None:
        raise Broken("a key is missing")
    return word[0]


def read_string(cursor: Cursor) -> str:
    """The string that begins here, in any of the quotes that models use."""
    for fence in _FENCES:
        if cursor.text[cursor.at] == fence[0] and cursor.looking_at(fence):
            return _fenced(cursor, fence)
    quote = cursor.peek()
    pattern = _DOUBLE if quote == '"' else _LOOSE.get(quote)
    if pattern is None:
        raise Broken("a string is missing")
    found = pattern.match(cursor.text, cursor.at)
    if found is None:
        cursor.wait()
        raise Broken("a string is open", cut=True)
    cursor.at = found.end()
    return unescape(found[1], quote)


def _fenced(cursor: Cursor, fence: str) -> str:
    start = cursor.at + len(fence)
    end = cursor.text.find(fence, start)
    if end < 0:
        cursor.wait()
        raise Broken("a string is open", cut=True)
    if end + len(fence) == len(cursor.text):
        cursor.wait()
    cursor.at = end + len(fence)
    text = cursor.text[start:end]
    return unescape(text, fence[0]) if fence[0] in "\"'" else text


def unescape(text: str, quote: str) -> str:
    """The text that a string stands for; an escape that JSON does not know keeps its backslash."""
    if "\\" not in text:
        return text

    def meant(found: re.Match[str]) -> str:
        sign = found[1]
        if len(sign) > 1:
            return chr(int(sign[1:], 16))
        return _ESCAPES.get(sign) or (quote if sign == quote else found[0])

    return mend(_ESCAPE.sub(meant, text))


def _number(text: str) -> Json:
    try:
        return int(text)
    except ValueError:
        value = float(text)
    if not isfinite(value):
        raise Broken("a number is too large")
    return value
