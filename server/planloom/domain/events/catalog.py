"""Everything that can happen to a plan: one closed union, from ledger to screen."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from planloom.domain.changes import Conflict, EditedFile, EditOutcome
from planloom.domain.plans.attachments import Attachment, Unresolved
from planloom.domain.plans.editing import StepEdit
from planloom.domain.plans.perspectives import Agent, Perspective
from planloom.domain.plans.plan import (
    Author,
    Check,
    CommandEnd,
    Detection,
    PauseReason,
    Plan,
    PlanError,
    Qualification,
    RecoveryAction,
    RecoveryProposal,
    Review,
    Risk,
    Route,
    SkipReason,
    Step,
    StepResult,
    Usage,
)
from planloom.domain.safety.approvals import Approval, Decision, Effect
from planloom.domain.values import (
    ApprovalId,
    Args,
    CallId,
    EditId,
    Instant,
    PlanId,
    SessionId,
    Sha256,
    StepId,
    TemplateId,
    Uri,
    Value,
)


class PlanStart(Value):
    """A request was taken."""

    type: Literal["plan_start"] = "plan_start"
    request: str
    route: Route
    detection: Detection
    qualification: Qualification | None = None
    attachments: tuple[Attachment, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()
    workspace_folders: tuple[Uri, ...] = ()
    template_id: TemplateId | None = None
    template_parameters: dict[str, str] = Field(default_factory=dict)


class PlanRouted(Value):
    """A model refined the first verdict of the rules."""

    type: Literal["plan_routed"] = "plan_routed"
    detection: Detection
    qualification: Qualification | None = None
    route: Route


class PlanDrafting(Value):
    """An author has begun to write steps. `feedback` is what a person wants changed."""

    type: Literal["plan_drafting"] = "plan_drafting"
    version: int
    feedback: str | None = None


class PlanDirect(Value):
    """The request runs as it is: the request itself is the approval of these steps.

    `review` is how its changes are reviewed; an older ledger does not say.
    """

    type: Literal["plan_direct"] = "plan_direct"
    steps: tuple[Step, ...]
    sequential: bool
    author: Author
    review: Review | None = None


class PerspectiveStart(Value):
    """One agent has begun to look at the request."""

    type: Literal["perspective_start"] = "perspective_start"
    agent: Agent


class PerspectiveComplete(Value):
    """One agent has said what it thinks, or failed to."""

    type: Literal["perspective_complete"] = "perspective_complete"
    agent: Agent
    perspective: Perspective | None = None
    error: str | None = None


class TaskCreated(Value):
    """A step was read from what the author is still writing."""

    type: Literal["task_created"] = "task_created"
    task: Step


class PlanReady(Value):
    """The draft is whole and waits for review. `restored` tells that an older version was put back."""

    type: Literal["plan_ready"] = "plan_ready"
    version: int
    steps: tuple[Step, ...]
    summary: str
    sequential: bool
    author: Author
    estimated_duration: int | None = None
    overall_risk: Risk = "low"
    usage: Usage = Usage()
    restored: bool = False


class PlanApprovalRequest(Value):
    """A person is asked to approve the version at hand."""

    type: Literal["plan_approval_request"] = "plan_approval_request"


class PlanEdited(Value):
    """The steps were changed by a person, or by a proposal of the model that a person took."""

    type: Literal["plan_edited"] = "plan_edited"
    version: int
    edits: tuple[StepEdit, ...]
    steps: tuple[Step, ...]
    overall_risk: Risk | None = None
    by: Literal["user", "model"] = "user"


class PlanApproved(Value):
    """A person approved exactly this version."""

    type: Literal["plan_approved"] = "plan_approved"
    version: int
    review: Review


class PlanRejected(Value):
    """A person does not want this plan."""

    type: Literal["plan_rejected"] = "plan_rejected"
    reason: str | None = None


class PlanExecuting(Value):
    """Steps may run now."""

    type: Literal["plan_executing"] = "plan_executing"


class TaskStarted(Value):
    """A step runs."""

    type: Literal["task_started"] = "task_started"
    task_id: StepId
    agent: Agent


class TaskUpdate(Value):
    """A running step says how far it is, or goes back to pending. `usage` is what came since the last one.

    A step whose changes were only staged is `completed` for good once they are made, or pending if they are lost.
    `held` is what became of the changes that the running step held, of those to `files` alone if any are named;
    staged changes replace those to the files of `replaces`. `command_started` tells that the command which the
    step was allowed to run starts now.
    """

    type: Literal["task_update"] = "task_update"
    task_id: StepId
    status: Literal["pending", "running", "completed"]
    progress: int | None = None
    active_form: str | None = None
    attempt: int | None = None
    usage: Usage | None = None
    held: Literal["staged", "made", "denied", "refused"] | None = None
    files: tuple[Uri, ...] = ()
    replaces: tuple[Uri, ...] = ()
    reason: str | None = None
    command_started: bool = False


class TaskCompleted(Value):
    """A step is done. In an older ledger `staged` tells that its changes wait for the approval of the whole plan."""

    type: Literal["task_completed"] = "task_completed"
    task_id: StepId
    result: StepResult
    staged: bool = False
    usage: Usage | None = None


class TaskFailed(Value):
    """A step failed; `will_retry` tells that it is tried again by itself."""

    type: Literal["task_failed"] = "task_failed"
    task_id: StepId
    error: str
    code: str | None = None
    will_retry: bool = False
    duration_ms: int = 0
    usage: Usage | None = None


class TaskSkipped(Value):
    """A step will not run."""

    type: Literal["task_skipped"] = "task_skipped"
    task_id: StepId
    reason: SkipReason


class ToolStarted(Value):
    """A tool call of a step has begun. An older ledger does not say its `effect`."""

    type: Literal["tool_started"] = "tool_started"
    task_id: StepId
    call_id: CallId
    tool: str
    args: Args
    effect: Effect | None = None


class ToolCompleted(Value):
    """A tool call has settled. The step holds its changes to `changes` now, in place of those to `replaces`;
    the files of `same` were so already. `command` tells what became of a command.
    """

    type: Literal["tool_completed"] = "tool_completed"
    task_id: StepId
    call_id: CallId
    ok: bool
    deduplicated: bool = False
    summary: str
    duration_ms: int
    changes: tuple[Uri, ...] = ()
    replaces: tuple[Uri, ...] = ()
    same: tuple[Uri, ...] = ()
    command: CommandEnd | None = None


class ApprovalRequested(Value):
    """A person is asked for permission."""

    type: Literal["approval_request"] = "approval_request"
    approval: Approval


class ApprovalResolved(Value):
    """Permission was given or refused. `files` are those that an allow covers, all if None."""

    type: Literal["approval_resolved"] = "approval_resolved"
    approval_id: ApprovalId
    decision: Decision
    by: Literal["user", "policy", "server"]
    reason: str | None = None
    files: tuple[Uri, ...] | None = None


class EditStarted(Value):
    """The intent to change files; durable before the editor hears of it. `reverts` are edits it takes back,
    `partly` those of them of which something stays, `settles` the steps whose staged changes it makes.
    """

    type: Literal["edit_started"] = "edit_started"
    task_id: StepId | None
    edit_id: EditId
    files: tuple[EditedFile, ...]
    reverts: tuple[EditId, ...] = ()
    partly: tuple[EditId, ...] = ()
    settles: tuple[StepId, ...] = ()


class EditApplied(Value):
    """The files hold what was intended, or the merge of it with what the user wrote meanwhile."""

    type: Literal["edit_applied"] = "edit_applied"
    task_id: StepId | None
    edit_id: EditId
    files: tuple[EditedFile, ...]
    merged: bool
    outcome: EditOutcome


class EditRejected(Value):
    """The editor or the disk would not take the change. Of the files of `doubtful` that cannot be told: they
    hold neither the old text nor the new one.
    """

    type: Literal["edit_rejected"] = "edit_rejected"
    task_id: StepId | None
    edit_id: EditId
    files: tuple[EditedFile, ...]
    reason: str
    doubtful: tuple[Uri, ...] = ()


class EditReverted(Value):
    """An applied edit was taken back."""

    type: Literal["edit_reverted"] = "edit_reverted"
    task_id: StepId | None
    edit_id: EditId
    files: tuple[EditedFile, ...]


class EditConflict(Value):
    """The user and the step changed the same lines."""

    type: Literal["edit_conflict"] = "edit_conflict"
    task_id: StepId
    conflict: Conflict


class ConflictChoice(Value):
    """Which text one conflicted file gets; `sha256` is that of the text which the person saw, if the client says so."""

    uri: Uri
    choice: Literal["mine", "theirs", "both", "text"]
    text: str | None = None
    sha256: Sha256 | None = None


class ConflictResolved(Value):
    """A person said which text stands."""

    type: Literal["conflict_resolved"] = "conflict_resolved"
    task_id: StepId
    edit_id: EditId
    files: tuple[ConflictChoice, ...]
    by: Literal["user", "server"] = "user"


class CheckCompleted(Value):
    """A check of a step came out."""

    type: Literal["check_completed"] = "check_completed"
    task_id: StepId
    check: Check


class ClarificationRequest(Value):
    """A step cannot go on without an answer."""

    type: Literal["clarification_request"] = "clarification_request"
    task_id: StepId
    question: str
    options: tuple[str, ...] = ()


class ClarificationProvided(Value):
    """The answer."""

    type: Literal["clarification_provided"] = "clarification_provided"
    task_id: StepId
    answer: str


class RecoveryRequest(Value):
    """A failed step waits for a decision. `usage` is what the proposal cost."""

    type: Literal["recovery_request"] = "recovery_request"
    task_id: StepId
    error: str
    code: str | None = None
    options: tuple[RecoveryAction, ...]
    proposal: RecoveryProposal | None = None
    usage: Usage | None = None


class RecoveryChosen(Value):
    """The decision on a failed step. Arguments that the user gives raise the version to `version`."""

    type: Literal["recovery_chosen"] = "recovery_chosen"
    task_id: StepId
    action: RecoveryAction
    args: Args | None = None
    version: int | None = None
    by: Literal["user", "model", "policy"] = "user"


class ContextCompacted(Value):
    """Older results were merged into the rolling summary. `steps` are told by it alone from then on."""

    type: Literal["context_compacted"] = "context_compacted"
    before_tokens: int
    after_tokens: int
    by: Literal["model", "rules"]
    summary: str
    steps: tuple[StepId, ...] = ()


class TasksList(Value):
    """The list of steps changed as a whole; the wire carries it. `staged` is what became of all that the steps of
    `settled` had staged, where that changes no status.
    """

    type: Literal["tasks_list"] = "tasks_list"
    settled: tuple[StepId, ...] = ()
    staged: Literal["made", "denied", "lost"] = "lost"


class PlanPaused(Value):
    """Nothing new starts."""

    type: Literal["plan_paused"] = "plan_paused"
    reason: PauseReason
    detail: str | None = None


class PlanResumed(Value):
    """Steps may run again."""

    type: Literal["plan_resumed"] = "plan_resumed"


class Answer(Value):
    """The whole answer of a direct request."""

    type: Literal["answer"] = "answer"
    task_id: StepId
    text: str
    confidence: Literal["high", "medium", "low"] | None = None


class PlanCompleted(Value):
    """The plan ended well."""

    type: Literal["plan_completed"] = "plan_completed"
    summary: str


class PlanFailed(Value):
    """The plan ended without reaching its goal. `usage` is what a draft cost that came to nothing."""

    type: Literal["plan_failed"] = "plan_failed"
    summary: str
    error: PlanError
    usage: Usage = Usage()


class PlanCancelled(Value):
    """A person ended the plan."""

    type: Literal["plan_cancelled"] = "plan_cancelled"
    summary: str


class Log(Value):
    """Something worth telling a person."""

    type: Literal["log"] = "log"
    level: Literal["debug", "info", "warning", "error"]
    message: str
    task_id: StepId | None = None


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
    | ApprovalRequested
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


class Recorded(Value):
    """An event with its place in the ledger: `seq` rises by one within a plan, with no gap."""

    seq: int
    plan_id: PlanId
    session_id: SessionId
    at: Instant
    event: Event


DURABLE = (
    PlanApproved,
    PlanDirect,
    ApprovalResolved,
    EditStarted,
    EditApplied,
    EditReverted,
    ConflictResolved,
)
"""Events whose loss in a power cut could lose or repeat an effect: the ledger waits for the disk."""


def is_durable(event: Event, plan: Plan | None) -> bool:
    """Whether the ledger waits for the disk with an event that happens to `plan`.

    That holds for both ends of a command too, since nobody can look up afterwards what it has done.
    """
    match event:
        case TaskUpdate():
            return event.command_started
        case ToolCompleted():
            return event.command is not None
        case TaskCompleted():
            # A step that has only looked at things may be done again: that costs time, and a wait costs time too.
            return plan is not None and _had_effects(plan, event.task_id)
        case _:
            return isinstance(event, DURABLE)


def _had_effects(plan: Plan, step_id: StepId) -> bool:
    step = plan.step(step_id)
    calls = step.tools_executed if step is not None else ()
    return any(plan.edits_of(step_id)) or any(call.command is not None or call.has_effect for call in calls)


events: TypeAdapter[Event] = TypeAdapter(Event)
"""Reads and writes one event as JSON."""
