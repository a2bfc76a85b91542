"""Compares the problems of a text before and after a change by what they mean: one that has only moved is not new."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from planloom.domain.problems import NewProblem
from planloom.domain.text.lines import changed_blocks, split_lines
from planloom.domain.values import Uri
from planloom.workspace.editor import Diagnostic

_MEASURED: Final = ("error", "warning")
_LINE: Final = re.compile(r"\bline \d+|:\d+(?::\d+)?")
"""Where another thing is, in the words of a message."""
_WORD: Final = re.compile(r"\w+")
_TOKEN: Final = re.compile(r"\w+|\W")


class Side(NamedTuple):
    """A text and its problems."""

    text: str
    problems: tuple[Diagnostic, ...]


class Rename(NamedTuple):
    """A name for which another one is written wherever a change touches the text."""

    old: str
    new: str

    def by_new_name(self, message: str) -> str:
        """A message with the new name for the old one."""
        return re.sub(rf"\b{re.escape(self.old)}\b", self.new, message)


class _Meaning(NamedTuple):
    severity: str
    source: str | None
    code: str | None
    words: str


def new_problems(
    uri: Uri, before: Side, after: Side, unseen: Collection[str] = (), rename: Rename | None = None
) -> list[NewProblem]:
    """The errors and warnings of a text that it did not have before, errors first.

    A problem is an old one if there was one that says the same, by the new name of what is renamed, or on an unchanged
    line one of the same rule. `unseen` are names of files that the server cannot know yet: what a line with such a name
    is blamed for is not told.
    """
    old, new = _measured(before), _measured(after)
    if rename is not None:
        old = [each.model_copy(update={"message": rename.by_new_name(each.message)}) for each in old]
    vanished = Counter(map(_meaning, old))
    vanished.subtract(map(_meaning, new))
    if not any(count < 0 for count in vanished.values()):
        return []
    lines = split_lines(after.text)
    moved = _Lines(split_lines(before.text), lines)
    rules = Counter(
        (each.range.start.line, each.source, each.code) for each in old if vanished[_meaning(each)] > 0
    )
    surplus = Counter({meaning: -count for meaning, count in vanished.items() if count < 0})
    found: list[NewProblem] = []
    for each in sorted(
        new, key=lambda each: (not moved.is_changed(each.range.start.line), each.range.start.line)
    ):
        meaning, line = _meaning(each), each.range.start.line
        if surplus[meaning] <= 0:
            continue
        surplus[meaning] -= 1
        was = moved.before(line)
        if was is not None and rules[was, each.source, each.code] > 0:
            rules[was, each.source, each.code] -= 1
            continue
        words = set(_WORD.findall(lines[line])) if line < len(lines) else set()
        if words.isdisjoint(unseen):
            found.append(_named(uri, each))
    return sorted(found, key=lambda each: (each.severity != "error", each.line))


def rename_of(texts: Iterable[tuple[str, str]]) -> Rename | None:
    """What a change of texts, each before and after, renames; None if it does anything else.

    A rename is at two places at least, since a single one may be another name, and gives a name that was not there.
    """
    places: list[tuple[str, str]] = []
    befores: list[str] = []
    for before, after in texts:
        old, new = split_lines(before), split_lines(after)
        befores.append(before)
        for block in changed_blocks(old, new):
            was = _TOKEN.findall("".join(old[block.before_start : block.before_end]))
            now = _TOKEN.findall("".join(new[block.after_start : block.after_end]))
            if len(was) != len(now):
                return None
            places += [pair for pair in zip(was, now, strict=True) if pair[0] != pair[1]]
    if len(places) < 2 or len(set(places)) > 1:
        return None
    old_name, new_name = places[0]
    is_name = old_name.isidentifier() and new_name.isidentifier()
    is_new = not any(re.search(rf"\b{new_name}\b", before) for before in befores) if is_name else False
    return Rename(old_name, new_name) if is_new else None


def _measured(side: Side) -> list[Diagnostic]:
    return [each for each in side.problems if each.severity in _MEASURED]


def _meaning(each: Diagnostic) -> _Meaning:
    return _Meaning(each.severity, each.source, each.code, _LINE.sub("", each.message))


def _named(uri: Uri, each: Diagnostic) -> NewProblem:
    return NewProblem(
        uri=uri,
        line=each.range.start.line,
        severity="error" if each.severity == "error" else "warning",
        message=each.message,
        source=each.source,
        code=each.code,
    )


class _Lines:
    """Which lines of a text are those of another one."""

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        self._blocks = changed_blocks(before, after)

    def is_changed(self, line: int) -> bool:
        """Whether a line of the later text is new."""
        return any(block.after_start <= line < block.after_end for block in self._blocks)

    def before(self, line: int) -> int | None:
        """The line of the earlier text that a line of the later one is; None if it is new."""
        if self.is_changed(line):
            return None
        moved = 0
        for block in self._blocks:
            if block.after_end <= line:
                moved = block.before_end - block.after_end
        return line + moved


def touched_lines(before: str, after: str) -> Iterable[range]:
    """The lines of the earlier text that are changed; empty where lines are only added before one."""
    for block in changed_blocks(split_lines(before), split_lines(after)):
        yield range(block.before_start, block.before_end)
