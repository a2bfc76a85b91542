"""Writes the sentences of a view in the language of the client: one catalogue for each language."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

LANGUAGES: Final = ("de",)
"""The languages with a catalogue, besides English; `<language>.json` beside this module maps each English sentence."""
_PLACE: Final = re.compile(r"\{(\d)\}")


class Words:
    """The words of one language, named as in `initialize.locale`; of a language without a catalogue, English."""

    def __init__(self, locale: str = "en") -> None:
        language = re.split("[-_]", locale.lower(), maxsplit=1)[0]
        self.language = language if language in LANGUAGES else "en"
        self._sentences = catalogue(self.language)

    def __call__(self, sentence: str, *values: str | int) -> str:
        """A sentence in this language, with `{0}`, `{1}` … replaced by the values."""
        known = self._sentences.get(sentence, sentence)
        return (
            _PLACE.sub(lambda place: self._text(values, int(place[1]), place[0]), known) if values else known
        )

    def plural(self, count: int, one: str, other: str, *values: str | int) -> str:
        """One of two sentences; `{0}` is the count, `{1}` the first of the values."""
        return self(one if count == 1 else other, count, *values)

    def number(self, value: float, most: int = 0, least: int = 0) -> str:
        """`1,234.5`, with at most this many digits after the point, and at least `least`."""
        text = f"{value:,.{most}f}"
        whole, _, digits = text.partition(".")
        digits = digits[:least] + digits[least:].rstrip("0")
        text = f"{whole}.{digits}" if digits else whole
        return text.translate(_GERMAN_NUMBERS) if self.language == "de" else text

    def list(self, words: Sequence[str]) -> str:
        """`1, 3 and 4`."""
        *first, last = words
        return f"{', '.join(first)} {self('and')} {last}" if first else last

    def duration(self, milliseconds: float) -> str:
        """`800 ms`, `4.2 s`, `3 min 20 s`."""
        if milliseconds < 1000:
            return self("{0} ms", round(milliseconds))
        seconds = milliseconds / 1000
        if seconds < 60:
            digits = 1 if seconds < 10 else 0
            return self("{0} s", self.number(seconds, digits, digits))
        minutes = int(seconds // 60)
        if minutes < 60:
            return self("{0} min {1} s", minutes, int(seconds % 60))
        return self("{0} h {1} min", minutes // 60, minutes % 60)

    def amount(self, count: int) -> str:
        """`940`, `12.4k`, `1.3M`."""
        if count < 1000:
            return str(count)
        if count < 1_000_000:
            return self("{0}k", self.number(count / 1000, 1, 1))
        return self("{0}M", self.number(count / 1_000_000, 1, 1))

    def money(self, cost: float) -> str:
        """An amount in the currency of the user's prices: `0.0231`, `12.50`."""
        if 0 < cost < _SMALLEST:
            return f"< {self.number(_SMALLEST, 4)}"
        return self.number(cost, 4 if cost < 1 else 2, 2)

    def at_work(self, what: str, percent: int | None, attempt: int) -> str:
        """`Testing · 50 % · attempt 2`: what a running step does; no percentage if unknown, no first attempt."""
        so_far = "" if percent is None else f" · {self('{0} %', percent)}"
        again = f" · {self('attempt {0}', attempt)}" if attempt > 1 else ""
        return f"{what}{so_far}{again}"

    def _text(self, values: Sequence[str | int], index: int, place: str) -> str:
        if index >= len(values):
            return place
        value = values[index]
        return self.number(value) if isinstance(value, int) else value


_GERMAN_NUMBERS: Final = str.maketrans(",.", ".,")
_SMALLEST: Final = 0.0001


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """The sentences of a language by the English ones; none of English."""
    if language not in LANGUAGES:
        return {}
    text = Path(__file__).with_name(f"{language}.json").read_text(encoding="utf-8")
    found: dict[str, str] = json.loads(text)
    return found
