"""The tokens of a request: literals (quoted, fenced and heredoc text), which placeholders replace, and paths."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

from planloom.domain.patterns import pattern
from planloom.intake.references import SpecialKind
from planloom.intake.routing.words import any_of
from planloom.planning.wording import KNOWN_VERBS

PLACEHOLDER = "\ufdd0"
"""Replaces one literal: a code point that Unicode assigns to no character."""

LiteralKind = Literal["quote", "code", "block"]


class LiteralText(NamedTuple):
    """A literal: `text` is its content, `source` the same as written, with its marks.

    A quote's text is verbatim, backslashes included; only an escaped closing mark (`\\"`) loses its
    backslash, since it cannot be written otherwise. A block (fence or heredoc) ends with a newline.
    """

    kind: LiteralKind
    text: str
    source: str


@dataclass(frozen=True)
class Masked:
    """A text in which each literal is one placeholder, and the literals in order."""

    text: str
    literals: tuple[LiteralText, ...]

    @cached_property
    def _places(self) -> list[int]:
        return [found.start() for found in re.finditer(PLACEHOLDER, self.text)]

    def cut(self, start: int, end: int) -> Masked:
        """The text between two positions, with its literals."""
        literals = slice(bisect_left(self._places, start), bisect_left(self._places, end))
        return Masked(self.text[start:end], self.literals[literals])

    @property
    def source(self) -> str:
        """The text with its literals as written."""
        literals = iter(self.literals)
        return re.sub(PLACEHOLDER, lambda _: next(literals).source, self.text)


_CANDIDATE = pattern(
    r"`+|~{3,}|<<-?[ \t]*(?P<mark>['\"]?)(?P<word>[A-Za-z_]\w*)(?P=mark)|[“‘«]"
    r"|(?<![^ \t\n(\[{=:,;/—–\-@>])(?:\"|'(?=[^ \n]))"
    r"|(?:(?<=content:)|(?<=contents:)|(?<=following text:)|(?<=following lines:))[ \t]*\n\s*(?=[^\s`~\"'“‘«<])"
)
_BELOW = pattern(
    r"^(?![ \t]*(?:[-*+•]|\d+[.)])[ \t]).*\b(?:with|containing|following)\b.*\Z", re.MULTILINE | re.IGNORECASE
)
"""The line above content, up to its colon: no item of a list, since the next item would be content."""
_LISTED = pattern(r"(?:(?:[-*+•]|\d+[.)])[ \t].*|[ \t].*|)(?:\n|\Z)")
_ORDER = pattern(
    rf"^(?:and|then|next|finally|{any_of(tuple(sorted(KNOWN_VERBS)))})\b", re.MULTILINE | re.IGNORECASE
)
_FENCE_OPENS = pattern(r"[ \t]*[\w.+#/ \t-]{0,80}\n")
_CURLY: Mapping[str, str] = {"“": "”", "‘": "’", "«": "»"}
_NO_MORE = r"(?=[.,;:!?)\]}]{0,3}(?:[ \t\n…—–]|\Z))"
"""After a straight quote that may end a quotation: the word or expression must not go on."""
_ENDS: Mapping[str, re.Pattern[str]] = {
    "quote": pattern(rf"\\[\\\"']|([\"']){_NO_MORE}"),
    "curly": pattern(r"([”’»])"),
    "unescaped": pattern(r"\\[\\\"']|([\"'])"),
    "code": pattern(r"(`+)"),
    "fence": pattern(r"^[^\S\n]*(`{3,}|~{3,})[^\S\n]*$", re.MULTILINE),
    "heredoc": pattern(r"^[^\S\n]*([A-Za-z_]\w*)[^\S\n]*$", re.MULTILINE),
    "paragraph": pattern(r"^()[^\S\n]*$", re.MULTILINE),
}
"""The end of each kind of literal, with the mark as a group. An escaped mark ends nothing; a paragraph ends with a
blank line."""
_NESTED: Mapping[str, re.Pattern[str]] = {
    mark: pattern(
        rf"(?<=[(\[{{=]){mark}(?![ \t\n]|\Z)[^{mark}]*(?:{mark}|\Z)|\\[\\{mark}]|(?P<close>{mark}){_NO_MORE}"
    )
    for mark in "\"'"
}
"""The parts of a quotation: quotations in an expression (`f("x")`, `a="x"`), escaped marks, and its end."""

_MOST_FAILURES = 50
_MOST_SEARCHED = 100_000
"""The most failed searches for a nested end, and the most characters in them, so that time stays linear."""


class _Scan:
    """A text with an index of the positions where each kind of literal may end, so that no search runs twice."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.ends: dict[str, dict[str, list[int]]] = {kind: defaultdict(list) for kind in _ENDS}
        for kind, ending in _ENDS.items():
            for found in ending.finditer(text):
                if found[1] is not None:
                    self.ends[kind][found[1]].append(found.start())
        self._failures = self._searched = 0

    def next(self, kind: str, mark: str, start: int) -> int | None:
        """The first position after `start` where a literal of this kind and mark may end."""
        places = self.ends[kind].get(mark, [])
        index = bisect_right(places, start)
        return places[index] if index < len(places) else None

    def nested(self, mark: str, start: int) -> int | None:
        """The end of a quotation that contains quotations (`print("hi")`); None if it has none."""
        if self._failures > _MOST_FAILURES or self._searched > _MOST_SEARCHED:
            return None
        for found in _NESTED[mark].finditer(self.text, start + 1):
            if found["close"]:
                return found.start()
        self._failures += 1
        self._searched += len(self.text) - start
        return None

    def in_paragraph(self, start: int, end: int) -> bool:
        """Whether there is no blank line between two positions."""
        return (self.next("paragraph", "", start) or end) >= end

    def line_end(self, at: int) -> int:
        """The end of the line at a position."""
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end


