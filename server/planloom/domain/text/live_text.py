"""A text that is being edited: a change costs only what it touches, and the whole is joined only when needed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Final

from planloom.domain.text.positions import ContentChange, Encoding, Position, Range, apply_change

PIECE: Final = 1 << 15
"""Characters in a new piece; a change joins the pieces that it touches."""

_LARGE: Final = 1 << 20


class LiveText:
    """One immutable state of a text; `changed` returns the next one, which shares the unchanged pieces.

    The text is split into pieces, and the line ends in each are counted. No CRLF is split between two pieces, so the
    counts add up to that of the text.
    """

    def __init__(self, text: str, *, piece: int = PIECE) -> None:
        self._piece = piece
        self.text = text
        if len(text) > _LARGE:
            # The first keystroke in a large text should not have to wait for this. A shorter text is split at its
            # first change, since most documents are only read.
            self._pieces = list(_pieces_of(text, piece))
            self._ends = list(map(_ends_in, self._pieces))

    @cached_property
    def text(self) -> str:
        """The whole text."""
        return "".join(self._pieces)

    @cached_property
    def length(self) -> int:
        """The length of the text in characters, computed without joining the pieces."""
        return sum(map(len, self._pieces)) if "text" not in vars(self) else len(self.text)

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
        above = self._ends_before[start]
        span = Range(start=_up(change.range.start, above), end=_up(change.range.end, above))
        before = "".join(self._pieces[start:stop])
        after = apply_change(before, ContentChange(range=span, text=change.text), encoding)
        fresh = [after] if len(after) <= 2 * self._piece else list(_pieces_of(after, self._piece))
        ends = list(map(_ends_in, fresh))
        return self._next(
            [*self._pieces[:start], *fresh, *self._pieces[stop:]],
            [*self._ends[:start], *ends, *self._ends[stop:]],
        )

    def _next(self, pieces: Sequence[str], ends: Sequence[int]) -> LiveText:
        made = LiveText.__new__(LiveText)
        made._piece = self._piece
        made._pieces = pieces
        made._ends = ends
        return made

    @cached_property
    def _pieces(self) -> Sequence[str]:
        return list(_pieces_of(self.text, self._piece)) or [""]

    @cached_property
    def _ends(self) -> Sequence[int]:
        return list(map(_ends_in, self._pieces))

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


def _pieces_of(text: str, size: int) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = start + size
        # A CRLF stays in one piece.
        end += text[end - 1 : end + 1] == "\r\n"
        yield text[start:end]
        start = end
