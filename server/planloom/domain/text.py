"""Positions in text: the one place that knows line ends and UTF-8, UTF-16 and UTF-32 units."""

from __future__ import annotations

from planloom.domain.values import Value


class Position(Value):
    """A place in a text: zero-based line, and character in units of the negotiated encoding (LSP 3.17)."""

    line: int
    character: int


class Range(Value):
    """A half-open stretch of text from `start` up to, not including, `end`."""

    start: Position
    end: Position
