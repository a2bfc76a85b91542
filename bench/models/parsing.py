"""Measures the parsers of what models and people write: cases read wrongly, speed, text held back in a stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from bench.figures import REFERENCE, Figure, Measured, main, processor_milliseconds, reference
from planloom.agent.toolcalls.events import VisibleText
from planloom.agent.toolcalls.reader import CallReader
from planloom.planning.formats.draft import NoPlan
from planloom.planning.formats.reader import read_plan
from planloom.planning.rules.planner import plan_by_rules
from planloom.tools.registry import builtin
from tests.agent.toolcalls.cases import ALL
from tests.scoring import offered_tools, stream_tool_calls
from tests.support.messy_plans import Case, cases

SEED: Final = 20261121
CHUNK: Final = 1_000
TOKEN: Final = 4
PROSE: Final = (
    "The parser reads a line, and then it looks at what comes next. It is written in `src/parse.py`,\n"
    "where a < b holds; see [the page](notes.md).\n\n- first the names,\n- then the values.\n\n"
)
CALL: Final = (
    '<tool_call>\n{"name": "write_file", "arguments": {"path": "a.py", "content": "x = 1\\nprint(x)\\n"}}\n'
    "</tool_call>\n"
)
MARKS: Final = ("<", "{", "\n{", "\n\n{", "[", "`", "7", '"', "<tool_call>")
PLANS: Final = ("{", "[", '{"a":', "<", "```\n", "1. a - b\n", "STEP 1: a\n", "- ", " ", '"')


def plan_is_right(case: Case) -> bool:
    """Whether a malformed plan is parsed as expected, with its `cut` flag."""
    plan = read_plan(case.text)
    if isinstance(plan, NoPlan):
        return not case.expected
    found = tuple((_loose(step.description), _loose(step.instruction)) for step in plan.steps)
    right = found == tuple((_loose(title), _loose(text)) for title, text in case.expected)
    return right and (case.cut is None or plan.cut == case.cut)


def _loose(text: str) -> str:
    return " ".join(text.split())


def wrong(quick: bool) -> Iterator[Measured]:
    """Cases that are not parsed as they are meant, by format of plans and family of calls."""
    plans: Counter[str] = Counter()
    for case in cases(200 if quick else 1_000, SEED):
        plans[case.format] += not plan_is_right(case)
    for name, count in sorted(plans.items()):
        yield Figure(name=f"malformed plans read wrongly, {name}", unit="plans").counted(count)
    calls = 0
    for each in ALL:
        made, _ = stream_tool_calls([each.text])
        calls += tuple((call["name"], call["arguments"]) for call in made) != each.calls
    yield Figure(name=f"printed calls read wrongly, of {len(ALL)}", unit="calls", goal=0).counted(calls)


def streamed(text: str) -> None:
    stream_tool_calls([text[start : start + CHUNK] for start in range(0, len(text), CHUNK)])


def speed(size: int) -> Iterator[Measured]:
    """The time for ordinary texts of one size, and for the slowest of those that are made to be slow."""
    kb = f"{size // 1_000:,} kB"
    parsers: tuple[tuple[str, Callable[[str], object], Sequence[str]], ...] = (
        ("printed calls", streamed, MARKS),
        ("plan", read_plan, PLANS),
        ("plan by rules", lambda text: plan_by_rules(text, builtin()), PLANS),
    )
    for name, parse, pieces in parsers:
        for kind, units in (
            ("prose", [PROSE]),
            ("calls", [CALL]),
            (f"the slowest of {len(pieces)} texts", pieces),
        ):
            texts = [(unit * (size // len(unit) + 1))[:size] for unit in units]
            rows = [
                (max(processor_milliseconds(partial(parse, text)) for text in texts), reference())
                for _ in range(3)
            ]
            figure = Figure(name=f"{name}, {kb} of {kind}", anchor=REFERENCE)
            yield figure.paired([row[0] for row in rows], [row[1] for row in rows])


def held_back() -> Iterator[Measured]:
    """Characters held back on average, and at most, while a text without calls streams token by token."""
    reader = CallReader(offered_tools())
    text = PROSE * 50
    received = shown = 0
    waiting = []
    for start in range(0, len(text), TOKEN):
        piece = text[start : start + TOKEN]
        received += len(piece)
        shown += sum(len(event.text) for event in reader.feed(piece) if isinstance(event, VisibleText))
        waiting.append(received - shown)
    unit = "characters"
    yield Figure(name="held back of streamed prose, mean", unit=unit).counted(sum(waiting) / len(waiting))
    yield Figure(name="held back of streamed prose, at most", unit=unit).counted(max(waiting))


def figures(quick: bool) -> Iterator[Measured]:
    yield from wrong(quick)
    yield from held_back()
    yield from speed(30_000 if quick else 300_000)


if __name__ == "__main__":
    main(__doc__, figures)
