"""A plan that has ended is undone and redone in random chains, with typing, saving, restarts and kills in between.

The model of what must come: every step is either in or out, and the files are those of the plan with the steps that
are in. An undo of a step or of the plan takes steps out; a redo takes back the last undo. What the user has typed
on lines of its own stays through all of it. A request that a kill cut off is asked again and must come to its end.

Left out, since the protocol does not promise it: taking back a single step whose file a later step has renamed or
deleted; typing in the lines of the plan or in files that it makes or deletes; with review `end` a single step,
since the plan was made as one edit.
"""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

from tests.campaigns.circumstances import draw
from tests.campaigns.desk import Apply, Desk, desk
from tests.campaigns.person import Person
from tests.campaigns.reports import Report
from tests.campaigns.typist import Typist, without_typing
from tests.campaigns.verdicts import (
    all_events,
    differences,
    ledger_true,
    statuses_true,
    troubles_blamed,
)
from tests.campaigns.worlds import LINES, Shape, World, make_world
from tests.support.process_client import Failed, NeverAnswered, ProcessClient, ServerGone
from tests.support.warm_server import Fault, WarmServers

NAME = "undo"
ACTS = ("undo", "undo_step", "redo", "type", "save", "save_all", "restart", "kill")


async def run(warm: WarmServers, folder: Path, seed: int, *, fixed: dict[str, Any] | None = None) -> Report:
    """One run of the campaign."""
    rng = random.Random(f"undo {seed}")
    circumstances = draw(rng, **{"mind": "careful", **(fixed or {})})
    world = make_world(rng, f"u{seed}", Shape(steps=(2, 6), commands=False, nodes=True))
    report = Report(NAME, seed, str(circumstances), folder=str(folder))
    async with desk(warm, folder, world, circumstances, rng) as at:
        chain = Chain(at, report, Typist(at, rng, seed))
        with troubles_blamed(at, report, lambda: f"{chain.acts[-1]}: "):
            for name in rng.sample(list(world.files), rng.randint(0, len(world.files))):
                at.editor.open(at.uri(name))
            await at.boot()
            plan = await Person(at).see_through()
            statuses_true(at, report, plan, all_done=True)
            for difference in differences(at.state(), world):
                report.blame("state", f"after the plan {difference}")
            await chain.go_on()
        report.drawn += f" acts: {' '.join(chain.acts)}"
    return report


