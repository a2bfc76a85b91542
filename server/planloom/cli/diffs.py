"""A unified diff with line numbers and colours, for those who decide by it."""

from __future__ import annotations

import re

from rich.text import Text

from planloom.cli.plain import visible
from planloom.domain.diff import unified

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def diff_text(before: str | None, after: str | None, *, limit: int | None) -> tuple[Text, int]:
    """What changes, and how many lines the limit left out.

    The number at the left of a line is the one it has after the change, or had before for a line that goes.
    """
    lines = unified(before, after, "before", "after").split("\n")
    body = lines[2:-1]
    # Line ends show only where they change.
    end = "\r" if before is None or after is None or ("\r" in before) == ("\r" in after) else ""
    width = len(str(max((before or "").count("\n"), (after or "").count("\n")) + 1))
    text = Text(overflow="fold")
    old = new = shown = hidden = 0
    for line in body:
        start = _HUNK.match(line)
        if start:
            if text and shown != limit:
                text.append(f"{'⋮':>{width}}\n", "dim")
            old, new = int(start[1]), int(start[2])
            continue
        if shown == limit:
            hidden += 1
            continue
        shown += 1
        mark, rest = line[:1], visible(line[1:].removesuffix(end))
        match mark:
            case "+":
                text.append(f"{new:>{width}} ", "dim").append(f"+ {rest}\n", "green")
                new += 1
            case "-":
                text.append(f"{old:>{width}} ", "dim").append(f"- {rest}\n", "red")
                old += 1
            case "\\":
                text.append(f"{'':>{width}} {line}\n", "dim")
            case _:
                text.append(f"{new:>{width}}   {rest}\n", "dim")
                old, new = old + 1, new + 1
    text.rstrip()
    return text, hidden
