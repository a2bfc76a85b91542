"""The events of single steps on the wire: tasks, tool calls, approvals, edits, checks, questions, recoveries."""

from __future__ import annotations

from typing import Literal

from planloom.lsp.wire.base import Bool, Int, Maybe, MaybeMany, Time, Wire
from planloom.lsp.wire.plan import Agent, Args, Check, Proposal, RecoveryAction, StepResult, Usage
from planloom.lsp.wire.review import Approval, Conflict, EditedFile


class OfPlan(Wire):
    seq: Int
    plan_id: str
    session_id: str
    at: Time


class OfTask(OfPlan):
    task_id: str


class OfEdit(OfPlan):
    task_id: Maybe[str] = None
    edit_id: str
    files: tuple[EditedFile, ...]


class TaskStarted(OfTask):
    type: Literal["task_started"] = "task_started"
    agent: Agent


class TaskUpdate(OfTask):
    type: Literal["task_update"] = "task_update"
    status: Literal["pending", "running", "completed"]
    progress: Maybe[Int] = None
    active_form: Maybe[str] = None
    attempt: Maybe[Int] = None


class TaskCompleted(OfTask):
    type: Literal["task_completed"] = "task_completed"
    result: StepResult
    usage: Maybe[Usage] = None


class TaskFailed(OfTask):
    type: Literal["task_failed"] = "task_failed"
    error: str
    code: Maybe[str] = None
    will_retry: Bool


class TaskSkipped(OfTask):
    type: Literal["task_skipped"] = "task_skipped"
    reason: Literal["user", "approval_denied", "dependency_failed", "condition", "policy"]


class ToolStarted(OfTask):
    type: Literal["tool_started"] = "tool_started"
    call_id: str
    tool: str
    args: Args


class ToolCompleted(OfTask):
    type: Literal["tool_completed"] = "tool_completed"
    call_id: str
    ok: Bool
    deduplicated: Bool
    summary: str
    duration_ms: Int


class ApprovalRequest(OfPlan):
    type: Literal["approval_request"] = "approval_request"
    approval: Approval


class ApprovalResolved(OfPlan):
    type: Literal["approval_resolved"] = "approval_resolved"
    approval_id: str
    decision: Literal["allow", "allowForPlan", "deny", "cancel", "superseded"]
    by: Literal["user", "policy", "server"]
    reason: Maybe[str] = None
    files: Maybe[tuple[str, ...]] = None


class EditStarted(OfEdit):
    type: Literal["edit_started"] = "edit_started"


class EditApplied(OfEdit):
    type: Literal["edit_applied"] = "edit_applied"
    merged: Bool
    outcome: Literal["verified", "normalized", "unverified"]


class EditRejected(OfEdit):
    type: Literal["edit_rejected"] = "edit_rejected"
    reason: str


class EditReverted(OfEdit):
    type: Literal["edit_reverted"] = "edit_reverted"


class EditConflict(OfTask):
    type: Literal["edit_conflict"] = "edit_conflict"
    conflict: Conflict


class ResolvedFile(Wire):
    """The text that a conflicted file got."""

    uri: str
    choice: Literal["mine", "theirs", "both", "text"]


class ConflictResolved(OfTask):
    type: Literal["conflict_resolved"] = "conflict_resolved"
    edit_id: str
    files: tuple[ResolvedFile, ...]
    by: Literal["user", "server"]


class CheckCompleted(OfTask):
    type: Literal["check_completed"] = "check_completed"
    check: Check


class ClarificationRequest(OfTask):
    type: Literal["clarification_request"] = "clarification_request"
    question: str
    options: MaybeMany[str] = None


class ClarificationProvided(OfTask):
    type: Literal["clarification_provided"] = "clarification_provided"
    answer: str


class RecoveryRequest(OfTask):
    type: Literal["recovery_request"] = "recovery_request"
    error: str
    code: Maybe[str] = None
    options: tuple[RecoveryAction, ...]
    proposal: Maybe[Proposal] = None


class RecoveryChosen(OfTask):
    type: Literal["recovery_chosen"] = "recovery_chosen"
    action: RecoveryAction
    args: Maybe[Args] = None
    version: Maybe[Int] = None
    by: Literal["user", "model", "policy"]


class Answer(OfTask):
    type: Literal["answer"] = "answer"
    text: str
    confidence: Maybe[Literal["high", "medium", "low"]] = None
