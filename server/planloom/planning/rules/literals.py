"""Quoted, fenced and heredoc text of a request, taken out before anything is split or normalized."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

PLACE = "\ufdd0"
"""Stands for one taken-out literal: a character that Unicode gives to no text."""

LiteralKind = Literal["quote", "code", "block"]


@dataclass(frozen=True, slots=True)
class Taken:
    """One literal: `text` as it is meant, `source` as it was written with its marks.

    A quote's text is verbatim, backslashes included; only an escaped closing mark (`\\"`) loses its
    backslash, as there is no other way to write it. A block (fence or heredoc) ends with a newline.
    """

    kind: LiteralKind
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Masked:
    """A text in which each literal is one PLACE; `places` are their positions, in the order of `literals`."""

    text: str
    literals: tuple[Taken, ...]
    places: tuple[int, ...]

    def inside(self, start: int, end: int) -> tuple[Taken, ...]:
        """The literals between two positions."""
        return self.literals[bisect_left(self.places, start) : bisect_left(self.places, end)]

    def source(self, start: int, end: int) -> str:
        """The text between two positions as it was written."""
        return restored(self.text[start:end], self.inside(start, end))


def restored(masked: str, literals: tuple[Taken, ...]) -> str:
    """The masked text with its literals put back as they were written."""
    parts = masked.split(PLACE)
    pieces = [parts[0]]
    for taken, part in zip(literals, parts[1:], strict=False):
        pieces += (taken.source, part)
    return "".join(pieces)


_CANDIDATE = re.compile(r"`+|~{3,}|<<-?[ \t]*(?P<mark>['\"]?)(?P<word>[A-Za-z_]\w*)(?P=mark)|[\"'“‘«]")
_FENCE_OPENS = re.compile(r"[ \t]*[\w.+#/ \t-]{0,80}\n")
_CURLY: Mapping[str, str] = {"“": "”", "‘": "’", "«": "»"}
_BEFORE_QUOTE = frozenset(" \t\n([{=:,;/—–-@>")
_AFTER_QUOTE = frozenset(" \t\n…—–")
_STOP_AFTER_QUOTE = frozenset(".,;:!?)]}")

_MOST_FAILURES = 50
_MOST_SEARCHED = 100_000
"""Searches for a nested end, and characters in all of them, that may be in vain, so that time stays linear."""


@dataclass
class _Scan:
    """A text, with the places where each kind of mark may close, so that no search runs twice."""

    text: str
    closers: dict[str, list[int]] = field(default_factory=dict)
    ticks: dict[int, list[int]] = field(default_factory=dict)
    lines: dict[str, list[int]] = field(default_factory=dict)
    fences: list[tuple[int, str]] = field(default_factory=list)
    blanks: list[int] = field(default_factory=list)
    failures: int = 0
    searched: int = 0

    def __post_init__(self) -> None:
        for mark in "\"'":
            self.closers[mark] = [at for at in _positions(self.text, mark) if _may_close(self.text, at)]
            self.closers[mark + mark] = [
                at for at in _positions(self.text, mark) if not _escaped(self.text, at)
            ]
        for mark in _CURLY.values():
            self.closers[mark] = _positions(self.text, mark)
        for run in re.finditer(r"`+", self.text):
            self.ticks.setdefault(len(run[0]), []).append(run.start())
        at = 0
        for line in self.text.split("\n"):
            stripped = line.strip()
            self.lines.setdefault(stripped, []).append(at)
            if stripped[:3] in ("```", "~~~") and not stripped.strip(stripped[0]):
                self.fences.append((at, stripped))
            if not stripped:
                self.blanks.append(at)
            at += len(line) + 1

    def nested_close(self, mark: str, start: int) -> int | None:
        """Where a quotation ends if quotations inside it (`print("hi")`) are stepped over."""
        if self.failures > _MOST_FAILURES or self.searched > _MOST_SEARCHED:
            return None
        at = start
        while (at := self.text.find(mark, at + 1)) >= 0:
            if _may_open_inside(self.text, at):
                at = self.text.find(mark, at + 1)
                if at < 0:
                    break
            elif _may_close(self.text, at):
                return at
        self.failures += 1
        self.searched += len(self.text) - start
        return None

    def paragraph_ends(self, start: int, end: int) -> bool:
        """Whether a blank line lies between two positions."""
        return bisect_right(self.blanks, start) < bisect_left(self.blanks, end)


def mask(text: str) -> Masked:
    """Take the literals out of a text. Line ends become LF outside of them and inside; time is linear."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace(PLACE, " ")
    scan = _Scan(text)
    pieces: list[str] = []
    literals: list[Taken] = []
    places: list[int] = []
    done = size = 0
    while (found := _CANDIDATE.search(text, done)) is not None:
        start = found.start()
        taken = _take(scan, found)
        if taken is None:
            size += _append(pieces, text[done : found.end()])
            done = found.end()
            continue
        literal, end, drop = taken
        size += _append(pieces, text[done:start])
        pieces.append(PLACE)
        places.append(size)
        size += 1
        literals.append(literal)
        done = end
        if drop is not None:
            # A heredoc's body stands after the rest of its own line, which is still to be read.
            size += _append(pieces, text[end : drop[0]])
            done = drop[1]
    _append(pieces, text[done:])
    return Masked(text="".join(pieces), literals=tuple(literals), places=tuple(places))


_SPACES = re.compile(r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\f\v\x1c-\x1f\x85\u2028\u2029]")
_NOTHING = re.compile(r"[\u200b\u2060\ufeff\u00ad]")
_LONG_SPACE = re.compile(r"[ \t]{9,}")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")


