"""Code fences: which lines of a text are code, so that nothing in them is taken for a header or a label."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_OPENS = re.compile(r"[ \t>]*(?:[-*+•][ \t]+|[0-9]{1,3}[.)][ \t]+)?(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")
_OPENS_LATE = re.compile(r"[^`]*[^`\s][ \t]*(?P<fence>`{3,})(?P<info>[\w.+-]{0,30})[ \t]*$")
_CLOSES = re.compile(r"[ \t>]*(?P<fence>`{3,}|~{3,})[ \t]*$")


@dataclass(frozen=True, slots=True)
class Fence:
    """One fence: its first and last line, both included, and the word after its opening mark."""

    first: int
    last: int
    info: str
    closed: bool


def opening(line: str) -> tuple[str, str] | None:
    """The mark and the language of a fence that a line opens."""
    if "```" not in line and "~~~" not in line:
        return None
    found = _OPENS.match(line) or _OPENS_LATE.match(line)
    return None if found is None else (found["fence"], found["info"].strip().lower())


def closes(line: str, mark: str) -> bool:
    """Whether a line closes the fence that `mark` has opened."""
    found = _CLOSES.match(line)
    return found is not None and found["fence"].startswith(mark)


def fences(lines: Sequence[str]) -> list[Fence]:
    """The fences of a text; one that is never closed ends with the text."""
    found: list[Fence] = []
    mark = info = ""
    first = -1
    for number, line in enumerate(lines):
        if "```" not in line and "~~~" not in line:
            continue
        if first < 0:
            opened = opening(line)
            if opened is not None:
                mark, info = opened
                first = number
        elif closes(line, mark):
            found.append(Fence(first, number, info, True))
            first = -1
    if first >= 0:
        found.append(Fence(first, len(lines) - 1, info, False))
    return found


def code_lines(lines: Sequence[str], real: Callable[[Sequence[str]], bool]) -> list[bool]:
    """For each line whether it is code, the opening and closing lines of fences included.

    An opening mark that nothing closes was most often forgotten: `real` decides from the lines after it
    whether they hold steps; then they are no code.
    """
    code = [False] * len(lines)
    for fence in fences(lines):
        if not fence.closed and real(lines[fence.first + 1 :]):
            continue
        code[fence.first : fence.last + 1] = [True] * (fence.last + 1 - fence.first)
    return code
