"""Word lists for requests (verbs, connecting words, programs), and descriptions of steps made from their words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from planloom.agent.plan_spec import LONGEST_DESCRIPTION
from planloom.domain.plans.agents import Agent
from planloom.intake.routing import words
from planloom.intake.routing.operations import OPERATION

_LITERAL = "append ask copy delete deploy execute insert install list mkdir move read remove rename replace run touch"
_OTHERS = """
    analyze analyse apply adapt adjust align allow amend annotate archive assert assess attach audit backup begin bind
    bootstrap bump cache call check choose clean clear clone close collect combine commit compare compile compute
    confirm connect convert correct cover cut declare decide define delegate describe detect determine disable display
    document download draft drop edit enable encrypt end enforce ensure establish evaluate examine expand explain
    explore export expose extend extract fetch fill filter find finish format gather get give grant group guard handle
    harden hook identify import improve include increase index inject initialize initialise inspect integrate
    introduce investigate isolate join keep launch limit link load localize lock log map mark measure merge migrate
    mock monitor mount name normalize note open order organize outline package parse patch perform persist pick plan
    plug port prepare preserve prevent print profile promote provide prune publish pull push put rebuild record
    redesign redirect reduce refine register release reload reorganize repair report request require research reset
    resolve restart restore restructure retry return reuse review revise rewrite roll route save scaffold scan
    schedule search secure select send separate serve set setup share ship show simplify sketch skip sort specify
    split start stop store structure style submit summarize support survey swap switch sync tag take test throw tidy
    track train transform translate trim tune turn undo unify upgrade upload use validate verify version visit warn
    watch wire wrap zip
"""

VERBS = frozenset((*words.VERBS, *_LITERAL.split(), "ingest"))
"""Verbs that begin another task after a comma or "and": those of detection, of literal calls, and one of data."""

KNOWN_VERBS = VERBS | frozenset(_OTHERS.split())
"""Verbs with which a task may begin."""

CONNECTING = (
    r"(?:and|but|plus|also|please|then|next|after that|afterwards|finally|last(?:ly)?|first(?:ly)?|second(?:ly)?"
    r"|third(?:ly)?)"
)
"""Words between two tasks of a sentence, in a text with collapsed white space."""

_JS = "add audit build ci dev format i install lint list ls outdated remove run start t test typecheck uninstall"
PROGRAMS: Mapping[str, str] = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _JS),
    **dict.fromkeys(("pip", "pip3"), "check freeze install list uninstall"),
    "cargo": "add build check clean clippy doc fmt run test",
    "docker": "build compose images ps pull push run",
    "go": "build fmt get mod run test vet",
    "dotnet": "build clean restore run test",
    "git": "add branch checkout clean commit diff fetch init log merge pull push reset restore stash status switch",
    "poetry": "build install lock run",
    "ruff": "check format",
    "uv": "add lock run sync",
    **dict.fromkeys(("ls", "mypy", "pytest", "tox", "tsc", "vitest", "jest", "eslint"), ""),
    **dict.fromkeys(("python", "python3", "node"), ""),
}
"""Programs whose command lines are recognized without quotes, with their subcommands."""

COMMAND_START = "|".join(
    rf"{program} (?:{'|'.join(commands.split())})(?!\S)"
    if commands
    else rf"{program}(?= \S*[-./]|\s*(?:$|\n|[.,;&]))"
    for program, commands in PROGRAMS.items()
) + (
    r"|make (?:all|build|check|clean|ci|coverage|dist|fmt|format|install|lint|release|run|setup|tests?)(?!\S)"
    r"|\.{1,2}/[\w/-]+(?:\.(?:sh|bash|py|js|ts|rb|pl|ps1|bat|cmd|exe))?(?!\S)"
)
"""A pattern of the beginning of such a command line."""

_PROGRAMS = frozenset({*PROGRAMS, "mkdir", "touch"})
_DOUBLED = re.compile(r"[^aeiou]*[aeiou][^aeiouwxy]|begin|commit|debug|format|reset|submit")
"""Verbs that double their last letter: one syllable that ends in one vowel and one consonant, and some others."""


def gerund(verb: str) -> str:
    """The -ing form of a verb: create, creating; run, running."""
    if _DOUBLED.fullmatch(verb):
        return f"{verb}{verb[-1]}ing"
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return f"{verb[:-1]}ing"
    return f"{verb}ing"


_MOST_SEARCHED = 2_000


def agent_for(description: str, instruction: str = "", *, writes: bool = False) -> Agent:
    """The agent for a step in words: Devo if it begins by running, installing or deploying something, else Koda.

    `writes`: it is known to write files; then a later task that runs something makes no difference.
    """
    if OPERATION.match(description):
        return "devo"
    texts = () if writes else (description, instruction)
    return "devo" if any(OPERATION.search(text[:_MOST_SEARCHED]) for text in texts) else "koda"


_FIRST_WORD = re.compile(r"[A-Za-z]+")
_JOINED = re.compile(r" and ([A-Za-z]+)(?= |$)")
_SPOKEN_VERBS = KNOWN_VERBS - _PROGRAMS


def active_form(description: str) -> str:
    """The description of a step while it runs: "Create folder src" becomes "Creating folder src"."""
    text = " ".join(description.split()).rstrip(".")
    first = _FIRST_WORD.match(text)
    if (
        first is None
        or first[0].lower() not in _SPOKEN_VERBS
        or text[first.end() : first.end() + 1] not in ("", " ", ",")
    ):
        return f"Working on: {text}"
    form, rest = gerund(first[0].lower()), text[first.end() :]
    for joined in _JOINED.finditer(rest):
        if joined[1].lower() not in _SPOKEN_VERBS:
            continue
        if joined.start():
            # Whether a later word is a verb or a noun, no rule can say.
            return f"Working on: {text}"
        rest = f" and {gerund(joined[1].lower())}{rest[joined.end() :]}"
        break
    return form[0].upper() + form[1:] + rest


def description_of(text: str) -> str:
    """The text as one line with a capital first letter and no full stop, at most LONGEST_DESCRIPTION characters."""
    line = " ".join(text.split()).rstrip(" ,;:")
    if line.endswith(".") and not line.endswith(("..", " .", "/.")):
        line = line[:-1]
    if len(line) > LONGEST_DESCRIPTION:
        head, space, _ = line[: LONGEST_DESCRIPTION - 1].rpartition(" ")
        line = (head if space else line[: LONGEST_DESCRIPTION - 1]).rstrip(" ,;:") + "…"
    return capitalized(line)


def capitalized(text: str) -> str:
    """The text with a capital first letter, unless its first word is a path, a name, a program or code."""
    word = text.split(" ", 1)[0]
    if not word.isalpha() or not word.islower() or word in _PROGRAMS:
        return text
    return text[0].upper() + text[1:]
