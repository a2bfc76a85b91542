"""Finds the references in a message: to files, folders, links, and what an editor or git tells."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple, get_args

from planloom.domain.patterns import pattern

SpecialKind = Literal["selection", "diagnostics", "problems", "terminal", "git"]
ReferenceKind = Literal["path", "link"] | SpecialKind


class LineSpan(NamedTuple):
    """Lines of a file as people count them: from 1, both ends included."""

    first: int
    last: int


class Reading(NamedTuple):
    """One way to read a reference to a path; the longest one that names an existing file is right.

    `end` is the offset of its end in the message, in code points.
    """

    path: str
    end: int
    lines: LineSpan | None = None


class Reference(NamedTuple):
    """One reference in a message, from `start` to `end` in code points.

    `text` is the text between both in the most likely reading. `readings` is empty where no path is named.
    """

    kind: ReferenceKind
    start: int
    end: int
    text: str
    readings: tuple[Reading, ...] = ()


MOST_REFERENCES = 1000
"""The most references of one message; further ones are ignored."""

LONGEST_PATH = 4096
"""The most code points of a path, or of a line after a quote mark; longer ones are not references."""

_STOP = '\\s"“”«»`<>|\0，。、；：！？（）「」『』【】《》'
_SIGN = pattern(r"@+|`|~~~|https?://", re.IGNORECASE)
_WORD = pattern(rf"[^{_STOP}]+")
_URL = pattern(r"https?://[^\s\"“”`<>|\\^{}\0]+", re.IGNORECASE)
_QUOTED = pattern(rf'"([^"\n\r]{{1,{LONGEST_PATH}}})"|“([^”\n\r]{{1,{LONGEST_PATH}}})”')
_LINES = pattern(r":([0-9]{1,9})(?:-([0-9]{1,9})|:[0-9]{1,9})?$")
_LINES_AFTER = pattern(r":([0-9]{1,9})(?:-([0-9]{1,9}))?(?![\w-])")
_FENCE = pattern(r"(`{3,}|~{3,})([^\n]*)")
_TICKS = pattern(r"`+")
_SPECIALS: dict[str, SpecialKind] = {kind: kind for kind in get_args(SpecialKind)}
_OF_A_PATH: frozenset[str] = frozenset({"diagnostics", "git"})
"""Those that a path may follow: `@git:src/a.py`."""
_SPECIAL = pattern(rf"({'|'.join(_SPECIALS)})(?![\w/\\-]|\.\w)", re.IGNORECASE)
_NEXT_REFERENCE = pattern(r"[,;)\]}]+@")
_CALL = pattern(r"[\w.]+\((?:[^)]*|.*\))$")
_DECORATOR = pattern(r"[ \t]*@[\w.]+(?:\([^\n]*)?[ \t\r]*\n")
_DEFINITION = pattern(
    r"\s*(?:(?:async\s+)?def\s+\w+\(|class\s+\w[\w\s]*[:({]|(?:async\s+)?function\b[\s*]*\w*\(|constructor\("
    r"|(?:export|public|private|protected|static|abstract|override|final|internal|readonly)\s[^\n({;=]*[({;=])"
)
_FIRST_FOREIGN = pattern(r"(?<=\.)[A-Za-z0-9]{1,10}(?=[\u2e80-\uffdc])")
_NAME = pattern(r"[\w/]|[^\x00-\x7f“”‘’…–—·]")
_TRAILING = ".,;:!?'’)]}*_…·>–—"
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_APOSTROPHES = ("'", "’")
_MOST_TRIMS = 5
_MOST_DECORATORS = 8


def find_references(text: str) -> tuple[Reference, ...]:
    """Every reference of a message, in order; pure, in time linear in the text.

    There are none in fenced or inline code, inside a word or an e-mail address, or in a decorator. The caller, who
    knows the files, chooses between the readings of a path.
    """
    found: list[Reference] = []
    at = 0
    closing_ticks = _TickRuns(text)
    while len(found) < MOST_REFERENCES and (sign := _SIGN.search(text, at)) is not None:
        start = sign.start()
        match text[start]:
            case "`" | "~":
                at = _after_code(text, start, closing_ticks)
            case "@" if sign.end() > start + 1:
                at = sign.end()
            case "@":
                reference = _after_at(text, start)
                at = reference.end if reference else start + 1
                if reference and reference.text:
                    found.append(reference)
            case _:
                link = _link(text, start, start)
                at = link.end if link else sign.end()
                if link:
                    found.append(link)
    return tuple(found)


class _TickRuns:
    """The runs of backticks by their length, found once, so that unclosed runs do not cause a search each."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._runs: dict[int, Iterator[int]] | None = None
        self._next: dict[int, int] = {}

    def next(self, length: int, after: int) -> int | None:
        """The end of the first run of this length from `after` on; `after` must not decrease between calls."""
        if self._runs is None:
            starts_by_length: dict[int, list[int]] = {}
            for run in _TICKS.finditer(self._text):
                starts_by_length.setdefault(len(run.group()), []).append(run.start())
            self._runs = {width: iter(starts) for width, starts in starts_by_length.items()}
        start = self._next.get(length, -1)
        while start < after:
            start = next(self._runs.get(length, iter(())), len(self._text) + 1)
            self._next[length] = start
        return start + length if start <= len(self._text) else None


