"""Editors that refuse, lie, do half of an edit, answer twice, with an error, late or never.

Nothing is doubled, nothing of the user's text is lost, the server answers to the end, and a step is only told as
completed where its effect is there, or its edit was told as `unverified`.

Left out, since the protocol does not promise it: silence about an edit that asks for a person's confirmation (a
preview may stay open for a day), and typing while an unversioned edit is on its way (this user types between the
edits).
"""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

from tests.campaigns.circumstances import draw
from tests.campaigns.desk import Desk, desk
from tests.campaigns.manners import Manner, answer_edit
from tests.campaigns.person import Person
from tests.campaigns.reports import Report
from tests.campaigns.typist import Typist
from tests.campaigns.verdicts import all_events, told_truly, troubles_blamed
from tests.campaigns.worlds import LINES, Shape, make_world
from tests.support.process_client import ProcessClient
from tests.support.warm_server import WarmServers

NAME = "faulty"
WEIGHTS: dict[Manner, int] = {
    "honest": 14,
    "refuse": 2,
    "refuse_with_reason": 2,
    "error": 1,
    "done_says_no": 2,
    "idle_says_yes": 2,
    "half_says_no": 2,
    "half_says_yes": 2,
    "half_names_change": 2,
    "twice": 2,
    "slow": 2,
    "silent": 1,
    "silent_done": 1,
    "late": 2,
    "late_unanswered": 1,
}


async def run(warm: WarmServers, folder: Path, seed: int, *, fixed: dict[str, Any] | None = None) -> Report:
    """One run of the campaign."""
    rng = random.Random(f"faulty {seed}")
    circumstances = draw(rng, **(fixed or {}))
    world = make_world(rng, f"e{seed}", Shape(steps=(3, 7)))
    report = Report(NAME, seed, str(circumstances), folder=str(folder))
    async with desk(warm, folder, world, circumstances, rng) as at:
        manners = _Manners(at, Typist(at, rng, seed))
        with troubles_blamed(at, report):
            for name in rng.sample(list(world.files), rng.randint(0, len(world.files))):
                at.editor.open(at.uri(name))
            at.apply = manners.apply
            await at.boot(patient=False)
            plan = await Person(at).see_through()
            await _judge(at, report, plan, manners)
        report.drawn += f" manners: {' '.join(manners.seen)}"
    return report


class _Manners:
    """How this editor answers; between the edits its user types."""

    def __init__(self, at: Desk, typist: Typist) -> None:
        self.at = at
        self.typist = typist
        self.seen: list[str] = []

    async def apply(self, client: ProcessClient, params: dict[str, Any]) -> Any:
        """Answer one edit in a random way."""
        rng = self.typist.rng
        (manner,) = rng.choices([*WEIGHTS], [*WEIGHTS.values()])
        self.seen.append(manner)
        answer = await answer_edit(self.at.editor, client, params, manner, rng)
        if rng.random() < 0.5 and self.at.editor.buffers:
            # The answer goes out before the keys, so that no edit is on its way meanwhile.
            asyncio.get_running_loop().call_later(0.01, self._type)
        return answer

    def _type(self) -> None:
        if self.at.circumstances.able == "full" and self.at.editor.buffers:
            uri = self.typist.rng.choice(sorted(self.at.editor.buffers))
            name = uri.rpartition("/")[2]
            if name in self.at.world.files and not self._deleted(name):
                self.typist.insert(uri, self.typist.rng.randrange(2 * LINES), whole_line=True)

    def _deleted(self, name: str) -> bool:
        return any(effect.source == name for effect in self.at.world.effects if effect.kind == "delete")


async def _judge(at: Desk, report: Report, plan: dict[str, Any], manners: _Manners) -> None:
    told_truly(at, report, plan, await all_events(at))
    manners.typist.check(report)
    await at.client.request("planloom/status", {})
