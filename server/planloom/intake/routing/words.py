"""The English words that detection searches for, and patterns for whole words."""

from __future__ import annotations

import re

from planloom.domain.patterns import pattern


def listed(text: str) -> tuple[str, ...]:
    """The words and phrases of a text, which are separated by commas."""
    return tuple(" ".join(each.split()) for each in text.split(","))


GREETINGS = listed("hi, hello, hey, howdy, please, kindly")
QUESTIONS = listed(
    """
    what, why, how, when, where, who, which, can you explain, tell me about, describe, show me
    """
)
VERBS = listed(
    """
    create, build, implement, make, develop, write, add, design, set up, configure, generate, refactor,
    update, modify, change, fix, debug, optimize
    """
)
SCOPES = listed(
    """
    game, application, app, feature, system, component, page, form, api, endpoint, service, module, website,
    site, project, program, tool, utility, class, function, method, interface, database
    """
)

LETTER = r"\w\u00ad\u0300-\u036f\u200c\u200d\u2060"
"""For a character class: characters that continue a word. Combining accents and invisible joiners do, so that a
decomposed "sité" is not the word "site"."""


def any_of(words: tuple[str, ...]) -> str:
    """A pattern for any of the words or phrases, longest first, with any white space between their parts."""
    longest_first = sorted(words, key=len, reverse=True)
    return "|".join(r"\s+".join(map(re.escape, word.split())) for word in longest_first)


def plural(word: str) -> str:
    """The English plural: `utility` gives `utilities`, `class` gives `classes`, `app` gives `apps`."""
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")


WORD_START = rf"(?<![{LETTER}-])"
WORD_END = rf"(?![{LETTER}]|-[{LETTER}])"
"""`create-react-app` does not contain the word create, `create - an app` does."""

VERB = rf"(?:{any_of(VERBS)}){WORD_END}(?!['’][{LETTER}])"
SCOPE = rf"(?:{any_of(SCOPES + tuple(map(plural, SCOPES)))})(?![{LETTER}])"
"""A scope word may be part of a compound: `web-app`, `API-key`."""

LEADING_GREETING = pattern(rf"(?:{any_of(GREETINGS)}){WORD_END}(?:\s*[,!.:;…–—]+|\s+-+(?=\s))?\s*", re.I)
LEADING_QUESTION = pattern(rf"(?:{any_of(QUESTIONS)}){WORD_END}", re.I)
LEADING_VERB = pattern(VERB, re.I)
ANY_SCOPE = pattern(rf"(?<![{LETTER}]){SCOPE}", re.I)
REFACTORING = pattern(r"refactor\s+\0\s+(?:to|so\s+that|into|using)\s", re.I)
"""A refactoring of a named file with its aim: work on a part of a program, whatever the file is called."""
JOINED_TASK = pattern(rf"{WORD_START}(?:and|also),?\s+{VERB}", re.I)
WORD = pattern(r"[^\W\d_]+")
VERB_SET = frozenset(VERBS)
SCOPE_SET = frozenset(SCOPES + tuple(map(plural, SCOPES)))
