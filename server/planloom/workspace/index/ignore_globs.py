"""Patterns of ignore files, matched name by name in bounded time, whatever a folder from elsewhere writes into them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

Segment = str | re.Pattern[str] | None
"""One name of a pattern: itself, a glob, or None for `**`."""

_GLOB = re.compile(r"[*?\[\]\\]")
_LONGEST = 4096
_CLASSES: Final = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "xdigit": "0-9a-fA-F",
    "punct": r"!-/:-@\[-`{-~",
}


class Test(NamedTuple):
    """A pattern within one folder: the name must fit `segment`, and if `whole` the way to it the rest.

    Without a segment every name fits.
    """

    glob: Glob
    segment: Segment
    whole: bool

    def fits(self, relative: str, name: str, *, folder: bool) -> bool:
        """Whether this name of the folder is meant."""
        if self.glob.folders_only and not folder:
            return False
        if self.segment is not None and not _fits(self.segment, name):
            return False
        return not self.whole or _leads(self.glob.segments, relative.split("/"))


class Glob(NamedTuple):
    """One line of an ignore file; `anywhere` patterns look at the last name alone."""

    segments: tuple[Segment, ...]
    negated: bool
    folders_only: bool

    @property
    def anywhere(self) -> bool:
        return len(self.segments) == 2 and self.segments[0] is None

    def inside(self, names: Sequence[str]) -> Test | None:
        """What is left to ask of the names in the folder that these names lead to; None if none can match."""
        last = self.segments[-1]
        if self.anywhere:
            return Test(self, last, whole=False)
        if None not in self.segments:
            if len(self.segments) != len(names) + 1 or not _leads(self.segments[:-1], names):
                return None
            return Test(self, last, whole=False)
        if last is None and not _leads(self.segments, (*names, "")):
            return None
        return Test(self, last, whole=last is not None)

    def matches(self, relative: str, name: str, *, folder: bool) -> bool:
        """Whether the pattern names this path; what lies below a named folder is not asked for."""
        if self.folders_only and not folder:
            return False
        if self.anywhere:
            return _fits(self.segments[1], name)
        return _leads(self.segments, relative.split("/"))


def read_glob(line: str) -> Glob | None:
    """The pattern of a line (gitignore(5)); None for comments, blank lines and what can match nothing."""
    text = _without_trailing_blanks(line.rstrip("\r\n"))
    if not text or text.startswith("#") or len(text) > _LONGEST:
        return None
    negated = text.startswith("!")
    text = text[negated:]
    folders_only = text.endswith("/")
    text = text.rstrip("/") if folders_only else text
    anchored = "/" in text
    parts = text.removeprefix("/").split("/")
    segments: list[Segment] = [] if anchored else [None]
    for part in parts:
        if anchored and len(part) > 1 and not part.strip("*"):
            if not segments or segments[-1] is not None:
                segments.append(None)
            continue
        segment = _segment(part)
        if segment is None:
            return None
        segments.append(segment)
    return Glob(tuple(segments), negated, folders_only)


def _without_trailing_blanks(line: str) -> str:
    stripped = line.rstrip(" ")
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    # A blank behind a backslash is part of the name.
    return line[: len(stripped) + 1] if backslashes % 2 and len(stripped) < len(line) else stripped


def _leads(segments: Sequence[Segment], names: Sequence[str]) -> bool:
    """Match name by name; only the last `**` is ever taken back, so time is bounded by both lengths multiplied."""
    at = place = 0
    retry: tuple[int, int] | None = None
    while place < len(names):
        if at < len(segments) and segments[at] is None:
            if at == len(segments) - 1:
                # A `**` at the end means everything inside, not the folder itself.
                return True
            retry = (at + 1, place)
            at += 1
        elif at < len(segments) and _fits(segments[at], names[place]):
            at += 1
            place += 1
        elif retry is not None:
            retry = (retry[0], retry[1] + 1)
            at, place = retry
        else:
            return False
    return at == len(segments)


def _fits(segment: Segment, name: str) -> bool:
    if isinstance(segment, str):
        return segment == name
    return segment is not None and segment.match(name) is not None


def _segment(glob: str) -> Segment:
    """One name of a pattern; None if it can match nothing."""
    if not glob:
        return None
    if not _GLOB.search(glob):
        return glob
    pieces = [""]
    at = 0
    while at < len(glob):
        sign = glob[at]
        at += 1
        if sign == "*":
            if len(pieces) == 1 or pieces[-1]:
                pieces.append("")
        elif sign == "?":
            pieces[-1] += "."
        elif sign == "[":
            found = _class(glob, at)
            if found is None:
                return None
            pieces[-1] += found[0]
            at = found[1]
        else:
            if sign == "\\":
                if at == len(glob):
                    return None
                sign = glob[at]
                at += 1
            pieces[-1] += re.escape(sign)
    return _compiled(pieces)


def _compiled(pieces: Sequence[str]) -> Segment:
    """Pieces of fixed width with stars between them: the first place where one fits is always good enough."""
    if len(pieces) == 1:
        pattern = pieces[0]
    else:
        inner = "".join(f"(?>.*?{piece})" for piece in pieces[1:-1])
        pattern = f"{pieces[0]}{inner}.*{pieces[-1]}" if pieces[-1] else f"{pieces[0]}{inner}.*"
    try:
        return re.compile(pattern + r"\Z", re.DOTALL)
    except re.error:
        return None


def _class(glob: str, at: int) -> tuple[str, int] | None:
    """The pattern of a bracket expression whose content starts at `at`, and the place behind it."""
    negated = glob[at : at + 1] in ("!", "^")
    at += negated
    content: list[str] = []
    first = True
    while at < len(glob):
        sign = glob[at]
        if sign == "]" and not first:
            inside = "".join(content)
            return f"[{'^' if negated else ''}{inside}]", at + 1
        first = False
        if glob.startswith("[:", at) and (end := glob.find(":]", at)) > 0:
            content.append(_CLASSES.get(glob[at + 2 : end], ""))
            at = end + 2
            continue
        if sign == "\\":
            at += 1
            sign = glob[at : at + 1]
        at += 1
        if glob[at : at + 1] == "-" and glob[at + 1 : at + 2] not in ("", "]"):
            last = glob[at + 1]
            at += 2
            if last == "\\":
                last = glob[at : at + 1]
                at += 1
            if sign <= last:
                content.append(f"{re.escape(sign)}-{re.escape(last)}")
            continue
        content.append(re.escape(sign))
    return None
