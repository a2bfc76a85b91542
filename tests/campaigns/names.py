"""Plans that use names again are killed while they run, then undone and redone with kills in between.

Swaps, cycles through three names, freed names that are taken again, moved folders and changes of case follow each other
on a few files. The model of what must come is that of `kill` until the plan has ended, and that of `undo` from there.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tests.campaigns.circumstances import draw
from tests.campaigns.desk import desk
from tests.campaigns.kill import draw_blow, judge, live_and_die, prepare
from tests.campaigns.person import Person
from tests.campaigns.reports import Report
from tests.campaigns.typist import Typist
from tests.campaigns.undo import Chain
from tests.campaigns.verdicts import troubles_blamed
from tests.campaigns.worlds import Shape, make_world
from tests.support.warm_server import WarmServers

NAME = "names"


async def run(warm: WarmServers, folder: Path, seed: int, *, fixed: dict[str, Any] | None = None) -> Report:
    """One run of the campaign."""
    rng = random.Random(f"names {seed}")
    circumstances = draw(rng, **{"mind": "careful", **(fixed or {})})
    world = make_world(rng, f"n{seed}", Shape(steps=(4, 9), commands=False, again=20))
    blows = [draw_blow(rng, pause=rng.random() < 0.2) for _ in range(rng.randint(0, 3))]
    # An editor that loses its unsaved text loses what an undo would take back.
    fates = rng.choices(("same", "hot_exit"), k=len(blows))
    report = Report(NAME, seed, f"{circumstances} {blows} {fates}", folder=str(folder))
    async with desk(warm, folder, world, circumstances, rng) as at:
        prepare(at)
        chain = Chain(at, report, Typist(at, rng, seed))
        with troubles_blamed(at, report, lambda: f"{' '.join(chain.acts)}: "):
            plan = await live_and_die(at, Person(at), blows, fates, report)
            await judge(at, report, plan)
            # A blow that has not struck yet is no part of what follows.
            await chain.restart(kill=True)
            await chain.go_on()
        report.drawn += f" acts: {' '.join(chain.acts)}"
    return report
