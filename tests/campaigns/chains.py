"""Plans that use names again, killed while they run, then undone and redone with kills in between, in one process.

The model of what must come is that of `names`. A server is an application over the same folder, ledger and buffers, and
its death a ledger that writes nothing more, so a run costs a tenth of one with processes.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

from planloom.domain.errors import UnknownThing, WrongState
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.models.offline.scripted import ScriptedModel, says
from tests.campaigns.circumstances import Review
from tests.campaigns.reports import Report
from tests.campaigns.typist import without_typing, words_of
from tests.campaigns.undo import alone, free_spots
from tests.campaigns.verdicts import differences
from tests.campaigns.worlds import Shape, State, World, make_world
from tests.support.crash import Crash, DyingLedger
from tests.support.fake_editor import EVERYTHING, After
from tests.support.studio import Studio
from tests.support.warm_server import WarmServers
from tests.workspace.room import tree

NAME = "chains"
CLIENTS = {
    "full": EVERYTHING,
    "no save": EVERYTHING._replace(save=False),
    "whole new files": EVERYTHING._replace(create_contents=True, create_folders=True),
    "no resource operations": EVERYTHING._replace(create_files=False, rename_files=False, delete_files=False),
    "neither": EVERYTHING._replace(
        create_files=False, rename_files=False, delete_files=False, document_changes=False, save=False
    ),
    "no edits": EVERYTHING._replace(apply_edit=False, save=False),
}
MOST_ANSWERS = 200
ENDED = ("completed", "failed", "cancelled")


async def run(_: WarmServers, folder: Path, seed: int, *, fixed: dict[str, Any] | None = None) -> Report:
    """One run of the campaign."""
    rng = random.Random(f"chains {seed}")
    drawn = {
        "review": rng.choice(get_args(Review)),
        "client": rng.choice([*CLIENTS]),
        "kills": rng.randint(0, 3),
        **(fixed or {}),
    }
    shape = Shape(steps=(4, 9), models=False, commands=False, again=20)
    chain = _Chain(folder, make_world(rng, f"c{seed}", shape), drawn, rng)
    report = Report(NAME, seed, f"{drawn}", folder=str(folder))
    try:
        await chain.carry_out()
        for _ in range(rng.randint(5, 12)):
            await chain.act()
        chain.save_all()
    except (Exception, Crash) as error:
        if not isinstance(error, _Wrong):
            chain.wrong.append(repr(error))
    finally:
        await chain.at.app.close()
    report.kills = chain.kills
    report.drawn += f" acts: {' '.join(chain.acts)}"
    for each in chain.wrong:
        report.blame("state", f"after {chain.acts[-1:]} {each}")
    return report


class _Wrong(Exception):
    """Something is not as it must be; `wrong` of the chain says what."""


class _Chain:
    """One plan on one folder, over many lives of the server, and which steps are out."""

    def __init__(self, folder: Path, world: World, drawn: dict[str, Any], rng: random.Random) -> None:
        self.folder = folder
        self.world = world
        self.drawn = drawn
        self.rng = rng
        self.kills = 0
        self.acts: list[str] = []
        self.wrong: list[str] = []
        self.out: frozenset[str] = frozenset()
        self.last_undo: frozenset[str] = frozenset()
        self.typed: set[str] = set()
        self.allowed_again = False
        self.ledger = DyingLedger(folder / "ledger.db")
        model = ScriptedModel([says(json.dumps(world.plan))])
        self.at = Studio(folder, world.files, model=model, **self._given())
        for name in rng.sample([*world.files], rng.randint(0, len(world.files))):
            self.at.editor.open(self.at.path(name))

    def _given(self) -> dict[str, Any]:
        settings = {"execution.review": self.drawn["review"], "planning.perspectives": "never"}
        able = CLIENTS[self.drawn["client"]]
        return {"ledger": self.ledger, "capabilities": able, "settings": settings, "patience": 60}

    async def carry_out(self) -> None:
        """The plan to its end, over as many lives as there are kills."""
        self.plan = await self.at.ask("Please improve the files as the list says", mode="plan")
        for _ in range(self.drawn["kills"]):
            if not await self._killed(self._see_through):
                break
        self.plan = await self._see_through()
        done = {step.step_id: step.status for step in self.plan.steps}
        if self.plan.status != "completed" or set(done.values()) != {"completed"}:
            self.wrong.append(f"the plan is {self.plan.status} with {done} {self.plan.error}")
        self._look()

    async def _killed(self, act: Callable[[], Awaitable[Any]]) -> bool:
        """Whether the server died while it did something; then there is another one."""
        self._arm()
        doing = asyncio.ensure_future(_until_dead(act))
        death = asyncio.ensure_future(self.ledger.died.wait())
        await asyncio.wait({doing, death}, return_when=asyncio.FIRST_COMPLETED, timeout=60)
        died = self.ledger.dead
        for task in (doing, death):
            task.cancel()
        await asyncio.wait({doing, death})
        self.ledger.at = 1_000_000
        self.at.editor.script.clear()
        if not died:
            doing.cancelled() or doing.result()
            return False
        self.kills += 1
        await self.at.app._jobs.stop("")
        self.ledger.release()
        await self._boot()
        return True

    def _arm(self) -> None:
        """Let the server die at an event, or as the editor has made an edit."""
        nth = self.rng.randint(1, 40)
        if self.rng.random() < 0.3:
            self.at.editor.script.extend([After(lambda: None)] * (nth % 4))
            self.at.editor.script.append(After(self.ledger.die))
            return
        seen = 0

        def dies(_: ev.Event) -> bool:
            nonlocal seen
            seen += 1
            return seen == nth

        self.ledger.at, self.ledger.written = dies, self.rng.random() < 0.5

    async def _boot(self) -> None:
        """Another server, and the editor with all of its buffers."""
        self.at.editor.reload()
        buffers = dict(self.at.editor.buffers)
        self.ledger = DyingLedger(self.folder / "ledger.db")
        self.at = Studio(self.folder, **self._given())
        for uri, buffer in buffers.items():
            self.at.editor._open(uri, buffer.text, buffer.saved)
        await self.at.app._ownership.reconcile_adopted()

    async def _see_through(self) -> Plan:
        for _ in range(MOST_ANSWERS):
            plan = await self.at.reach(self.at.now(self.plan), "attention")
            if plan.status in ENDED:
                self.at.editor.reload()
                return plan
            with suppress(UnknownThing, WrongState):
                await self._answer(plan)
        self.wrong.append(f"no end of {plan.status} {plan.pause_reason} {plan.pause_detail}")
        raise _Wrong

    async def _answer(self, plan: Plan) -> None:
        if plan.status == "pending_approval":
            await self.at.app.plans.approve(plan.plan_id, plan.version, self.drawn["review"])
        elif plan.pending.approvals:
            self.allowed_again = self.allowed_again or any(each.warning for each in plan.pending.approvals)
            await self.at.respond(plan)
        elif plan.pending.recoveries:
            self.save_all()
            recovery = plan.pending.recoveries[0]
            await self.at.app.steps.recover(plan.plan_id, recovery.step_id, "retry", None)
        elif plan.status == "paused":
            if plan.pause_reason not in ("restart", "user"):
                self.save_all()
            await self.at.app.plans.resume(plan.plan_id)

    # After the plan.

    async def act(self) -> None:
        """One act that makes sense now, and a look at what came of it."""
        names = ["type", "save", "restart", *["undo", "step"] * 3 * (self.out != set(self.world.steps()))]
        name = self.rng.choice(names + ["redo"] * 3 * bool(self.last_undo))
        self.acts.append(name)
        match name:
            case "type":
                self._type()
            case "save":
                self.save_all()
            case "restart":
                await self.at.app.close()
                await self._boot()
            case _:
                await self._undo_or_redo(name)
        self._look()

    async def _undo_or_redo(self, name: str) -> None:
        step = None
        if name == "redo":
            after, last = self.out - self.last_undo, frozenset[str]()
        else:
            chosen = frozenset(self.world.steps())
            if name == "step":
                single = [
                    each for each in self.world.steps() if each not in self.out and alone(self.world, each)
                ]
                if not single or self.drawn["review"] == "end":
                    return
                step = self.rng.choice(single)
                chosen = frozenset({step})
            after, last = self.out | chosen, chosen - self.out
        self.out, self.last_undo = after, last
        asks = self.rng.random() > 0.4
        if not asks and await self._killed(lambda: self._ask(step, redo=name == "redo")):
            self.acts[-1] += "[killed]"
            asks = bool(self._differences())
        if asks:
            await self._ask(step, redo=name == "redo")
        self.at.editor.reload()

    async def _ask(self, step: str | None, *, redo: bool) -> None:
        """Ask; where it is refused for unsaved text that the server may not write under, do as it says."""
        for is_last in (False, True):
            try:
                result = await self.at.app.plans.undo(self.plan.plan_id, step, redo)
            except WrongState as error:
                # A kill before the end may have left nothing to do.
                if "nothing to take back" in error.message or "no undo" in error.message:
                    return
                if is_last or "save it" not in error.message or self.drawn["client"] == "full":
                    raise
            else:
                if result.conflicts:
                    self.wrong.append(f"left out {result.conflicts}")
                return
            self.acts[-1] += "[saved]"
            self.save_all()

    def save_all(self) -> None:
        """Save what is unsaved; the rest follows the disk."""
        self.at.editor.reload()
        for buffer in tuple(self.at.editor.buffers.values()):
            if buffer.text != buffer.saved:
                self.at.editor._save(buffer)

    def _type(self) -> None:
        spots = free_spots(self.world)
        anchor = self.rng.choice(spots) if spots else None
        for name, text in self._state().items():
            if anchor is not None and text is not None and anchor in text.split("\n"):
                word = f"typed{len(self.acts)}x{len(self.typed)}"
                self.typed.add(word)
                path = self.at.path(name)
                if not any(buffer.uri.endswith(f"/{name}") for buffer in self.at.editor.buffers.values()):
                    self.at.editor.open(path)
                end = text.index(anchor) + len(anchor)
                self.at.editor.type(path, end, end, f"\n{word}")
                return

    def _state(self) -> State:
        there = tree(self.at.folder)
        state: State = {name: None if text is None else self.at.text(name) for name, text in there.items()}
        for buffer in self.at.editor.buffers.values():
            name = buffer.uri.rpartition("/workspace/")[2]
            if name not in there:
                state[name] = buffer.text
        return state

    def _differences(self) -> list[str]:
        return differences(without_typing(self._state()), self.world, self.out)

    def _look(self) -> None:
        if not self.allowed_again:
            self.wrong += self._differences()
        gone = self.typed - {word for text in self._state().values() for word in words_of(text or "")}
        self.wrong += [f"{word} is gone" for word in sorted(gone)]
        if self.wrong:
            raise _Wrong


async def _until_dead(act: Callable[[], Awaitable[Any]]) -> None:
    with suppress(Crash):
        await act()
