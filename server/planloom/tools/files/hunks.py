"""The changes of a patch, whatever form it was written in: files, and hunks of kept, removed and added lines."""

from __future__ import annotations

from typing import Literal, NamedTuple

from planloom.tools.files.line_numbers import unnumbered_edit

Op = tuple[Literal[" ", "-", "+"], str]


class Hunk(NamedTuple):
    """One hunk: kept, removed and added lines, with hints about its position.

    `line` is the line number in the patch, from 1 and often wrong: that of the first old line, or without old lines
    that of the line above. `headings` are lines of the file above the hunk. `at_end`: the hunk ends the file.
    `newline`: whether the file ends with a newline afterwards, None if the patch does not say.
    """

    ops: tuple[Op, ...]
    line: int | None = None
    headings: tuple[str, ...] = ()
    at_end: bool = False
    newline: bool | None = None

    @property
    def old(self) -> tuple[str, ...]:
        """The lines that the file must contain."""
        return tuple(line for sign, line in self.ops if sign != "+")

    def unnumbered(self) -> Hunk | None:
        """The same without the line numbers that the model copied; None if its old lines carry none."""
        plain = unnumbered_edit(self.old, [line for sign, line in self.ops if sign == "+"])
        if plain is None:
            return None
        old, new = iter(plain.old), iter(plain.new)
        return self._replace(
            ops=tuple((sign, next(new) if sign == "+" else next(old)) for sign, _ in self.ops)
        )


class FilePatch(NamedTuple):
    """The changes of a patch to one file; `path` is None if the patch names no file."""

    kind: Literal["update", "add", "delete"]
    path: str | None
    hunks: tuple[Hunk, ...] = ()
    move_to: str | None = None


class BadPatch(NamedTuple):
    """A text that is not a valid patch; `reason` says what to do instead."""

    reason: str
