"""Commits what one step has staged, whether by a literal call or by a model's calls."""

from __future__ import annotations

from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Step
from planloom.domain.values import PlanId
from planloom.execution.effects.gate import grant_of
from planloom.execution.effects.proposals import ChangeProposal, CommitResult, Committed, Denied
from planloom.execution.effects.staging_area import StagingArea
from planloom.execution.plan_store import PlanStore
from planloom.tools.context import ToolContext


async def commit_step(
    plan_store: PlanStore, staging: StagingArea, plan_id: PlanId, step: Step, context: ToolContext
) -> CommitResult:
    """Commit the context's staged changes: they are asked for and made, or staged for the end of the plan.

    The outcome for every call is recorded when this returns. Raises UntrustedWorkspace.
    """
    plan = plan_store.plan(plan_id)
    proposal = ChangeProposal(
        plan_id=plan_id,
        step_id=step.step_id,
        number=(plan.index_of(step.step_id) or 0) + 1,
        title=step.description,
        tool=step.tool if step.kind == "tool_call" else None,
        changeset=context.files.changeset(),
        blind=frozenset(context.blind),
        doubtful=frozenset(context.doubtful),
    )
    verdict = await staging.commit(proposal, grant_of(plan), context.files)
    if not (isinstance(verdict, Denied) and verdict.cancelled):
        _record(plan_store, plan_id, step, verdict)
    return verdict


def _record(plan_store: PlanStore, plan_id: PlanId, step: Step, verdict: CommitResult) -> None:
    """Record the outcome of the changes of which no edit event has recorded one."""
    now = plan_store.plan(plan_id).step(step.step_id)
    if now is None or not any("held" in call.fates for call in now.tools_executed):
        return
    update = ev.TaskUpdate(
        task_id=step.step_id,
        status="running",
        held="made"
        if isinstance(verdict, Committed)
        else "denied"
        if isinstance(verdict, Denied)
        else "refused",
        reason=None if isinstance(verdict, Committed) else verdict.reason,
    )
    plan_store.record(plan_id, update)
