"""A small real model through a whole plan: states and safety are asserted, not wisdom."""

from __future__ import annotations

from pathlib import Path

import pytest

from planloom.domain.plans.plan import ENDED
from planloom.models.selection.select import choose_model
from planloom.settings import resolve
from tests.support.real_model import MISSING, model_file, real_model
from tests.support.studio import studio

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.mark.skipif(model_file() is None, reason=MISSING)
@pytest.mark.parametrize(
    "request_text",
    [
        "Create a folder called notes and add a file notes/todo.md with a title",
        "Write a README and list all files",
    ],
)
async def test_a_weak_model_ends_in_a_state_and_changes_nothing_unasked(
    tmp_path: Path, request_text: str
) -> None:
    before = {"keep.txt": "precious\n"}
    with real_model() as address:
        values = {
            "model.baseUrl": f"{address}/v1",
            "model.provider": "openai",
            "model.name": "smollm2",
            "model.temperature": 0.0,
            "execution.onFailure": "skip",
            "execution.maxToolCallsPerStep": 3,
            "budget.maxRequests": 8,
        }
        model = (await choose_model(resolve({"user": values}).settings, {})).model
        assert model is not None
        async with studio(tmp_path, before, model=model, settings=values, patience=500) as at:
            plan = await at.ask(request_text, mode="plan")
            assert plan.status in ("pending_approval", "failed")
            assert plan.usage.requests, plan.error
            assert at.editor.received == []
            if plan.status == "pending_approval":
                plan = await at.approve(plan)
                while plan.pending.approvals:
                    approval = plan.pending.approvals[0]
                    dangerous = approval.effect != "write" or approval.protected
                    plan = await at.respond(plan, "deny" if dangerous else "allow")
                assert plan.status in ENDED or plan.status == "paused"
            assert at.text("keep.txt") == "precious\n"
        await model.close()
