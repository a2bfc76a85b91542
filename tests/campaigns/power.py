"""The power fails at random moments of a random plan: the disk keeps only what was synchronized, torn elsewhere.

The server is killed as in the campaign `kill`, then its folder is made what the disk may hold (`power_cut/disk.py`).
The editor has died too, and comes again with its unsaved text or without it. What the editor and the commands have
written themselves counts as kept.

If a client was told of an event that must be on the disk before anything else happens (`DURABLE`), the ledger has it
afterwards, with all before it. Later events may be lost: they have no effects, or their effects are found again.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from planloom.domain.events.catalog import DURABLE
from tests.campaigns.circumstances import draw
from tests.campaigns.desk import Desk, Fate, desk
from tests.campaigns.kill import Blow, draw_blow, judge, prepare, striking
from tests.campaigns.person import Person
from tests.campaigns.reports import Report
from tests.campaigns.verdicts import troubles_blamed
from tests.campaigns.worlds import Shape, make_world
from tests.support.power_cut.disk import Snapshot, cut
from tests.support.process_client import ServerGone
from tests.support.warm_server import WarmServers

NAME = "power"
_SURE = {event.model_fields["type"].default for event in DURABLE}


async def run(warm: WarmServers, folder: Path, seed: int, *, fixed: dict[str, Any] | None = None) -> Report:
    """One run of the campaign; `warm` was started with the recorder."""
    rng = random.Random(f"power {seed}")
    circumstances = draw(rng, **(fixed or {}))
    world = make_world(rng, f"p{seed}", Shape())
    blows = [draw_blow(rng, pause=False) for _ in range(rng.randint(1, 3))]
    fates: list[Fate] = rng.choices(("hot_exit", "bare"), (3, 1), k=len(blows))
    report = Report(NAME, seed, f"{circumstances} {blows} {fates}", folder=str(folder))
    async with desk(warm, folder, world, circumstances, rng) as at:
        prepare(at)
        person = Person(at)
        with troubles_blamed(at, report):
            for life, (blow, fate) in enumerate(zip(blows, fates, strict=True)):
                await _live_until_the_cut(at, person, blow, report, life)
                at.change_editor(fate)
            at.disk_log = None
            await at.boot()
            await _check_told(at, report)
            await judge(at, report, await person.see_through())
    return report


async def _live_until_the_cut(at: Desk, person: Person, blow: Blow, report: Report, life: int) -> None:
    """One life of the server, and what the cut leaves of its files."""
    before = Snapshot.of(at.folder)
    at.disk_log = at.folder / f"disk.{life}.log"
    client = await at.boot(fault=blow.fault)
    if life:
        await _check_told(at, report)
    async with striking(at, client, blow):
        try:
            await person.see_through()
        except ServerGone:
            report.kills += 1
    client.kill()
    await client.dead()
    for place in (at.folder / "state", at.root):
        lost = cut(at.disk_log, before, place, at.rng)
        report.drawn += f" lost: {lost}" if lost else ""


async def _check_told(at: Desk, report: Report) -> None:
    """What is surely on the disk was not lost; clients forget what was told beyond that."""
    listed = (await at.client.request("planloom/plan/list", {}))["plans"]
    at.plan_id = listed[0]["planId"] if listed else None
    events = []
    if at.plan_id is not None:
        events = (await at.client.request("planloom/plan/events", {"planId": at.plan_id}))["events"]
    known = {(event["planId"], event["seq"]): event for event in events}
    for client in at.clients[:-1]:
        kept = [event for event in client.events if known.get((event["planId"], event["seq"])) == event]
        sure = [number for number, event in enumerate(client.events, start=1) if event["type"] in _SURE]
        if sure and client.events[: sure[-1]] != kept[: sure[-1]]:
            lost = [event["type"] for event in client.events[: sure[-1]] if event not in kept]
            report.blame("untold", f"told, durable, and lost by the power cut: {lost}")
        client.events[:] = kept
