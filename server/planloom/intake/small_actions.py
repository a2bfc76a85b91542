"""Recognises requests that surely need no plan: one small action, a question without its mark, small talk."""

from __future__ import annotations

import re
from typing import Final

from planloom.domain.patterns import pattern
from planloom.intake.words import WORD_END, any_of, listed

MOST_WORDS = 16
"""Words that one small action takes at most."""

_QUOTED = pattern(r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|(?<!\w)'[^'\n]*'(?!\w)")
_TOKEN = pattern(r"\0|[\w'’-]+|[^\w\s]")
_CONTENT = pattern(r"\s(?:with\s+(?:the\s+)?(?:content|contents|text|message)|containing)\b.*", re.I)
_ENDING = pattern(r"(?:[\s.!,]|\b(?:please|thanks|thank\s+you)\b)*\Z", re.I)
_PARTS = pattern(r"[.!?;:](?=\s)|[,\n]|\b(?:and|then|but)\b", re.I)
_IDENTIFIER = pattern(r"\w*(?:\d|_|[a-z][A-Z])\w*\Z")

_LOOKING = frozenset(
    listed(
        """
        show, list, find, search, look, count, check, see, explain, summarize, summarise, compare, inspect, review,
        audit, analyze, analyse, read, describe, run, rerun, execute, lint, grep, tell, verify, diff
        """
    )
)
"""Verbs that change nothing themselves, whatever they are about."""
_COMMANDS = frozenset(
    listed(
        "git, npm, npx, pnpm, yarn, pip, pytest, cargo, ls, cat, cd, tox, ruff, mypy, eslint, python, python3, uv"
    )
)
_REVERTING = frozenset(listed("undo, redo, revert, commit, push, pull, stash, save"))
_STARTING = frozenset(listed("start, stop, restart, launch, kill, open, close"))
_CHANGING = frozenset(
    listed(
        """
        create, add, make, write, append, prepend, insert, delete, remove, move, copy, fix, correct, format, sort,
        indent, comment, uncomment, bump, update, clear, touch, refresh, swap, increase, decrease
        """
    )
)
_EXCHANGING = frozenset(listed("rename, replace, change, set, turn, switch"))
"""Verbs whose object is any two words: rename foo to bar."""
_STARTED = frozenset(
    listed(
        """
        server, app, service, container, containers, process, debugger, watcher, database, editor, terminal, browser,
        settings, tab, tabs, pr, diff, shell
        """
    )
)
_NARROW = frozenset(
    listed(
        """
        file, files, folder, directory, line, lines, comment, comments, typo, typos, import, imports, variable,
        constant, word, spelling, semicolon, comma, whitespace, newline, docstring, todo, version, port, title, label,
        colour, color, text, name, timeout, number, spacing, indentation, heading, link, url, readme, changelog,
        license, makefile, dockerfile, character, paragraph, sentence, string, value, parameter, argument, key, keys,
        hint, statement, border, margin, padding, font, icon
        """
    )
)
"""Things that are small wherever they are."""
_NAMED = frozenset(listed("file, folder, directory"))
"""What may be followed by a name of any form."""
_NARROW_FOR: Final = {"format": frozenset({"code"}), **dict.fromkeys(_STARTING, _STARTED)}
_AROUND = frozenset(
    listed(
        """
        a, an, the, this, that, these, it, its, my, our, your, one, two, last, first, previous, next, new, old, empty,
        blank, unused, trailing, missing, wrong, extra, same, single, type, in, to, from, of, at, on, with, by, as,
        into, for, above, below, under, over, out, up, after, before, end, top, bottom, beginning, start, here, there,
        true, false, called, named
        """
    )
)
_BROAD = frozenset(
    listed(
        """
        all, every, each, everywhere, everything, across, whole, entire, throughout, whenever, when, if, unless, until,
        while, so, such, instead, because, since, should, must, everyone, always, never
        """
    )
)
_TALK = pattern(
    r"(?:thanks|thank\s+you|thx|ok|okay|yes|yep|no|nope|sure|great|cool|nice|perfect|sorry|never\s+mind|danke|merci"
    rf"|gracias){WORD_END}|(?:good|continue|go(?:\s+on)?|stop|wait)(?:\s+(?:it|now|here))?\W*\Z|\W*\Z",
    re.I,
)
_ASKING = pattern(
    r"(?:(?:is|are|was|were|does|did|has|should|am|could|would|will|may|might)\s+(?!you\b)\S"
    r"|(?:do|have|can|shall)\s+(?:i|we|they|any|the\s+\w+\s+(?:have|need|use))\b|any\s+idea\b|(?:i|we)\s+(?:wonder|do\s+not|don['’]t)\s"
    r"|i['’]m\s+(?:wondering|not\s+sure)|help\s+me\s+understand"
    r"|(?:can|could|would|will)\s+you\s+(?:please\s+)?(?:explain|tell|show|describe|check|find|look|list|summari[sz]e|see|run)"
    r"|(?:wie|warum|wieso|weshalb|wo|wer|welche[rs]?|was\s+(?:ist|sind|macht|bedeutet|tut))\s"
    r"|(?:pourquoi|comment|où|quel(?:le)?s?|qu['’]est-ce)\s|¿|(?:por\s+qu[eé]|cómo|dónde|cuál|qué|como|onde)\s"
    r"|(?:perch[eé]|come|dove)\s|(?:почему|как|где|что\s+такое)\s|(?:jak|dlaczego|gdzie|waarom|hoe|waar|varför|hur|var)\s"
    r"|为什么|怎么|如何|哪|なぜ|どうして|どうやって|왜|어떻게)",
    re.I,
)
_WORK = frozenset(
    listed(
        """
        fix, add, remove, delete, replace, rename, update, change, move, migrate, convert, rewrite, make, create, write,
        build, implement, refactor, improve, repair, mend, correct, apply, port, split, extract, upgrade
        """
    )
)
_FIRST_WORD = pattern(rf"(?:{any_of(('please', 'just', 'now', 'also'))})\s+", re.I)


