"""A text that is being edited: a change costs only what it touches, and the whole is joined only when needed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Final

from planloom.domain.text import units
from planloom.domain.text.positions import ContentChange, Encoding, Position, Range, apply_change

PIECE: Final = 1 << 15
"""Characters in a new piece; a change joins the pieces that it touches."""

_LARGE: Final = 1 << 20
_MARGIN: Final = 4
"""The most units of one character in any encoding."""


class LiveText:
    """One immutable state of a text; `changed` returns the next one, which shares the unchanged pieces.

    The text is split into pieces, and the line ends in each are counted. No CRLF is split between two pieces, so the
    counts add up to that of the text. No piece is empty, unless the text is.
    """

    def __init__(self, text: str, *, piece: int = PIECE) -> None:
        self._piece = piece
        self.text = text
        if len(text) > _LARGE:
            # The first keystroke in a large text should not have to wait for this. A shorter text is split at its
            # first change, since most documents are only read.
            self._pieces = list(_pieces_of(text, piece))
            self._ends = list(map(_ends_in, self._pieces))
            if 0 in self._ends:
                self._measure("utf-16")

    @cached_property
    def text(self) -> str:
        """The whole text."""
        return "".join(self._pieces)

    @cached_property
    def length(self) -> int:
        """The length of the text in characters, computed without joining the pieces."""
        return sum(map(len, self._pieces)) if "text" not in vars(self) else len(self.text)

    def begins_with(self, prefix: str) -> bool:
        """Whether the text begins with this, which is shorter than a piece; found without joining the pieces."""
        return (self.text if "text" in vars(self) else self._pieces[0]).startswith(prefix)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LiveText) and (self is other or self.text == other.text)

    def __hash__(self) -> int:
        return hash(self.text)

    def changed(self, change: ContentChange, encoding: Encoding) -> LiveText:
        """The text after one change of incremental sync; the same as `apply_change` returns."""
        if change.range is None:
            return LiveText(change.text, piece=self._piece)
        first, last = sorted((change.range.start.line, change.range.end.line))
        # The pieces from the line end before the first line to the line end of the last.
        start = self._piece_of_end(first)
        stop = self._piece_of_end(last + 1) + 1
        if stop - start > 2:
            return self._changed_in_long_lines(change.range, change.text, encoding)
        above = self._ends_before[start]
        span = Range(start=_up(change.range.start, above), end=_up(change.range.end, above))
        return self._replaced(start, stop, ContentChange(range=span, text=change.text), encoding)

    def _changed_in_long_lines(self, span: Range, text: str, encoding: Encoding) -> LiveText:
        """The text after a change whose lines span many pieces: only the pieces around its two ends are joined.

        At least one character before and after the change is among them, so that halves of a surrogate pair meet.
        """
        start, end = sorted((span.start, span.end), key=lambda each: (each.line, each.character))
        if start.line < 0:
            start = Position(line=0, character=0)
        before = [0, *accumulate(self._measure(encoding))]
        first, skipped = self._piece_before(start, before, encoding)
        stop = self._piece_after(end, before, encoding) + 1
        above = self._ends_before[first]
        if end.line == start.line:
            end = Position(line=end.line, character=end.character - skipped)
        start = Position(line=start.line, character=start.character - skipped)
        narrowed = Range(start=_up(start, above), end=_up(end, above))
        return self._replaced(first, stop, ContentChange(range=narrowed, text=text), encoding)

    def _piece_before(self, position: Position, before: Sequence[int], encoding: Encoding) -> tuple[int, int]:
        """The last piece with a character of the position's line before it, else the piece where the line begins.

        Also how many units of the line come before that piece. `before` has the units before each piece.
        """
        begin = self._piece_of_end(position.line)
        line_start = before[begin] + self._line_start(begin, encoding)
        found = bisect_right(before, line_start + position.character - _MARGIN) - 1
        # Not the piece with the end of the line, since a character beyond that means the end.
        found = min(found, self._piece_of_end(position.line + 1) - 1)
        return (found, before[found] - line_start) if found > begin else (begin, 0)

    def _piece_after(self, position: Position, before: Sequence[int], encoding: Encoding) -> int:
        """The first piece with a character of the position's line after it, else the piece where the line ends."""
        begin = self._piece_of_end(position.line)
        line_start = before[begin] + self._line_start(begin, encoding)
        found = bisect_left(before, line_start + max(position.character, 0) + _MARGIN) - 1
        return max(min(found, self._piece_of_end(position.line + 1)), begin)

    def _line_start(self, index: int, encoding: Encoding) -> int:
        """How many units of a piece come before the line that continues in the next piece."""
        piece = self._pieces[index]
        return units.width(piece, 0, max(piece.rfind("\n"), piece.rfind("\r")) + 1, encoding)

    def _measure(self, encoding: Encoding) -> Sequence[int]:
        """The units in each piece."""
        if encoding not in self._units:
            self._units[encoding] = _units_in(self._pieces, encoding)
        return self._units[encoding]

    def _replaced(self, start: int, stop: int, change: ContentChange, encoding: Encoding) -> LiveText:
        """The text after a change within some pieces, from the first of which its range counts."""
        whole = "".join(self._pieces[start:stop])
        after = apply_change(whole, change, encoding)
        fresh = [after] if 0 < len(after) <= 2 * self._piece else list(_pieces_of(after, self._piece))
        if not fresh and stop - start == len(self._pieces):
            fresh = [""]
        made = LiveText.__new__(LiveText)
        made._piece = self._piece
        made._pieces = [*self._pieces[:start], *fresh, *self._pieces[stop:]]
        made._ends = [*self._ends[:start], *map(_ends_in, fresh), *self._ends[stop:]]
        made._units = {
            known: [*counts[:start], *_units_in(fresh, known), *counts[stop:]]
            for known, counts in self._units.items()
        }
        return made

    @cached_property
    def _pieces(self) -> Sequence[str]:
        return list(_pieces_of(self.text, self._piece)) or [""]

    @cached_property
    def _ends(self) -> Sequence[int]:
        return list(map(_ends_in, self._pieces))

    @cached_property
    def _units(self) -> dict[Encoding, Sequence[int]]:
        return {}

    @cached_property
    def _ends_before(self) -> Sequence[int]:
        """How many line ends come before each piece, and at the end their total number."""
        return [0, *accumulate(self._ends)]

    def _piece_of_end(self, number: int) -> int:
        """The index of the piece with the given line end, counted from 1; clamped to the first and last piece."""
        return min(max(bisect_left(self._ends_before, number) - 1, 0), len(self._pieces) - 1)


def _up(position: Position, lines: int) -> Position:
    return Position(line=position.line - lines, character=position.character)


def _ends_in(piece: str) -> int:
    ends = piece.count("\n")
    return ends + piece.count("\r") - piece.count("\r\n") if "\r" in piece else ends


def _units_in(pieces: Sequence[str], encoding: Encoding) -> Sequence[int]:
    return [units.width(piece, 0, len(piece), encoding) for piece in pieces]


def _pieces_of(text: str, size: int) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = start + size
        # A CRLF stays in one piece.
        end += text[end - 1 : end + 1] == "\r\n"
        yield text[start:end]
        start = end
