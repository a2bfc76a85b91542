"""Takes keys out of what is stored or shown: those that this process holds, and texts in the form of well-known keys.

Texts of files are never changed, since an undo needs them exactly: they are kept beside the events, by their hash.
"""

from __future__ import annotations

import json
import re
from typing import Final
from urllib.parse import quote

from planloom.domain.patterns import pattern
from planloom.domain.values import Json

MASK: Final = "[key]"
SHORTEST: Final = 8
"""Shorter keys are dummies such as `none`, and are not masked."""
SHORTEST_IN_PLANS: Final = 16
"""Shorter ones are not masked in plans: words such as `localhost`, which also stand for a key, would go missing."""
_FORMS: Final = {
    mark: pattern(re.escape(mark) + rest)
    for mark, rest in {
        "sk-": r"[A-Za-z0-9_-]{20,200}",
        **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9]{36,255}"),
        "github_pat_": r"\w{22,255}",
        "glpat-": r"[A-Za-z0-9_-]{20,64}",
        **dict.fromkeys(("AKIA", "ASIA"), r"[0-9A-Z]{16}(?![0-9A-Za-z])"),
        "xox": r"[abeprs]-[A-Za-z0-9-]{10,200}",
        "AIza": r"[A-Za-z0-9_-]{35}",
        "-----BEGIN ": r"[A-Z ]{0,30}PRIVATE KEY-----(?:[A-Za-z0-9+/=\s\\:,]|-(?!-)){0,20000}+"
        r"(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?",
    }.items()
}
"""Well-known forms of keys, by their beginnings: as the beginning of a pattern, these are found fast."""
_PROSE: Final = frozenset({"summary", "output", "error", "detail", "message", "line"})
"""The fields of events with text that people read, and from which nothing is run or written."""


class KnownKeys:
    """The keys of this process, from its environment or set by the user, in every spelling in which they may occur."""

    def __init__(self) -> None:
        self._spellings: tuple[str, ...] = ()

    def add(self, key: str) -> None:
        """Know one more key; a dummy is ignored."""
        if len(key) >= SHORTEST:
            spelled = {key, json.dumps(key)[1:-1], quote(key, safe="")}
            # A spelling may contain another: the longer one goes first.
            self._spellings = tuple(sorted({*self._spellings, *spelled}, key=lambda each: (-len(each), each)))

    def masked(self, text: str) -> str:
        """The text without any known key."""
        for spelling in self._spellings:
            text = text.replace(spelling, MASK)
        return text

    def are_in(self, text: str) -> bool:
        """Whether the text holds a known key that is masked in plans, too."""
        return any(each in text for each in self._spellings if len(each) >= SHORTEST_IN_PLANS)

    def masked_log(self, text: str) -> str:
        """The text without any known key, and without texts in the form of one."""
        return without_forms(self.masked(text))

    def masked_event(self, body: str) -> str | None:
        """The JSON of an event with its keys masked; None if it contains none.

        Known keys are masked in every text but names of files, which no call gives such a name (`tools/context.py`),
        and the text with which a user settles a conflict; texts in the form of a key only where people alone read them.
        """
        known = tuple(each for each in self._spellings if len(each) >= SHORTEST_IN_PLANS and each in body)
        if not known and without_forms(body) == body:
            return None
        event = json.loads(body)
        masked = _masked(event, known, is_prose=False)
        return None if masked == event else json.dumps(masked, ensure_ascii=False)

    def open_at_end(self, text: str) -> int:
        """How many characters at the end of a text may be the beginning of a known key."""
        most = 0
        for spelling in self._spellings:
            if len(spelling) < SHORTEST_IN_PLANS:
                continue
            for size in range(min(len(spelling) - 1, len(text)), most, -1):
                if text.endswith(spelling[:size]):
                    most = size
                    break
        return most


class MaskedStream:
    """Masks known keys in a text that comes in pieces: what may be the beginning of a key is held back."""

    def __init__(self, keys: KnownKeys) -> None:
        self._keys = keys
        self._held = ""

    def add(self, piece: str) -> str:
        """The text so far that certainly ends in no part of a key."""
        text = self._keys.masked(self._held + piece)
        held = self._keys.open_at_end(text)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]

    def end(self) -> str:
        """The text that was held back."""
        held, self._held = self._held, ""
        return held


def without_forms(text: str) -> str:
    """The text with each well-known form of a key masked; linear in time."""
    for mark, form in _FORMS.items():
        if mark in text:
            text = form.sub(_unless_in_a_word, text)
    return text


def _unless_in_a_word(found: re.Match[str]) -> str:
    # A line end of a text is written as a letter in its JSON.
    before = re.sub(r"\\[nrt]\Z", "", found.string[max(0, found.start() - 2) : found.start()])
    return found[0] if before[-1:].isalnum() else MASK


def _masked(value: Json, known: tuple[str, ...], *, is_prose: bool) -> Json:
    if isinstance(value, str):
        if value.startswith(("file:", "untitled:")):
            return value
        for spelling in known:
            value = value.replace(spelling, MASK)
        return without_forms(value) if is_prose else value
    if isinstance(value, list):
        return [_masked(each, known, is_prose=is_prose) for each in value]
    if isinstance(value, dict):
        if "choice" in value:
            return value
        return {
            _masked_name(name, known): _masked(each, known, is_prose=name in _PROSE)
            for name, each in value.items()
        }
    return value


def _masked_name(name: str, known: tuple[str, ...]) -> str:
    masked = _masked(name, known, is_prose=False)
    return masked if isinstance(masked, str) else name