def _append(pieces: list[str], piece: str) -> int:
    """Add text that is no literal, its white space normalized; the number of characters that it now has."""
    calm = _NOTHING.sub("", _SPACES.sub(" ", piece))
    calm = _BLANK_LINES.sub("\n\n", _LONG_SPACE.sub(" " * 8, calm))
    pieces.append(calm)
    return len(calm)


def _take(scan: _Scan, found: re.Match[str]) -> tuple[Taken, int, tuple[int, int] | None] | None:
    """The literal that begins at a candidate, where it ends, and the stretch further on that is its body."""
    sign = found[0]
    if sign.startswith("<<"):
        return _heredoc(scan, found)
    if sign[0] in "`~" and len(sign) >= 3:
        block = _fence(scan, found.start(), sign)
        if block is not None:
            return block
    if sign[0] == "`":
        return _code(scan, found.start(), sign)
    if sign[0] == "~":
        return None
    return _quote(scan, found.start(), sign)


def _fence(scan: _Scan, start: int, sign: str) -> tuple[Taken, int, None] | None:
    text = scan.text
    opening = _FENCE_OPENS.match(text, start + len(sign))
    if opening is None:
        return None
    body = opening.end()
    index = bisect_left(scan.fences, (body, ""))
    while index < len(scan.fences) and not scan.fences[index][1].startswith(sign):
        index += 1
    if index == len(scan.fences):
        end, after = len(text), len(text)
    else:
        end = scan.fences[index][0]
        line_end = text.find("\n", end)
        after = len(text) if line_end < 0 else line_end
    line_start = text.rfind("\n", 0, start) + 1
    indent = len(text[line_start:start]) if not text[line_start:start].strip() else 0
    content = _dedented(text[body:end], indent)
    if content and not content.endswith("\n"):
        content += "\n"
    return Taken(kind="block", text=content, source=text[start:after]), after, None


def _dedented(body: str, indent: int) -> str:
    """A fence inside a list item is indented with its text: as much indentation is not the content's."""
    if not indent:
        return body
    return "\n".join(line[min(indent, len(line) - len(line.lstrip(" \t"))) :] for line in body.split("\n"))


def _heredoc(scan: _Scan, found: re.Match[str]) -> tuple[Taken, int, tuple[int, int]] | None:
    text = scan.text
    line_end = text.find("\n", found.end())
    if line_end < 0:
        return None
    ends = scan.lines.get(found["word"], [])
    index = bisect_right(ends, line_end)
    if index == len(ends):
        return None
    body, end = line_end + 1, ends[index]
    content = text[body:end]
    if found[0].startswith("<<-"):
        content = "\n".join(line.lstrip("\t") for line in content.split("\n"))
    closing = text.find("\n", end)
    after = len(text) if closing < 0 else closing
    source = f"{found[0]}\n{text[body:after]}"
    return Taken(kind="block", text=content, source=source), found.end(), (line_end, after)


def _code(scan: _Scan, start: int, sign: str) -> tuple[Taken, int, None] | None:
    runs = scan.ticks.get(len(sign), [])
    index = bisect_right(runs, start)
    if index == len(runs) or scan.paragraph_ends(start, runs[index]):
        return None
    close = runs[index]
    content = scan.text[start + len(sign) : close]
    if content.startswith(" ") and content.endswith(" ") and "`" in content:
        content = content[1:-1]
    end = close + len(sign)
    return Taken(kind="code", text=content, source=scan.text[start:end]), end, None


def _quote(scan: _Scan, start: int, sign: str) -> tuple[Taken, int, None] | None:
    text = scan.text
    if sign in _CURLY:
        close = _next(scan.closers[_CURLY[sign]], start)
    else:
        if start and text[start - 1] not in _BEFORE_QUOTE:
            return None
        if sign == "'" and text[start + 1 : start + 2] in ("", " ", "\n"):
            return None
        close = scan.nested_close(sign, start)
        if close is None:
            close = _next(scan.closers[sign], start)
        if close is None and sign == '"':
            close = _next(scan.closers[sign + sign], start)
    if close is None or (sign in "'‘" and scan.paragraph_ends(start, close)):
        return None
    content = text[start + 1 : close]
    if sign in "\"'":
        content = content.replace("\\" + sign, sign)
    return Taken(kind="quote", text=content, source=text[start : close + 1]), close + 1, None


def _next(places: list[int], start: int) -> int | None:
    index = bisect_right(places, start)
    return places[index] if index < len(places) else None


def _positions(text: str, mark: str) -> list[int]:
    return [found.start() for found in re.finditer(re.escape(mark), text)]


def _may_close(text: str, at: int) -> bool:
    """Whether a straight quote here can end a quotation: no more of a word or expression follows."""
    if _escaped(text, at):
        return False
    after = at + 1
    while after < min(len(text), at + 4) and text[after] in _STOP_AFTER_QUOTE:
        after += 1
    return after >= len(text) or text[after] in _AFTER_QUOTE


def _may_open_inside(text: str, at: int) -> bool:
    """Whether a straight quote here opens a quotation inside an expression, as in `f("x")` or `a="x"`."""
    return text[at - 1 : at] in tuple("([{=") and text[at + 1 : at + 2] not in ("", " ", "\n", "\t")


def _escaped(text: str, at: int) -> bool:
    count = 0
    while count < 64 and at - count > 0 and text[at - count - 1] == "\\":
        count += 1
    return count % 2 == 1
