"""The grammar of references: where a message names files, folders, links or what the editor shows."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple

ReferenceKind = Literal["path", "selection", "diagnostics", "link"]


class LineSpan(NamedTuple):
    """Lines of a file as people count them: from 1, both ends included."""

    first: int
    last: int


class Reading(NamedTuple):
    """One way to read a reference to a path; the longest that names a file is the right one.

    `end` is where this reading ends in the message, in code points.
    """

    path: str
    end: int
    lines: LineSpan | None = None


class Reference(NamedTuple):
    """One reference in a message, at `start` up to `end`, in code points.

    `text` is the message between both as it most likely is meant. `readings` is empty for selections, links
    and diagnostics of the active file.
    """

    kind: ReferenceKind
    start: int
    end: int
    text: str
    readings: tuple[Reading, ...] = ()


MOST_REFERENCES = 1000
"""References of one message; further ones are passed over."""

LONGEST_PATH = 4096
"""Code points that a path, or the rest of a line after a quote mark, may have; longer ones name nothing."""

_STOP = '\\s"“”«»`<>|\0，。、；：！？（）「」『』【】《》'
_SIGN = re.compile(r"@+|`|~~~|https?://", re.IGNORECASE)
_WORD = re.compile(rf"[^{_STOP}]+")
_URL = re.compile(r"https?://[^\s\"“”`<>|\\^{}\0]+", re.IGNORECASE)
_QUOTED = re.compile(rf'"([^"\n\r]{{1,{LONGEST_PATH}}})"|“([^”\n\r]{{1,{LONGEST_PATH}}})”')
_LINES = re.compile(r":([0-9]{1,9})(?:-([0-9]{1,9})|:[0-9]{1,9})?$")
_LINES_AFTER = re.compile(r":([0-9]{1,9})(?:-([0-9]{1,9}))?(?![\w-])")
_FENCE = re.compile(r"(`{3,}|~{3,})([^\n]*)")
_TICKS = re.compile(r"`+")
_SPECIAL = re.compile(r"(selection|diagnostics)(?![\w/\\-]|\.\w)", re.IGNORECASE)
_NEXT_REFERENCE = re.compile(r"[,;)\]}]+@")
_CALL = re.compile(r"[\w.]+\((?:[^)]*|.*\))$")
_DECORATOR = re.compile(r"[ \t]*@[\w.]+(?:\([^\n]*)?[ \t\r]*\n")
_DEFINITION = re.compile(
    r"\s*(?:(?:async\s+)?def\s+\w+\(|class\s+\w[\w\s]*[:({]|(?:async\s+)?function\b[\s*]*\w*\(|constructor\("
    r"|(?:export|public|private|protected|static|abstract|override|final|internal|readonly)\s[^\n({;=]*[({;=])"
)
_FIRST_FOREIGN = re.compile(r"(?<=\.)[A-Za-z0-9]{1,10}(?=[\u2e80-\uffdc])")
_NAME = re.compile(r"[\w/]|[^\x00-\x7f“”‘’…–—·]")
_TRAILING = ".,;:!?'’)]}*_…·>–—"
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_APOSTROPHES = ("'", "’")
_MOST_TRIMS = 5
_MOST_DECORATORS = 8


def find_references(text: str) -> tuple[Reference, ...]:
    """Every reference of a message, in order; pure, in time linear in the text.

    There is none in fenced or inline code, inside a word or an e-mail address, or in a decorator. Which
    of its readings a path means is settled by whoever knows the files.
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
    """Where runs of backticks of each length are, found once, so that unclosed ones cost no search each."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._runs: dict[int, Iterator[int]] | None = None
        self._next: dict[int, int] = {}

    def next(self, length: int, after: int) -> int | None:
        """The end of the first run of this length from `after` on; calls must move forward."""
        if self._runs is None:
            places: dict[int, list[int]] = {}
            for run in _TICKS.finditer(self._text):
                places.setdefault(len(run.group()), []).append(run.start())
            self._runs = {width: iter(starts) for width, starts in places.items()}
        place = self._next.get(length, -1)
        while place < after:
            place = next(self._runs.get(length, iter(())), len(self._text) + 1)
            self._next[length] = place
        return place + length if place <= len(self._text) else None


def _after_code(text: str, at: int, ticks: _TickRuns) -> int:
    """Where the message goes on after code that starts here, or after the sign if no code starts here."""
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
    """The reference at this sign. One without text is what looks like one but is none, to be passed over."""
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
    kind: Literal["selection", "diagnostics"] = (
        "selection" if special[1].lower() == "selection" else "diagnostics"
    )
    end = special.end()
    if kind == "diagnostics" and text.startswith(":", end):
        path = _quoted(text, at, end + 1) or _plain(text, at, end + 1)
        if path is not None and path.readings:
            return path._replace(kind="diagnostics")
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
    """The token as typed, then with less and less punctuation; each also without its line numbers."""
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
        # Languages without blanks between words go on right behind a file name.
        yield from _with_lines(bare[: foreign.end()], at + foreign.end())


def _trims(token: str) -> Iterator[str]:
    yield token
    shorter = _shorter(token)
    for kept in islice(shorter, _MOST_TRIMS - 2):
        yield kept
    # Whoever ends a word with more marks than that means none of them.
    for kept in islice(deque(shorter, maxlen=1), 1):
        yield kept


def _shorter(token: str) -> Iterator[str]:
    """The token with one mark of punctuation after the other taken off its end, as long as there are any.

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
    """The link at `at`; a bare one must not follow right on a word."""
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
    """Whether a sign right after this character stands inside a word, an address or a path.

    Scripts that are written without blanks between words end a word anywhere.
    """
    if before in "@./\\_-+%&=~$#":
        return True
    return before.isalnum() and not "\u2e80" <= before <= "\uffdc"


def _is_decorator(text: str, start: int, token: str) -> bool:
    """Whether code was pasted without a fence: a call, or a decorator on a line above a definition."""
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
