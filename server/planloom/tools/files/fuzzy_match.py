"""Finds the lines that an edit means: exactly, else by looser grades of comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

Grade = Literal["exact", "trailing", "indentation", "punctuation"]

_PUNCTUATION: Final = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\ufe58\ufe63\uff0d", "-"),
        **dict.fromkeys(
            "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a", " "
        ),
        **dict.fromkeys("\u202f\u205f\u3000", " "),
    }
)
"""Typographic characters that models and word processors use for plain ones; one for one, so offsets stay valid."""


def plain_punctuation(text: str) -> str:
    """The text with plain quotes, dashes and spaces in place of typographic ones; the length stays the same."""
    return text if text.isascii() else text.translate(_PUNCTUATION)


GRADES: Final[tuple[tuple[Grade, Callable[[str], str]], ...]] = (
    ("exact", str),
    ("trailing", str.rstrip),
    ("indentation", str.strip),
    ("punctuation", lambda line: plain_punctuation(line).strip()),
)
"""From strict to loose; a looser grade is tried only if the stricter ones found nothing."""

GRADE_TEXT: Final[Mapping[Grade, str]] = {
    "exact": "exactly",
    "trailing": "apart from white space at line ends",
    "indentation": "apart from indentation",
    "punctuation": "apart from typographic quotes, dashes or spaces",
}


_FEW = 64
"""Matches of a run that are found by text search, which is fast unless they overlap."""


class Match(NamedTuple):
    """The matches of a run of lines: the indices of their first lines, from 0, and how they were compared."""

    starts: tuple[int, ...]
    grade: Grade


class Lines:
    """The lines of one text, searchable for runs of lines in linear time."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        self._joined: dict[Grade, str] = {}
        self._found: dict[tuple[str, ...], Match | None] = {}

    def find(self, wanted: Sequence[str]) -> Match | None:
        """Every match of a run, in order, by the strictest grade that finds any; None if no grade does."""
        key = tuple(wanted)
        if key not in self._found:
            self._found[key] = self._find(key)
        return self._found[key]

    def beginning(self, wanted: str) -> tuple[int, ...]:
        """The indices of the first two lines, at most, that begin with a text, ignoring indentation."""
        text = self._text("indentation", str.strip)[:-1]
        first = text.find("\n" + wanted)
        second = text.find("\n" + wanted, first + 1) if first >= 0 else -1
        return tuple(text.count("\n", 0, offset) for offset in (first, second) if offset >= 0)

    def _find(self, wanted: Sequence[str]) -> Match | None:
        for grade, normal in GRADES:
            run = [normal(line) for line in wanted]
            if grade != "exact" and not any(run):
                return None
            starts = tuple(self._places(grade, normal, run))
            if starts:
                return Match(starts, grade)
        return None

    def _places(self, grade: Grade, normal: Callable[[str], str], run: Sequence[str]) -> Iterator[int]:
        text, needle = self._text(grade, normal), "\n" + "\n".join(run) + "\n"
        line = counted = 0
        offset = text.find(needle)
        for _ in range(_FEW):
            if offset < 0:
                return
            line += text.count("\n", counted, offset)
            counted = offset
            yield line
            offset = text.find(needle, offset + 1)
        if offset >= 0:
            # For overlapping runs a text search takes quadratic time; this takes linear time.
            yield from (
                place for place in _repeated(text[1:-1].split("\n"), needle[1:-1].split("\n")) if place > line
            )

    def _text(self, grade: Grade, normal: Callable[[str], str]) -> str:
        if grade not in self._joined:
            # Every line with its end, so that an empty text does not contain a blank line.
            self._joined[grade] = "\n" + "".join(f"{normal(line)}\n" for line in self.lines)
        return self._joined[grade]


def _repeated(lines: Sequence[str], run: Sequence[str]) -> Iterator[int]:
    """The index of every match of a run, in linear time (Knuth-Morris-Pratt)."""
    back = [0] * len(run)
    matched = 0
    for number in range(1, len(run)):
        while matched and run[number] != run[matched]:
            matched = back[matched - 1]
        matched += run[number] == run[matched]
        back[number] = matched
    matched = 0
    for number, line in enumerate(lines):
        while matched and (matched == len(run) or line != run[matched]):
            matched = back[matched - 1]
        matched += line == run[matched]
        if matched == len(run):
            yield number - len(run) + 1


class NoIndentation(NamedTuple):
    """The indentation of new lines cannot be derived from the file's."""

    reason: str = (
        "old_text matches only without its indentation, which differs from the file's by more than one shift. "
        "Read the file again and copy the lines with their indentation."
    )


def reindented(
    new: Sequence[str], old: Sequence[str], actual: Sequence[str]
) -> tuple[str, ...] | NoIndentation:
    """The new lines, indented as the file indents `actual`, the lines that `old` matched one for one."""
    pairs = [
        (_indent(wanted), _indent(found))
        for wanted, found in zip(old, actual, strict=True)
        if wanted.strip() and found.strip()
    ]
    if all(wanted == found for wanted, found in pairs):
        return tuple(new)
    shift = _shift(pairs)
    indents = dict(pairs)
    if shift is None and any(indents[wanted] != found for wanted, found in pairs):
        return NoIndentation()
    return tuple(_indented(line, indents, shift) for line in new)


def _shift(pairs: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """The prefix to remove and the prefix to add, if they are the same for all lines."""
    wanted, found = min(pairs, key=lambda pair: len(pair[0]) + len(pair[1]))
    common = 0
    while common < min(len(wanted), len(found)) and wanted[-1 - common] == found[-1 - common]:
        common += 1
    removed, added = wanted[: len(wanted) - common], found[: len(found) - common]
    fits = all(old.startswith(removed) and added + old[len(removed) :] == new for old, new in pairs)
    return (removed, added) if fits else None


def _indented(line: str, indents: Mapping[str, str], shift: tuple[str, str] | None) -> str:
    indent = _indent(line)
    if indent == line:
        return line
    rest = line[len(indent) :]
    if indent in indents:
        return indents[indent] + rest
    if shift is not None:
        removed, added = shift
        return added + line[len(removed) :] if line.startswith(removed) else added + rest
    nearest = max((each for each in indents if indent.startswith(each)), key=len, default=None)
    return line if nearest is None else indents[nearest] + indent[len(nearest) :] + rest


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
