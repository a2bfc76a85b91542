"""The server dies at every point between an effect and its record, one after the other, in every circumstance.

A point is the moment before or after the n-th write of the ledger, message, edit or file of one plan that has every
kind of step. Seeds count through all points, for each review mode, kind of client, model and fate of the editor:
`--seeds 0-LAST` is the whole matrix, a step such as `0-LAST/7` a sample of all of it.
"""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import Any, get_args

from tests.campaigns import kill
from tests.campaigns.circumstances import Able, NewFiles, Review
from tests.campaigns.desk import Fate
from tests.campaigns.manners import Manner
from tests.campaigns.minds import Mind
from tests.campaigns.reports import Report
from tests.campaigns.worlds import Shape, World, make_world
from tests.support.warm_server import Fault, Moment, WarmServers

NAME = "matrix"
COUNTS: dict[Moment, int] = {"append": 60, "told": 60, "apply": 6, "disk": 4}
"""How many moments of each kind are tried; a plan that has fewer runs to its end."""
POINTS = [
    Fault(moment, nth, when, holding="/workspace/" if moment == "disk" else "")
    for moment, count in COUNTS.items()
    for nth in range(1, count + 1)
    for when in ("before", "after")
]
MANNERS: tuple[Manner, ...] = (
    "slow",
    "twice",
    "done_says_no",
    "idle_says_yes",
    "half_says_no",
    "half_says_yes",
    "silent",
    "silent_done",
)
CLIENTS: list[tuple[Able, Manner, NewFiles]] = [
    *((able, "honest", "saved") for able in get_args(Able) if able != "full"),
    *(("full", manner, made) for manner in ("honest", *MANNERS) for made in get_args(NewFiles)),
]
GRID = [*product(CLIENTS, get_args(Review), get_args(Mind), get_args(Fate))]
LAST = len(POINTS) * len(GRID) - 1
_KINDS = {"edit", "create", "command", "folder", "rename", "delete"}


def matrix_world() -> World:
    """The first random world with every kind of effect."""
    worlds = (
        make_world(random.Random(number), "m", Shape(steps=(7, 7), sleep=0.02)) for number in range(9_999)
    )
    return next(world for world in worlds if {effect.kind for effect in world.effects} >= _KINDS)


async def run(warm: WarmServers, folder: Path, seed: int, *, fixed: dict[str, Any] | None = None) -> Report:
    """One point in one circumstance."""
    point = POINTS[seed // len(GRID)]
    (able, manner, new_files), review, mind, fate = GRID[seed % len(GRID)]
    drawn = {
        "review": review,
        "able": able,
        "manner": manner,
        "new_files": new_files,
        "mind": mind,
        "encoding": "utf-16",
        "save": True,
        **(fixed or {}),
    }
    report = await kill.run(
        warm, folder, 0, fixed=drawn, world=matrix_world(), blows=[kill.Blow(fault=point)], fates=[fate]
    )
    report.campaign, report.seed = NAME, seed
    return report
