"""Requests on single steps: answers to their questions, and what to do about those that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.domain.values import PlanId, StepId
from planloom.lsp.wire import params as wire_params
from planloom.lsp.wire import results as wire_results
from planloom.lsp.wire import to_wire

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection


async def answer(connection: Connection, params: wire_params.AnswerParams) -> wire_results.PlanResult:
    """Answer the question of a step."""
    plan = await connection.app.steps.answer(PlanId(params.plan_id), StepId(params.step_id), params.answer)
    return wire_results.PlanResult(plan=to_wire.plan(plan))


async def recover(connection: Connection, params: wire_params.RecoverParams) -> wire_results.PlanResult:
    """Decide about a failed step; `accept` takes what the model proposes."""
    plan = await connection.app.steps.recover(
        PlanId(params.plan_id), StepId(params.step_id), params.action, params.args
    )
    return wire_results.PlanResult(plan=to_wire.plan(plan))
