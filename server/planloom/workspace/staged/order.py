"""Cuts changes that are made in order into sets in which the order cannot matter."""

from __future__ import annotations

from collections.abc import Iterable

from planloom.domain.changes import Changeset, FileChange
from planloom.domain.values import Uri
from planloom.workspace.paths.uris import folders_of, is_at_or_below

_RANK = {"createFolder": 0, "create": 1, "edit": 2, "delete": 3, "rename": 4}
_EMPTIED = 5
"""The rank of the deletion of a folder: files are deleted or moved out of it first."""


def overlap(one: Uri, other: Uri) -> bool:
    """Whether one of two URIs is at or below the other."""
    return is_at_or_below(one, other) or is_at_or_below(other, one)


def in_order(changes: Iterable[FileChange]) -> tuple[Changeset, ...]:
    """The changes in as few sets as can be made one after the other.

    A name that one change frees or takes is touched by no other change of its set, so that a file has one name before
    the set and one after it. Letters of either case count as one name, as on some disks.
    """
    sets: list[list[FileChange]] = []
    # The last set so far with a rename, or with another change, of this name, and of something below it.
    at: dict[tuple[bool, str], int] = {}
    below: dict[tuple[bool, str], int] = {}
    for change in changes:
        moves, empties = change.kind == "rename", _is_emptied(change)
        keys = [Uri(end.casefold()) for end in change.ends]
        number = 0
        for key in keys:
            before = [at.get((True, each), -1) for each in (key, *folders_of(key))]
            number = max(number, at.get((False, key), -1) + 1, *(each + 1 for each in before))
            # What is in a folder is changed before the folder is moved, and in the set in which it is deleted.
            inside = [below.get((kind, key), -1) for kind in (True, False) if kind or moves or empties]
            number = max(number, *(each + (not empties) for each in inside))
        for key in keys:
            at[moves, key] = max(number, at.get((moves, key), 0))
            for folder in folders_of(key):
                below[moves, folder] = max(number, below.get((moves, folder), 0))
        if number == len(sets):
            sets.append([])
        sets[number].append(change)
    made: list[Changeset] = []
    later: tuple[FileChange, ...] = ()
    for each_set in reversed(sets):
        made.insert(0, Changeset(changes=tuple(sorted(each_set, key=_rank)), later=later))
        later = (*made[0].changes, *later)
    return tuple(made)


def _is_emptied(change: FileChange) -> bool:
    """Whether the change deletes a folder."""
    return change.kind == "delete" and change.before is None


def _rank(change: FileChange) -> int:
    return _EMPTIED if _is_emptied(change) else _RANK[change.kind]
