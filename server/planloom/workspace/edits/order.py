"""Cuts changes that are made in order into sets in which the order cannot matter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planloom.domain.changes import Changeset, FileChange
from planloom.domain.values import Uri
from planloom.workspace.paths.uris import is_at_or_below

_RANK = {"createFolder": 0, "create": 1, "edit": 2, "delete": 3, "rename": 4}
_EMPTIED = 5
"""The rank of the deletion of a folder: files are deleted or moved out of it first."""


def overlap(one: Uri, other: Uri) -> bool:
    """Whether one of two URIs is at or below the other."""
    return is_at_or_below(one, other) or is_at_or_below(other, one)


def in_order(changes: Iterable[FileChange]) -> tuple[Changeset, ...]:
    """The changes in as few sets as can be made one after the other.

    A name that one change frees or takes is touched by no other change of its set, so that a file has one name before
    the set and one after it.
    """
    sets: list[list[FileChange]] = []
    others, moves = _Levels(), _Levels()
    for change in changes:
        empties = _is_emptied(change)
        level = 0
        for end in change.ends:
            key = end.casefold()
            here = [others.at.get(key), moves.at.get(key), *map(moves.at.get, _above(key))]
            inside = [moves.below.get(key)]
            if empties or change.kind == "rename":
                inside.append(others.below.get(key))
            level = max(level, *(number + 1 for number in here if number is not None), 0)
            # A folder is deleted in the set in which it is emptied.
            level = max(level, *(number + (not empties) for number in inside if number is not None), 0)
        for end in change.ends:
            (moves if change.kind == "rename" else others).note(end, level)
        if level == len(sets):
            sets.append([])
        sets[level].append(change)
    made: list[Changeset] = []
    later: tuple[FileChange, ...] = ()
    for each in reversed(sets):
        made.insert(0, Changeset(changes=tuple(sorted(each, key=_rank)), later=later))
        later = (*made[0].changes, *later)
    return tuple(made)


class _Levels:
    """The numbers of the sets of some changes, by what they touch."""

    def __init__(self) -> None:
        self.at: dict[str, int] = {}
        self.below: dict[str, int] = {}

    def note(self, uri: Uri, level: int) -> None:
        """A change of what is at the URI is in the set of this number."""
        key = uri.casefold()
        self.at[key] = max(level, self.at.get(key, 0))
        for folder in _above(key):
            self.below[folder] = max(level, self.below.get(folder, 0))


def _above(key: str) -> Iterator[str]:
    while (key := key.rpartition("/")[0]) and not key.endswith("/"):
        yield key


def _is_emptied(change: FileChange) -> bool:
    """Whether the change deletes a folder."""
    return change.kind == "delete" and change.before is None


def _rank(change: FileChange) -> int:
    return _EMPTIED if _is_emptied(change) else _RANK[change.kind]