_SPACES = pattern(r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\f\v\x1c-\x1f\x85\u2028\u2029]")
_INVISIBLE = pattern(r"[\u200b\u2060\ufeff\u00ad]")
_EMPHASIS = pattern(r"(?<![^\s(])(\*\*|__)(?=[^\s/*_])([^*\n]{1,200}?)(?<=\S)\1(?![\w/*.])")
_LONG_SPACE = pattern(r"[ \t]{9,}")
_BLANK_LINES = pattern(r"\n(?:[ \t]*\n){2,}")


def mask(text: str) -> Masked:
    """Replace the literals of a text by placeholders and normalize white space outside of them, in linear time.

    Marks of emphasis outside of literals are left out.

    Line ends become LF, in literals too.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace(PLACEHOLDER, " ")
    scan = _Scan(text)
    pieces: list[str] = []
    literals: list[LiteralText] = []
    done = 0
    while (found := _CANDIDATE.search(text, done)) is not None:
        match = _extract(scan, found)
        if match is None:
            pieces.append(text[done : found.end()])
            done = found.end()
        else:
            literal, rest, end = match
            literals.append(literal)
            pieces += (text[done : found.start()], PLACEHOLDER, rest)
            done = end
    normalized = _INVISIBLE.sub("", _SPACES.sub(" ", "".join((*pieces, text[done:]))))
    normalized = _EMPHASIS.sub(r"\2", normalized)
    return Masked(_BLANK_LINES.sub("\n\n", _LONG_SPACE.sub(" " * 8, normalized)), tuple(literals))


_Extracted = tuple[LiteralText, str, int]
"""A literal, the rest of its first line if its body begins below, and its end."""


def _extract(scan: _Scan, found: re.Match[str]) -> _Extracted | None:
    """The literal that begins at a candidate; None if none does."""
    sign = found[0]
    if sign.isspace():
        return _content_below(scan, found)
    if sign.startswith("<<"):
        return _heredoc(scan, found)
    if sign[0] in "`~":
        fence = _fence(scan, found.start(), sign) if len(sign) >= 3 else None
        return fence or (_code(scan, found.start(), sign) if sign[0] == "`" else None)
    return _quote(scan, found.start(), sign)


def _content_below(scan: _Scan, found: re.Match[str]) -> _Extracted | None:
    """The list or the only paragraph that ends a request, below "with the following content:"."""
    text = scan.text
    if _BELOW.search(text, text.rfind("\n", 0, found.start()) + 1, found.start()) is None:
        return None
    body = text[found.end() :].strip("\n").rstrip()
    listed = all(_LISTED.match(line) for line in body.split("\n"))
    if not listed and ("\n\n" in body or _ORDER.search(body)):
        # It may be a second paragraph of the request, or its next order.
        return None
    return LiteralText("block", f"{body}\n", text[found.start() :].rstrip()), "", len(text)


def _fence(scan: _Scan, start: int, sign: str) -> _Extracted | None:
    text = scan.text
    opening = _FENCE_OPENS.match(text, start + len(sign))
    if opening is None:
        return None
    body = opening.end()
    ends = (scan.next("fence", mark, body - 1) for mark in scan.ends["fence"] if mark.startswith(sign))
    end = min((end for end in ends if end is not None), default=len(text))
    # A fence inside a list item is indented with its text: as much indentation is not the content's.
    before = text[text.rfind("\n", 0, start) + 1 : start]
    indent = 0 if before.strip() else len(before)
    content = re.sub(rf"(?m)^[ \t]{{0,{indent}}}", "", text[body:end])
    if content and not content.endswith("\n"):
        content += "\n"
    after = scan.line_end(end)
    return LiteralText("block", content, text[start:after]), "", after


def _heredoc(scan: _Scan, found: re.Match[str]) -> _Extracted | None:
    body = scan.line_end(found.end()) + 1
    end = scan.next("heredoc", found["word"], body - 1)
    if end is None:
        return None
    content = scan.text[body:end]
    if found[0].startswith("<<-"):
        content = re.sub(r"(?m)^\t+", "", content)
    after = scan.line_end(end)
    source = f"{found[0]}\n{scan.text[body:after]}"
    return LiteralText("block", content, source), scan.text[found.end() : body - 1], after


def _code(scan: _Scan, start: int, sign: str) -> _Extracted | None:
    close = scan.next("code", sign, start)
    if close is None or not scan.in_paragraph(start, close):
        return None
    content = scan.text[start + len(sign) : close]
    if content.startswith(" ") and content.endswith(" ") and "`" in content:
        content = content[1:-1]
    end = close + len(sign)
    return LiteralText("code", content, scan.text[start:end]), "", end


def _quote(scan: _Scan, start: int, sign: str) -> _Extracted | None:
    if sign in _CURLY:
        close = scan.next("curly", _CURLY[sign], start)
    else:
        close = scan.nested(sign, start) or scan.next("quote", sign, start)
        if close is None and sign == '"':
            close = scan.next("unescaped", sign, start)
    if close is None or (sign in "'‘" and not scan.in_paragraph(start, close)):
        return None
    source = scan.text[start : close + 1]
    content = source[1:-1] if sign in _CURLY else source[1:-1].replace("\\" + sign, sign)
    return LiteralText("quote", content, source), "", close + 1


LINES = pattern(r"(?P<path>.+?):(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?")
"""A reference with line numbers: `src/a.py:10-20`."""

_SPECIAL = frozenset(get_args(SpecialKind))
"""References to what the editor or git reports."""
_FILES = pattern(r"(?:make|docker|proc|gem|rake|jenkins|vagrant|just|brew|pip|caddy)file")
_PRODUCTS = """
    node.js next.js vue.js nuxt.js react.js express.js three.js d3.js asp.net socket.io ember.js nest.js chart.js
    alpine.js backbone.js discord.py vb.net .net and/or n/a i/o client/server either/or
