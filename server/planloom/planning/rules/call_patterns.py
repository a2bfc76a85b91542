"""How people spell out tool calls in English, as patterns over a part whose literals were taken out."""

from __future__ import annotations

import re
from collections.abc import Mapping

from planloom.planning.rules.literals import PLACE

TOKEN = rf"(?:@?{PLACE}|[^\s,;{PLACE}]+)"
_TOKENS = rf"{TOKEN}(?:(?:, and |, | and ){TOKEN})*"
_ARTICLES = r"(?:(?:a|an|the|this|my|our|new|empty|text) )*"
FOLDER = r"(?:folder|directory|dir|subfolder|subdirectory)"
_NAMED = r"(?:(?:called|named|at) )?"
_FILE = rf"{_ARTICLES}(?:file )?"
_LOCATION = (
    r"(?: (?:in|inside|under|within|into) (?:the )?"
    rf"(?P<in_folder>{FOLDER} )?(?P<place>{TOKEN})(?: {FOLDER})?)"
)
_FOR_CONTENT = (
    r"(?:with:?|containing:?|that contains|whose contents? (?:is|are)|and put|and write) (?:only )?(?:the )?"
    r"(?:(?:following|exact|initial|single) )*(?:(?:contents?|text|body|code|data|lines?)(?: of)?)?"
    r" ?(?:is |are |as |=|:)? ?"
)
_TEXT = r"(?:the )?(?:(?:text|word|string|line|lines|phrase|content|following) )*"


def _pattern(*pieces: str) -> re.Pattern[str]:
    return re.compile("".join(pieces), re.IGNORECASE)


CREATE_FOLDER = _pattern(
    rf"(?:create|make|add) {_ARTICLES}{FOLDER}s? {_NAMED}(?P<paths>{_TOKENS}?){_LOCATION}?",
    rf"|mkdir (?:-p )?(?P<made>{_TOKENS})",
)
CREATE_NAMED_FOLDER = _pattern(
    rf"(?:create|make|add) {_ARTICLES}(?P<paths>{TOKEN}) (?P<before_noun>{FOLDER}){_LOCATION}?",
)
WRITE = _pattern(
    rf"(?:in (?:the )?(?:{FOLDER} )?(?P<before>{TOKEN}),? )?",
    rf"(?:create|write|make|add|generate|save|overwrite) {_ARTICLES}",
    rf"(?P<word>(?:file|script|document|module) )?{_NAMED}(?P<path>{TOKEN}){_LOCATION}?",
    rf"(?:,? {_FOR_CONTENT}(?P<content>{PLACE})|: ?(?P<after_colon>{PLACE})| (?P<after_name>{PLACE}))",
    rf"(?: (?:in|inside|under) (?:the )?{FOLDER} (?P<place_after>{TOKEN}))?",
)
WRITE_TO = _pattern(
    r"(?:write|save|put) (?:the )?(?:(?:text|content|contents|line|code|string) )?",
    rf"(?P<content>{PLACE}) (?:to|into|in|as) {_ARTICLES}(?P<word>(?:file|script) )?{_NAMED}(?P<path>{TOKEN})",
)
EMPTY_FILE = _pattern(
    rf"(?:(?:create|make|add) {_ARTICLES}(?P<word>files? ){_NAMED}|touch |(?:create|make|add) (?:an? )?empty )",
    rf"(?P<paths>{_TOKENS}?){_LOCATION}?",
)
REPLACE = _pattern(
    rf"(?:in {_FILE}(?P<before>{TOKEN}),? )?(?:replace|change) ",
    rf"(?P<all>(?:all|every|each)(?: (?:occurrences?|instances?))?(?: of)? )?{_TEXT}(?P<old>{PLACE})",
    rf" (?:with|by|to|into) {_TEXT}(?P<new>{PLACE})(?P<everywhere> everywhere)?",
    rf"(?: (?:in|inside|within) {_FILE}(?P<path>{TOKEN}))?(?P<throughout> everywhere)?",
)
APPEND = _pattern(
    rf"(?:append|(?P<add>add)) {_TEXT}:? ?(?P<content>{PLACE}) (?:to|at) ",
    rf"(?P<end>(?:the )?(?:end|bottom) of )?{_FILE}(?P<path>{TOKEN})",
)
APPEND_TO = _pattern(
    rf"append {_TEXT}to (?:the end of )?{_FILE}(?P<path>{TOKEN}?):? (?P<content>{PLACE})",
)
RENAME = _pattern(
    rf"(?P<verb>rename|move) {_ARTICLES}(?P<word>(?:file|{FOLDER}|path) )?(?P<old>{TOKEN}) (?P<into>to|as|into)",
    rf" {_ARTICLES}(?P<folder>{FOLDER} )?(?P<new>{TOKEN})",
)
DELETE = _pattern(
    rf"(?:delete|remove) {_ARTICLES}(?P<word>(?:files?|{FOLDER}|directories|folders|path) )?",
    rf"(?P<paths>{_TOKENS})",
)
RUN = _pattern(
    r"(?:run|execute):? (?:the )?(?P<word>(?:following )?(?:shell )?(?:commands?|script|cmd) ?)?:? ?",
    rf"(?P<command>{PLACE})",
    rf"(?: (?:in|inside|from) (?:the )?(?:{FOLDER} )?(?P<place>{TOKEN})(?: {FOLDER})?)?",
)
READ = _pattern(
    r"(?:read|open|view) ",
    r"(?:lines? (?P<first>[0-9]{1,9})(?: ?(?:-|–|to) ?(?P<last>[0-9]{1,9}))? (?:of|from|in) )?",
    rf"{_ARTICLES}(?:contents? of )?{_ARTICLES}(?P<word>files? )?(?P<paths>{_TOKENS}?)",
    r"(?:,? \(?(?:from |at )?lines? (?P<first_after>[0-9]{1,9})",
    r"(?: ?(?:-|–|to) ?(?:line )?(?P<last_after>[0-9]{1,9}))?\)?)?",
)
LIST = _pattern(
    r"list (?P<all>all )?(?:of )?(?:the )?(?:files|folder contents|contents)",
    r"(?: and (?:folders|directories))?",
    r"(?P<deep> recursively)?(?: (?:in|inside|under|of|within|from) (?:the )?",
    rf"(?:{FOLDER} )?(?P<place>{TOKEN})(?: {FOLDER})?)?(?P<deeper> recursively)?",
)
TAIL = _pattern(r"(?:,? (?:please|now|for me|too|as well|again|first|thanks|thank you))+$")
"""Words behind a call that say nothing of the work."""

