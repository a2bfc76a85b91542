"""The words of the grammar in other languages, each with the English word that the forms of calls are written in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from planloom.intake.routing.words import LETTER, any_of

_FILE = Path(__file__).with_name("translations.txt")
"""The languages in brackets; below each an English word, or none, and the words that stand for it."""


@cache
def _languages() -> tuple[tuple[re.Pattern[str], dict[str, str], bool], ...]:
    """Of each language the pattern of its words, their English, and whether it renames "in" a name."""
    found = []
    for section in _FILE.read_text("utf-8").split("[")[1:]:
        language, *entries = section.splitlines()
        pairs = (entry.partition(":") for entry in entries)
        table = {word.strip(): english.strip() for english, _, words in pairs for word in words.split(",")}
        words = rf"(?<![{LETTER}./@'’-])(?:{any_of(tuple(table))})(?![{LETTER}/@'’-]|\.\w)"
        found.append((re.compile(words, re.IGNORECASE), table, language in ("de]", "it]")))
    return tuple(found)


def _english(table: dict[str, str], found: re.Match[str]) -> str:
    return table[" ".join(found[0].casefold().split())]


def translations(text: str) -> Iterator[str]:
    """The text with the words of one language in English, for each language that has some of its words.

    White space is collapsed. A word that is a name in the text may be translated, too: whoever takes a name from the
    result looks for it in the text.
    """
    for words, table, renames_in in _languages():
        english = words.sub(partial(_english, table), text)
        if english != text:
            english = " ".join(english.split())
            yield english.replace(" in ", " to ") if renames_in and "rename " in english else english
