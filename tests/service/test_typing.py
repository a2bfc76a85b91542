"""A user who types, saves, closes, renames and undoes while plans edit the same files loses no keystroke."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from planloom.domain.errors import PlanloomError
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import ENDED, Plan, Step
from planloom.domain.values import EditId, Uri
from tests.depth import points
from tests.support.studio import Studio, studio

FILES = ("a.txt", "b.txt", "c.txt")
LINES = 60
KEYSTROKES = 1_000
FIRST_KEY = 0xE000
"""Every keystroke is a unique character, so that each can be found at the end."""
BASE = "".join(f"row {n}: alpha-{n};\n\n" for n in range(LINES))
SEEDS = points((1, 2, 3), 3)
KEYS_AN_EVENT = 4
KEYS_AN_EDIT = 160
KEYS_AFTER_AN_UNDO = 100
DOUBTFUL = "The editor says that it applied"
"""The report for an edit whose files move while they are verified: not made, whatever they contain."""
Words = frozenset[str]
ALPHA, BETA = frozenset({"alpha"}), frozenset({"beta"})


class Typist:
    """A user who types in three files, one of which is renamed back and forth.

    The pace is set by what happens to the plans, a few keystrokes for each event, so that every stage of a plan
    is typed into and the race meets as much on a slow machine as on a fast one.
    """

    def __init__(self, at: Studio, chance: random.Random) -> None:
        self.at = at
        self.chance = chance
        self.typed = 0
        self.moved = False
        self.alone = False
        self.news = asyncio.Event()
        at.app.feed.subscribe(lambda *_: self.news.set())

    def name(self, file: str) -> str:
        return "moved.txt" if file == "c.txt" and self.moved else file

    def path(self, file: str) -> Path:
        return self.at.path(self.name(file))

    def is_open(self, file: str) -> bool:
        return self.at.uri(self.name(file)) in self.at.editor.buffers

    async def work(self) -> None:
        while self.typed < KEYSTROKES:
            self.news.clear()
            heard = Counter(self.at.types())
            pace = KEYSTROKES if self.alone else heard.total() * KEYS_AN_EVENT
            patience = KEYSTROKES if self.alone else self.patience(heard)
            while self.typed < min(pace, patience, KEYSTROKES):
                self.act(self.chance.choice(FILES))
                for _ in range(self.chance.choice((0, 0, 1, 3, 20))):
                    await asyncio.sleep(0)
            if self.typed >= patience and self.moved:
                # A plan may want the file under its own name, and so never make the edit that is waited for.
                self.rename()
            if self.typed < KEYSTROKES:
                await self.news.wait()

    def patience(self, heard: Counter[str]) -> int:
        """How many keystrokes are allowed before the next edit or the first undo."""
        edits = (heard["edit_applied"] + 1) * KEYS_AN_EDIT
        return min(edits, KEYSTROKES if heard["edit_reverted"] else KEYSTROKES - KEYS_AFTER_AN_UNDO)

    def leave_alone(self) -> None:
        """There are no more plans: the rest is typed without one."""
        self.alone = True
        self.news.set()

    def act(self, file: str) -> None:
        editor = self.at.editor
        if not self.is_open(file):
            editor.open(self.path(file))
        dice = self.chance.random()
        if dice < 0.93:
            place = self.chance.randrange(len(editor.text(self.path(file))) + 1)
            editor.type(self.path(file), place, place, chr(FIRST_KEY + self.typed))
            self.typed += 1
        elif dice < 0.96:
            editor.save_file(self.path(file))
        elif dice < 0.98:
            editor.save_file(self.path(file))
            editor.close(self.path(file))
        elif file == "c.txt":
            self.rename()

    def rename(self) -> None:
        at, old = self.at, self.name("c.txt")
        if not self.is_open("c.txt"):
            at.editor.open(at.path(old))
        self.moved = not self.moved
        new = self.name("c.txt")
        at.editor.save_file(at.path(old))
        at.editor._rename(Uri(at.uri(old)), Uri(at.uri(new)))
        at.view.told_of_rename(at.uri(old), at.uri(new))


async def plans(at: Studio, chance: random.Random, user: asyncio.Task[None]) -> dict[tuple[str, int], Words]:
    """Run plans for as long as the user types. Returns the allowed final texts of each row that they changed."""
    may_be: dict[tuple[str, int], Words] = {}
    for row in range(0, LINES - 3, 3):
        if user.done():
            break
        rows = [(chance.choice(FILES), row + n) for n in range(3)]
        text = "\n".join(
            f'{n}. Replace "alpha-{number};" with "beta-{number};" in {file}'
            for n, (file, number) in enumerate(rows, start=1)
        )
        review = chance.choice(("each", "end", "auto"))
        undo = chance.random() < 0.5
        plan = await to_the_end(at, await at.ask(text), review)
        if undo:
            await take_back(at, plan)
        for step, place in zip(plan.steps, rows, strict=True):
            may_be[place] = told(at, plan, step, place[0])
    return may_be


def told(at: Studio, plan: Plan, step: Step, file: str) -> Words:
    """The allowed texts of a step's row by the reports on its edits; two only if the reports leave both open."""
    names = {at.uri(name) for name in ((file, "moved.txt") if file == "c.txt" else (file,))}
    edits: dict[EditId, ev.EditStarted] = {}
    words = ALPHA
    for event in (recorded.event for recorded in at.events if recorded.plan_id == plan.plan_id):
        if isinstance(event, ev.EditStarted):
            edits[event.edit_id] = event
        if not isinstance(event, ev.EditApplied | ev.EditRejected | ev.EditReverted):
            continue
        meant = edits[event.edit_id]
        is_of_step = step.step_id in (meant.step_id, *meant.settles)
        if names.isdisjoint(file.uri for file in event.files) or not (is_of_step or meant.reverts):
            continue
        if isinstance(event, ev.EditReverted):
            words = ALPHA
        elif meant.reverts:
            # What an undo did to a file of several edits is told in full only where it took all of them back.
            words |= ALPHA
        elif isinstance(event, ev.EditApplied):
            words = BETA
        elif DOUBTFUL in event.reason:
            words |= BETA
    return words


