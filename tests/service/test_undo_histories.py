"""Any history of undos and redos, with crashes and typing between them, matches a simple model."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from planloom.domain.errors import WrongState
from planloom.domain.plans.plan import Plan
from tests.depth import rounds
from tests.service.test_crashes import Crash, DyingLedger
from tests.support.fake_editor import EVERYTHING
from tests.support.studio import Studio
from tests.workspace.room import tree

LINES = [f"line {n}\n" for n in range(12)]
FILES = {"a.txt": "".join(LINES), "b.txt": "b\n", "gone.txt": "gone\n"}
PLAN = (
    '1. Replace "line 2" with "PLAN 2" in a.txt\n2. Rename b.txt to moved/b.txt\n3. Delete gone.txt\n'
    '4. Create file new/n.txt with content "n"\n5. Replace "line 6" with "PLAN 6" in a.txt'
)
STEPS = 5
CLIENTS = (
    EVERYTHING,
    EVERYTHING._replace(create_contents=True, create_folders=True),
    EVERYTHING._replace(rename_files=False, delete_files=False),
)


class Histories(RuleBasedStateMachine):
    """The model: the steps still applied, the undos that can be reverted, and the user's lines."""

    @initialize(able=st.sampled_from(CLIENTS))
    def begin(self, able: Any) -> None:
        self.able = able
        self.loop = asyncio.new_event_loop()
        self.space = tempfile.TemporaryDirectory()
        self.folder = Path(self.space.name)
        self.typed: list[str] = []
        self.stands = set(range(STEPS))
        self.undone: list[frozenset[int]] = []
        self.plan = self.loop.run_until_complete(self.run_plan())

    async def run_plan(self) -> Plan:
        self.at = self.server(FILES)
        self.at.editor.open(self.at.path("a.txt"))
        plan = await self.at.approve(await self.at.ask(PLAN), review="auto")
        while plan.pending.approvals:
            plan = await self.at.respond(plan)
        assert plan.status == "completed"
        return plan

    def server(self, files: dict[str, str] | None = None) -> Studio:
        ledger = self.folder / "ledger.db"
        return Studio(self.folder, files or {}, capabilities=self.able, ledger=ledger)

    @rule()
    def undo_the_plan(self) -> None:
        if self.asked(None, redo=False) != self.stands:
            raise AssertionError("an undo takes back what stands, and nothing else")
        if self.stands:
            self.undone.append(frozenset(self.stands))
        self.stands = set()

    @rule(step=st.integers(0, STEPS - 1))
    def undo_a_step(self, step: int) -> None:
        done = self.asked(step, redo=False)
        assert done == self.stands & {step}
        if done:
            self.undone.append(frozenset(done))
        self.stands -= done

    @rule()
    def redo(self) -> None:
        back = self.undone.pop() if self.undone else frozenset()
        assert bool(self.asked(None, redo=True)) == bool(back)
        self.stands |= back

    @rule(line=st.sampled_from((4, 9, 11)))
    def type(self, line: int) -> None:
        word = f"typed {len(self.typed)}\n"
        path = self.at.path("a.txt")
        text = self.at.text("a.txt")
        place = text.index(f"line {line}\n")
        self.at.editor.type(path, place, place, word)
        self.typed.append(word)

    @rule()
    def save(self) -> None:
        for buffer in tuple(self.at.editor.buffers.values()):
            self.at.editor._save(buffer)

    @rule()
    def restart(self) -> None:
        self.loop.run_until_complete(self.at.app.close())
        self.loop.run_until_complete(self.back())

    @precondition(lambda self: self.stands or self.undone)
    @rule(redo=st.booleans(), events=st.integers(1, 4), written=st.booleans())
    def killed_in_the_middle(self, redo: bool, events: int, written: bool) -> None:
        """The server crashes while it records an undo; repeating the request completes it."""
        if (redo and not self.undone) or (not redo and not self.stands):
            return
        self.loop.run_until_complete(self.killed(redo, events, written))
        self.loop.run_until_complete(self.back())
        leads_to = self.stands | self.undone[-1] if redo else set()
        if {n for n, step in enumerate(self.now().steps) if step.reverted != "whole"} != leads_to:
            # It was not made, or not recorded as made.
            self.asked(None, redo=redo)
        if redo:
            self.stands |= self.undone.pop()
        else:
            self.undone.append(frozenset(self.stands))
            self.stands = set()

    async def killed(self, redo: bool, events: int, written: bool) -> None:
        app = self.at.app
        leases = app._ledger
        ledger = DyingLedger(self.folder / "ledger.db", events, written=written)
        # The same server: the plan's lease is already its own.
        ledger.owner = leases.owner
        app._ledger = app._plan_store.store = ledger
        app.plans._ledger = ledger
        with contextlib.suppress(Crash, WrongState):
            await app.plans.undo(self.plan.plan_id, None, redo)
        ledger.dead = True
        await app._jobs.stop("")
        ledger.release()
        leases.release()

    async def back(self) -> None:
        """Another server, and the editor with all of its buffers."""
        buffers = dict(self.at.editor.buffers)
        self.at = self.server()
        for uri, buffer in buffers.items():
            self.at.editor._open(uri, buffer.text, buffer.saved)
        await self.at.app._ownership.reconcile_adopted()

    def asked(self, step: int | None, *, redo: bool) -> set[int]:
        """Undo or redo. Returns the steps of which something was reverted or restored."""
        before = [s.reverted for s in self.now().steps]
        step_id = None if step is None else self.plan.steps[step].step_id
        try:
            undone = self.loop.run_until_complete(self.at.app.plans.undo(self.plan.plan_id, step_id, redo))
        except WrongState as error:
            assert "nothing to take back" in error.message or "no undo" in error.message, error.message
            return set()
        assert undone.conflicts == (), undone
        after = [s.reverted for s in self.now().steps]
        return {n for n in range(STEPS) if before[n] != after[n]}

    def now(self) -> Plan:
        return self.at.now(self.plan)

    async def reload(self) -> None:
        self.at.editor.reload()

    @invariant()
    def the_files_are_as_expected(self) -> None:
        self.loop.run_until_complete(self.reload())
        found = {n: None if t is None else self.at.text(n) for n, t in tree(self.at.folder).items()}
        text = found.pop("a.txt")
        assert text is not None
        lines = text.splitlines(keepends=True)
        assert sorted(line for line in lines if line.startswith("typed")) == sorted(self.typed)
        expected = list(LINES)
        for step, line in ((0, 2), (4, 6)):
            if step in self.stands:
                expected[line] = f"PLAN {line}\n"
        assert [line for line in lines if not line.startswith("typed")] == expected
        wanted: dict[str, str | None] = {}
        wanted |= {"moved": None, "moved/b.txt": "b\n"} if 1 in self.stands else {"b.txt": "b\n"}
        wanted |= {} if 2 in self.stands else {"gone.txt": "gone\n"}
        wanted |= {"new": None, "new/n.txt": "n"} if 3 in self.stands else {}
        assert found == wanted

    def teardown(self) -> None:
        if hasattr(self, "plan"):
            self.loop.run_until_complete(self.at.app.close())
            self.loop.close()
            self.space.cleanup()


Histories.TestCase.settings = settings(max_examples=rounds(8, 60), stateful_step_count=12)
TestHistories = pytest.mark.deep(pytest.mark.timeout(600)(pytest.mark.slow(Histories.TestCase)))
