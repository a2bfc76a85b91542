"""Positions in text: the one place that knows line ends, and UTF-8, UTF-16 and UTF-32 units."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Final, Literal, assert_never

from planloom.domain.values import Value

Encoding = Literal["utf-8", "utf-16", "utf-32"]
"""The unit in which `Position.character` counts: bytes, UTF-16 code units or code points."""

Eol = Literal["\n", "\r\n", "\r"]

_STRIDE: Final = 4096
_LINE_END: Final = re.compile(r"\r\n?|\n")
_SURROGATE_HALVES: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")


class Position(Value):
    """A place in a text: zero-based line, and character in units of the negotiated encoding (LSP 3.17)."""

    line: int
    character: int


class Range(Value):
    """A half-open stretch of text from `start` up to, not including, `end`."""

    start: Position
    end: Position


class TextEdit(Value):
    """One replacement in a text; the ranges of edits that belong together all refer to the same state."""

    range: Range
    new_text: str


class ContentChange(Value):
    """What an editor says was typed: the text of `range`, or of the whole document, is now `text`."""

    range: Range | None = None
    text: str


class LineIndex:
    """Where the lines of one text are; a line ends only at LF, CRLF or CR, as in every editor (LSP 3.17).

    Line numbers are counted once per stretch of a few thousand characters, not once per line, so that an index
    costs a few passes at memory speed and next to no memory, however long or short the lines are.
    Offsets are in code points of `text`, from 0 to `len(text)`.
    """

    __slots__ = ("_ends_before", "_has_cr", "line_count", "text")

    text: Final[str]
    line_count: Final[int]

    def __init__(self, text: str) -> None:
        self.text = text
        self._has_cr: Final = "\r" in text
        ends_before = [0]
        for start in range(0, len(text), _STRIDE):
            ends_before.append(ends_before[-1] + self._ends_between(start, min(start + _STRIDE, len(text))))
        self._ends_before: Final = ends_before
        self.line_count = ends_before[-1] + 1

    def line_start(self, line: int) -> int:
        """The offset of the first character of a line; the end of the text for lines after the last."""
        if line <= 0:
            return 0
        if line >= self.line_count:
            return len(self.text)
        stretch = bisect_left(self._ends_before, line) - 1
        ends = _LINE_END.finditer(self.text, stretch * _STRIDE)
        for _ in range(line - self._ends_before[stretch] - 1):
            next(ends)
        return next(ends).end()

    def line_text(self, line: int) -> str:
        """The text of a line without its terminator; empty for lines that do not exist."""
        start = self.line_start(line)
        return self.text[start : self._content_end(start)]

    def offset(self, position: Position, encoding: Encoding) -> int:
        """The offset of a position.

        A character beyond the end of its line means the end of the line, before the terminator; a line beyond
        the end means the end of the text; a unit inside a character means the start of that character.
        """
        if position.line < 0:
            return 0
        if position.line >= self.line_count:
            return len(self.text)
        start = self.line_start(position.line)
        return self._advance(start, self._content_end(start), max(position.character, 0), encoding)

    def position(self, offset: int, encoding: Encoding) -> Position:
        """The position of an offset; offsets outside the text mean its ends, one inside CRLF means before it."""
        offset = min(max(offset, 0), len(self.text))
        if 0 < offset < len(self.text) and self.text[offset - 1] == "\r" and self.text[offset] == "\n":
            offset -= 1
        stretch = offset // _STRIDE
        line = self._ends_before[stretch] + self._ends_between(stretch * _STRIDE, offset)
        start = self.text.rfind("\n", 0, offset) + 1
        if self._has_cr:
            start = max(start, self.text.rfind("\r", start, offset) + 1)
        return Position(line=line, character=_units_between(self.text, start, offset, encoding))

    def _ends_between(self, start: int, end: int) -> int:
        """How many line ends have their last character in the stretch: the CR of a CRLF does not count."""
        ends = self.text.count("\n", start, end)
        if self._has_cr:
            ends += self.text.count("\r", start, end) - self.text.count("\r\n", start, end + 1)
        return ends

    def _content_end(self, start: int) -> int:
        end = self.text.find("\n", start)
        end = len(self.text) if end < 0 else end
        if self._has_cr:
            carriage = self.text.find("\r", start, end)
            end = end if carriage < 0 else carriage
        return end

    def _advance(self, start: int, end: int, units: int, encoding: Encoding) -> int:
        """The offset `units` after `start`, at most `end`, never inside a character."""
        # No character is less than one unit, so the place cannot lie further than this.
        end = min(end, start + units)
        if encoding == "utf-32" or self.text.isascii():
            return end
        while start < end:
            stretch = self.text[start : min(start + _STRIDE, end)]
            width = _units(stretch, encoding)
            if width > units:
                return start + _fitting(stretch, units, encoding)
            start += len(stretch)
            units -= width
            end = min(end, start + units)
        return start


def apply_edits(text: str, edits: Iterable[TextEdit], encoding: Encoding) -> str:
    """The text after edits that all refer to `text` (LSP `TextEdit[]`).

    Insertions at one place appear in the order given, before a replacement that starts there.
    Raises ValueError when two ranges overlap.
    """
    index = LineIndex(text)
    spans = [(*_span(index, edit.range, encoding), edit.new_text) for edit in edits]
    spans.sort(key=lambda span: span[:2])
    pieces: list[str] = []
    done = 0
    for start, end, new_text in spans:
        if start < done:
            raise ValueError(f"Two edits overlap at {index.position(start, encoding)}.")
        pieces += (text[done:start], new_text)
        done = end
    pieces.append(text[done:])
    return _joined(pieces)


def apply_change(text: str, change: ContentChange, encoding: Encoding) -> str:
    """The text after one change of incremental sync; several changes are applied one after the other."""
    if change.range is None:
        return change.text
    start, end = _span(LineIndex(text), change.range, encoding)
    return _joined((text[:start], change.text, text[end:]))


def dominant_eol(text: str) -> Eol | None:
    """The terminator that most lines have, or None in a text without line ends."""
    crlf = text.count("\r\n")
    counts: dict[Eol, int] = {"\n": text.count("\n") - crlf, "\r\n": crlf, "\r": text.count("\r") - crlf}
    most = max(counts, key=lambda eol: counts[eol])
    return most if counts[most] else None


def with_eol(text: str, eol: Eol) -> str:
    """The text with every line end replaced by `eol`."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if eol == "\n" else text.replace("\n", eol)


