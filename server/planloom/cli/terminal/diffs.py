"""A unified diff as numbered rows."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from planloom.cli.plain import visible
from planloom.domain.text.diff import unified
from planloom.domain.text.hidden_characters import folded_blanks

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


class Row(NamedTuple):
    """One line of a diff. `number` is the line number after the change, or before it for a removed line.

    `gap` marks left-out unchanged lines, `note` a remark on the line above; both have no number.
    """

    number: int | None
    mark: Literal["+", "-", " ", "gap", "note"]
    text: str


def diff_rows(before: str | None, after: str | None, *, limit: int | None = None) -> tuple[list[Row], int]:
    """The rows, and the number of lines beyond `limit`."""
    rows: list[Row] = []
    # A carriage return is shown only if the change adds or removes some.
    hidden_end = "\r" if before is None or after is None or ("\r" in before) == ("\r" in after) else ""
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
        text = folded_blanks(visible(line[1:].removesuffix(hidden_end)))
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
