"""Commits what one step has staged, whether by a literal call or by a model's calls."""

from __future__ import annotations

from planloom.execution.effects.gate import grant_of
from planloom.execution.effects.proposals import ChangeProposal, CommitResult, Committed, Denied
from planloom.execution.effects.staging_area import StagingArea
from planloom.execution.step_run import StepRun
from planloom.tools.context import ToolContext
from planloom.workspace.moves import with_later_names


async def commit_step(run: StepRun, staging: StagingArea, context: ToolContext) -> CommitResult:
    """Commit the context's staged changes: they are asked for and made, or staged for the end of the plan.

    The outcome for every call is recorded when this returns. Raises UntrustedWorkspace.
    """
    plan, step, moves = run.plan, run.step, context.files.view.moves
    proposal = ChangeProposal(
        plan_id=run.plan_id,
        step_id=step.step_id,
        number=(plan.index_of(step.step_id) or 0) + 1,
        title=step.title,
        tool=step.tool if step.kind == "tool_call" else None,
        changeset=context.files.changeset(),
        replaced_unread=with_later_names(moves, context.replaced_unread),
        incomplete=with_later_names(moves, context.incomplete),
    )
    verdict = await staging.commit(proposal, grant_of(plan), context.files)
    if not (isinstance(verdict, Denied) and verdict.cancelled):
        _record(run, verdict)
    return verdict


def _record(run: StepRun, verdict: CommitResult) -> None:
    """Record the outcome of the changes of which no edit event has recorded one."""
    if not any("held" in call.fates for call in run.now.tools_executed):
        return
    run.update(
        held="made"
        if isinstance(verdict, Committed)
        else "denied"
        if isinstance(verdict, Denied)
        else "refused",
        reason=None if isinstance(verdict, Committed) else verdict.reason,
    )
