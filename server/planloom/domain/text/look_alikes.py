"""Characters that look like those of ASCII: the one definition for commands, names of files and hosts.

A word is suspicious if it has such a letter beside Latin ones, or, from three letters on, if it consists of them. Words
that only mix alphabets in plain sight (`тест_run`, `Δx`) are not. Suspicious, too, are a dash that is none of ASCII
before an option, and a dot, slash or other mark that is none of ASCII between letters or digits that are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from planloom.domain.text.confusables import LETTERS, MARKS

_OTHERS: Final = dict(zip("ӏԍІҺԚӀκχΙϿյ", "lgIHQIkxIJj", strict=True))
"""Letters that Unicode does not list, or lists by another one."""
_DRAWN: Final = {char: like for like, chars in LETTERS.items() for char in chars} | _OTHERS
_MARKED: Final = {char: like for like, chars in MARKS.items() for char in chars}
_DASHES: Final = MARKS["-"] + "—―"
_SMALL_CAPITAL: Final = "LATIN LETTER SMALL CAPITAL "
_MARK: Final = re.compile(rf"(?<=[A-Za-z0-9])[{''.join(_MARKED.keys() - {*_DASHES})}](?=[A-Za-z0-9])")
_OPTION: Final = re.compile(rf"(?<![^\s\"'=(])[{_DASHES}][{_DASHES}-]*(?=[A-Za-z])")
_SHOWN: Final = 40
_WORD: Final = re.compile(r"[^\W\d_]+")
_SHORTEST: Final = 3
_NAMED: Final = 3


class LookAlike(NamedTuple):
    """A suspicious word, the ASCII word that it looks like, and its characters that are not what they look like."""

    word: str
    latin: str
    letters: tuple[str, ...]


def look_alikes(text: str) -> tuple[LookAlike, ...]:
    """The suspicious words of a text, each once, in their order. Linear in time."""
    if text.isascii():
        return ()
    words = filter(None, map(_judged, dict.fromkeys(_WORD.findall(text))))
    return (*words, *dict.fromkeys(_marks(text)))


def _marks(text: str) -> Iterator[LookAlike]:
    """The options and addresses of a text that have a mark which is none of ASCII."""
    for pattern in (_OPTION, _MARK):
        for found in pattern.finditer(text):
            before = text[max(0, found.start() - _SHOWN) : found.start()].split()
            after = text[found.end() : found.end() + _SHOWN].split(None, 1)
            start = "" if pattern is _OPTION else before[-1]
            like = "".join("-" if char in _DASHES else _MARKED.get(char, char) for char in found[0])
            end = after[0]
            letters = tuple(dict.fromkeys(char for char in found[0] if not char.isascii()))
            yield LookAlike(start + found[0] + end, start + like + end, letters)


def look_alike_warning(texts: Iterable[str]) -> str | None:
    """A sentence that names the first suspicious words and their letters; None if there are none."""
    found = [each for text in texts for each in look_alikes(text)]
    if not found:
        return None
    named = "; ".join(map(_named, found[:_NAMED]))
    more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"Characters only look like those of ASCII: {named}{more}."


def _judged(word: str) -> LookAlike | None:
    if word.isascii():
        return None
    drawn = [char if char.isascii() else _drawn_like(char) for char in word]
    letters = tuple(dict.fromkeys(c for c, like in zip(word, drawn, strict=True) if like and not c.isascii()))
    has_latin = any(char.isascii() for char in word)
    if not letters or not (has_latin or (None not in drawn and len(word) >= _SHORTEST)):
        return None
    latin = "".join(like or char for char, like in zip(word, drawn, strict=True))
    return LookAlike(word, latin, letters)


def _drawn_like(char: str) -> str | None:
    """The ASCII letter that another letter looks like; None if a reader can tell them apart."""
    if char in _DRAWN:
        return _DRAWN[char]
    name = unicodedata.name(char, "")
    if name.startswith(_SMALL_CAPITAL) and len(name) == len(_SMALL_CAPITAL) + 1:
        return name[-1].lower()
    # Letters of another font or width, such as U+FF43 and U+1D41A.
    kind, _, code = unicodedata.decomposition(char).partition(" ")
    like = chr(int(code, 16)) if kind in ("<font>", "<wide>") and " " not in code else ""
    return like if like.isascii() and like.isalpha() else None


def _named(found: LookAlike) -> str:
    letters = ", ".join(_letter(char) for char in found.letters[:_NAMED])
    return f"“{found.word}” is not “{found.latin}”, it has {letters}"


def _letter(char: str) -> str:
    name = unicodedata.name(char, "").lower()
    return f"{char} (U+{ord(char):04X}{f', {name}' if name else ''})"
