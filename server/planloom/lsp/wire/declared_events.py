"""The messages of events that differ from the event: they leave fields out, or carry values of the plan.

The message of every other event is derived from the event itself; see `events`.
"""

from typing import Literal

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from planloom.domain.events.catalog import WRITTEN_AS
from planloom.lsp.wire.base import Bool, Int, Maybe, Time, Wire
from planloom.lsp.wire.edits import StepEdit
from planloom.lsp.wire.plan import (
    Agent,
    Args,
    Detection,
    Plan,
    PlanError,
    Progress,
    Proposal,
    Qualification,
    RecoveryAction,
    Route,
    Step,
    Usage,
)
from planloom.lsp.wire.report import Report
from planloom.lsp.wire.review import Attachment, EditedFile, Unresolved


class OfPlan(Wire):
    model_config = ConfigDict(alias_generator=lambda name: to_camel(WRITTEN_AS.get(name, name)))

    seq: Int
    plan_id: str
    session_id: str
    at: Time


class OfStep(OfPlan):
    step_id: str


class OfEdit(OfPlan):
    step_id: Maybe[str] = None
    edit_id: str
    files: tuple[EditedFile, ...]


class PlanStart(OfPlan):
    type: Literal["plan_start"] = "plan_start"
    request: str
    route: Route
    detection: Detection
    qualification: Maybe[Qualification] = None
    attachments: tuple[Attachment, ...]
    unresolved: tuple[Unresolved, ...]
    workspace_folders: tuple[str, ...]
    follows: Maybe[str] = None
    template_id: Maybe[str] = None


class PlanDirect(OfPlan):
    type: Literal["plan_direct"] = "plan_direct"
    plan: Plan


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


class StepStarted(OfStep):
    type: Literal["task_started"] = "task_started"
    agent: Agent
    active_form: Maybe[str] = None
    attempt: Maybe[Int] = None


class StepUpdate(OfStep):
    type: Literal["task_update"] = "task_update"
    status: Literal["pending", "running", "completed"]
    progress: Maybe[Int] = None
    active_form: Maybe[str] = None
    attempt: Maybe[Int] = None
    usage: Maybe[Usage] = None
    covered_by: Maybe[Int] = None


class StepFailed(OfStep):
    type: Literal["task_failed"] = "task_failed"
    error: str
    code: Maybe[str] = None
    will_retry: Bool
    duration_ms: Maybe[Int] = None


class ToolStarted(OfStep):
    type: Literal["tool_started"] = "tool_started"
    call_id: str
    tool: str
    args: Args


class ToolCompleted(OfStep):
    type: Literal["tool_completed"] = "tool_completed"
    call_id: str
    ok: Bool
    deduplicated: Bool
    summary: str
    duration_ms: Int


class EditStarted(OfEdit):
    type: Literal["edit_started"] = "edit_started"
    covered_by: Maybe[Int] = None


class EditRejected(OfEdit):
    type: Literal["edit_rejected"] = "edit_rejected"
    reason: str


class ResolvedFile(Wire):
    """The text that a conflicted file got."""

    uri: str
    choice: Literal["mine", "theirs", "both", "text"]


class ConflictResolved(OfStep):
    type: Literal["conflict_resolved"] = "conflict_resolved"
    edit_id: str
    files: tuple[ResolvedFile, ...]
    by: Literal["user", "server"]


class RecoveryRequest(OfStep):
    type: Literal["recovery_request"] = "recovery_request"
    error: str
    code: Maybe[str] = None
    options: tuple[RecoveryAction, ...]
    proposal: Maybe[Proposal] = None


class ContextCompacted(OfPlan):
    type: Literal["context_compacted"] = "context_compacted"
    before_tokens: Int
    after_tokens: Int
    by: Literal["model", "rules"]


class StepsUnrolled(OfStep):
    """`tasks` is the whole list of steps afterwards."""

    type: Literal["steps_unrolled"] = "steps_unrolled"
    tasks: tuple[Step, ...]


class StepsList(OfPlan):
    type: Literal["tasks_list"] = "tasks_list"
    tasks: tuple[Step, ...]


class Answer(OfStep):
    # Derived, `confidence` would be shown as a Risk: Python's typing does not tell apart words in another order.
    type: Literal["answer"] = "answer"
    text: str
    confidence: Maybe[Literal["high", "medium", "low"]] = None


class _Ended(OfPlan):
    summary: str
    report: Maybe[Report] = None
    progress: Progress
    usage: Usage


class PlanCompleted(_Ended):
    type: Literal["plan_completed"] = "plan_completed"


class PlanFailed(_Ended):
    type: Literal["plan_failed"] = "plan_failed"
    error: PlanError


class PlanCancelled(_Ended):
    type: Literal["plan_cancelled"] = "plan_cancelled"
