"""Every event of a plan on the wire, and the union of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from planloom.lsp.wire.base import Int, Maybe
from planloom.lsp.wire.edits import StepEdit
from planloom.lsp.wire.plan import (
    Agent,
    Detection,
    Plan,
    PlanError,
    Progress,
    Qualification,
    Review,
    Route,
    Step,
    Usage,
)
from planloom.lsp.wire.review import (
    Attachment,
    ChapoPerspective,
    DevoPerspective,
    KodaPerspective,
    Unresolved,
)
from planloom.lsp.wire.task_events import (
    Answer,
    ApprovalRequest,
    ApprovalResolved,
    CheckCompleted,
    ClarificationProvided,
    ClarificationRequest,
    ConflictResolved,
    EditApplied,
    EditConflict,
    EditRejected,
    EditReverted,
    EditStarted,
    OfPlan,
    RecoveryChosen,
    RecoveryRequest,
    TaskCompleted,
    TaskFailed,
    TaskSkipped,
    TaskStarted,
    TaskUpdate,
    ToolCompleted,
    ToolStarted,
)

AnyPerspective = Annotated[ChapoPerspective | KodaPerspective | DevoPerspective, Field(discriminator="agent")]


class PlanStart(OfPlan):
    type: Literal["plan_start"] = "plan_start"
    request: str
    route: Route
    detection: Detection
    qualification: Maybe[Qualification] = None
    attachments: tuple[Attachment, ...]
    unresolved: tuple[Unresolved, ...]
    workspace_folders: tuple[str, ...]
    template_id: Maybe[str] = None


class PlanRouted(OfPlan):
    type: Literal["plan_routed"] = "plan_routed"
    detection: Detection
    qualification: Maybe[Qualification] = None
    route: Route


class PlanDrafting(OfPlan):
    type: Literal["plan_drafting"] = "plan_drafting"
    version: Int
    feedback: Maybe[str] = None


class PlanDirect(OfPlan):
    type: Literal["plan_direct"] = "plan_direct"
    plan: Plan


class PerspectiveStart(OfPlan):
    type: Literal["perspective_start"] = "perspective_start"
    agent: Agent


class PerspectiveComplete(OfPlan):
    type: Literal["perspective_complete"] = "perspective_complete"
    agent: Agent
    perspective: Maybe[AnyPerspective] = None
    error: Maybe[str] = None


class TaskCreated(OfPlan):
    type: Literal["task_created"] = "task_created"
    task: Step


class PlanReady(OfPlan):
    type: Literal["plan_ready"] = "plan_ready"
    plan: Plan


class PlanApprovalRequest(OfPlan):
    type: Literal["plan_approval_request"] = "plan_approval_request"
    plan: Plan


class PlanEdited(OfPlan):
    type: Literal["plan_edited"] = "plan_edited"
    version: Int
    edits: tuple[StepEdit, ...]
    plan: Plan
    by: Literal["user", "model"]


class PlanApproved(OfPlan):
    type: Literal["plan_approved"] = "plan_approved"
    version: Int
    review: Review


class PlanRejected(OfPlan):
    type: Literal["plan_rejected"] = "plan_rejected"
    reason: Maybe[str] = None


class PlanExecuting(OfPlan):
    type: Literal["plan_executing"] = "plan_executing"


class ContextCompacted(OfPlan):
    type: Literal["context_compacted"] = "context_compacted"
    before_tokens: Int
    after_tokens: Int
    by: Literal["model", "rules"]


class TasksList(OfPlan):
    type: Literal["tasks_list"] = "tasks_list"
    tasks: tuple[Step, ...]


class PlanPaused(OfPlan):
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
        "error",
        "storage",
    ]
    detail: Maybe[str] = None


class PlanResumed(OfPlan):
    type: Literal["plan_resumed"] = "plan_resumed"


class _Ended(OfPlan):
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


class Log(OfPlan):
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
"""Parses any event of the wire."""
