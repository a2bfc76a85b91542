"""The server dies, or is paused, at random moments of a random plan; then it goes on until the end.

Moments of death: before and after the k-th write of the ledger, before and after the k-th event told or edit sent,
while a file is put in place on disk, at a random time, in the middle of a command, and before, while and after the
editor applies an edit or answers. Between two lives the editor stays, restarts with its unsaved text, or without.

The protocol promises nothing for these, so they are left out: a command that still runs after the kill may be
run beside itself if the person allows it again; unsaved text that the editor itself has thrown away is not made
again (`Desk.perished`).
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.campaigns.circumstances import draw
from tests.campaigns.desk import Apply, Desk, Fate, desk
from tests.campaigns.manners import WELL_BEHAVED, first_half
from tests.campaigns.person import Person
from tests.campaigns.reports import Report
from tests.campaigns.verdicts import (
    all_events,
    asked_before,
    differences,
    effects_once,
    ledger_true,
    statuses_true,
    told_truly,
    troubles_blamed,
)
from tests.campaigns.worlds import Shape, World, make_world
from tests.support.process_client import Failed, NeverAnswered, ProcessClient, ServerGone
from tests.support.warm_server import Fault, WarmServers

NAME = "kill"


class Blow(NamedTuple):
    """How one life is disturbed: by a fault in the server, at an edit in the editor, or after a time."""

    fault: Fault | None = None
    edit: int = 0
    part: str = ""
    seconds: float = 0.0
    command: float = -1.0
    pause: bool = False


def draw_blow(rng: random.Random, *, pause: bool) -> Blow:
    """A random moment of death, or of a pause by the user."""
    if pause:
        kind = rng.choice(("time", "command", "edit"))
    else:
        kind = rng.choices(
            ("append", "told", "apply", "disk", "edit", "time", "command"), (5, 2, 2, 1, 4, 2, 2)
        )[0]
    when = rng.choice(("before", "after"))
    match kind:
        case "append":
            return Blow(fault=Fault("append", rng.randint(2, 60), when))
        case "told":
            return Blow(fault=Fault("told", rng.randint(2, 60), when))
        case "apply":
            return Blow(fault=Fault("apply", rng.randint(1, 5), when))
        case "disk":
            return Blow(fault=Fault("disk", rng.randint(1, 3), when, holding="/workspace/"))
        case "edit":
            part = rng.choice(("before", "half", "after", "answered"))
            return Blow(edit=rng.randint(1, 5), part=part, pause=pause)
        case "command":
            return Blow(command=rng.random() * 0.15, pause=pause)
        case _:
            return Blow(seconds=rng.random() * 0.8, pause=pause)


async def run(
    warm: WarmServers,
    folder: Path,
    seed: int,
    *,
    fixed: dict[str, Any] | None = None,
    world: World | None = None,
    blows: list[Blow] | None = None,
    fates: list[Fate] | None = None,
) -> Report:
    """One run of the campaign; `fixed`, `world`, `blows` and `fates` replace what would be drawn."""
    rng = random.Random(f"kill {seed}")
    circumstances = draw(rng, **(fixed or {}))
    world = world or make_world(rng, f"k{seed}", Shape(nodes=True))
    pauses = rng.random() < 0.2
    drawn = [draw_blow(rng, pause=pauses) for _ in range(rng.randint(1, 3))]
    fates = fates or rng.choices(("same", "hot_exit", "bare"), (3, 2, 1), k=len(drawn))
    blows = drawn if blows is None else blows
    report = Report(NAME, seed, f"{circumstances} {blows} {fates}", folder=str(folder))
    async with desk(warm, folder, world, circumstances, rng) as at:
        prepare(at)
        person = Person(at)
        with troubles_blamed(at, report):
            plan = await live_and_die(at, person, blows, fates, report)
            await judge(at, report, plan)
    return report


def prepare(at: Desk) -> None:
    """Some files are open, one of them perhaps with a line that is not saved."""
    names = list(at.world.files)
    for name in at.rng.sample(names, at.rng.randint(0, len(names))):
        at.editor.open(at.uri(name))
    if at.editor.buffers and at.rng.random() < 0.3:
        uri = at.rng.choice(sorted(at.editor.buffers))
        name = uri.rpartition("/")[2]
        text = at.world.files[name]
        _, rest = text.split("\n", 1)
        path = at.root / name
        path.write_bytes(rest.encode())
        at.editor.buffers[uri].saved = rest


async def live_and_die(
    at: Desk, person: Person, blows: list[Blow], fates: list[Fate], report: Report
) -> dict[str, Any]:
    """See the plan to its end over as many lives of the server as there are blows, and one more."""
    for life in range(len(blows) + 1):
        blow = blows[life] if life < len(blows) else Blow()
        client = await at.boot(fault=blow.fault)
        try:
            async with striking(at, client, blow):
                plan = await person.see_through()
        except ServerGone:
            report.kills += 1
            await client.dead()
            fate = fates[life] if life < len(fates) else "same"
            at.change_editor("hot_exit" if fate == "same" and blow.part == "half" else fate)
            continue
        if not client.alive:
            await client.dead()
            at.change_editor("same")
            await at.boot()
        return plan
    raise ServerGone


@contextlib.asynccontextmanager
async def striking(at: Desk, client: ProcessClient, blow: Blow) -> AsyncIterator[None]:
    """Strike the blow from outside while the block runs."""
    strikes = asyncio.ensure_future(_strike(at, client, blow))
    try:
        yield
    finally:
        strikes.cancel()
        at.apply = None
        with contextlib.suppress(asyncio.CancelledError, ServerGone, Failed):
            await strikes


async def _strike(at: Desk, client: ProcessClient, blow: Blow) -> None:
    """Do from outside what the blow says, at its moment."""

    async def hit() -> None:
        if not blow.pause:
            client.kill()
            return
        with contextlib.suppress(Failed, ServerGone):
            await client.request("planloom/plan/pause", {"planId": at.plan_id})

    if blow.edit:
        at.apply = _striking_edit(at, blow, hit)
    elif blow.command >= 0:
        await client.until(
            lambda: any(
                event["type"] == "tool_started" and event["tool"] == "run_command" for event in client.events
            ),
            timeout=600,
        )
        await asyncio.sleep(blow.command)
        await hit()
    elif blow.seconds:
        await client.until(
            lambda: any(event["type"] in ("plan_executing", "plan_resumed") for event in client.events),
            timeout=600,
        )
        await asyncio.sleep(blow.seconds)
        await hit()


def _striking_edit(at: Desk, blow: Blow, hit: Callable[[], Awaitable[None]]) -> Apply:
    """The editor's answer to edits, with the blow at one of them.

    A server that dies before the editor has read the edit does not get it applied. `half` is an editor that dies
    with the server, having made the first half of the changes.
    """
    seen = 0

    def apply(client: ProcessClient, params: dict[str, Any]) -> Any:
        nonlocal seen
        seen += 1
        if seen != blow.edit:
            return at.editor.apply(params)
        if blow.pause:
            at.later(hit())
            return at.editor.apply(params)
        if blow.part == "before":
            client.kill()
            raise NeverAnswered
        if blow.part == "half":
            at.editor.apply(first_half(params)[0])
            client.kill()
            raise NeverAnswered
        answer = at.editor.apply(params)
        if blow.part == "after":
            client.kill()
        else:
            asyncio.get_running_loop().call_later(0.002, client.kill)
        return answer

    return apply


async def judge(at: Desk, report: Report, plan: dict[str, Any]) -> None:
    """Compare what came of a run with what is promised, which is less for an editor that lies or refuses."""
    events = await all_events(at)
    if at.circumstances.manner not in WELL_BEHAVED:
        told_truly(at, report, plan, events)
        return
    effects_once(at, report)
    asked_before(at, report, events)
    statuses_true(at, report, plan, all_done=True)
    ledger_true(at, report, events)
    if not report.troubles and not at.threw_away:
        for difference in differences(at.state(), at.world):
            report.blame("state", difference)
