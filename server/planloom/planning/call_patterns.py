"""How people spell out tool calls in English, as patterns over a part whose literals were taken out."""

from __future__ import annotations

import re

from planloom.planning.literals import PLACE

TOKEN = rf"(?:@?{PLACE}|[^\s,;{PLACE}]+)"
_TOKENS = rf"{TOKEN}(?:(?:, and |, | and ){TOKEN})*"
_ARTICLES = r"(?:(?:a|an|the|this|my|our|new|empty|text) )*"
_FOLDER = r"(?:folder|directory|dir|subfolder|subdirectory)"
_NAMED = r"(?:(?:called|named|at) )?"
_FILE = rf"{_ARTICLES}(?:file )?"
_LOCATION = (
    r"(?: (?:in|inside|under|within|into) (?:the )?"
    rf"(?P<in_folder>{_FOLDER} )?(?P<place>{TOKEN})(?: {_FOLDER})?)"
)
_FOR_CONTENT = (
    r"(?:with:?|containing:?|that contains|whose contents? (?:is|are)|and put|and write) (?:only )?(?:the )?"
    r"(?:(?:following|exact|initial|single) )*(?P<said>(?:contents?|text|body|code|data|lines?)(?: of)?)?"
    r" ?(?:is |are |as |=|:)? ?"
)
_TEXT = r"(?:the )?(?:(?:text|word|string|line|lines|phrase|content|following) )*"


def _pattern(*pieces: str) -> re.Pattern[str]:
    return re.compile("".join(pieces), re.IGNORECASE)


CREATE_FOLDER = _pattern(
    rf"(?:create|make|add) {_ARTICLES}{_FOLDER}s? {_NAMED}(?P<paths>{_TOKENS}?){_LOCATION}?",
    rf"|mkdir (?:-p )?(?P<made>{_TOKENS})",
)
CREATE_NAMED_FOLDER = _pattern(
    rf"(?:create|make|add) {_ARTICLES}(?P<paths>{TOKEN}) {_FOLDER}{_LOCATION}?",
)
WRITE = _pattern(
    rf"(?:in (?:the )?(?:{_FOLDER} )?(?P<before>{TOKEN}),? )?",
    rf"(?:create|write|make|add|generate|save|overwrite) {_ARTICLES}",
    rf"(?P<word>(?:file|script|document|module) )?{_NAMED}(?P<path>{TOKEN}){_LOCATION}?",
    rf"(?:,? {_FOR_CONTENT}(?P<content>{PLACE}|.+?)|: ?(?P<after_colon>{PLACE})| (?P<after_name>{PLACE}))",
    rf"(?: (?:in|inside|under) (?:the )?{_FOLDER} (?P<place_after>{TOKEN}))?",
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
    rf"(?P<verb>rename|move) {_ARTICLES}(?P<word>(?:file|{_FOLDER}|path) )?(?P<old>{TOKEN}) (?P<into>to|as|into)",
    rf" {_ARTICLES}(?P<folder>{_FOLDER} )?(?P<new>{TOKEN})",
)
DELETE = _pattern(
    rf"(?:delete|remove) {_ARTICLES}(?P<word>(?:files?|{_FOLDER}|directories|folders|path) )?",
    rf"(?P<paths>{_TOKENS})",
)
RUN = _pattern(
    r"(?:run|execute):? (?:the )?(?P<word>(?:following )?(?:shell )?(?:commands?|script|cmd) ?)?:? ?",
    rf"(?P<command>{PLACE})",
    rf"(?: (?:in|inside|from) (?:the )?(?:{_FOLDER} )?(?P<place>{TOKEN})(?: {_FOLDER})?)?",
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
    rf"(?:{_FOLDER} )?(?P<place>{TOKEN})(?: {_FOLDER})?)?(?P<deeper> recursively)?",
)
TAIL = _pattern(r"(?:,? (?:please|now|for me|too|as well|again|first|thanks|thank you))+$")
"""Words behind a part that say nothing of the work."""

DESCRIBED = _pattern(
    r"(?:\w+ing\b(?! ?:)|about|for|of|from|that|which|to|generated|based|copied|similar|in|on|some|a|an|the",
    r"|all|any|it|its|this|these|those|your|our|my|appropriate|proper|basic|default|sample|placeholder|as)\b",
)
"""How content begins that is described, not given."""

LINES = _pattern(r"(?P<path>.+?):(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?")
"""A reference that carries lines: `src/a.py:10-20`."""
