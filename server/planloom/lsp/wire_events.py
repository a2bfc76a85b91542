"""Every event as it stands on the wire (PROTOCOL.md section 4): its place in the plan's history, and its payload."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from planloom.lsp.wire_base import Bool, Int, Maybe, Time, Wire
from planloom.lsp.wire_edits import StepEdit
from planloom.lsp.wire_plan import (
    Agent,
    Args,
    Check,
    Detection,
    Plan,
    PlanError,
    Progress,
    Proposal,
    Qualification,
    RecoveryAction,
    Review,
    Route,
    Step,
    StepResult,
    Usage,
)
from planloom.lsp.wire_review import (
    Approval,
    Attachment,
    ChapoPerspective,
    Conflict,
    DevoPerspective,
    EditedFile,
    KodaPerspective,
    Unresolved,
)

AnyPerspective = Annotated[ChapoPerspective | KodaPerspective | DevoPerspective, Field(discriminator="agent")]


class _Event(Wire):
    seq: Int
    plan_id: str
    session_id: str
    at: Time


class _OfTask(_Event):
    task_id: str


class _OfEdit(_Event):
    task_id: Maybe[str] = None
    edit_id: str
    files: tuple[EditedFile, ...]


class PlanStart(_Event):
    type: Literal["plan_start"] = "plan_start"
    request: str
    route: Route
    detection: Detection
    qualification: Maybe[Qualification] = None
    attachments: tuple[Attachment, ...]
    unresolved: tuple[Unresolved, ...]
    workspace_folders: tuple[str, ...]
    template_id: Maybe[str] = None


class PlanRouted(_Event):
    type: Literal["plan_routed"] = "plan_routed"
    detection: Detection
    qualification: Maybe[Qualification] = None
    route: Route


class PlanDrafting(_Event):
    type: Literal["plan_drafting"] = "plan_drafting"
    version: Int
    feedback: Maybe[str] = None


class PlanDirect(_Event):
    type: Literal["plan_direct"] = "plan_direct"
    plan: Plan


class PerspectiveStart(_Event):
    type: Literal["perspective_start"] = "perspective_start"
    agent: Agent


class PerspectiveComplete(_Event):
    type: Literal["perspective_complete"] = "perspective_complete"
    agent: Agent
    perspective: Maybe[AnyPerspective] = None
    error: Maybe[str] = None


class TaskCreated(_Event):
    type: Literal["task_created"] = "task_created"
    task: Step


class PlanReady(_Event):
    type: Literal["plan_ready"] = "plan_ready"
    plan: Plan


class PlanApprovalRequest(_Event):
    type: Literal["plan_approval_request"] = "plan_approval_request"
    plan: Plan


class PlanEdited(_Event):
    type: Literal["plan_edited"] = "plan_edited"
    version: Int
    edits: tuple[StepEdit, ...]
    plan: Plan
    by: Literal["user", "model"]


class PlanApproved(_Event):
    type: Literal["plan_approved"] = "plan_approved"
    version: Int
    review: Review


class PlanRejected(_Event):
    type: Literal["plan_rejected"] = "plan_rejected"
    reason: Maybe[str] = None


class PlanExecuting(_Event):
    type: Literal["plan_executing"] = "plan_executing"


class TaskStarted(_OfTask):
    type: Literal["task_started"] = "task_started"
    agent: Agent


class TaskUpdate(_OfTask):
    type: Literal["task_update"] = "task_update"
    status: Literal["pending", "running", "completed"]
    progress: Maybe[Int] = None
    active_form: Maybe[str] = None
    attempt: Maybe[Int] = None


class TaskCompleted(_OfTask):
    type: Literal["task_completed"] = "task_completed"
    result: StepResult
    usage: Maybe[Usage] = None


class TaskFailed(_OfTask):
    type: Literal["task_failed"] = "task_failed"
    error: str
    code: Maybe[str] = None
    will_retry: Bool


class TaskSkipped(_OfTask):
    type: Literal["task_skipped"] = "task_skipped"
    reason: Literal["user", "approval_denied", "dependency_failed", "condition"]


class ToolStarted(_OfTask):
    type: Literal["tool_started"] = "tool_started"
    call_id: str
    tool: str
    args: Args


class ToolCompleted(_OfTask):
    type: Literal["tool_completed"] = "tool_completed"
    call_id: str
    ok: Bool
    deduplicated: Bool
    summary: str
    duration_ms: Int


class ApprovalRequest(_Event):
    type: Literal["approval_request"] = "approval_request"
    approval: Approval


class ApprovalResolved(_Event):
    type: Literal["approval_resolved"] = "approval_resolved"
    approval_id: str
    decision: Literal["allow", "allowForPlan", "deny", "cancel", "superseded"]
    by: Literal["user", "policy", "server"]
    reason: Maybe[str] = None
    files: Maybe[tuple[str, ...]] = None


class EditStarted(_OfEdit):
    type: Literal["edit_started"] = "edit_started"


class EditApplied(_OfEdit):
    type: Literal["edit_applied"] = "edit_applied"
    merged: Bool
    outcome: Literal["verified", "normalized", "unverified"]


class EditRejected(_OfEdit):
    type: Literal["edit_rejected"] = "edit_rejected"
    reason: str


class EditReverted(_OfEdit):
    type: Literal["edit_reverted"] = "edit_reverted"


class EditConflict(_OfTask):
    type: Literal["edit_conflict"] = "edit_conflict"
    conflict: Conflict


class ResolvedFile(Wire):
    """Which text a conflicted file got."""

    uri: str
    choice: Literal["mine", "theirs", "text"]


class ConflictResolved(_OfTask):
    type: Literal["conflict_resolved"] = "conflict_resolved"
    edit_id: str
    files: tuple[ResolvedFile, ...]
    by: Literal["user", "server"]


class CheckCompleted(_OfTask):
    type: Literal["check_completed"] = "check_completed"
    check: Check


class ClarificationRequest(_OfTask):
    type: Literal["clarification_request"] = "clarification_request"
    question: str
    options: Maybe[tuple[str, ...]] = None


class ClarificationProvided(_OfTask):
    type: Literal["clarification_provided"] = "clarification_provided"
    answer: str


class RecoveryRequest(_OfTask):
    type: Literal["recovery_request"] = "recovery_request"
    error: str
    code: Maybe[str] = None
    options: tuple[RecoveryAction, ...]
    proposal: Maybe[Proposal] = None


class RecoveryChosen(_OfTask):
    type: Literal["recovery_chosen"] = "recovery_chosen"
    action: RecoveryAction
    args: Maybe[Args] = None
    version: Maybe[Int] = None
    by: Literal["user", "model", "policy"]


class ContextCompacted(_Event):
    type: Literal["context_compacted"] = "context_compacted"
    before_tokens: Int
    after_tokens: Int
    by: Literal["model", "rules"]


class TasksList(_Event):
    type: Literal["tasks_list"] = "tasks_list"
    tasks: tuple[Step, ...]


class PlanPaused(_Event):
    type: Literal["plan_paused"] = "plan_paused"
    reason: Literal[
        "user",
        "clarification",
        "recovery",
        "conflict",
        "budget",
        "model_unavailable",
        "unsaved_files",
        "restart",
    ]
    detail: Maybe[str] = None


class PlanResumed(_Event):
    type: Literal["plan_resumed"] = "plan_resumed"


class Answer(_OfTask):
    type: Literal["answer"] = "answer"
    text: str
    confidence: Maybe[Literal["high", "medium", "low"]] = None


class _Ended(_Event):
    summary: str
    progress: Progress
    usage: Usage


class PlanCompleted(_Ended):
    type: Literal["plan_completed"] = "plan_completed"


class PlanFailed(_Ended):
    type: Literal["plan_failed"] = "plan_failed"
    error: PlanError


class PlanCancelled(_Ended):
    type: Literal["plan_cancelled"] = "plan_cancelled"


class Log(_Event):
    type: Literal["log"] = "log"
    level: Literal["debug", "info", "warning", "error"]
    message: str
    task_id: Maybe[str] = None


Event = Annotated[
    PlanStart
    | PlanRouted
    | PlanDrafting
    | PlanDirect
    | PerspectiveStart
    | PerspectiveComplete
    | TaskCreated
    | PlanReady
    | PlanApprovalRequest
    | PlanEdited
    | PlanApproved
    | PlanRejected
    | PlanExecuting
    | TaskStarted
    | TaskUpdate
    | TaskCompleted
    | TaskFailed
    | TaskSkipped
    | ToolStarted
    | ToolCompleted
    | ApprovalRequest
    | ApprovalResolved
    | EditStarted
    | EditApplied
    | EditRejected
    | EditReverted
    | EditConflict
    | ConflictResolved
    | CheckCompleted
    | ClarificationRequest
    | ClarificationProvided
    | RecoveryRequest
    | RecoveryChosen
    | ContextCompacted
    | TasksList
    | PlanPaused
    | PlanResumed
    | Answer
    | PlanCompleted
    | PlanFailed
    | PlanCancelled
    | Log,
    Field(discriminator="type"),
]
events: TypeAdapter[Event] = TypeAdapter(Event)
"""Reads any event of the wire."""
