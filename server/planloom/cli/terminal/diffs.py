"""A unified diff as numbered rows, for those who decide by it."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from planloom.cli.plain import visible
from planloom.domain.text.diff import unified

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


class Row(NamedTuple):
    """One line of a diff: its number after the change, or before it for a line that goes.

    `gap` stands for lines between that did not change, `note` for something said about the line above.
    """

    number: int | None
    mark: Literal["+", "-", " ", "gap", "note"]
    text: str


def diff_rows(before: str | None, after: str | None, *, limit: int | None = None) -> tuple[list[Row], int]:
    """What changes, and how many lines the limit left out."""
    rows: list[Row] = []
    # Line ends show only where they change.
    end = "\r" if before is None or after is None or ("\r" in before) == ("\r" in after) else ""
    old = new = shown = hidden = 0
    for line in unified(before, after, "before", "after").split("\n")[2:-1]:
        start = _HUNK.match(line)
        if start:
            if rows and shown != limit:
                rows.append(Row(None, "gap", ""))
            old, new = int(start[1]), int(start[2])
            continue
        if shown == limit:
            hidden += 1
            continue
        shown += 1
        text = visible(line[1:].removesuffix(end))
        match line[:1]:
            case "+":
                rows.append(Row(new, "+", text))
                new += 1
            case "-":
                rows.append(Row(old, "-", text))
                old += 1
            case "\\":
                rows.append(Row(None, "note", text.strip()))
            case _:
                rows.append(Row(new, " ", text))
                old, new = old + 1, new + 1
    return rows, hidden