"""
_NO_PATHS = frozenset(_PRODUCTS.split())
_SHAPE = pattern(r".*[^./\\]\.[A-Za-z][A-Za-z0-9_+-]{0,11}|.*/\.?[^/]*|\.[A-Za-z][\w.-]*|[./]*")
_LIMIT = 1_000
_PATTERN = pattern(r"[*?<>|{}$…]")


def nothing_exists(path: str) -> bool:  # noqa: ARG001
    """Where there is no workspace."""
    return False


class Names(NamedTuple):
    """The known paths: of the request's references, and whether something in the workspace has a name. `symbols`: names
    in the code are known, too, so that they can be renamed.
    """

    references: Mapping[str, str] = MappingProxyType({})
    exists: Callable[[str], bool] = nothing_exists
    symbols: bool = False


def written_path(token: Masked, names: Names, *, certain: bool = False, existing: bool = False) -> str | None:
    """The workspace path that a token names, or None.

    The token is a word or one literal. `certain`: the words before the token ("folder", "file") announce a path, so
    any word is one. `existing`: so is the name of what is in the workspace.
    """
    word = token.text
    if word.startswith("@"):
        found = names.references.get(token.source) or names.references.get(token.source.rstrip(".!:"))
        if found is not None:
            return found
        certain, word = True, word[1:]
        if word in _SPECIAL or word.startswith(("diagnostics:", "git:")) or LINES.fullmatch(word):
            return None
    if token.literals:
        text = token.literals[0].text.strip()
        clear = token.literals[0].kind != "block"
    else:
        # A path may be followed by one punctuation mark; trailing dots are ambiguous.
        text = word[:-1] if word.endswith(("!", ":")) else word
        clear = not (_PATTERN.search(text) or (text.strip("./") and re.search(r"[^/]\.$", text)))
    if (
        not clear
        or not 0 < len(text) <= _LIMIT
        or "\n" in text
        or "://" in text
        or text.lower().startswith("www.")
    ):
        return None
    return text if certain or _looks_like_path(text) or (existing and names.exists(text)) else None


def _looks_like_path(word: str) -> bool:
    """Whether a bare word has a folder, an extension, or the full name of a well-known file."""
    lowered = word.lower()
    return lowered not in _NO_PATHS and bool(_FILES.fullmatch(lowered) or _SHAPE.fullmatch(word))
