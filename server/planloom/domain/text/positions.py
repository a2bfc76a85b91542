"""Positions in text, line ends, and the encodings of files. No other module interprets line ends or units."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, Literal, NamedTuple

from planloom.domain.text import units
from planloom.domain.text.lines import Block, changed_blocks, split_lines
from planloom.domain.values import Value

Encoding = units.Encoding
"""The unit in which `Position.character` counts: bytes, UTF-16 code units or code points."""

Eol = Literal["\n", "\r\n", "\r"]

_STRIDE: Final = 1024
_LINE_END: Final = re.compile(r"\r\n?|\n")

FileEncoding = Literal["utf-8", "utf-16-le", "utf-16-be"]
# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS: Final[tuple[tuple[FileEncoding | Literal["utf-32"], bytes], ...]] = (
    ("utf-32", codecs.BOM_UTF32_LE),
    ("utf-32", codecs.BOM_UTF32_BE),
    ("utf-8", codecs.BOM_UTF8),
    ("utf-16-le", codecs.BOM_UTF16_LE),
    ("utf-16-be", codecs.BOM_UTF16_BE),
)
_UNMARKED: Final[tuple[FileEncoding, bytes]] = ("utf-8", b"")


class Position(Value):
    """A zero-based line, and a character offset in units of the negotiated encoding (LSP 3.17)."""

    line: int
    character: int


class Range(Value):
    """The text from `start` up to, not including, `end`."""

    start: Position
    end: Position


class TextEdit(NamedTuple):
    """One replacement in a text; the ranges of edits in one list all refer to the same state of the text."""

    range: Range
    new_text: str


class ContentChange(NamedTuple):
    """A change reported by the editor: the text of `range`, or of the whole document, is now `text`."""

    text: str
    range: Range | None = None


class LineIndex:
    """Finds the lines of one text; a line ends only at LF, CRLF or CR (LSP 3.17).

    Line numbers are stored once for every 1,024 characters, not once a line, so an index takes a few fast passes
    and little memory, whatever the length of the lines.
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

    @property
    def counted(self) -> int:
        """The number of lines as people count them: a line end at the end of the text begins no further line."""
        ends = self.line_count > 1 and self.line_start(self.line_count - 1) == len(self.text)
        return self.line_count - ends

    def line_start(self, line: int) -> int:
        """The offset of the first character of a line; the end of the text for lines after the last."""
        if line <= 0:
            return 0
        if line >= self.line_count:
            return len(self.text)
        stretch = bisect_left(self._ends_before, line) - 1
        ends = _LINE_END.finditer(self.text, stretch * _STRIDE)
        return next(islice(ends, line - self._ends_before[stretch] - 1, None)).end()

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
        end = self._content_end(start)
        return units.advance(self.text, start, end, max(position.character, 0), encoding)

    def position(self, offset: int, encoding: Encoding) -> Position:
        """The position of an offset; clamped to the text, and inside a CRLF moved before it."""
        offset = min(max(offset, 0), len(self.text))
        if 0 < offset < len(self.text) and self.text[offset - 1] == "\r" and self.text[offset] == "\n":
            offset -= 1
        stretch = offset // _STRIDE
        line = self._ends_before[stretch] + self._ends_between(stretch * _STRIDE, offset)
        start = self.text.rfind("\n", 0, offset) + 1
        if self._has_cr:
            start = max(start, self.text.rfind("\r", start, offset) + 1)
        return Position(line=line, character=units.width(self.text, start, offset, encoding))

    def _ends_between(self, start: int, end: int) -> int:
        """How many line ends have their last character in `text[start:end]`; the CR of a CRLF does not count."""
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


def apply_edits(text: str, edits: Iterable[TextEdit], encoding: Encoding) -> str:
    """The text after edits that all refer to `text` (LSP `TextEdit[]`).

    Insertions at one position appear in the order given, before a replacement that starts there.
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
    """The most frequent line end, or None in a text without line ends."""
    crlf = text.count("\r\n")
    counts: dict[Eol, int] = {"\n": text.count("\n") - crlf, "\r\n": crlf, "\r": text.count("\r") - crlf}
    most = max(counts, key=lambda eol: counts[eol])
    return most if counts[most] else None


def with_eol(text: str, eol: Eol) -> str:
    """The text with every line end replaced by `eol`."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if eol == "\n" else text.replace("\n", eol)


def differ_only_in_eol(one: str, other: str) -> bool:
    """Whether two texts are equal but for their line ends, which an editor makes uniform when it opens a file."""
    return one == other or with_eol(one, "\n") == with_eol(other, "\n")


