"""What a plan has used of models: counted when it is used, whoever asks and however the plan goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planloom.domain.events import catalog as ev
from planloom.domain.plans.outcome import prices_of, spent
from planloom.domain.plans.plan import ModelUse, Usage
from planloom.models.offline.scripted import ScriptedModel, fails, says
from planloom.models.port import Capabilities
from tests.support.studio import Studio, studio

PLAN = "---PLAN-START---\nSTEP 1: Write it\nDO: Write a.txt.\n---PLAN-END---"
ONE = Usage(requests=1, prompt_tokens=100, completion_tokens=10, cached_tokens=60)
COUNTS: dict[str, Any] = {"prompt_tokens": 100, "completion_tokens": 10, "cached_tokens": 60}


def model(*turns: Any) -> ScriptedModel:
    return ScriptedModel(turns, capabilities=Capabilities())


def label(at: Studio) -> str:
    assert at.model.model is not None
    return at.model.model.identity.label


async def test_a_draft_is_counted_with_its_model_and_what_came_from_the_cache(tmp_path: Path) -> None:
    async with studio(tmp_path, model=model(says(PLAN, **COUNTS))) as at:
        plan = await at.ask("Write a note", mode="plan")
        assert (plan.usage, plan.models) == (ONE, (ModelUse(model=label(at), usage=ONE),))
        found = spent(plan, prices_of((f"{label(at)} 2 8",)))
        assert found.costs == {label(at): pytest.approx((100 * 2 + 10 * 8) / 1_000_000)}


async def test_a_draft_that_fails_keeps_what_each_request_has_used(tmp_path: Path) -> None:
    async with studio(tmp_path, model=model(says("No plan.", **COUNTS), says("None.", **COUNTS))) as at:
        plan = await at.ask("Write a note", mode="plan")
        assert plan.status == "failed"
        assert plan.usage == ONE.plus(ONE) and plan.models == (ModelUse(model=label(at), usage=plan.usage),)
        used = [each.event for each in at.events if isinstance(each.event, ev.ModelUsed)]
        assert [each.usage for each in used] == [ONE, ONE]


async def test_a_draft_that_comes_to_nothing_stays_counted_by_model(tmp_path: Path) -> None:
    turns = (says(PLAN, **COUNTS), says("No plan.", **COUNTS), fails())
    async with studio(tmp_path, model=model(*turns)) as at:
        plan = await at.ask("Write a note", mode="plan")
        again = await at.app.plans.regenerate(plan.plan_id, plan.version, "Shorter")
        again, _ = await at.app.plans.wait(again.plan_id, "ready", None)
        assert again.version == plan.version and again.usage.requests >= 2
        assert [use.usage for use in again.models] == [again.usage]
