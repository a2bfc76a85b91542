"""A step that the model has no room for, since a plan is being drafted, waits and is told so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from planloom.domain.plans.plan import Plan
from planloom.domain.values import PlanId
from planloom.execution.resources import DRAFT, StepWait
from planloom.models.offline.scripted import ScriptedModel, makes, says
from planloom.models.port import ModelEvent, ModelRequest
from planloom.service.requests import CreateRequest
from tests.service.test_execution_rules import DONE, with_steps, work_step
from tests.support.studio import Studio, studio


class HeldModel(ScriptedModel):
    """A scripted model that writes nothing of an answer until `goes_on` is set."""

    def __init__(self) -> None:
        super().__init__([says("1. Read a.txt\n2. Read b.txt"), makes(DONE)])
        self.asked, self.goes_on = asyncio.Event(), asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        self.asked.set()
        await self.goes_on.wait()
        async for event in super().stream(request):
            yield event


def waits_of(at: Studio, plan: Plan) -> list[tuple[StepWait, ...]]:
    """All that is told of what the plan waits for, from here on."""
    told = list[tuple[StepWait, ...]]()

    def heard(plan_id: PlanId, waits: tuple[StepWait, ...]) -> None:
        if plan_id == plan.plan_id:
            told.append(waits)

    at.app.feed.waits.listen(heard)
    return told


@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_step_waits_for_the_draft_that_uses_the_model(tmp_path: Path, cancelled: bool) -> None:
    async with studio(tmp_path, settings={"planning.perspectives": "never"}) as at:
        plan = await with_steps(at, work_step("Look at a.txt", agent="chapo"))
        model = HeldModel()
        at.model.model, at.model.parallelism = model, 1
        told = waits_of(at, plan)
        draft = (await at.app.plans.create(CreateRequest(text="Tidy up all modules", mode="plan"))).plan
        await model.asked.wait()
        await at.app.plans.approve(plan.plan_id, plan.version, None)
        plan = await at.until(plan, lambda now: now.status == "executing" and bool(told))
        (wait,) = told[0]
        assert (wait.step_id, wait.resource) == ("s1", "model")
        assert (wait.used_by_plan, wait.used_by_step) == (draft.plan_id, DRAFT)
        if cancelled:
            await at.app.plans.cancel(draft.plan_id)
        model.goes_on.set()
        await at.until(plan, lambda now: now.steps[0].attempts == 1)
        assert told[-1] == ()
