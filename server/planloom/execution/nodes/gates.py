"""Asks a person at an approval gate whether the plan goes on."""

from __future__ import annotations

import uuid

from planloom.domain.changes import sha256
from planloom.domain.safety.approvals import Approval
from planloom.domain.values import ApprovalId
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.proposals import Denied
from planloom.execution.step_outcomes import Done, Interrupted, Outcome, Rerouted
from planloom.execution.step_run import StepRun


async def ask_at_gate(run: StepRun, gate: Gate) -> Outcome:
    """Ask whether the plan goes on. A no pauses the plan before the gate, and a resume asks again."""
    step = run.step
    approval = Approval(
        approval_id=ApprovalId(uuid.uuid4().hex),
        plan_id=run.plan_id,
        step_id=step.step_id,
        proposal=sha256(step.asks),
        effect="read",
        title=step.asks,
        goes_on=True,
    )
    verdict = await gate.permit_going_on(approval)
    if not isinstance(verdict, Denied):
        return Done(summary="Allowed to go on")
    if verdict.cancelled:
        return Rerouted()
    return Interrupted(reason="user", detail=f"Not allowed to go on: {verdict.reason}")