class Chain:
    """The acts of one run, and which steps are out after them."""

    def __init__(self, at: Desk, report: Report, typist: Typist) -> None:
        self.at = at
        self.report = report
        self.typist = typist
        self.rng = typist.rng
        self.out: frozenset[str] = frozenset()
        self.last_undo: frozenset[str] = frozenset()
        self.acts: list[str] = []

    async def go_on(self) -> None:
        """Several acts, until one of them makes trouble; then the user's words and the ledger."""
        for _ in range(self.rng.randint(5, 12)):
            if self.report.troubles:
                break
            await self._act()
        else:
            self._leave_nothing_empty()
        self.typist.check(self.report)
        ledger_true(self.at, self.report, await all_events(self.at))

    async def _act(self) -> None:
        """One random act that makes sense now, and a look at what came of it."""
        acts = self._sensible()
        weights = [3 if name in ("undo", "undo_step", "redo") else 1 for name in acts]
        name = self.rng.choices(acts, weights)[0]
        self.acts.append(name)
        match name:
            case "type":
                self._type()
            case "save" | "save_all":
                self._save(everything=name == "save_all")
            case "restart" | "kill":
                await self.restart(kill=name == "kill")
            case _:
                await self._undo_or_redo(name)
        self._look()

    def _sensible(self) -> list[str]:
        steps = set(self.at.world.steps())
        acts = [name for name in ACTS if name not in ("undo", "undo_step", "redo")]
        if self.out != steps:
            acts.append("undo")
            if self._single():
                acts.append("undo_step")
        if self.last_undo:
            acts.append("redo")
        return acts

    def _single(self) -> list[str]:
        """The steps that can be taken back alone."""
        if self.at.circumstances.review == "end":
            return []
        return [step for step in self.at.world.steps() if step not in self.out and alone(self.at.world, step)]

    async def _undo_or_redo(self, name: str) -> None:
        params: dict[str, Any] = {"planId": self.at.plan_id}
        if name == "redo":
            params["redo"] = True
            after, last = self.out - self.last_undo, frozenset[str]()
        else:
            chosen = frozenset(self.at.world.steps())
            if name == "undo_step":
                chosen = frozenset({self.rng.choice(self._single())})
                params["stepId"] = next(iter(chosen))
                self.acts[-1] += f"({params['stepId']})"
            after, last = self.out | chosen, chosen - self.out
        self.out, self.last_undo = after, last
        blow = self.rng.random()
        if blow < 0.3:
            await self._cut_off(params)
        else:
            answer = await self._ask(params)
            if answer["conflicts"]:
                names = [uri.rpartition("/")[2] for uri in answer["conflicts"]]
                self.report.blame("state", f"{self.acts[-1]} left out {names}")
        await self._settle()

    async def _ask(self, params: dict[str, Any]) -> dict[str, Any]:
        """Ask for an undo or a redo; where the editor is not able to take it unsaved, do as the refusal says."""
        try:
            answer = await self.at.client.request("planloom/plan/undo", params)
        except Failed as error:
            if self.at.circumstances.able == "full" or "save it" not in error.message:
                raise
            self.acts[-1] += "[saved]"
            self.at.save_all()
            answer = await self.at.client.request("planloom/plan/undo", params)
        return dict(answer)

    async def _cut_off(self, params: dict[str, Any]) -> None:
        """Kill the server while it works on the request; then ask again, unless it was done."""
        if self.rng.random() < 0.5:
            # The fault needs a server of its own.
            fault = Fault("append", self.rng.randint(1, 3), self.rng.choice(("before", "after")))
            await self.restart(kill=False, fault=fault)
            self.acts[-1] += f"[{fault.when} append {fault.nth}]"
        else:
            part = self.rng.choice(("before", "after", "answered"))
            self.at.apply = _dying(self.at, part)
            self.acts[-1] += f"[dies {part} the edit]"
        try:
            await self._ask(params)
            await asyncio.sleep(0.01)
        except ServerGone:
            pass
        self.at.apply = None
        await self.restart(kill=True)
        await self._settle()
        if not self._as_expected():
            self.acts[-1] += "[again]"
            await self._ask(params)

    async def restart(self, *, kill: bool, fault: Fault | None = None) -> None:
        """End the server or kill it, and start another one that knows the plan."""
        client = self.at.client
        if kill:
            self.report.kills += 1
            await client.killed()
        else:
            await client.shut_down()
        self.at.change_editor(self.rng.choice(("same", "hot_exit")))
        await self.at.boot(fault=fault)
        # The plan of a dead server is settled by the first request on it.
        await self.at.client.request("planloom/plan/get", {"planId": self.at.plan_id})

    def _type(self) -> None:
        """Type a line where the plan has nothing to do."""
        spots = free_spots(self.at.world)
        if not spots:
            return
        anchor = self.rng.choice(spots)
        for name, text in self.at.state().items():
            if text is not None and anchor in text.split("\n"):
                uri = self.at.uri(name)
                if uri not in self.at.editor.buffers:
                    self.at.editor.open(uri)
                self.typist.insert(uri, text.split("\n").index(anchor), whole_line=True)

    def _save(self, *, everything: bool) -> None:
        if everything:
            self.at.save_all()
        elif self.at.editor.buffers:
            self.at.editor.refresh()
            uri = self.rng.choice(sorted(self.at.editor.buffers) or [""])
            if uri and self.at.editor.buffers[uri].dirty:
                self.at.editor.save(uri)

    async def _settle(self) -> None:
        """Let an editor that watches the disk see what was written there."""
        await asyncio.sleep(0.01)
        self.at.editor.refresh()

    def _as_expected(self) -> bool:
        return not differences(without_typing(self.at.state()), self.at.world, self.out)

    def _look(self) -> None:
        for difference in differences(without_typing(self.at.state()), self.at.world, self.out):
            self.report.blame("state", f"after {self.acts[-1]} {difference}")
        self.typist.check(self.report)

    def _leave_nothing_empty(self) -> None:
        """Save all; no file of 0 bytes is left that was not empty before."""
        self.at.save_all()
        for path in self.at.root.rglob("*"):
            if path.is_file() and path.stat().st_size == 0:
                self.report.blame("state", f"{path.relative_to(self.at.root)} was left empty")


def _dying(at: Desk, part: str) -> Apply:
    def apply(client: ProcessClient, params: dict[str, Any]) -> Any:
        if part == "before":
            client.kill()
            raise NeverAnswered
        answer = at.editor.apply(params)
        if part == "after":
            client.kill()
        else:
            asyncio.get_running_loop().call_later(0.002, client.kill)
        return answer

    return apply


def alone(world: World, step: str) -> bool:
    """Whether no other step moves or deletes what this one has touched, and it moves or deletes nothing itself."""
    own = {effect.source or effect.args.get("path") for effect in world.of_step(step)}
    moving = {effect.source: effect.step for effect in world.effects if effect.kind in ("rename", "delete")}
    # A folder that is moved has no source of its own.
    moves_folder = any(effect.kind == "rename" and not effect.source for effect in world.of_step(step))
    return not moves_folder and not any(source in moving for source in own)


def free_spots(world: World) -> list[str]:
    """Anchors after which a line can be typed, two lines away from every edit, in files that the plan keeps."""
    used = {effect.old for effect in world.effects if effect.kind == "edit"}
    deleted = {effect.source for effect in world.effects if effect.kind == "delete"}
    spots = []
    for name in world.files:
        stem = name.removesuffix(".txt")
        for number in range(LINES):
            near = {f"anchor-{stem}-{number + more}-end" for more in (0, 1)}
            if name not in deleted and not near & used:
                spots.append(f"anchor-{stem}-{number}-end")
    return spots