def adapt_eol(new: str, before: str) -> str:
    """`new` with the line ends of `before`, the text that it replaces.

    Where `before` mixes them, kept lines keep theirs, a rewritten line gets that of the line it replaces, a
    single new line that of the line above it, and several new lines in a row the most frequent one.
    """
    usual = dominant_eol(before)
    if usual is None:
        return new
    if with_eol(before, usual) == before:
        return with_eol(new, usual)
    old = [_split_end(line) for line in split_lines(before)]
    lines = [_split_end(line) for line in split_lines(new)]
    ends = _ends(old, changed_blocks([text for text, _ in old], [text for text, _ in lines]), usual)
    adapted: list[str] = []
    above: str = usual
    for (text, end), wished in zip(lines, ends, strict=True):
        # The LF of an empty line would join the CR above it to a CRLF.
        if wished and (text or not adapted or (above, wished) != ("\r", "\n")):
            above = wished
        adapted.append(text + above if end else text)
    return "".join(adapted)


def _ends(old: list[tuple[str, str]], changes: Iterable[Block], usual: Eol) -> Iterator[str]:
    """The line end for every line after the changes; an empty one means that of the line above."""
    done = 0
    for change in changes:
        more = (change.after_end - change.after_start) - (change.before_end - change.before_start)
        yield from (end for _, end in old[done : change.before_end + min(more, 0)])
        yield from [""] if more == 1 else [usual] * more
        done = change.before_end
    yield from (end for _, end in old[done:])


def _split_end(line: str) -> tuple[str, str]:
    text = line.rstrip("\r\n")
    return text, line[len(text) :]


class FileProtection(Value):
    """The permission bits of a file, and its extended attributes by name, in Base64."""

    mode: int
    attributes: Mapping[str, str] = {}


class FileForm(Value):
    """The encoding of a file, and whether it begins with a byte-order mark.

    `protection` is that of a deleted file that an editor would make with another.
    """

    encoding: FileEncoding = "utf-8"
    bom: bool = False
    protection: FileProtection | None = None


class Decoded(FileForm):
    """The text of a file, with the form that is needed to write it back byte for byte."""

    kind: Literal["decoded"] = "decoded"
    text: str


class Undecodable(NamedTuple):
    """A file that is not text, or whose encoding is not certain; `size` is in bytes."""

    kind: Literal["binary", "undecodable"]
    detail: str
    size: int


def decode(data: bytes) -> Decoded | Undecodable:
    """The text of a file: UTF-8 with or without a byte-order mark, or UTF-16 with one.

    No other encoding is guessed: a wrong guess would show, and write back, a wrong text. A file with a NUL is
    binary.
    """
    encoding, mark = next((found for found in _MARKS if data.startswith(found[1])), _UNMARKED)
    if encoding == "utf-32":
        return Undecodable(kind="undecodable", detail="UTF-32 text", size=len(data))
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        at = len(mark) + error.start
        if encoding == "utf-8" and 0 in data:
            return Undecodable(kind="binary", detail="a NUL byte", size=len(data))
        detail = f"byte 0x{data[at]:02X} at offset {at} is not {encoding.upper()}"
        return Undecodable(kind="undecodable", detail=detail, size=len(data))
    if "\0" in text:
        return Undecodable(kind="binary", detail="a NUL character", size=len(data))
    return Decoded(text=text, encoding=encoding, bom=bool(mark))


def encode(form: FileForm, text: str) -> bytes:
    """`text` as the bytes of a file of that form.

    Raises UnicodeEncodeError, a ValueError, for lone surrogates, which these encodings cannot represent.
    """
    mark = next(mark for encoding, mark in _MARKS if encoding == form.encoding) if form.bom else b""
    return mark + text.encode(form.encoding)


def _span(index: LineIndex, span: Range, encoding: Encoding) -> tuple[int, int]:
    # Some editors send a backward selection with its end first.
    start, end = sorted((index.offset(span.start, encoding), index.offset(span.end, encoding)))
    return start, end


def _joined(pieces: Iterable[str]) -> str:
    """The pieces joined; two halves of a surrogate pair that meet become one character."""
    joined: list[str] = []
    for piece in filter(None, pieces):
        if joined and "\ud800" <= joined[-1][-1] <= "\udbff" and "\udc00" <= piece[0] <= "\udfff":
            whole = (joined[-1][-1] + piece[0]).encode("utf-16", "surrogatepass").decode("utf-16")
            joined[-1] = joined[-1][:-1]
            joined.append(whole + piece[1:])
        else:
            joined.append(piece)
    return "".join(joined)
