"""The terms by which texts are compared: words without their endings, parts of identifiers, and names of files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from planloom.domain.memory.stop_words import GENERIC_NAMES, STOP_WORDS
from planloom.domain.patterns import pattern

MOST_TERMS: Final = 200
"""Different terms of one text."""
MARK: Final = "/"
"""The first character of a term that is the path or the name of a file; no word has it."""
_LONGEST: Final = 40
_SHORTEST_PART: Final = 2
_WORD: Final = pattern(r"[^\W_]+")
_HUMPS: Final = pattern(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WITHOUT_SPACES: Final = pattern("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")
"""Runs of scripts that put no spaces between words; such a run is taken by its pairs of characters."""
_TOKEN: Final = pattern(r"[\w./:@\\-]+")
_PATH: Final = pattern(r"@?(?:\./)?((?:[\w.-]+/)+[\w.-]*\w|[\w-]{2,}[\w.-]*\.[A-Za-z]\w{0,9})")
_LONGEST_PATH: Final = 200
_ENDINGS: Final = (
    "ations",
    "ation",
    "ions",
    "ion",
    "ings",
    "ing",
    "ments",
    "ment",
    "ers",
    "er",
    "ed",
    "es",
    "s",
    "e",
)
_SHORTEST_STEM: Final = 3


def terms_of(text: str) -> Counter[str]:
    """The terms of a text, counted, without words that texts of any subject have and the endings of files' names.

    Linear in time.
    """
    found: Counter[str] = Counter()
    for term in _words(text):
        if term in found or len(found) < MOST_TERMS:
            found[term] += 1
    return found


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(_TOKEN.sub(_without_ending, text)):
        for part in _HUMPS.split(word):
            folded = part.casefold()
            if _WITHOUT_SPACES.search(folded):
                yield from _pairs(folded)
            elif folded not in STOP_WORDS and len(folded) >= _SHORTEST_PART and not folded.isdecimal():
                yield _stem(folded[:_LONGEST])


def _pairs(run: str) -> Iterator[str]:
    """Each two neighbouring characters of a run without spaces."""
    for found in _WITHOUT_SPACES.findall(run):
        yield from (found[at : at + 2] for at in range(max(1, len(found) - 1)))


def _stem(word: str) -> str:
    """A word without an English ending, so that `caches`, `cached`, `caching` and `cache` are one term."""
    if not word.isascii() or not word.isalpha():
        return word
    if word.endswith("ies") and len(word) > 4:
        word = f"{word[:-3]}y"
    elif not word.endswith("ss"):
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
                word = word[: -len(ending)]
                break
    if word.endswith("at") and len(word) > 5:
        word = word[:-2]
    if len(word) > _SHORTEST_STEM and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return f"{word[:-1]}i" if word.endswith("y") and len(word) > _SHORTEST_STEM else word


def files_named(text: str) -> frozenset[str]:
    """The paths and names of files in a text, as they are written. Linear in time."""
    return frozenset(path for token in _TOKEN.findall(text) if (path := _path_in(token)))


def _path_in(token: str) -> str:
    """The path that a token is, without what stands around it in a sentence; empty if it is none."""
    found = _PATH.fullmatch(token.rstrip(".:")) if len(token) <= _LONGEST_PATH else None
    return found[1] if found else ""


def _without_ending(token: re.Match[str]) -> str:
    path = _path_in(token[0])
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{name.rpartition('.')[0] or name}" if path else token[0]


def file_terms(paths: Iterable[str]) -> frozenset[str]:
    """The terms of files: each path in a folder, and each name that is not generic."""
    found: set[str] = set()
    for path in paths:
        folded = path.strip("/").casefold()[-_LONGEST_PATH:]
        last = folded.rpartition("/")[2]
        if "/" in folded:
            found.add(MARK + folded)
        if last and last not in GENERIC_NAMES:
            found.add(MARK + last)
    return frozenset(found)
