"""`python -m tests.campaigns --campaign kill --seeds 0-2000`: runs seeds, prints each failure and a table."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.campaigns.reports import Report, table
from tests.campaigns.running import AT_ONCE, CAMPAIGNS, run_seeds
from tests.support.power_cut.disk import recorder
from tests.support.warm_server import warm_servers


def main() -> int:
    """Run what the arguments ask for; 1 if a run failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns", description=__doc__)
    parser.add_argument("--campaign", choices=(*CAMPAIGNS, "all"), default="all")
    parser.add_argument(
        "--seeds", default="0-199", help="one, a list (1,5,9), a range (0-2000) or each 7th of it (0-2000/7)"
    )
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="servers at a time")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no run after so long")
    parser.add_argument("--keep", action="store_true", help="keep the folders of runs that fail")
    parser.add_argument("--fix", default="{}", help='circumstances that are not drawn: {"review": "auto"}')
    parser.add_argument("--quiet", action="store_true", help="the table alone")
    given = parser.parse_args()
    names = CAMPAIGNS if given.campaign == "all" else (given.campaign,)
    reports = asyncio.run(_run(given, names))
    print(table(reports))  # noqa: T201
    return int(any(report.troubles for report in reports))


async def _run(given: argparse.Namespace, names: tuple[str, ...]) -> list[Report]:
    reports: list[Report] = []
    fixed: dict[str, Any] = json.loads(given.fix)

    def heard(report: Report) -> None:
        if report.troubles and not given.quiet:
            kept = [f"kept: {report.folder}"] if given.keep else []
            print(f"{report.campaign} {report.seed}", *report.lines(), *kept, sep="\n    ", flush=True)  # noqa: T201

    with tempfile.TemporaryDirectory() as built, warm_servers(recorder(Path(built))) as warm:
        for name in names:
            began = time.monotonic()
            seeds = seeds_of(given.seeds)
            done = await run_seeds(
                warm,
                name,
                seeds,
                at_once=given.at_once,
                keep=given.keep,
                seconds=given.seconds,
                heard=heard,
                fixed=fixed,
            )
            reports += done
            print(f"{name}: {len(done)} runs in {time.monotonic() - began:.0f} s", flush=True)  # noqa: T201
    return reports


def seeds_of(text: str) -> list[int]:
    """The seeds that a text names: `7`, `1,5,9`, `0-2000`, `0-2000/7` (each 7th), or a mixture."""
    seeds: list[int] = []
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        seeds += range(int(first), int(last or first) + 1, int(step or 1))
    return seeds


if __name__ == "__main__":
    sys.exit(main())
