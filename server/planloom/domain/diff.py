"""The difference between two texts: small hunks for editors, unified text for people."""

from __future__ import annotations

from planloom.domain.text import Encoding, TextEdit
from planloom.domain.values import Value


class Hunk(Value):
    """Code points `before_start:before_end` of one text became `after_start:after_end` of another."""

    before_start: int
    before_end: int
    after_start: int
    after_end: int


def hunks(before: str, after: str) -> tuple[Hunk, ...]:
    """What changed, in order and apart from each other; never cut inside a CRLF."""
    raise NotImplementedError


def text_edits(before: str, after: str, encoding: Encoding) -> tuple[TextEdit, ...]:
    """The edits that turn `before` into `after` exactly, in order and apart from each other."""
    raise NotImplementedError


def unified(
    before: str | None, after: str | None, before_name: str, after_name: str, context: int = 3
) -> str:
    """A unified diff as `diff -u` writes it; None stands for a file that is not there, empty if nothing changed."""
    raise NotImplementedError


def changed_lines(before: str, after: str) -> tuple[int, int]:
    """How many lines were added and removed."""
    raise NotImplementedError
