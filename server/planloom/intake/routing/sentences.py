"""Classifies the sentences of a request: one that asks, one that looks, one small action, small talk, or else work."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Literal

from planloom.domain.patterns import pattern
from planloom.intake.routing import small_words as words
from planloom.intake.routing.words import WORD_END, any_of

Mood = Literal["asks", "looks", "acts", "talks", "works"]

MOST_WORDS = 16
"""Words that one small action takes at most."""
LONGEST = 400
"""Code points of a request that can be small."""
_EXAMINED = 4000

_ACCENTS = pattern(r"[\u0300-\u036f]+")
_QUOTED = pattern(r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|(?<!\w)'[^'\n]*'(?!\w)")
_TOKEN = pattern(r"\0|[\w'’-]+|[^\w\s]")
_CONTENT = pattern(r"\s(?:with\s+(?:the\s+)?(?:content|contents|text|message)|containing)\b.*")
_ENDING = pattern(r"(?:[\s.!,]|\b(?:please|thanks|thank\s+you|bitte|danke)\b)*\Z")
_SENTENCES = pattern(r"(?<=[.!?;…])(?<![0-9]\.)\s+|(?<=[。？！；])|\n+(?!\s*(?:[0-9]+[.)]|[-*•])\s)")
_CLAUSES = pattern(r"[,:](?=\s)|\n|\s[-–—]+\s|[、，—]|\b(?:then|dann|danach|puis|ensuite|luego|depois|poi)\b")
_JOINED = pattern(r"\b(?:and|but|und|aber|et|mais|y|pero|e|mas|ma)\b")
_IDENTIFIER = pattern(r"\w*(?:\d|_|[a-z][A-Z])\w*\Z")
_COURTESY = pattern(
    rf"(?:(?:{any_of(('please', 'just', 'now', 'also', 'and', 'so', 'but', 'bitte', 'ok', 'hi', 'hello', 'hallo'))})"
    rf"{WORD_END}[\s,]*|(?:[0-9]+[.)]|[-*•])\s+|['\"“«*_`]+)*"
)
_REAL_QUESTION = pattern(
    r"(?:(?:what|how|which|whose|why|when|where|who)['’]?s|(?:(?:what|how|which|whose)(?:\s+[\w-]+){0,3}?|why|when|where|who)"
    r"\s+(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|had|to|many|much))\b"
)
"""A question word with its auxiliary verb: "and add a page" behind it asks, too."""
_CONDITION = pattern(r"(?:when|where|whenever)\s[^,]*,")
_LIST = pattern(r"\n\s*(?:[0-9]+[.)]|[-*•])\s")


def needs_no_plan(plain: str) -> bool:
    """Whether a request is small talk, a question without its mark, or one small, single action; pure.

    `plain` is the request without greetings, with a NUL in place of each path. It is linear in its length. What this
    does not recognise may still be small: it is then unsure, which costs a question or a plan and loses nothing.
    """
    moods = moods_of(plain) if len(plain) <= LONGEST else ["works"]
    return "works" not in moods and moods.count("acts") <= 1 and not {"acts", "asks"}.issubset(moods)


def only_asks(plain: str) -> bool:
    """Whether no sentence of the request wants anything changed; pure."""
    return not {"acts", "works"}.intersection(moods_of(plain))


def moods_of(plain: str) -> list[Mood]:
    """The mood of each sentence."""
    text = _QUOTED.sub("\0", plain[:_EXAMINED]).strip()
    return [_mood(each) for each in _SENTENCES.split(text) if each.strip()]


def folded(text: str) -> str:
    """The text in lower case and without accents, as the words of the rules are written."""
    if text.isascii():
        return text.lower()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", bare).lower()


def clauses_of(text: str) -> list[str]:
    """The parts of a text that can each hold an order."""
    sentences = _SENTENCES.split(text)
    return [each for one in sentences for part in _CLAUSES.split(one) for each in _JOINED.split(part)]


def _mood(sentence: str) -> Mood:
    text = folded(sentence)
    start = _COURTESY.match(text)
    text = text[start.end() :] if start else text
    if words.TALK.match(text) and len(text.split()) <= 6:
        return "works" if any(word in words.ORDERS for word in _TOKEN.findall(text)) else "talks"
    if words.WISHING.match(text):
        return "works" if words.WISHING_WORDS.search(text) is None or _orders(text) else "looks"
    if words.WISHING_ANYWHERE.search(text):
        return "works"
    if text.endswith(("?", "？")) or words.ASKING.match(text) or words.ASKING_ANYWHERE.search(text):
        return "works" if _asks_for_work(text) else "asks"
    return _action(sentence, text)


def _asks_for_work(text: str) -> bool:
    """Whether a sentence that begins or ends like a question holds an order."""
    if words.ASKING.match(text) is None and _first_word(text) in words.ORDERS:
        return True
    if _REAL_QUESTION.match(text) is None:
        return bool(_CONDITION.match(text) or _LIST.search(text)) or _orders(text)
    return any(_first_word(clause) in words.ORDERS for clause in _CLAUSES.split(text)[1:])


def _orders(text: str) -> bool:
    """Whether a clause after the first orders something."""
    _, *further = (part for clause in _CLAUSES.split(text) for part in _JOINED.split(clause))
    return any(
        _first_word(part) in words.ORDERS
        or (words.OBLIGING.search(part) is not None and words.ASKING.match(part.lstrip()) is None)
        for part in further
    )


def _first_word(clause: str) -> str:
    text = clause.lstrip()
    start = _COURTESY.match(text)
    found = _TOKEN.match(text, start.end() if start else 0)
    return found.group() if found else ""


def _action(sentence: str, text: str) -> Mood:
    """The mood of a sentence that is no question: a look, one small action, or work."""
    bare = _ENDING.sub("", _CONTENT.sub("", text))
    first, *further = (part.strip() for clause in _CLAUSES.split(bare) for part in _JOINED.split(clause))
    tokens = _TOKEN.findall(first)
    if not tokens or len(tokens) > MOST_WORDS:
        return "works"
    verb, *rest = tokens
    if verb in words.PARTICLES and tokens[-1] not in words.PARTICLES[verb]:
        return "works"
    if verb in words.LOOKING:
        ordered = any(word in words.ORDERS for part in further for word in _TOKEN.findall(part))
        return "works" if ordered else "looks"
    if further:
        return "works"
    if verb in words.WHOLE and len(tokens) <= 8:
        return "acts"
    if not words.BROAD.isdisjoint(tokens):
        return "works"
    named = frozenset(folded(token) for token in _TOKEN.findall(sentence) if _IDENTIFIER.match(token))
    return "acts" if _touches_little(verb, rest, named) else "works"


def _touches_little(verb: str, tokens: Sequence[str], identifiers: frozenset[str]) -> bool:
    """Whether an action on these words is about a file, a place or a thing that is small."""
    anchors = unknown = 0
    narrow = words.NARROW
    if verb in words.STARTING:
        narrow = narrow | words.STARTED
    elif verb.startswith("format"):
        narrow = narrow | {"code"}
    for index, word in enumerate(tokens):
        if word == "\0" or word in narrow or word in identifiers:
            anchors += 1
        elif word not in words.AROUND:
            before, after = tokens[index - 1 : index] if index else [], tokens[index + 1 : index + 2]
            if not (narrow.intersection(after) or words.NAMING.intersection(before)):
                unknown += 1
            elif words.NAMING.intersection(before):
                anchors += 1
    if not anchors:
        return False
    if verb in words.EXCHANGING:
        return unknown <= 2
    return not unknown and (verb in words.CHANGING or verb in words.STARTING)
