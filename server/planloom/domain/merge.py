"""Three-way merge: nobody's text is lost, and what two people changed alike or apart needs no question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from planloom.domain.text import Range
from planloom.domain.values import Value

Choice = Literal["mine", "theirs"]


class Merged(Value):
    """Both sides' changes in one text."""

    kind: Literal["merged"] = "merged"
    text: str


class MergeConflict(Value):
    """Lines that both sides changed: as both found them, and as each left them.

    `range` is where they are in the text of `mine`, in whole lines (so in any encoding).
    """

    range: Range
    base: str
    mine: str
    theirs: str


class Conflicted(Value):
    """Changes that overlap; `parts` is the text around the hunks, one more than there are hunks."""

    kind: Literal["conflicted"] = "conflicted"
    hunks: tuple[MergeConflict, ...]
    parts: tuple[str, ...]


class Replacement(Value):
    """A text that settles a hunk instead of either side."""

    text: str


def merge(base: str, mine: str, theirs: str) -> Merged | Conflicted:
    """What both sides made of `base`, as `git merge-file` decides it."""
    raise NotImplementedError


def reverse_merge(before: str, after: str, live: str) -> Merged | Conflicted:
    """The live text with the change from `before` to `after` taken back and everything else kept."""
    return merge(base=after, mine=live, theirs=before)


def resolve(conflicted: Conflicted, choices: Sequence[Choice | Replacement]) -> str:
    """The whole text, with one choice a hunk. Raises ValueError when their numbers differ."""
    raise NotImplementedError


def with_markers(conflicted: Conflicted, mine_name: str, theirs_name: str) -> str:
    """The whole text with both sides of each hunk between the usual conflict markers."""
    raise NotImplementedError
