"""The user's renames of files and folders, which everything that waits for a file follows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from planloom.domain.values import Uri
from planloom.workspace.paths.uris import after_rename, is_at_or_below


class Move(NamedTuple):
    """A rename of a file or folder, by normalised URIs."""

    old: Uri
    new: Uri

    def renamed(self, uri: Uri) -> Uri:
        """The URI of a file after the rename."""
        return after_rename(uri, self.old, self.new)

    def undone(self, uri: Uri) -> Uri:
        """The URI of a file before the rename."""
        return after_rename(uri, self.new, self.old)

    def followed(self, operation: tuple[Uri, ...]) -> tuple[tuple[Uri, ...], Move]:
        """The URIs of an operation on files, the old and the new one of a rename, if this rename came before it; and
        this rename as it is after the operation.
        """
        ends = tuple(self.renamed(uri) for uri in operation)
        if len(operation) == 1 or not is_at_or_below(self.old, operation[0]):
            return ends, self
        if self.old == operation[0]:
            # The name is free after the operation: what takes it later is another file.
            return ends, Move(self.old, self.old)
        moved = Move(operation[0], operation[1])
        return (operation[0], ends[1]), Move(moved.renamed(self.old), moved.renamed(self.new))


def with_later_names(moves: Iterable[Move], uris: Iterable[Uri]) -> frozenset[Uri]:
    """URIs of files, and those that they may have had since."""
    names = {*uris}
    for move in moves:
        names.update([move.renamed(uri) for uri in names])
    return frozenset(names)
