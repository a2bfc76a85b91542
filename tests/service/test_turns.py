"""Concurrent requests on one plan: each checks the plan's status again after it has waited."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from planloom.domain.errors import WrongState
from planloom.domain.events import catalog as ev
from tests.support.studio import studio

EDIT = '1. Replace "old" with "new" in a.txt\n2. List files'
NEEDS_MODEL = "1. Explain the design\n2. Draw the picture"


async def test_a_cancel_that_was_answered_is_not_overtaken(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.approve(await at.ask(NEEDS_MODEL))
        answers = await asyncio.gather(
            at.app.plans.cancel(plan.plan_id),
            at.app.plans.regenerate(plan.plan_id, plan.version, "shorter"),
            at.app.plans.resume(plan.plan_id),
            return_exceptions=True,
        )
        assert (await at.reach(plan, "ended")).status == "cancelled"
        assert [type(answer) for answer in answers[1:]] == [WrongState, WrongState]


async def test_a_request_that_has_waited_finds_the_plan_as_it_is_by_then(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.ask(EDIT)
        first, second = await asyncio.gather(
            at.app.plans.reject(plan.plan_id, "no"),
            at.app.plans.regenerate(plan.plan_id, plan.version, None),
        )
        assert (first.status, second.status) == ("rejected", "draft")
        assert (await at.reach(plan, "ready")).status == "pending_approval"


async def test_of_two_cancels_one_is_enough(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.approve(await at.ask(EDIT))
        await asyncio.gather(at.app.plans.cancel(plan.plan_id), at.app.plans.cancel(plan.plan_id))
        plan = await at.reach(plan, "ended")
        await at.app._jobs.join("cancel:")
        assert plan.status == "cancelled"
        assert [each.event.type for each in at.events].count("plan_cancelled") == 1
        with pytest.raises(WrongState):
            await at.app.plans.cancel(plan.plan_id)


async def test_an_abort_that_meets_a_cancel_ends_the_plan_once(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "nothing of it\n"}) as at:
        plan = await at.approve(await at.ask(EDIT))
        step_id = plan.pending.recoveries[0].step_id
        await asyncio.gather(
            at.app.steps.recover(plan.plan_id, step_id, "abort", None),
            at.app.plans.cancel(plan.plan_id),
            return_exceptions=True,
        )
        await at.app._jobs.join("cancel:")
        assert at.now(plan).status == "cancelled"
        assert [each.event.type for each in at.events].count("plan_cancelled") == 1


async def test_an_answer_in_the_moment_of_a_pause_is_recorded_once(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.approve(await at.ask(EDIT))
        approval = plan.pending.approvals[0].approval_id
        await asyncio.gather(
            at.app.approvals.respond(approval, "allow", None, None), at.app.plans.pause(plan.plan_id)
        )
        await at.reach(plan, "attention")
        resolved = [each.event for each in at.events if isinstance(each.event, ev.ApprovalResolved)]
        assert [(each.approval_id, each.decision) for each in resolved] == [(approval, "allow")]


async def test_a_failed_regeneration_puts_back_all_of_the_plan_from_before(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.ask("1. Delete a.txt\n2. List files")
        before = plan
        assert before.overall_risk != "low" and before.estimated_duration
        at.app.plans._drafts._drafting._planners = None  # type: ignore[assignment]
        await at.app.plans.regenerate(plan.plan_id, plan.version, "shorter")
        after = await at.reach(plan, "ready")
        told = ("seq", "updated_at", "log", "last_draft")
        assert after.model_dump(exclude={*told}) == before.model_dump(exclude={*told})