async def to_the_end(at: Studio, plan: Plan, review: str) -> Plan:
    """Allow everything, keep the user's text in every conflict, skip what fails."""
    await at.app.plans.approve(plan.plan_id, plan.version, review)  # type: ignore[arg-type]
    while (plan := await at.reach(plan, "attention")).status not in ENDED:
        try:
            for approval in plan.pending.approvals:
                await at.app.approvals.respond(approval.approval_id, "allow", None, None)
            for conflict in plan.pending.conflicts:
                mine = tuple(ev.ConflictChoice(uri=file.uri, choice="mine") for file in conflict.files)
                await at.app.approvals.resolve_conflict(plan.plan_id, conflict.edit_id, mine)
            for recovery in plan.pending.recoveries:
                await at.app.steps.recover(plan.plan_id, recovery.step_id, "skip", None)
            if plan.status == "paused" and plan.pause_reason == "error":
                await at.app.plans.resume(plan.plan_id)
        except PlanloomError:
            pass
        await asyncio.sleep(0)
    return plan


async def take_back(at: Studio, plan: Plan) -> None:
    """Undo the plan as far as the user's own changes allow."""
    with suppress(PlanloomError):
        await at.app.plans.undo(plan.plan_id, None, False)


def keys(text: str) -> list[str]:
    return [c for c in text if FIRST_KEY <= ord(c) < FIRST_KEY + KEYSTROKES]


def without_keys(text: str) -> str:
    return "".join(c for c in text if not FIRST_KEY <= ord(c) < FIRST_KEY + KEYSTROKES)


def check(texts: Mapping[str, str], may_be: Mapping[tuple[str, int], Words]) -> None:
    found = sorted(key for text in texts.values() for key in keys(text))
    assert found == [chr(FIRST_KEY + n) for n in range(KEYSTROKES)], "a keystroke is lost, or there twice"
    for file, text in texts.items():
        lines = without_keys(text).splitlines()
        assert len(lines) == 2 * LINES, file
        for number in range(LINES):
            words = may_be.get((file, number), ALPHA)
            assert lines[2 * number] in {f"row {number}: {word}-{number};" for word in words}, file


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_thousand_keystrokes_race_whole_plans_and_none_is_lost(tmp_path: Path, seed: int) -> None:
    async with studio(tmp_path, dict.fromkeys(FILES, BASE)) as at:
        # Each has a chance of its own, so that the plans are the same whoever is faster.
        typist = Typist(at, random.Random(f"typist {seed}"))
        user = asyncio.ensure_future(typist.work())
        may_be = await plans(at, random.Random(f"plans {seed}"), user)
        typist.leave_alone()
        await user
        texts = {file: at.editor.text(typist.path(file)) for file in FILES}
        check(texts, may_be)
        for buffer in at.editor.buffers.values():
            document = at.documents.get(buffer.uri)
            assert document is not None and document.text == buffer.text
        heard = Counter(at.types())
        assert heard["edit_applied"] >= 5 and heard["edit_reverted"] >= 1, heard
