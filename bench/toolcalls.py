"""Measures the parser of tool calls in text: speed, text held back while streaming, and correct cases by family."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from planloom.agent.toolcalls.events import VisibleText
from planloom.agent.toolcalls.reader import CallReader
from tests.agent.toolcalls.cases import ALL
from tests.scoring import offered_tools, stream_tool_calls

MEGABYTE = 1_000_000
CHUNK = 1_000
TOKEN = 4
PROSE = (
    "The parser reads a line, and then it looks at what comes next. It is written in `src/parse.py`,\n"
    "where a < b holds; see [the page](notes.md).\n\n- first the names,\n- then the values.\n\n"
)
CALL = (
    '<tool_call>\n{"name": "write_file", "arguments": {"path": "a.py", "content": "x = 1\\nprint(x)\\n"}}\n'
    "</tool_call>\n"
)
MARKS = ("<", "{", "\n{", "\n\n{", "[", "`", "7", '"', "<tool_call>")


def megabytes_per_second(unit: str, size: int) -> float:
    """Megabytes of text parsed in one second of processor time, in chunks of `size` characters."""
    text = (unit * (MEGABYTE // len(unit) + 1))[:MEGABYTE]
    began = time.process_time()
    stream_tool_calls([text[start : start + size] for start in range(0, len(text), size)])
    return MEGABYTE / 1e6 / (time.process_time() - began)


def held_back(text: str) -> tuple[float, int]:
    """Characters held back on average, and at most, while a text without calls streams token by token."""
    reader = CallReader(offered_tools())
    received = shown = worst = total = chunks = 0
    for start in range(0, len(text), TOKEN):
        piece = text[start : start + TOKEN]
        received += len(piece)
        shown += sum(len(event.text) for event in reader.feed(piece) if isinstance(event, VisibleText))
        worst = max(worst, received - shown)
        total += received - shown
        chunks += 1
    return total / chunks, worst


def right_by_family() -> dict[int, tuple[int, int]]:
    """The number of correctly parsed cases, and of all cases, by family."""
    right: Counter[int] = Counter()
    every: Counter[int] = Counter()
    for case in ALL:
        calls, _ = stream_tool_calls([case.text])
        every[case.family] += 1
        right[case.family] += tuple((call["name"], call["arguments"]) for call in calls) == case.calls
    return {family: (right[family], every[family]) for family in sorted(every)}


def main() -> None:
    speeds = {
        name: round(megabytes_per_second(unit, CHUNK), 2)
        for name, unit in (("prose", PROSE), ("calls", CALL), *((mark, mark) for mark in MARKS))
    }
    mean, worst = held_back(PROSE * 50)
    families = right_by_family()
    print(f"{'text':16}{'MB/s':>8}")
    for name, speed in speeds.items():
        print(f"{name!r:16}{speed:8.2f}")
    print(f"held back in prose: {mean:.2f} characters on average, {worst} at most")
    for family, (right, every) in families.items():
        print(f"family {family:2}: {right} of {every}")
    figures = {
        "python": platform.python_version(),
        "megabytes_per_second": speeds,
        "held_back_mean": round(mean, 2),
        "held_back_most": worst,
        "families": {str(family): counts for family, counts in families.items()},
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
