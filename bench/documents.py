"""Measures what a keystroke in a plan's document, its update and its lenses cost, in milliseconds by the steps."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from lsprotocol import types

sys.path.insert(0, str(Path(__file__).parents[1]))

from planloom.domain.document.difference import difference, signs_of
from planloom.domain.document.reader import read_document
from planloom.domain.document.render import render
from planloom.domain.document.update import up_to_date
from planloom.domain.plans.editing import edit_plan
from planloom.domain.plans.indexed_tuple import IndexedTuple
from planloom.domain.plans.plan import Plan, Step
from planloom.domain.values import PlanId, SessionId, StepId
from planloom.lsp.plan_documents.features import View, lenses
from planloom.tools.registry import builtin

SIZES = (10, 100, 500, 2_000)
REPEATS = 7


def plan_of(count: int) -> Plan:
    """A plan of so many steps, each of which writes a file and waits for the one before."""
    steps = [
        Step(
            step_id=StepId(f"step_{number}"),
            description=f"Write file {number}",
            instruction=f"Write file {number} well.\nWith two lines.",
            kind="tool_call",
            tool="write_file",
            args={"path": f"a{number}.py", "content": "x = 1\ny = 2\n"},
            depends_on=(StepId(f"step_{number - 1}"),) if number > 1 else (),
        )
        for number in range(1, count + 1)
    ]
    return Plan(
        plan_id=PlanId("p"),
        session_id=SessionId("s"),
        version=1,
        status="pending_approval",
        request="Write them all",
        summary="All of them.",
        steps=IndexedTuple(steps),
    )


def milliseconds(work: Callable[[], object]) -> float:
    """The median of the processor time that some work takes."""
    took = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        took.append((time.process_time() - start) * 1_000)
    return statistics.median(took)


def row(count: int) -> tuple[float, ...]:
    """The size of a document in kB, and the milliseconds of each part of the work."""
    plan = plan_of(count)
    text = render(plan)
    typed = text.replace("With two lines.", "With three lines.", 1)
    written, earlier = read_document(typed), signs_of(plan)
    found = difference(plan, written, earlier)
    shown = types.TextDocumentIdentifier("file:///a.plan.md")
    view = View(shown.uri, typed, written, plan, "utf-16", None, builtin().of_plans())
    return (
        len(text) / 1_000,
        milliseconds(lambda: read_document.__wrapped__(typed)),
        milliseconds(lambda: difference(plan, written, earlier)),
        milliseconds(lambda: edit_plan(plan.steps, found.edits)),
        milliseconds(lambda: up_to_date(typed, plan, plan, earlier)),
        milliseconds(lambda: lenses(replace(view), types.CodeLensParams(shown))),
    )


def main() -> None:
    """Print one row for each number of steps."""
    print(f"{'steps':>6} {'kB':>7} {'read':>7} {'compare':>7} {'check':>7} {'update':>7} {'lenses':>7}")
    for count in SIZES:
        print(f"{count:6} " + " ".join(f"{each:7.1f}" for each in row(count)))


if __name__ == "__main__":
    main()
