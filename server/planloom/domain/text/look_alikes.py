"""Letters that look like Latin ones: the one definition for commands, names of files and hosts.

A word is suspicious if it has such a letter beside Latin ones, or, from three letters on, if it consists of them. Words
that only mix alphabets in plain sight (`тест_run`, `Δx`) are not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final, NamedTuple

_LATIN: Final = dict(
    zip(
        "аеорсухіјѕһԁԛԝӏѵԍАВЕКМНОРСТУХІЈЅҺԌԚԜӀѴ" + "αιονρυγκχϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϿ" + "ոսօցհյոՕՍ" + "ıɡɑ",
        "aeopcyxijshdqwlvgABEKMHOPCTYXIJSHGQWIV" + "aiovpuykxcjABEZHIKMNOPTYXCJ" + "nuoghjnOU" + "iga",
        strict=True,
    )
)
"""Cyrillic, Greek, Armenian and rare Latin letters, and the letter of ASCII that each is drawn like."""
_WORD: Final = re.compile(r"[^\W\d_]+")
_SHORTEST: Final = 3
_NAMED: Final = 3


class LookAlike(NamedTuple):
    """A suspicious word, the ASCII word that it looks like, and its letters that are not what they look like."""

    word: str
    latin: str
    letters: tuple[str, ...]


def look_alikes(text: str) -> tuple[LookAlike, ...]:
    """The suspicious words of a text, each once, in their order. Linear in time."""
    if text.isascii():
        return ()
    return tuple(filter(None, map(_judged, dict.fromkeys(_WORD.findall(text)))))


def look_alike_warning(texts: Iterable[str]) -> str | None:
    """A sentence that names the first suspicious words and their letters; None if there are none."""
    found = [each for text in texts for each in look_alikes(text)]
    if not found:
        return None
    named = "; ".join(map(_named, found[:_NAMED]))
    more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"Letters only look like Latin ones: {named}{more}."


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
    if char in _LATIN:
        return _LATIN[char]
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
