"""What a run comes to: what was counted, and each failure in a line with its kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, get_args

Trouble = Literal[
    "lost",
    "doubled",
    "unasked",
    "wrong_status",
    "stuck",
    "refused",
    "untold",
    "words",
    "state",
    "server",
    "rig",
]
TROUBLES: tuple[Trouble, ...] = get_args(Trouble)
"""lost, doubled: effects of the plan. unasked: made though the policy asks. words: what the user typed is gone.
untold: an event told that is not in the ledger, a gap in `seq`, a failure that nobody was told of. state: files
that should not be there or hold something else. refused: a request of the user that makes sense. server: an
internal error or a death that nobody caused. rig: a mistake of the campaign itself, never of the server."""


@dataclass
class Report:
    """One run."""

    campaign: str
    seed: int
    drawn: str = ""
    kills: int = 0
    troubles: list[tuple[Trouble, str]] = field(default_factory=list)
    folder: str = ""

    def blame(self, trouble: Trouble, detail: str) -> None:
        """Note a failure."""
        self.troubles.append((trouble, detail))

    def lines(self) -> list[str]:
        """The failures, each with what runs this seed alone."""
        again = f"python -m tests.campaigns --campaign {self.campaign} --seeds {self.seed}"
        return [f"{trouble}: {detail}" for trouble, detail in self.troubles] + [
            f"drawn: {self.drawn}",
            f"again: {again}",
        ]


def table(reports: Iterable[Report]) -> str:
    """One row a campaign: runs, kills, clean runs, and in how many runs each kind of failure was seen."""
    by_name: dict[str, list[Report]] = {}
    for report in reports:
        by_name.setdefault(report.campaign, []).append(report)
    head = ("campaign", "runs", "kills", "clean", *TROUBLES)
    rows = [head]
    for name, listed in by_name.items():
        seen = Counter(trouble for report in listed for trouble in {kind for kind, _ in report.troubles})
        clean = sum(not report.troubles for report in listed)
        counts = (len(listed), sum(report.kills for report in listed), clean)
        rows.append((name, *map(str, counts), *(str(seen[trouble]) for trouble in TROUBLES)))
    widths = [max(len(row[place]) for row in rows) for place in range(len(head))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
    )
