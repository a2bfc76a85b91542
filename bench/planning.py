"""Measures how many malformed model outputs are parsed correctly, by format and fault, and how fast."""

from __future__ import annotations

import json
import re
import sys
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from planloom.planning.formats.draft import NoPlan
from planloom.planning.formats.reader import read_plan
from planloom.planning.rules.planner import plan_by_rules
from planloom.tools.registry import builtin
from tests.support.messy_plans import Case, cases

COUNT = 1_000
SEED = 20261121
TOOLS = builtin()
ADVERSARIAL = ("{", "[", '{"a":', "<", "```\n", "1. a - b\n", "STEP 1: a\n", "- ", " ", '"')


def same(case: Case) -> bool:
    """Whether a case is parsed as expected, with its `cut` flag."""
    plan = read_plan(case.text)
    if isinstance(plan, NoPlan):
        return not case.expected
    found = tuple((_loose(step.description), _loose(step.instruction)) for step in plan.steps)
    right = found == tuple((_loose(title), _loose(text)) for title, text in case.expected)
    return right and (case.cut is None or plan.cut == case.cut)


def _loose(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def main() -> None:
    """Parse every case once, then a megabyte of each adversarial piece."""
    per_format: dict[str, list[bool]] = defaultdict(list)
    per_fault: dict[tuple[str, str], list[bool]] = defaultdict(list)
    slowest = 0.0
    for case in cases(COUNT, SEED):
        start = time.perf_counter()
        right = same(case)
        slowest = max(slowest, time.perf_counter() - start)
        per_format[case.format].append(right)
        fault, _, around = case.fault.partition(" + ")
        per_fault[(case.format, fault)].append(right)
        if around:
            per_fault[("(any)", around)].append(right)
    print(f"{'format':10} {'fault':28} {'right':>9}")
    for (name, fault), results in sorted(per_fault.items()):
        print(f"{name:10} {fault:28} {sum(results):4}/{len(results):4}")
    print()
    for name, results in sorted(per_format.items()):
        print(f"{name:10} {'all':28} {sum(results):4}/{len(results):4}")
    print(f"slowest case {slowest * 1000:.1f} ms")
    million = {}
    for piece in ADVERSARIAL:
        text = piece * (1_000_000 // len(piece))
        start = time.perf_counter()
        read_plan(text)
        reading = time.perf_counter() - start
        start = time.perf_counter()
        plan_by_rules(text, TOOLS)
        million[piece] = (round(reading, 3), round(time.perf_counter() - start, 3))
        print(f"1 MB of {piece!r:14} read {million[piece][0]:7.3f} s   rules {million[piece][1]:7.3f} s")
    figures = {name: [sum(results), len(results)] for name, results in sorted(per_format.items())}
    print(json.dumps({"bench": "planning", "right": figures, "slowest_ms": slowest * 1000, "1MB_s": million}))


if __name__ == "__main__":
    main()
