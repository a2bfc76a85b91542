"""Whole files that a model writes in fences, which weak models get right more often than text in JSON."""

from __future__ import annotations

import re
from typing import NamedTuple

FENCED_FORM = """To write a whole file, you can also give its path and then its content in a fence:
FILE: notes/hello.txt
```
the whole content of the file
```"""
_FILE = re.compile(
    r"[ \t]*(?:\*\*|__)?FILE:(?:\*\*|__)?[ \t]*[`\"']?([^`\"'\n\r*]{1,400}?)[`\"']?(?:\*\*|__)?[ \t]*"
)
_FENCE = re.compile(r"[ \t]{0,3}(`{3,99}|~{3,99})[ \t]*[^\s`]{0,40}[ \t]*")


class FencedFile(NamedTuple):
    """A file as it was written: its content with the last line end."""

    path: str
    content: str


class FencedFiles(NamedTuple):
    """What a text holds; `cut` are the paths of files whose fence never ended, `rest` is all other text."""

    written: tuple[FencedFile, ...]
    cut: tuple[str, ...]
    rest: str


def fenced_files(text: str) -> FencedFiles:
    """Read every file in the fenced form; linear in the text."""
    lines = text.replace("\r\n", "\n").split("\n")
    written: list[FencedFile] = []
    cut: list[str] = []
    rest: list[str] = []
    at = 0
    while at < len(lines):
        path, body = _opened(lines, at)
        if path is None:
            rest.append(lines[at])
            at += 1
            continue
        mark = _FENCE.fullmatch(lines[body - 1])
        assert mark is not None, "a file is opened by its fence"
        end = _closed(lines, body, mark[1])
        if end is None:
            cut.append(path)
            break
        content = "\n".join(lines[body:end])
        written.append(FencedFile(path, f"{content}\n" if end > body else ""))
        at = end + 1
    return FencedFiles(tuple(written), tuple(cut), "\n".join(rest))


def _opened(lines: list[str], at: int) -> tuple[str | None, int]:
    """The path of a file that begins at a line, and where its content begins."""
    found = _FILE.fullmatch(lines[at])
    if found is None or not found[1].strip():
        return None, at
    fence = at + 1
    while fence < len(lines) and fence <= at + 2 and not lines[fence].strip():
        fence += 1
    if fence >= len(lines) or _FENCE.fullmatch(lines[fence]) is None:
        return None, at
    return found[1].strip(), fence + 1


def _closed(lines: list[str], at: int, mark: str) -> int | None:
    """The line of the fence that ends a content: of the same sign, and at least as long."""
    for index in range(at, len(lines)):
        line = lines[index].strip()
        if len(line) >= len(mark) and line == mark[0] * len(line):
            return index
    return None