def _after_code(text: str, at: int, ticks: _TickRuns) -> int:
    """The offset after the code that starts here, or after the marks if no code starts here."""
    line = text.rfind("\n", max(0, at - 4), at) + 1
    fence = _FENCE.match(text, at) if (line or at < 4) and not text[line:at].strip(" ") else None
    if fence is not None and not (text[at] == "`" and "`" in fence[2]):
        closing = re.compile(rf"\n {{0,3}}{fence[1][0]}{{{len(fence[1])},}}[ \t]*(?=\r?\n|\r?$)")
        end = closing.search(text, fence.end())
        return end.end() if end else len(text)
    if text[at] == "~":
        return at + 3
    run = _TICKS.match(text, at)
    width = len(run.group()) if run else 1
    return ticks.next(width, at + width) or at + width


def _after_at(text: str, at: int) -> Reference | None:
    """The reference at this `@`. One without text only looks like a reference and must be skipped."""
    if at and _continues_word(text[at - 1]):
        return None
    link = _link(text, at, at + 1)
    if link is not None:
        return link
    special = _SPECIAL.match(text, at + 1)
    if special is not None:
        return _special(text, at, special)
    quoted = _quoted(text, at, at + 1)
    if quoted is not None:
        return quoted
    return _plain(text, at, at + 1)


def _special(text: str, at: int, special: re.Match[str]) -> Reference | None:
    kind = _SPECIALS[special[1].lower()]
    end = special.end()
    if kind in _OF_A_PATH and text.startswith(":", end):
        path = _quoted(text, at, end + 1) or _plain(text, at, end + 1)
        if path is not None and path.readings:
            return path._replace(kind=kind)
    return Reference(kind=kind, start=at, end=end, text=text[at:end])


def _quoted(text: str, start: int, at: int) -> Reference | None:
    quoted = _QUOTED.match(text, at)
    if quoted is None:
        return None
    path = (quoted[1] or quoted[2]).strip()
    if not path:
        return None
    lines = _LINES_AFTER.match(text, quoted.end())
    end = lines.end() if lines else quoted.end()
    if lines:
        readings: tuple[Reading, ...] = (Reading(path=path, end=end, lines=_span(lines)),)
    else:
        readings = tuple(_with_lines(path, end))
    return Reference(kind="path", start=start, end=end, text=text[start:end], readings=readings)


