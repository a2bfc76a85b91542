"""The English words that detection searches for, and patterns for whole words."""

from __future__ import annotations

import re


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
SCOPE = rf"(?:[{LETTER}]+-)?(?:{any_of(SCOPES + tuple(map(plural, SCOPES)))}){WORD_END}"
"""A scope word may end a compound of two words (`web-app`), but not be part of a longer name."""

LEADING_GREETING = re.compile(rf"(?:{any_of(GREETINGS)}){WORD_END}(?:\s*[,!.:;…–—]+|\s+-+(?=\s))?\s*", re.I)
LEADING_QUESTION = re.compile(rf"(?:{any_of(QUESTIONS)}){WORD_END}", re.I)
LEADING_VERB = re.compile(VERB, re.I)
ANY_SCOPE = re.compile(WORD_START + SCOPE, re.I)
JOINED_TASK = re.compile(rf"{WORD_START}(?:and|also),?\s+{VERB}", re.I)
VERB_AFTER_CONDITION = re.compile(rf"when\s[^,\n]*,\s*{VERB}", re.I)
POLITE_REQUEST = re.compile(
    rf"(?:can|could|would|will)\s+you\s+(?:please\s+|kindly\s+)?{VERB}|(?:i|we)\s+(?:want|need|would\s+like){WORD_END}"
    rf"|how\s+about{WORD_END}",
    re.I,
)
"""Phrases that ask for work, even before a question mark."""
REAL_QUESTION = re.compile(
    r"(?:what|why|how|when|where|who|which)(?:['’]s|(?:\s+\w+){0,2}?\s+(?:is|are|was|were|do|does|did|can|could|should|would"
    rf"|will|has|have|had|to|many|much)){WORD_END}",
    re.I,
)
"""A question word with its auxiliary verb; unlike "when it starts" or "show me", it does not introduce work."""

WORD = re.compile(r"[^\W\d_]+")
VERB_SET = frozenset(VERBS)
SCOPE_SET = frozenset(SCOPES + tuple(map(plural, SCOPES)))
_COMMON = """
    the and of with this that these those from into my our your their it its is are was be been has have do
    does not but or if then than so as at by for in on to up out all any some each every there here after
    before between more less only also now just very good new old first last next same other
    please thanks thank hi hello hey yes no ok okay sure done great cool nice go continue stop again wait
    run read open list delete remove move rename copy replace append insert install test check find search
    look see show explain review clean sort format print use try give get set put start save load log help
    convert need want should would could can will must let think tell know say work works working
    file files folder code line lines text test tests name names error errors bug readme word words
    """
ENGLISH = VERB_SET | SCOPE_SET | frozenset(_COMMON.split())
"""Words that mark a text as English. Some also exist in other languages, but a wrong guess costs at most one question
to a model."""
