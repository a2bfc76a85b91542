"""Writes JSON values on one line, or texts as fenced blocks, so that each reads as it was."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from planloom.domain.json_numbers import loaded
from planloom.domain.patterns import pattern
from planloom.domain.values import Json

_PLAIN: Final = pattern(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_BLOCK: Final = pattern(r"[^\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]*")
_FENCE: Final = pattern(r" *(`{3,})[^`]*")
_BEGINS_JSON: Final = '{["-0123456789tfn'


class Read(NamedTuple):
    """A value, and how many lines it takes after the one that begins it."""

    value: Json
    lines: int


def written(value: Json, indent: int) -> tuple[str, tuple[str, ...]]:
    """The text on the line of the name, and the lines after it, indented by `indent` spaces.

    A text of several lines is a fenced block: its lines as they are, but for the indentation. A text that would read
    as something else, or that an editor may change when it trims lines, is a JSON string.
    """
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False), ()
    if _is_plain(value):
        return value, ()
    if "\n" in value and _BLOCK.fullmatch(value) and not any(_is_trimmed(line) for line in value.split("\n")):
        lines = value.split("\n")
        fence = "`" * max(3, 1 + max(map(_run_of_backticks, lines)))
        margin = " " * indent
        return "", (margin + fence, *(margin + line if line else "" for line in lines), margin + fence)
    return json.dumps(value, ensure_ascii=True), ()


def read(rest: str, lines: Sequence[str] = (), below: int = 0) -> Read:
    """The value that begins with the rest of its line; those after it are `lines` from the number `below` on.

    Raises ValueError, with a sentence, for a block that does not end.
    """
    if rest:
        return Read(_scalar(rest), 0)
    opening = _FENCE.fullmatch(lines[below]) if below < len(lines) else None
    if opening is None:
        return Read("", 0)
    fence, margin = opening[1], opening.start(1)
    for number in range(below + 1, len(lines)):
        if lines[number].strip() == fence:
            block = lines[below + 1 : number]
            # What is typed into the indentation is text.
            text = "\n".join(each[:margin].lstrip() + each[margin:] for each in block)
            return Read(text, number + 1 - below)
    raise ValueError(f"The block does not end: a line with {fence} is missing.")


def is_written_plainly(text: str) -> bool:
    """Whether a text can stand on a line as it is, and reads as itself."""
    return _is_plain(text)


def _scalar(rest: str) -> Json:
    """The value of a line: JSON, or else the text as it stands."""
    if rest.lstrip()[:1] not in _BEGINS_JSON:
        return rest
    try:
        return loaded(rest, pairs=_once)
    except (ValueError, RecursionError):
        return rest


def _once(pairs: Sequence[tuple[str, Json]]) -> Json:
    """An object; refuses names that stand twice, of which JSON's reader keeps the last alone."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _is_plain(text: str) -> bool:
    return (
        _PLAIN.fullmatch(text) is not None
        and text == text.strip()
        and not text.startswith("```")
        and _scalar(text) is text
    )


def _is_trimmed(line: str) -> bool:
    return line != line.rstrip()


def _run_of_backticks(line: str) -> int:
    return max((len(run) for run in re.findall("`+", line)), default=0)