def _plain(text: str, start: int, at: int) -> Reference | None:
    word = _WORD.match(text, at, at + LONGEST_PATH + 1)
    if word is None:
        return None
    token = word.group()
    if len(token) > LONGEST_PATH or not _NAME.search(token):
        rest = _WORD.match(text, at)
        return Reference(kind="path", start=start, end=rest.end() if rest else word.end(), text="")
    if _is_decorator(text, start, token):
        return Reference(kind="path", start=start, end=word.end(), text="")
    following = _NEXT_REFERENCE.search(token)
    if following:
        token = token[: following.start()]
    readings = tuple(_readings(token, at))
    if not readings:
        return None
    end = readings[-1].end
    return Reference(kind="path", start=start, end=end, text=text[start:end], readings=readings)


def _readings(token: str, at: int) -> Iterator[Reading]:
    """The token as typed, then with less and less trailing punctuation; each also without line numbers."""
    trimmed = list(_trims(token))
    seen: set[tuple[str, LineSpan | None]] = set()
    for path in trimmed:
        for reading in _with_lines(path, at + len(path)):
            if reading.path and (reading.path, reading.lines) not in seen:
                seen.add((reading.path, reading.lines))
                yield reading
    bare = trimmed[-1]
    foreign = _FIRST_FOREIGN.search(bare)
    if foreign is not None:
        # In languages without spaces between words, text may follow a file name directly.
        yield from _with_lines(bare[: foreign.end()], at + foreign.end())


def _trims(token: str) -> Iterator[str]:
    yield token
    shorter = _shorter(token)
    for kept in islice(shorter, _MOST_TRIMS - 2):
        yield kept
    # If there are more marks than that, none of them belongs to the path.
    for kept in islice(deque(shorter, maxlen=1), 1):
        yield kept


def _shorter(token: str) -> Iterator[str]:
    """The token without its last punctuation mark, without the last two, and so on.

    A bracket that was opened in the token belongs to it.
    """
    unopened = {close: token.count(close) - token.count(opening) for close, opening in _BRACKETS.items()}
    length = len(token)
    while length:
        last = token[length - 1]
        if last == "s" and token[length - 2 : length - 1] in _APOSTROPHES:
            length -= 2
        elif last not in _TRAILING or unopened.get(last, 1) <= 0:
            return
        else:
            if last in unopened:
                unopened[last] -= 1
            length -= 1
        yield token[:length]


def _with_lines(path: str, end: int) -> Iterator[Reading]:
    yield Reading(path=path, end=end)
    lines = _LINES.search(path)
    if lines is not None and lines.start():
        yield Reading(path=path[: lines.start()], end=end, lines=_span(lines))


def _span(lines: re.Match[str]) -> LineSpan:
    first = int(lines[1])
    return LineSpan(first=first, last=int(lines[2]) if lines[2] else first)


def _link(text: str, start: int, at: int) -> Reference | None:
    """The link at `at`; a bare one must not directly follow a word."""
    if start == at and at and _continues_word(text[at - 1]):
        return None
    url = _URL.match(text, at, at + LONGEST_PATH)
    if url is None:
        return None
    whole = url.group()
    address = next(iter(deque(_shorter(whole), maxlen=1)), whole)
    if address.endswith("://"):
        return None
    end = at + len(address)
    return Reference(kind="link", start=start, end=end, text=text[start:end])


def _continues_word(before: str) -> bool:
    """Whether an `@` after this character is inside a word, an address or a path.

    In scripts without spaces between words, a word can end anywhere.
    """
    if before in "@./\\_-+%&=~$#":
        return True
    return before.isalnum() and not "\u2e80" <= before <= "\uffdc"


def _is_decorator(text: str, start: int, token: str) -> bool:
    """Whether this is code without a fence: a call, or a decorator above a definition."""
    if _CALL.match(token):
        return True
    line = text.rfind("\n", max(0, start - 80), start) + 1
    if text[line:start].strip(" \t"):
        return False
    for _ in range(_MOST_DECORATORS):
        decorator = _DECORATOR.match(text, line, line + 400)
        if decorator is None:
            break
        line = decorator.end()
        if _DEFINITION.match(text, line, line + 400):
            return True
    return False
