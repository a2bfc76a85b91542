"""A server that dies in the middle of a plan, and what a person does with it before and after."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from planloom.domain.errors import UnknownThing, WrongState
from planloom.domain.events import catalog as ev
from planloom.domain.plans.editing import StepChanges, UpdateStep
from planloom.domain.plans.plan import Plan
from planloom.storage.ledger import Ledger
from planloom.workspace.paths.uris import to_path
from tests.support.obedient_model import ObedientModel, Wanted
from tests.support.studio import Studio


class Crash(BaseException):
    """Stands for a kill: nothing that comes after it is written."""


class DyingLedger(Ledger):
    """A ledger whose process dies at its n-th event, or after one that `at` tells, before or after it is on disk."""

    def __init__(
        self, path: Path, at: int | Callable[[ev.Event], bool] = 10_000, *, written: bool = True
    ) -> None:
        super().__init__(path)
        self.at = at
        self.written = written
        self.count = 0
        self.dead = False
        self.died = asyncio.Event()

    def append(self, recorded: Sequence[ev.Recorded], plan: Plan, *, durable: bool = True) -> None:
        if self.dead:
            raise Crash
        self.count += len(recorded)
        at = self.at
        if any(at(each.event) for each in recorded) if callable(at) else self.count >= at:
            self.dead = True
            self.died.set()
            if self.written:
                super().append(recorded, plan, durable=durable)
            raise Crash
        super().append(recorded, plan, durable=durable)

    def die(self) -> None:
        """Die now."""
        self.dead = True
        self.died.set()
        raise Crash


class Job(NamedTuple):
    """A request with what its plan does: by literal steps, or by a model that believes every word of its prompt."""

    text: str
    tasks: Mapping[str, Sequence[Wanted]] = MappingProxyType({})

    def model(self) -> ObedientModel | None:
        return ObedientModel(self.tasks) if self.tasks else None


async def begun(at: Studio, job: Job) -> Plan:
    """The plan of a job, ready to be approved."""
    plan = await at.ask(job.text, mode="plan")
    changes = [
        UpdateStep(
            step_id=step.step_id,
            set=StepChanges(description=name, instruction="Do it.", kind="processing", agent="devo"),
        )
        for step, name in zip(plan.steps, job.tasks, strict=False)
    ]
    at.model.model = job.model()
    return await at.app.plans.edit(plan.plan_id, plan.version, changes) if changes else plan


async def used(at: Studio, job: Job, plan: Plan | None = None) -> None:
    """What a person does with the plan while the server lives."""
    try:
        if plan is not None:
            await finished(at, plan)
            return
        plan = await at.approve(await begun(at, job))
        while plan.pending.approvals:
            plan = await at.respond(plan)
    except Crash:
        return


async def killed(before: Studio, ledger: DyingLedger, job: Job, plan: Plan | None = None) -> None:
    """Use a new plan, or go on with this one, until its server is dead; nothing that comes after that is written."""
    user = asyncio.ensure_future(used(before, job, plan))
    death = asyncio.ensure_future(ledger.died.wait())
    await asyncio.wait({user, death}, return_when=asyncio.FIRST_COMPLETED, timeout=20)
    user.cancel()
    death.cancel()
    await asyncio.wait({user, death})
    ledger.dead = True
    await before.app._jobs.stop("")
    ledger.release()


def restarted(before: Studio, ledger: Path | Ledger, settings: Mapping[str, Any], job: Job) -> Studio:
    """A new server over the same folder, ledger and buffers."""
    after = Studio(before.folder.parent, settings=settings, ledger=ledger, model=job.model())
    for buffer in before.editor.buffers.values():
        path = to_path(buffer.uri)
        if path is not None and buffer.told:
            after.editor.open(path, buffer.text)
    return after


async def finished(at: Studio, plan: Plan) -> Plan:
    """Do what a person would: approve, resume, allow, until the plan has ended."""
    async with asyncio.timeout(20):
        await at.app._ownership.reconcile_adopted()
        plan = at.now(plan)
        while plan.status not in ("completed", "failed", "cancelled"):
            # What is asked may be taken back, by a pause or by a crash, while it is answered.
            with suppress(UnknownThing, WrongState):
                if plan.pending.approvals:
                    await at.respond(plan)
                elif plan.status == "pending_approval":
                    await at.app.plans.approve(plan.plan_id, plan.version, None)
                elif plan.status == "paused":
                    assert plan.pause_reason in ("restart", "user"), plan.pending
                    await at.app.plans.resume(plan.plan_id)
            await asyncio.sleep(0)
            plan = at.now(plan)
    return plan
