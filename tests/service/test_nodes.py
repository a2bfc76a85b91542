"""Steps that are no work: checks, which stop a plan, and approval gates, at which a person says whether it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planloom.domain.errors import InvalidPlan
from planloom.domain.events import catalog as ev
from planloom.domain.plans.editing import StepChanges
from planloom.domain.plans.plan import Check
from planloom.storage.ledger import Ledger
from tests.service.test_conditions import finished
from tests.service.test_execution_rules import happened, tool_step, with_steps
from tests.support.studio import studio

SETTINGS = {"approvals.write": "allow", "approvals.execute": "allow"}
WRITE = tool_step("write_file", {"path": "after.txt", "content": "x"})


def node(kind: str, **more: Any) -> StepChanges:
    return StepChanges.model_validate({"description": f"A {kind}", "kind": kind, **more})


@pytest.mark.parametrize("policy", ["ask", "skip", "abort"])
@pytest.mark.parametrize(
    ("check", "holds"),
    [
        (Check(kind="command", command="test -e a.txt"), True),
        (Check(kind="command", command="test -e b.txt"), False),
        (Check(kind="condition", text="steps.s1.value == 'a.txt'"), True),
        (Check(kind="condition", text="length(glob('*.txt')) > 9"), False),
        (Check(kind="file_exists", path="a.txt"), True),
    ],
)
async def test_a_check_that_fails_stops_the_plan(
    tmp_path: Path, check: Check, holds: bool, policy: str
) -> None:
    async with studio(tmp_path, settings={**SETTINGS, "execution.onFailure": policy}) as at:
        first = tool_step("write_file", {"path": "a.txt", "content": "a"})
        plan = await finished(at, await with_steps(at, first, node("check", checks=(check,)), WRITE))
        assert at.path("after.txt").exists() == holds
        if holds:
            assert plan.status == "completed"
        elif policy == "ask":
            (question,) = plan.pending.recoveries
            assert question.code == "check_failed" and "go_on" not in question.options
        else:
            assert plan.status == "failed"


@pytest.mark.parametrize(
    ("checks", "problem"),
    [
        ((), "needs something to check"),
        ((Check(kind="condition", text="length(platform, '')"),), "Column 1: length takes another number"),
        ((Check(kind="condition"),), "It is empty"),
    ],
)
async def test_a_check_that_checks_nothing_cannot_be_approved(
    tmp_path: Path, checks: tuple[Check, ...], problem: str
) -> None:
    async with studio(tmp_path) as at:
        with pytest.raises(InvalidPlan) as refused:
            await with_steps(at, node("check", checks=checks))
        assert problem in refused.value.details[0]["problem"]


async def test_nothing_behind_a_gate_runs_before_a_person_says_yes(tmp_path: Path) -> None:
    settings = {**SETTINGS, "execution.review": "auto"}
    async with studio(tmp_path, settings=settings) as at:
        plan = await with_steps(at, node("approval", question="Put it on the server?"), WRITE)
        plan = await at.approve(plan)
        (approval,) = plan.pending.approvals
        assert (approval.title, approval.goes_on, approval.files) == ("Put it on the server?", True, ())
        plan = await at.respond(plan, "deny", reason="after lunch")
        assert (plan.status, plan.pause_reason) == ("paused", "user")
        assert "after lunch" in (plan.pause_detail or "") and not at.path("after.txt").exists()
        await at.app.plans.resume(plan.plan_id)
        plan = await at.reach(plan, "attention")
        plan = await at.respond(plan)
        assert plan.status == "completed" and at.path("after.txt").exists()
        assert len(happened(at, ev.ApprovalRequested)) == 2


async def test_a_gate_asks_again_after_the_server_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite3"
    async with studio(tmp_path, settings=SETTINGS, ledger=Ledger(path)) as at:
        plan = await at.approve(await with_steps(at, node("approval"), WRITE))
        assert plan.pending.approvals[0].title == "A approval"
    async with studio(tmp_path, settings=SETTINGS, ledger=Ledger(path)) as again:
        await again.app.plans.resume(plan.plan_id)
        plan = await again.reach(plan, "attention")
        assert plan.pending.approvals and not again.path("after.txt").exists()
        plan = await again.respond(plan)
        assert plan.status == "completed" and again.path("after.txt").exists()