LINES = _pattern(r"(?P<path>.+?):(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?")
"""A reference that carries lines: `src/a.py:10-20`."""

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
"""The programs whose command lines are known without marks around them, and their commands."""

_ARGUMENT = (
    rf"(?:--?[A-Za-z][\w-]*(?:=[^\s,;{PLACE}]+)?|{PLACE}|[\w@.~^-]*[./:][\w@./:~^*-]*|[0-9]+"
    r"|HEAD|origin|main|master|up|down|tidy|pop)"
)
COMMAND_START = "|".join(
    rf"{program} (?:{'|'.join(commands.split())})(?!\S)"
    if commands
    else rf"{program}(?= \S*[-./]|\s*(?:$|\n|[.,;]))"
    for program, commands in PROGRAMS.items()
)
COMMAND = re.compile(
    r"(?:(?i:run|execute):? (?:(?i:the (?:following )?command):? )?)?(?P<command>"
    rf"(?:{COMMAND_START}|yarn|(?<=[Rr]un )make(?: [\w.-]+)?)"
    rf"(?:(?<= run) [\w:.-]+|(?<= -m) [\w.]+|(?<= compose) \w+| {_ARGUMENT})*)"
    rf"(?: in (?:the )?(?P<folder>(?:{FOLDER} )?)(?P<place>{TOKEN})(?: {FOLDER})?)?"
)
"""A command line without marks around it. It is read in small letters only, as a shell would."""

CALL_WORDS = (
    r"(?:(?:create|make|write|save|put|generate|overwrite|mkdir|touch|add|replace|change|append|rename|move|delete"
    rf"|remove|run|execute|read|open|view|list|{'|'.join(PROGRAMS)}) "
    r"|in [^ ]+,? (?:replace|change|create|make|write|add|generate) )"
)
"""How a call begins, in a text whose white space is collapsed."""
