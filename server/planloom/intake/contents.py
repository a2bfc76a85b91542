"""The text attached for a file, a selection, a folder or diagnostics, cut to a size limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planloom.domain.text.positions import Encoding, LineIndex, Position, Range
from planloom.intake.references import LineSpan
from planloom.workspace.editor import Diagnostic

MOST_ENTRIES = 1000
"""The most names that the tree of a folder shows."""


class Cut(NamedTuple):
    """The part of a text that is attached. `bytes` is the size of the whole in UTF-8."""

    text: str
    bytes: int
    truncated: bool
    note: str | None = None


class Lines(NamedTuple):
    """Some lines of a text with their line ends, and their range."""

    text: str
    range: Range


def cut(text: str, most_bytes: int) -> Cut:
    """At most `most_bytes` of the text in UTF-8, cut after a line, or inside a longer first line after a character."""
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= most_bytes:
        return Cut(text, len(raw), False)
    head = _head(raw, most_bytes)
    line_end = max(head.rfind("\n"), head.rfind("\r")) + 1
    if line_end and head[line_end - 1] == "\r" and text[line_end : line_end + 1] == "\n":
        # A CRLF is not cut in two.
        line_end = max(head.rfind("\n", 0, line_end - 1), head.rfind("\r", 0, line_end - 1)) + 1
    kept = head[:line_end] if line_end else head
    size = len(kept.encode("utf-8", "surrogatepass"))
    lines = f", {LineIndex(kept).line_count - 1:,} whole lines," if line_end else ""
    note = f"Only the first {size:,} of {len(raw):,} bytes{lines} are attached."
    return Cut(kept, len(raw), True, note)


def lines_of(text: str, span: LineSpan, encoding: Encoding) -> Lines | int:
    """These lines of the text, or the text's number of lines if the first one does not exist."""
    index = LineIndex(text)
    count = index.counted
    first, last = sorted(span)
    if not 1 <= first <= count:
        return count
    start, end = index.line_start(first - 1), index.line_start(min(last, count))
    if last >= count:
        end = len(text)
    return Lines(
        text[start:end], Range(start=Position(line=first - 1, character=0), end=index.position(end, encoding))
    )


def tree_of(folder: str, paths: Sequence[str]) -> str:
    """The paths below a folder as an indented tree; `paths` begin with the folder and are in order."""
    prefix = f"{folder}/" if folder else ""
    listed: set[str] = set()
    lines: list[str] = []
    for path in paths[:MOST_ENTRIES]:
        names = path.removeprefix(prefix).split("/")
        for depth, name in enumerate(names[:-1]):
            above = "/".join(names[: depth + 1]) + "/"
            if above not in listed:
                listed.add(above)
                lines.append("  " * depth + name + "/")
        if names[-1]:
            lines.append("  " * (len(names) - 1) + names[-1])
    return "".join(f"{line}\n" for line in lines)


def findings_of(label: str, items: Sequence[Diagnostic]) -> str:
    """Diagnostics, one a line, with positions counted from 1, the most severe first."""
    if not items:
        return f"{label}: no errors or warnings.\n"
    severities = ("error", "warning", "information", "hint")
    ordered = sorted(items, key=lambda item: (severities.index(item.severity), item.range.start.line))
    return "".join(f"{_finding(label, item)}\n" for item in ordered)


def _finding(label: str, item: Diagnostic) -> str:
    start = item.range.start
    source = " ".join(filter(None, (item.source, item.code)))
    message = " ".join(item.message.split())
    position = f"{label}:{start.line + 1}:{start.character + 1}"
    return f"{position} {item.severity}: {message}" + (f" [{source}]" if source else "")


def _head(raw: bytes, most_bytes: int) -> str:
    """The first `most_bytes` bytes as text, without a cut character at the end."""
    end = max(0, most_bytes)
    while end and raw[end] & 0xC0 == 0x80:
        end -= 1
    return raw[:end].decode("utf-8", "surrogatepass")
