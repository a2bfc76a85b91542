"""Measures the size and time of the edits between two texts, against difflib and against replacing the whole text."""

from __future__ import annotations

import difflib
import json
import platform
import random
import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import NamedTuple

from planloom.domain.text.diff import text_edits
from planloom.domain.text.lines import split_lines
from planloom.domain.text.live_text import LiveText
from planloom.domain.text.merge import merge
from planloom.domain.text.positions import (
    ContentChange,
    LineIndex,
    Position,
    Range,
    apply_change,
    apply_edits,
)

# difflib is at least quadratic, so it is not run on longer texts.
MOST_FOR_DIFFLIB = 200_000


class Case(NamedTuple):
    name: str
    before: str
    after: str


class Row(NamedTuple):
    """One case: the number of edits, the characters sent, milliseconds, and peak memory as a multiple of the text."""

    case: str
    edits: int
    sent: int
    milliseconds: float
    memory: float
    difflib_edits: int | None
    difflib_milliseconds: float | None
    whole_sent: int


def cases() -> list[Case]:
    chance = random.Random(1)
    lines = [f"    value_{number} = compute({number % 7}, {chance.random()})\n" for number in range(5000)]
    small, edited, scattered = "".join(lines), list(lines), list(lines)
    edited[2500] = "    value = another(1)\n"
    for number in range(0, 5000, 100):
        scattered[number] = f"    changed_{number}\n"
    many = "".join(f"entry {number} {'x' * chance.randrange(60)}\n" for number in range(480_000))
    middle = len(many) // 2
    long = "lorem ipsum 😀 " * (20_000_000 // 14)
    repetitive = [f"{chance.randrange(3)}\n" for _ in range(6000)]
    reworked = list(repetitive)
    for number in chance.sample(range(6000), 600):
        reworked[number] = "0\n"
    unrelated = [f"{chance.randrange(3)}\n" for _ in range(6000)]
    return [
        Case("5,000 lines, one changed", small, "".join(edited)),
        Case("5,000 lines, 50 changed", small, "".join(scattered)),
        Case("20 MB of lines, one changed", many, many[:middle] + "changed" + many[middle:]),
        Case("20 MB of CRLF lines, one changed", *_crlf(many, middle)),
        Case("20 MB of lines, first and last changed", many, "X" + many[1:-2] + "Y\n"),
        Case("one line of 20 MB, one word", long, long[:9_000_000] + "changed" + long[9_000_000:]),
        Case("6,000 repetitive lines, 600 changed", "".join(repetitive), "".join(reworked)),
        Case("6,000 repetitive lines, unrelated", "".join(repetitive), "".join(unrelated)),
    ]


def _crlf(text: str, middle: int) -> tuple[str, str]:
    before = text.replace("\n", "\r\n")
    return before, before[:middle] + "changed" + before[middle:]


def milliseconds(work: Callable[[], object], times: int = 3) -> float:
    times_taken: list[float] = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        times_taken.append(time.perf_counter() - start)
    return statistics.median(times_taken) * 1000


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def measured(case: Case) -> Row:
    edits = text_edits(case.before, case.after, "utf-16")
    assert apply_edits(case.before, edits, "utf-16") == case.after
    old, new = split_lines(case.before), split_lines(case.after)
    by_difflib: tuple[int | None, float | None] = (None, None)
    if len(case.before) <= MOST_FOR_DIFFLIB or len(old) <= 6000 < len(case.before):
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        duration = milliseconds(matcher.get_opcodes, times=1)
        by_difflib = sum(step[0] != "equal" for step in matcher.get_opcodes()), duration
    return Row(
        case=case.name,
        edits=len(edits),
        sent=sum(len(edit.new_text) for edit in edits),
        milliseconds=milliseconds(lambda: text_edits(case.before, case.after, "utf-16")),
        memory=peak(lambda: text_edits(case.before, case.after, "utf-16")) / len(case.before),
        difflib_edits=by_difflib[0],
        difflib_milliseconds=by_difflib[1],
        whole_sent=len(case.after),
    )


def others(many: str) -> dict[str, float]:
    """Milliseconds of other work on 20 MB: an index, a keystroke, merges of two changes."""
    position = Position(line=400_000, character=3)
    change = ContentChange(range=Range(start=position, end=position), text="x")
    theirs, mine = "X" + many, many + "Y\n"
    here, there = many.index("entry 40000 "), many.index("entry 40005 ")
    live = LiveText(many).changed(change, "utf-16")
    inside = Position(line=0, character=10_000_000)
    within = ContentChange(range=Range(start=inside, end=inside), text="x")
    one_line = LiveText(many.replace("\n", " ")).changed(within, "utf-16")
    near = many[:here] + "X" + many[here:], many[:there] + "Y" + many[there:]
    return {
        "index of 20 MB": milliseconds(lambda: LineIndex(many)),
        "change of 20 MB as a whole": milliseconds(lambda: apply_change(many, change, "utf-16")),
        "keystroke in an open 20 MB": milliseconds(lambda: live.changed(change, "utf-16")),
        "keystroke in one line of 20 MB": milliseconds(lambda: one_line.changed(within, "utf-16")),
        "merge of 20 MB, first and last line": milliseconds(lambda: merge(many, mine, theirs), times=1),
        "merge of 20 MB, two neighbours": milliseconds(lambda: merge(many, *near), times=1),
    }


def main() -> None:
    made = cases()
    rows = [measured(case) for case in made]
    print(f"{'case':42}{'edits':>7}{'sent':>9}{'ms':>9}{'memory':>8}{'difflib':>9}{'ms':>10}{'whole':>12}")
    for row in rows:
        beside = "-" if row.difflib_edits is None else row.difflib_edits
        slow = "-" if row.difflib_milliseconds is None else f"{row.difflib_milliseconds:.1f}"
        print(
            f"{row.case:42}{row.edits:7}{row.sent:9}{row.milliseconds:9.1f}{row.memory:7.1f}x"
            f"{beside:>9}{slow:>10}{row.whole_sent:12}"
        )
    more = others(made[2].before)
    for name, duration in more.items():
        print(f"{name:42}{duration:25.1f}")
    ratio = more["keystroke in an open 20 MB"] / more["change of 20 MB as a whole"]
    print(f"{'keystroke, to a change of the whole':42}{ratio:25.4f}")
    figures = {"bench": "edits", "python": platform.python_version(), "rows": [row._asdict() for row in rows]}
    print(json.dumps({**figures, "milliseconds": more, "keystroke ratio": ratio}))


if __name__ == "__main__":
    main()
