"""The one glob dialect: gitignore(5) patterns, matched name by name in bounded time, since they may be untrusted.

Globs from settings and tools may also have braces (`expand_braces`), which are ordinary characters in an ignore file.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

Segment = str | re.Pattern[str] | None
"""One path segment of a pattern: a literal name, a compiled glob, or None for `**`."""

_GLOB = re.compile(r"[*?\[\]\\]")
_LONGEST = 4096
_MOST_EXPANDED: Final = 100
"""Most globs that the braces of one glob expand to; further ones are dropped."""
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


class FolderGlob(NamedTuple):
    """A pattern specialised to one folder: match `segment` against the name (None matches every name) and, if
    `whole`, all segments against the relative path."""

    glob: Glob
    segment: Segment
    whole: bool

    def matches(self, relative: str, name: str, *, folder: bool) -> bool:
        """Whether the pattern matches this name of the folder."""
        if self.glob.folders_only and not folder:
            return False
        if self.segment is not None and not _match_name(self.segment, name):
            return False
        return not self.whole or _match_path(self.glob.segments, relative.split("/"))


class Glob(NamedTuple):
    """One pattern of an ignore file; an `anywhere` pattern matches the last name alone, at any depth."""

    segments: tuple[Segment, ...]
    negated: bool
    folders_only: bool

    @property
    def anywhere(self) -> bool:
        return len(self.segments) == 2 and self.segments[0] is None

    def inside(self, names: Sequence[str]) -> FolderGlob | None:
        """This pattern specialised to the folder `names`; None if nothing in it can match."""
        last = self.segments[-1]
        if self.anywhere:
            return FolderGlob(self, last, whole=False)
        if None not in self.segments:
            if len(self.segments) != len(names) + 1 or not _match_path(self.segments[:-1], names):
                return None
            return FolderGlob(self, last, whole=False)
        if last is None and not _match_path(self.segments, (*names, "")):
            return None
        return FolderGlob(self, last, whole=last is not None)

    def matches(self, relative: str, name: str, *, folder: bool) -> bool:
        """Whether the pattern matches this path itself; paths below a matching folder do not match."""
        if self.folders_only and not folder:
            return False
        if self.anywhere:
            return _match_name(self.segments[1], name)
        return _match_path(self.segments, relative.split("/"))


def read_glob(line: str) -> Glob | None:
    """Parse a line of an ignore file; None for a comment, a blank line or a pattern that can match nothing."""
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


def expand_braces(glob: str) -> tuple[str, ...]:
    """The globs that a glob with braces expands to; braces without a comma or after a backslash are literal."""
    pending = [glob]
    done: list[str] = []
    while pending and len(done) + len(pending) <= _MOST_EXPANDED:
        parts = _first_braces(each := pending.pop(0))
        if parts is None:
            done.append(each)
        else:
            before, inside, after = parts
            pending[:0] = [before + one + after for one in inside[: _MOST_EXPANDED - len(done)]]
    return tuple(done + pending)[:_MOST_EXPANDED]


def _first_braces(glob: str) -> tuple[str, list[str], str] | None:
    """The text before, the alternatives in, and the text after the first braces with several alternatives."""
    opened: list[int] = []
    commas: dict[int, list[int]] = {}
    best: tuple[int, int] | None = None
    index = 0
    while index < len(glob):
        match glob[index]:
            case "\\":
                index += 1
            case "{":
                opened.append(index)
            case "," if opened:
                commas.setdefault(opened[-1], []).append(index)
            case "}" if opened:
                start = opened.pop()
                if start in commas and (best is None or start < best[0]):
                    best = (start, index)
            case _:
                pass
        index += 1
    if best is None:
        return None
    start, end = best
    cuts = [start, *commas[start], end]
    return glob[:start], [glob[a + 1 : b] for a, b in itertools.pairwise(cuts)], glob[end + 1 :]


def _without_trailing_blanks(line: str) -> str:
    stripped = line.rstrip(" ")
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    # A space after a backslash is part of the name.
    return line[: len(stripped) + 1] if backslashes % 2 and len(stripped) < len(line) else stripped


def _match_path(segments: Sequence[Segment], names: Sequence[str]) -> bool:
    """Match name by name. Backtracks only to the last `**`, so time is at most the product of both lengths."""
    segment = name = 0
    retry: tuple[int, int] | None = None
    while name < len(names):
        if segment < len(segments) and segments[segment] is None:
            if segment == len(segments) - 1:
                # A `**` at the end means everything inside, not the folder itself.
                return True
            retry = (segment + 1, name)
            segment += 1
        elif segment < len(segments) and _match_name(segments[segment], names[name]):
            segment += 1
            name += 1
        elif retry is not None:
            retry = (retry[0], retry[1] + 1)
            segment, name = retry
        else:
            return False
    return segment == len(segments)


def _match_name(segment: Segment, name: str) -> bool:
    if isinstance(segment, str):
        return segment == name
    return segment is not None and segment.match(name) is not None


def _segment(glob: str) -> Segment:
    """Compile one path segment; None if it can match nothing."""
    if not glob:
        return None
    if not _GLOB.search(glob):
        return glob
    pieces = [""]
    index = 0
    while index < len(glob):
        sign = glob[index]
        index += 1
        if sign == "*":
            if len(pieces) == 1 or pieces[-1]:
                pieces.append("")
        elif sign == "?":
            pieces[-1] += "."
        elif sign == "[":
            found = _class(glob, index)
            if found is None:
                return None
            pieces[-1] += found[0]
            index = found[1]
        else:
            if sign == "\\":
                if index == len(glob):
                    return None
                sign = glob[index]
                index += 1
            pieces[-1] += re.escape(sign)
    return _compiled(pieces)


def _compiled(pieces: Sequence[str]) -> Segment:
    """Compile pieces of fixed width with stars between them; atomic groups suffice, since the leftmost match of a
    piece is always good enough."""
    if len(pieces) == 1:
        pattern = pieces[0]
    else:
        inner = "".join(f"(?>.*?{piece})" for piece in pieces[1:-1])
        pattern = f"{pieces[0]}{inner}.*{pieces[-1]}" if pieces[-1] else f"{pieces[0]}{inner}.*"
    try:
        return re.compile(pattern + r"\Z", re.DOTALL)
    except re.error:
        return None


def _class(glob: str, index: int) -> tuple[str, int] | None:
    """The regex of a bracket expression whose content starts at `index`, and the index after it."""
    negated = glob[index : index + 1] in ("!", "^")
    index += negated
    content: list[str] = []
    first = True
    while index < len(glob):
        sign = glob[index]
        if sign == "]" and not first:
            inside = "".join(content)
            return f"[{'^' if negated else ''}{inside}]", index + 1
        first = False
        if glob.startswith("[:", index) and (end := glob.find(":]", index)) > 0:
            content.append(_CLASSES.get(glob[index + 2 : end], ""))
            index = end + 2
            continue
        if sign == "\\":
            index += 1
            sign = glob[index : index + 1]
        index += 1
        if glob[index : index + 1] == "-" and glob[index + 1 : index + 2] not in ("", "]"):
            last = glob[index + 1]
            index += 2
            if last == "\\":
                last = glob[index : index + 1]
                index += 1
            if sign <= last:
                content.append(f"{re.escape(sign)}-{re.escape(last)}")
            continue
        content.append(re.escape(sign))
    return None
