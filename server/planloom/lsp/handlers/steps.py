"""Requests on single steps: answers to their questions, and what to do about those that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.domain.values import PlanId, StepId
from planloom.lsp import to_wire
from planloom.lsp import wire_params as take
from planloom.lsp import wire_results as give

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection


async def answer(at: Connection, params: take.AnswerParams) -> give.PlanResult:
    """Answer the question of a step."""
    plan = await at.app.steps.answer(PlanId(params.plan_id), StepId(params.step_id), params.answer)
    return give.PlanResult(plan=to_wire.plan(plan))


async def recover(at: Connection, params: take.RecoverParams) -> give.PlanResult:
    """Decide about a failed step; `accept` takes what the model proposes."""
    plan = await at.app.steps.recover(
        PlanId(params.plan_id), StepId(params.step_id), params.action, params.args
    )
    return give.PlanResult(plan=to_wire.plan(plan))
