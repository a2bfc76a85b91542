"""Writes Markdown code fences; reads them line by line in a whole text, or at a cursor in a streamed text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from planloom.domain.model_text.cursor import Cursor
from planloom.domain.patterns import pattern

TEXT_LANGUAGES = frozenset({"", "text", "txt", "plaintext"})
JSON_LANGUAGES = frozenset({"json", "json5", "jsonc", "jsonl"})
"""The languages that models give to fences with plain text or JSON."""
_OPENS = pattern(r"[ \t>]*(?:[-*+•][ \t]+|[0-9]{1,3}[.)][ \t]+)?(?P<mark>`{3,}+|~{3,}+)(?P<info>[^`]*)$")
_OPENS_LATE = pattern(r"[^`]*[^`\s][ \t]*(?P<mark>`{3,})(?P<info>[\w.+-]{0,30})[ \t]*$")
_RUN = pattern(r"(`{3,99}|~{3,99})[ \t]*([\w+#.-]{0,40})[ \t]*")
_FIRST_LINE = pattern(r"`{3,9}[ \t]*[A-Za-z_]{0,20}[ \t]*\r?\n?")
_LONGEST_INFO = 200
_TICKS = pattern(r"`+")
LANGUAGE = pattern(r"[A-Za-z0-9+#._-]{1,40}")
"""A plain name of a language."""


class Opening(NamedTuple):
    """The opening of a fence: its mark (` ``` `), its language, and the offset at which the content begins."""

    mark: str
    language: str
    content: int


class Fence(NamedTuple):
    """One fence: its first and last line, both included, and the text after its opening mark."""

    first: int
    last: int
    info: str
    closed: bool


def opening_at(cursor: Cursor, *, at_line_start: bool) -> Opening | None:
    """The fence that opens at the cursor, or None if the marks are inline code. The cursor does not move."""
    found = _RUN.match(cursor.text, cursor.at)
    if found is None:
        return None
    ahead = cursor.ahead(found.end())
    sign = ahead.peek()
    if sign == "\r":
        ahead.at += 1
        sign = ahead.peek()
    if sign == "\n":
        return Opening(found[1], found[2], ahead.at + 1)
    if not at_line_start or sign in ("", found[1][0]):
        return None
    if sign in ("{", "["):
        return Opening(found[1], found[2], ahead.at)
    line_end = cursor.text.find("\n", ahead.at, ahead.at + _LONGEST_INFO)
    if line_end < 0:
        if len(cursor.text) - ahead.at < _LONGEST_INFO:
            cursor.require_final()
        return None
    return None if found[1] in cursor.text[ahead.at : line_end] else Opening(found[1], found[2], line_end + 1)


def closing_at(cursor: Cursor, mark: str) -> int | None:
    """The end of the closing marks, if the line contains nothing else. The cursor does not move."""
    ahead = cursor.ahead()
    ahead.skip_blanks()
    if not ahead.accept(mark):
        return None
    while ahead.peek() == mark[0]:
        ahead.at += 1
    ahead.skip_blanks()
    return ahead.at if ahead.peek() in ("\n", "\r", "") else None


def enter_fence(cursor: Cursor) -> bool:
    """Skip the first line of a fence and the white space after it. Returns whether there was one."""
    if not cursor.looking_at("```") or cursor.match(_FIRST_LINE) is None:
        return False
    cursor.skip_space()
    return True


def leave_fence(cursor: Cursor) -> None:
    """Skip closing marks of a fence, and the white space before them, if they come next."""
    start = cursor.at
    cursor.skip_space()
    if not cursor.accept("```"):
        cursor.at = start


def opening(line: str) -> tuple[str, str] | None:
    """The mark and the language of a fence that a line opens, also in a list or quotation, or after words."""
    if "```" not in line and "~~~" not in line:
        return None
    found = _OPENS.match(line) or _OPENS_LATE.match(line)
    return None if found is None else (found["mark"], found["info"].strip().lower())


def closes(line: str, mark: str) -> bool:
    """Whether a line closes the fence that `mark` has opened."""
    return closing_at(Cursor(line.lstrip("> \t"), final=True), mark) is not None


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


def code_lines(lines: Sequence[str], holds_steps: Callable[[Sequence[str]], bool]) -> list[bool]:
    """For each line whether it is code, the opening and closing lines of fences included.

    An unclosed fence was usually opened by mistake: if the lines after it contain steps, it does not count.
    """
    code = [False] * len(lines)
    for fence in fences(lines):
        if not fence.closed and holds_steps(lines[fence.first + 1 :]):
            continue
        code[fence.first : fence.last + 1] = [True] * (fence.last + 1 - fence.first)
    return code


def fence_for(text: str) -> str:
    """A fence longer than any run of backticks in the text."""
    return "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(text)), default=0))


def fenced(text: str, language: str = "") -> str:
    """The text between fences that it cannot end; a language that is no plain name is left out."""
    fence = fence_for(text)
    opening = fence + (language if LANGUAGE.fullmatch(language) else "")
    return f"{opening}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}"
