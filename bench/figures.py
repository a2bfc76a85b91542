"""Figures: what a bench measures, beside its anchor of the same run, with spread and goal; printed and compared alike.

A bench is a module with a function `figures(quick)` that yields `Measured`, and ends with `main(__doc__, figures)`.
`python -m bench` runs all of them. A figure is judged by its score, which holds on any machine: the ratio to an anchor
that is measured in turn with it, the exponent of its growth, or a count. A time alone has no score.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from planloom.domain.values import Value

Points = Sequence[tuple[float, float]]
"""Sizes, each with the median of what it costs."""
Kind = Literal["ratio", "exponent", "count", "time"]
_DRIFT: Final[Mapping[Kind, float]] = {"ratio": 0.1, "exponent": 0.1, "count": 0.01, "time": math.inf}
"""By what part of itself (an exponent: by how much) a score differs between two runs of the same code."""


class Measured(Value):
    """One figure of one run.

    `value` and `anchor_value` are medians in `unit`; for a growth, `value` is that of the largest size. `spread` is
    half the distance between the quartiles of the score, for an exponent its standard error. A score above the goal
    misses it; for a figure without a score, so does a value above the goal.
    """

    name: str
    unit: str
    kind: Kind
    value: float
    anchor: str = ""
    anchor_value: float | None = None
    score: float | None = None
    spread: float = 0.0
    goal: float | None = None
    runs: int = 1
    points: tuple[tuple[float, float], ...] = ()

    @property
    def misses(self) -> bool:
        """Whether the goal is missed."""
        judged = self.value if self.score is None else self.score
        return self.goal is not None and judged > self.goal


class Figure(Value):
    """The declaration of a figure. `goal` bounds the score from above, or without an anchor the value."""

    name: str
    unit: str = "ms"
    anchor: str = ""
    goal: float | None = None

    def paired(self, values: Sequence[float], anchors: Sequence[float]) -> Measured:
        """Values, each with that of the anchor which was measured beside it; the score is the median ratio.

        Raises ValueError when there are not as many of both.
        """
        ratios = [value / anchor for value, anchor in zip(values, anchors, strict=True)]
        return self._measured(
            "ratio",
            statistics.median(values),
            anchor_value=statistics.median(anchors),
            score=statistics.median(ratios),
            spread=_half_quartiles(ratios),
            runs=len(values),
        )

    def counted(self, count: float) -> Measured:
        """What is the same in each run on each machine: bytes, requests, cases."""
        return self._measured("count", count, score=count)

    def timed(self, values: Sequence[float]) -> Measured:
        """Values without an anchor: they have no score, and are not compared with the baseline."""
        return self._measured(
            "time", statistics.median(values), spread=_half_quartiles(values), runs=len(values)
        )

    def grown(self, points: Points) -> Measured:
        """Costs by size; the score is the exponent of the growth."""
        exponent, error = fitted(points)
        return self._measured(
            "exponent", points[-1][1], score=exponent, spread=error, runs=len(points), points=tuple(points)
        )

    def _measured(self, kind: Kind, value: float, **rest: object) -> Measured:
        return Measured.model_validate({**self.model_dump(), "kind": kind, "value": value, **rest})


def _half_quartiles(values: Sequence[float]) -> float:
    if len(values) < 2:
        return 0.0
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    return (third - first) / 2


def fitted(points: Points) -> tuple[float, float]:
    """The exponent of the growth and its standard error, by least squares of the logarithms.

    Only the larger half of the sizes counts, at least three: what each call costs at any size would hide the growth.
    """
    used = points[-max(3, (len(points) + 1) // 2) :]
    sizes = [math.log(size) for size, _ in used]
    costs = [math.log(max(cost, 1e-9)) for _, cost in used]
    slope, intercept = statistics.linear_regression(sizes, costs)
    rest = sum((cost - slope * size - intercept) ** 2 for size, cost in zip(sizes, costs, strict=True))
    middle = statistics.mean(sizes)
    across = sum((size - middle) ** 2 for size in sizes)
    return slope, math.sqrt(rest / max(len(used) - 2, 1) / across)


def in_turn(runs: int, work: Mapping[str, Callable[[], float]]) -> dict[str, list[float]]:
    """Measure each in turn, so that other load on the machine affects all; a first round of each is dropped."""
    found: dict[str, list[float]] = {name: [] for name in work}
    for run in range(runs + 1):
        for name, measure in work.items():
            value = measure()
            if run:
                found[name].append(value)
    return found


def milliseconds(work: Callable[[], object]) -> float:
    """The wall time of one call."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def processor_milliseconds(work: Callable[[], object]) -> float:
    """The processor time that this process spends in one call."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values lies."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def reference() -> float:
    """Processor milliseconds of fixed work: the anchor of computations that no other program does."""
    rows = [{"name": f"row {number}", "values": list(range(20))} for number in range(1_000)]
    return processor_milliseconds(lambda: [json.loads(json.dumps(rows)) for _ in range(3)])


REFERENCE: Final = "JSON of 1,000 rows, three times"


def worse(found: Measured, before: Measured) -> bool:
    """Whether a score is above that of an earlier run by more than both spreads and the usual drift."""
    if found.kind != before.kind or found.score is None or before.score is None:
        return False
    drift = _DRIFT[found.kind] * (1 if found.kind == "exponent" else abs(before.score))
    return found.score - before.score > drift + found.spread + before.spread


HEADS: Final = ("figure", "measured", "anchor", "score", "goal", "")


def row(found: Measured) -> tuple[str, ...]:
    """The cells of a figure below `HEADS`."""
    anchor = f"{found.anchor} {short(found.anchor_value)}" if found.anchor_value is not None else ""
    if found.points:
        anchor = ", ".join(f"{size:,.0f}: {short(cost)}" for size, cost in found.points)
    return (
        found.name,
        f"{short(found.value)} {found.unit}",
        anchor,
        _score(found),
        "" if found.goal is None else f"≤ {found.goal:g}",
        "misses its goal" if found.misses else "",
    )


def _score(found: Measured) -> str:
    match found.kind:
        case "ratio":
            return f"{found.score:.2f} ± {found.spread:.2f}"
        case "exponent":
            return f"size^{found.score:.2f} ± {found.spread:.2f}"
        case "count" | "time":
            return f"± {short(found.spread)}" if found.spread else ""


def short(value: float | None) -> str:
    """A value with three significant digits, from 100 on as a whole number."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(rows: Iterable[Sequence[str]]) -> str:
    """Rows in columns."""
    cells = [HEADS, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADS))]
    widths[2] = min(widths[2], 60)
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


def main(doc: str | None, figures: Callable[[bool], Iterable[Measured]]) -> None:
    """The command line of one bench: prints its table, and writes its figures as JSON where `--json` says."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and smaller sizes")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    options = parser.parse_args()
    found = []
    for each in figures(options.quick):
        found.append(each)
        if options.json:
            options.json.write_text(json.dumps([one.model_dump() for one in found]), encoding="utf-8")
    print(table(map(row, found)))
