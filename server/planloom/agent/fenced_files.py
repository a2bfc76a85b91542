"""Reads whole files that a model writes in fences: weak models fail less often at these than at JSON."""

from __future__ import annotations

from typing import NamedTuple

from planloom.domain.model_text.cursor import Cursor
from planloom.domain.model_text.fences import closing_at, opening
from planloom.domain.patterns import pattern

FENCED_FORM = """To write a whole file, you can also give its path and then its content in a fence:
FILE: notes/hello.txt
```
the whole content of the file
```"""
_FILE = pattern(
    r"[ \t]*(?:\*\*|__)?FILE:(?:\*\*|__)?[ \t]*[`\"']?([^`\"'\n\r*]{1,400}?)[`\"']?(?:\*\*|__)?[ \t]*"
)


class FencedFile(NamedTuple):
    """A file as the model wrote it; the content includes its last line end."""

    path: str
    content: str


class FencedFiles(NamedTuple):
    """The files in a text. `cut` holds the paths of files whose fence is not closed, `rest` all other text."""

    written: tuple[FencedFile, ...]
    cut: tuple[str, ...]
    rest: str


def fenced_files(text: str) -> FencedFiles:
    """Read every file in the fenced form, in linear time."""
    lines = text.replace("\r\n", "\n").split("\n")
    written: list[FencedFile] = []
    cut: list[str] = []
    rest: list[str] = []
    index = 0
    while index < len(lines):
        header = _header(lines, index)
        if header is None:
            rest.append(lines[index])
            index += 1
            continue
        path, mark, first = header
        end = next((n for n in range(first, len(lines)) if _closes(lines[n], mark)), None)
        if end is None:
            cut.append(path)
            break
        written.append(FencedFile(path, "".join(f"{line}\n" for line in lines[first:end])))
        index = end + 1
    return FencedFiles(tuple(written), tuple(cut), "\n".join(rest))


def _header(lines: list[str], index: int) -> tuple[str, str, int] | None:
    """The path of a file that begins at a line, the mark of its fence, and the index of its first line."""
    named = _FILE.fullmatch(lines[index])
    if named is None or not named[1].strip():
        return None
    fence = next((n for n in range(index + 1, min(index + 4, len(lines))) if lines[n].strip()), index)
    opened = opening(lines[fence])
    if opened is None or not lines[fence].lstrip(" \t").startswith(opened[0]):
        return None
    return named[1].strip(), opened[0], fence + 1


def _closes(line: str, mark: str) -> bool:
    """Whether a line closes the fence. A quoted one does not: it belongs to the content."""
    return closing_at(Cursor(line, final=True), mark) is not None