def adapt_eol(new: str, before: str) -> str:
    raise NotImplementedError


class Decoded(Value):
    """The text of a file, and all that is needed to write it back byte for byte."""

    kind: Literal["decoded"] = "decoded"
    text: str
    encoding: Literal["utf-8", "utf-16-le", "utf-16-be"]
    bom: bool


class Undecodable(Value):
    """A file that is not text, or not text whose encoding is certain; `size` is in bytes."""

    kind: Literal["binary", "undecodable"]
    detail: str
    size: int


def decode(data: bytes) -> Decoded | Undecodable:
    raise NotImplementedError


def encode(decoded: Decoded, text: str) -> bytes:
    """`text` as bytes in the encoding of `decoded`, with a byte-order mark if that had one.

    Raises UnicodeEncodeError, a ValueError, for lone surrogates: no file can hold them.
    """
    raise NotImplementedError


def _span(index: LineIndex, span: Range, encoding: Encoding) -> tuple[int, int]:
    # Some editors send a selection made backwards as it is.
    start, end = sorted((index.offset(span.start, encoding), index.offset(span.end, encoding)))
    return start, end


def _joined(pieces: Iterable[str]) -> str:
    """The pieces as one text in which the two halves of a character, when they meet, are that character."""
    text = "".join(pieces)
    if text.isascii() or not _SURROGATE_HALVES.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _units(text: str, encoding: Encoding) -> int:
    """The length of a text in units of an encoding."""
    if text.isascii():
        return len(text)
    match encoding:
        case "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))
        case "utf-16":
            return len(text.encode("utf-16-le", "surrogatepass")) // 2
        case "utf-32":
            return len(text)
        case _:
            assert_never(encoding)


def _units_between(text: str, start: int, end: int, encoding: Encoding) -> int:
    if encoding == "utf-32" or text.isascii():
        return end - start
    return sum(_units(text[at : min(at + _STRIDE, end)], encoding) for at in range(start, end, _STRIDE))


def _fitting(text: str, units: int, encoding: Encoding) -> int:
    """How many whole characters of a text fit into so many units."""
    lengths = range(len(text) + 1)
    return bisect_right(lengths, units, key=lambda length: _units(text[:length], encoding)) - 1