def needs_no_plan(plain: str) -> bool:
    """Whether a request is small talk, a question without its mark, or one small, single action; pure.

    `plain` is the request without greetings, with a NUL in place of each path. It is linear in its length. What this
    does not recognise may still be small: it is then unsure, which costs a question or a plan and loses nothing.
    """
    courtesy = _FIRST_WORD.match(plain)
    text = plain if courtesy is None else plain[courtesy.end() :]
    if len(text) > 400:
        return False
    if _TALK.match(text) and len(text.split()) <= 6:
        return not _names_work(text)
    if _ASKING.match(text):
        return True
    return _is_small_action(text)


def _is_small_action(text: str) -> bool:
    text = _QUOTED.sub("\0", text)
    text = _ENDING.sub("", _CONTENT.sub("", text))
    first, *further = (part.strip() for part in _PARTS.split(text))
    tokens = _TOKEN.findall(first)
    words = [token.lower() for token in tokens]
    if not words or len(words) > MOST_WORDS:
        return False
    verb = words[0]
    if verb in _LOOKING:
        return not any(_names_work(part) for part in further)
    if further:
        return False
    if verb in _COMMANDS or verb in _REVERTING or words[0] == "\0":
        return len(words) <= 8
    if not _BROAD.isdisjoint(words):
        return False
    return _touches_little(verb, tokens[1:])


def _touches_little(verb: str, tokens: list[str]) -> bool:
    """Whether an action on these words is about a file, a place or a thing that is small."""
    anchors = unknown = 0
    narrow = _NARROW | _NARROW_FOR.get(verb, frozenset())
    words = [token.lower() for token in tokens]
    for index, (token, word) in enumerate(zip(tokens, words, strict=True)):
        if word == "\0" or word in narrow or _IDENTIFIER.match(token):
            anchors += 1
        elif word not in _AROUND:
            before, after = words[index - 1 : index] if index else [], words[index + 1 : index + 2]
            if not (narrow.intersection(after) or _NAMED.intersection(before)):
                unknown += 1
    if not anchors:
        return False
    if verb in _EXCHANGING:
        return unknown <= 2
    return verb in _CHANGING | _STARTING and not unknown


def _names_work(text: str) -> bool:
    return not _WORK.isdisjoint(word.lower() for word in _TOKEN.findall(text))
