"""Requests by which the user decides for a step: answers, recoveries and approvals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.domain.values import ApprovalId, EditId, PlanId, StepId, Uri
from planloom.lsp.wire import from_wire, to_wire
from planloom.lsp.wire.base import Empty
from planloom.lsp.wire.methods import decisions as wire
from planloom.lsp.wire.plan import PlanResult
from planloom.lsp.wire.review import DiffResult

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection


async def answer(connection: Connection, params: wire.AnswerParams) -> PlanResult:
    """Answer the question of a step."""
    plan = await connection.app.steps.answer(PlanId(params.plan_id), StepId(params.step_id), params.answer)
    return PlanResult(plan=to_wire.plan(plan))


async def recover(connection: Connection, params: wire.RecoverParams) -> PlanResult:
    """Decide what to do about a failed step; `accept` follows the model's proposal."""
    plan = await connection.app.steps.recover(
        PlanId(params.plan_id), StepId(params.step_id), params.action, params.args
    )
    return PlanResult(plan=to_wire.plan(plan))


async def respond(connection: Connection, params: wire.RespondParams) -> Empty:
    """Answer an approval. `files` limits an allow to these files, `confinement` is chosen for a command.

    With `edits` an allow is for exactly these texts; where they are worse than the proposal, it is asked anew.
    `cancel` cancels the plan.
    """
    files = None if params.files is None else tuple(Uri(uri) for uri in params.files)
    await connection.app.approvals.respond(
        ApprovalId(params.approval_id),
        params.decision,
        params.reason,
        files,
        from_wire.confinement(params.confinement),
        [from_wire.proposal_edit(edit) for edit in params.edits or ()],
    )
    return Empty()


async def resolve_conflict(connection: Connection, params: wire.ResolveConflictParams) -> PlanResult:
    """Choose the text of each conflicted file; a file that is not listed keeps the user's text."""
    choices = tuple(from_wire.conflict_choice(file) for file in params.files)
    plan = await connection.app.approvals.resolve_conflict(
        PlanId(params.plan_id), EditId(params.edit_id), choices
    )
    return PlanResult(plan=to_wire.plan(plan))


async def conflict_texts(
    connection: Connection, params: wire.ConflictTextsParams
) -> wire.ConflictTextsResult:
    """The whole texts of a conflicted file, for an editor that merges them."""
    found = connection.app.approvals.conflict_texts(EditId(params.edit_id), Uri(params.uri))
    return wire.ConflictTextsResult.of(found)


async def preview(connection: Connection, params: wire.PreviewParams) -> wire.PreviewResult:
    """What a pending change of a text, or the user's edit of it, would make of the file as it is now."""
    edit = None if params.edit is None else from_wire.proposal_edit(params.edit)
    found = await connection.app.approvals.preview(ApprovalId(params.approval_id), Uri(params.uri), edit)
    return wire.PreviewResult.of(found)


async def diff(connection: Connection, params: wire.DiffParams) -> DiffResult:
    """The text of one file of a pending approval before and after the change; null if the file does not exist."""
    found = await connection.app.approvals.diff(ApprovalId(params.approval_id), Uri(params.uri))
    return DiffResult.of(found)
