"""The events of a plan, as one closed union. The ledger stores them; the fold and the wire read them."""

from typing import Annotated, Literal, NamedTuple

from pydantic import ConfigDict, Field, TypeAdapter

from planloom.domain.changes import Conflict, EditedFile, EditOutcome
from planloom.domain.errors import ModelProblem
from planloom.domain.plans.agents import Agent, Perspective
from planloom.domain.plans.attachments import Attachment, Unresolved
from planloom.domain.plans.commands import BackgroundReason, CommandOutcome, CommandProcess
from planloom.domain.plans.editing import StepEdit
from planloom.domain.plans.plan import (
    Author,
    Check,
    CommandEnd,
    CommandRun,
    Detection,
    FileRead,
    Forecast,
    MessageOutcome,
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
from planloom.domain.plans.report import Report
from planloom.domain.problems import Judged
from planloom.domain.safety.approvals import Approval, Decision, EditedProposal, Effect
from planloom.domain.safety.confinement import Confinement, GivenConfinement
from planloom.domain.values import (
    WHEN_USED,
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

WRITTEN_AS = {"step_id": "task_id", "step": "task"}
"""The names that fields of events have in the ledger and on the wire, by those in the code."""


class PlanEvent(Value):
    """A change of a plan; `WRITTEN_AS` renames its fields in the ledger."""

    model_config = ConfigDict(
        alias_generator=lambda name: WRITTEN_AS.get(name, name),
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )


class PlanStart(PlanEvent):
    """A request was received."""

    type: Literal["plan_start"] = "plan_start"
    request: str
    route: Route
    detection: Detection
    qualification: Qualification | None = None
    attachments: tuple[Attachment, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()
    workspace_folders: tuple[Uri, ...] = ()
    follows: PlanId | None = None
    template_id: TemplateId | None = None
    template_parameters: dict[str, str] = Field(default_factory=dict)


class PlanRouted(PlanEvent):
    """The route of an undecided request: by a model if `detection.rule` is `model` (`direct`, then it may still submit
    a plan), else by the rules, whose rule it is.
    """

    type: Literal["plan_routed"] = "plan_routed"
    detection: Detection
    qualification: Qualification | None = None
    route: Route


class PlanDrafting(PlanEvent):
    """A planner has begun to write steps. `feedback` is what the user wants changed."""

    type: Literal["plan_drafting"] = "plan_drafting"
    version: int
    feedback: str | None = None


class PlanMessage(PlanEvent):
    """The user has said something to the plan; `attachments` are the plan's from then on."""

    type: Literal["plan_message"] = "plan_message"
    text: str
    outcome: MessageOutcome
    attachments: tuple[Attachment, ...] = ()


class MessagesRead(PlanEvent):
    """A step's model has been sent the first `count` messages of the plan."""

    type: Literal["messages_read"] = "messages_read"
    step_id: StepId
    count: int


class PlanDirect(PlanEvent):
    """The request runs without a plan review: the request itself is the approval of these steps.

    `review` is how its changes are reviewed.
    """

    type: Literal["plan_direct"] = "plan_direct"
    steps: tuple[Step, ...]
    sequential: bool
    author: Author
    review: Review | None = None


class PerspectiveStart(PlanEvent):
    """One agent has begun its report on the request."""

    type: Literal["perspective_start"] = "perspective_start"
    agent: Agent


class PerspectiveComplete(PlanEvent):
    """One agent has completed its report, or failed."""

    type: Literal["perspective_complete"] = "perspective_complete"
    agent: Agent
    perspective: Perspective | None = None
    error: str | None = None


class StepCreated(PlanEvent):
    """A step was read from a draft that is still being written."""

    type: Literal["task_created"] = "task_created"
    step: Step


class PlanReady(PlanEvent):
    """The draft is complete and waits for review. `restored`: an older version replaces it.

    `model_problem` is why no model can be used for it, if it was planned without one or has steps that need one.
    `files_read` and `commands_run` are what its planner has read and run, `stated_duration` the seconds that it states,
    `model` the one that has drafted it; older ledgers lack these. `usage` is that of a draft in older ledgers, without
    ModelUsed.
    """

    type: Literal["plan_ready"] = "plan_ready"
    version: int
    steps: tuple[Step, ...]
    summary: str
    sequential: bool
    author: Author
    estimated_duration: int | None = None
    overall_risk: Risk = "low"
    stated_duration: int | None = None
    usage: Usage = Usage()
    model: str | None = None
    model_problem: ModelProblem | None = None
    forecast: Forecast | None = None
    restored: bool = False
    files_read: tuple[FileRead, ...] = ()
    commands_run: tuple[CommandRun, ...] = ()


class PlanApprovalRequest(PlanEvent):
    """The user is asked to approve the present version."""

    type: Literal["plan_approval_request"] = "plan_approval_request"


class PlanEdited(PlanEvent):
    """The steps were changed by the user, or by a proposal of the model that the user accepted.

    `request` and `summary` are the plan's new words, None where they stay. `attachments` are those that the new request
    adds.

    With a `step_id`, the model of that running step has changed the steps still to come. What only narrows them needs
    no approval; `approval_id` is the one by which the user has allowed more.
    """

    type: Literal["plan_edited"] = "plan_edited"
    version: int
    edits: tuple[StepEdit, ...]
    steps: tuple[Step, ...]
    request: str | None = None
    summary: str | None = None
    attachments: tuple[Attachment, ...] = ()
    overall_risk: Risk | None = None
    by: Literal["user", "model"] = "user"
    step_id: StepId | None = None
    approval_id: ApprovalId | None = None


class PlanApproved(PlanEvent):
    """The user approved exactly this version. `covers`: also its literal calls (`domain/plans/covered_calls.py`);
    older ledgers lack it.
    """

    type: Literal["plan_approved"] = "plan_approved"
    version: int
    review: Review
    covers: bool = False


class PlanRejected(PlanEvent):
    """The user rejected the plan."""

    type: Literal["plan_rejected"] = "plan_rejected"
    reason: str | None = None


class PlanExecuting(PlanEvent):
    """Steps may run now."""

    type: Literal["plan_executing"] = "plan_executing"


class StepStarted(PlanEvent):
    """A step has started."""

    type: Literal["task_started"] = "task_started"
    step_id: StepId
    agent: Agent


class StepUpdate(PlanEvent):
    """A running step reports progress, or goes back to pending; `usage` counts since the last update.

    `progress` is the percentage of the files the step expects that it has written, None if that is unknown;
    `attempt` the number of this run of the step. `model_seconds` is how long it has
    waited for the `model` since the last update; older ledgers do not name it.

    For a step whose changes are staged, `completed` means that they were applied, `pending` that they are lost.
    `held` is the new fate of the changes that the running step held (only those to `files`, if any are named); they
    replace staged changes to the files of `replaces`. `command_started`: the command that the step was allowed to
    run starts now, with `command_confinement`, which older ledgers lack; `command_process` is its process once there
    is one. `covered_by` is the version of the plan whose approval covers the command, None if it has its own.
    """

    type: Literal["task_update"] = "task_update"
    step_id: StepId
    status: Literal["pending", "running", "completed"]
    progress: int | None = None
    active_form: str | None = None
    attempt: int | None = None
    usage: Usage | None = None
    model_seconds: float = 0
    model: str | None = None
    held: Literal["staged", "made", "denied", "refused"] | None = None
    files: tuple[Uri, ...] = ()
    replaces: tuple[Uri, ...] = ()
    reason: str | None = None
    command_started: bool = False
    command_process: CommandProcess | None = None
    command_confinement: GivenConfinement | None = None
    covered_by: int | None = None


class ModelUsed(PlanEvent):
    """A model was asked outside of the steps: for the route, a draft or a recovery. `usage` is that of the requests."""

    type: Literal["model_used"] = "model_used"
    usage: Usage
    model: str | None = None


class StepCompleted(PlanEvent):
    """A step is done; `usage` is what all its runs have used of the model, which the plan's usage holds already."""

    type: Literal["task_completed"] = "task_completed"
    step_id: StepId
    result: StepResult
    usage: Usage | None = None


class StepFailed(PlanEvent):
    """A step failed; `will_retry`: it is retried automatically."""

    type: Literal["task_failed"] = "task_failed"
    step_id: StepId
    error: str
    code: str | None = None
    will_retry: bool = False
    duration_ms: int = 0


class StepSkipped(PlanEvent):
    """A step will not run, or what it has done is not wanted. `detail` is the reason in words, if somebody gave one."""

    type: Literal["task_skipped"] = "task_skipped"
    step_id: StepId
    reason: SkipReason
    detail: str | None = None


class ConditionEvaluated(PlanEvent):
    """The condition of a running step was evaluated; if it does not hold, the step is skipped."""

    type: Literal["condition_evaluated"] = "condition_evaluated"
    step_id: StepId
    holds: bool


class StepsUnrolled(PlanEvent):
    """A running loop or sub-plan was unrolled: it waits for these new steps, which stand behind it."""

    type: Literal["steps_unrolled"] = "steps_unrolled"
    step_id: StepId
    steps: tuple[Step, ...]


class ToolStarted(PlanEvent):
    """A tool call of a step has started."""

    type: Literal["tool_started"] = "tool_started"
    step_id: StepId
    call_id: CallId
    tool: str
    args: Args
    effect: Effect


class ToolCompleted(PlanEvent):
    """A tool call has settled. The step now holds its changes to the files of `changes`, in place of earlier ones to
    those of `replaces`; the files of `same` had this content already. `command` and `outcome` say how a command ended,
    `output` the beginning and the end of what the model was told of it; older ledgers lack it.
    """

    type: Literal["tool_completed"] = "tool_completed"
    step_id: StepId
    call_id: CallId
    ok: bool
    deduplicated: bool = False
    summary: str
    duration_ms: int
    changes: tuple[Uri, ...] = ()
    replaces: tuple[Uri, ...] = ()
    same: tuple[Uri, ...] = ()
    command: CommandEnd | None = None
    outcome: CommandOutcome | None = None
    output: str | None = None


class BackgroundStarted(PlanEvent):
    """The command of the step's open call runs in the background from now on; the fields are those of
    `BackgroundCommand`.
    """

    type: Literal["background_started"] = "background_started"
    step_id: StepId
    command_id: str
    command: str
    pid: int
    process: str | None = None


class BackgroundEnded(PlanEvent):
    """A background command has ended, or was stopped. `exit_code` is None unless it ended by itself."""

    type: Literal["background_ended"] = "background_ended"
    step_id: StepId
    command_id: str
    reason: BackgroundReason
    exit_code: int | None = None
    line: str = ""


class ApprovalRequested(PlanEvent):
    """The user is asked for permission."""

    type: Literal["approval_request"] = "approval_request"
    approval: Approval


class ApprovalResolved(PlanEvent):
    """Permission was given or refused. `files` are the files that it covers; None means all.

    `confinement` is that in which an allowed command may run. `edited` are the files whose proposed text the user has
    changed.
    """

    type: Literal["approval_resolved"] = "approval_resolved"
    approval_id: ApprovalId
    decision: Decision
    by: Literal["user", "policy", "server"]
    reason: str | None = None
    files: tuple[Uri, ...] | None = None
    confinement: Confinement | None = None
    edited: tuple[EditedProposal, ...] | None = None


class ApprovalJudged(PlanEvent):
    """What language servers say of the changes that the user is asked about, which came after the question.

    None: nobody judges such files.
    """

    type: Literal["approval_judged"] = "approval_judged"
    approval_id: ApprovalId
    judged: Judged | None = None


class EditStarted(PlanEvent):
    """The intent to change files, recorded on disk before the editor is asked to change them.

    `reverts` are the edits that its undo or redo reverts, `settles` the steps whose staged changes it applies.
    `covered_by` is the version of the plan whose approval covers it, None if it has its own. `partly` is of older
    ledgers, and unused.
    """

    type: Literal["edit_started"] = "edit_started"
    step_id: StepId | None
    edit_id: EditId
    files: tuple[EditedFile, ...]
    reverts: tuple[EditId, ...] = ()
    partly: tuple[EditId, ...] = ()
    settles: tuple[StepId, ...] = ()
    covered_by: int | None = None


class EditApplied(PlanEvent):
    """The files hold the intended text, or its merge with what the user wrote meanwhile; again, if the user has redone
    the edit in the editor.
    """

    type: Literal["edit_applied"] = "edit_applied"
    step_id: StepId | None
    edit_id: EditId
    files: tuple[EditedFile, ...]
    merged: bool
    outcome: EditOutcome


class EditRejected(PlanEvent):
    """The editor or the disk refused the change. For the files of `doubtful` this is unknown: they hold neither the
    old text nor the new one.
    """

    type: Literal["edit_rejected"] = "edit_rejected"
    step_id: StepId | None
    edit_id: EditId
    files: tuple[EditedFile, ...]
    reason: str
    doubtful: tuple[Uri, ...] = ()


class EditReverted(PlanEvent):
    """An applied edit was reverted, by an undo or by the user in the editor."""

    type: Literal["edit_reverted"] = "edit_reverted"
    step_id: StepId | None
    edit_id: EditId
    files: tuple[EditedFile, ...]


class CommandChanged(PlanEvent):
    """Files differ after a command from before it. For those of `unknown` the text from before is not known, so that
    they cannot be taken back; `notes` are sentences on the changes. It replaces an earlier one with its `edit_id`.
    """

    type: Literal["command_changed"] = "command_changed"
    step_id: StepId
    edit_id: EditId
    command: str
    files: tuple[EditedFile, ...] = ()
    unknown: tuple[EditedFile, ...] = ()
    notes: tuple[str, ...] = ()


class FilesRenamed(PlanEvent):
    """The user has renamed files that the plan has changed, or folders above them."""

    type: Literal["files_renamed"] = "files_renamed"
    edit_id: EditId
    files: tuple[EditedFile, ...]


class EditConflict(PlanEvent):
    """The user and the step changed the same lines."""

    type: Literal["edit_conflict"] = "edit_conflict"
    step_id: StepId
    conflict: Conflict


class ConflictChoice(PlanEvent):
    """The text that one conflicted file gets; `sha256` is that of the text the user saw, if the client sends it."""

    uri: Uri
    choice: Literal["mine", "theirs", "both", "text"]
    text: str | None = None
    sha256: Sha256 | None = None


class ConflictResolved(PlanEvent):
    """The user decided which text to keep."""

    type: Literal["conflict_resolved"] = "conflict_resolved"
    step_id: StepId
    edit_id: EditId
    files: tuple[ConflictChoice, ...]
    by: Literal["user", "server"] = "user"


class CheckCompleted(PlanEvent):
    """A check of a step has run. `judged` is what language servers say of what the step changes, if they were asked.

    `implied`: no check of the step, but what is judged of every step that changes code.
    """

    type: Literal["check_completed"] = "check_completed"
    step_id: StepId
    check: Check
    judged: Judged | None = None
    implied: bool = False


class ClarificationRequest(PlanEvent):
    """A step cannot go on without an answer."""

    type: Literal["clarification_request"] = "clarification_request"
    step_id: StepId
    question: str
    options: tuple[str, ...] = ()


class ClarificationProvided(PlanEvent):
    """The user answered the question of a step."""

    type: Literal["clarification_provided"] = "clarification_provided"
    step_id: StepId
    answer: str


class RecoveryRequest(PlanEvent):
    """A failed step waits for a decision; `code` is that of its failure.

    `usage` is that of the model's proposal in older ledgers, without ModelUsed.
    """

    type: Literal["recovery_request"] = "recovery_request"
    step_id: StepId
    error: str
    code: str | None = None
    options: tuple[RecoveryAction, ...]
    proposal: RecoveryProposal | None = None
    usage: Usage | None = None


class RecoveryChosen(PlanEvent):
    """The decision on a failed step: of the user, of the model whose proposal the user accepted, or of the setting.

    If the user gives new arguments, the plan gets the version `version`.
    """

    type: Literal["recovery_chosen"] = "recovery_chosen"
    step_id: StepId
    action: RecoveryAction
    args: Args | None = None
    version: int | None = None
    by: Literal["user", "model", "policy"] = "user"


class ContextCompacted(PlanEvent):
    """Older results were merged into the summary. It alone describes the steps of `steps` in later prompts."""

    type: Literal["context_compacted"] = "context_compacted"
    before_tokens: int
    after_tokens: int
    by: Literal["model", "rules"]
    summary: str
    steps: tuple[StepId, ...] = ()


class StepsList(PlanEvent):
    """The list of steps changed as a whole; the wire carries it. `staged` is the final fate of everything that the
    steps of `settled` had staged, where no status changes with it.
    """

    type: Literal["tasks_list"] = "tasks_list"
    settled: tuple[StepId, ...] = ()
    staged: Literal["made", "denied", "lost"] = "lost"


class PlanPaused(PlanEvent):
    """The plan is paused: no further step starts."""

    type: Literal["plan_paused"] = "plan_paused"
    reason: PauseReason
    detail: str | None = None
    model_problem: ModelProblem | None = None


class PlanResumed(PlanEvent):
    """The plan goes on."""

    type: Literal["plan_resumed"] = "plan_resumed"


class PlanImported(PlanEvent):
    """The plan was taken over from another machine: nobody here has seen what happened before."""

    type: Literal["plan_imported"] = "plan_imported"


class Answer(PlanEvent):
    """The whole answer of a direct request."""

    type: Literal["answer"] = "answer"
    step_id: StepId
    text: str
    confidence: Literal["high", "medium", "low"] | None = None


class PlanCompleted(PlanEvent):
    """The plan completed."""

    type: Literal["plan_completed"] = "plan_completed"
    summary: str
    report: Report | None = None


class PlanFailed(PlanEvent):
    """The plan failed. `usage` is that of a draft in older ledgers, without ModelUsed."""

    type: Literal["plan_failed"] = "plan_failed"
    summary: str
    report: Report | None = None
    error: PlanError
    usage: Usage = Usage()


class PlanCancelled(PlanEvent):
    """The user ended the plan."""

    type: Literal["plan_cancelled"] = "plan_cancelled"
    summary: str
    report: Report | None = None


class Log(PlanEvent):
    """A message for the user."""

    type: Literal["log"] = "log"
    level: Literal["debug", "info", "warning", "error"]
    message: str
    step_id: StepId | None = None


Event = Annotated[
    PlanStart
    | PlanRouted
    | PlanDrafting
    | PlanMessage
    | MessagesRead
    | PlanDirect
    | PerspectiveStart
    | PerspectiveComplete
    | StepCreated
    | PlanReady
    | PlanApprovalRequest
    | PlanEdited
    | PlanApproved
    | PlanRejected
    | PlanExecuting
    | StepStarted
    | StepUpdate
    | ModelUsed
    | StepCompleted
    | StepFailed
    | StepSkipped
    | ConditionEvaluated
    | StepsUnrolled
    | ToolStarted
    | ToolCompleted
    | BackgroundStarted
    | BackgroundEnded
    | ApprovalRequested
    | ApprovalResolved
    | ApprovalJudged
    | EditStarted
    | EditApplied
    | EditRejected
    | EditReverted
    | CommandChanged
    | FilesRenamed
    | EditConflict
    | ConflictResolved
    | CheckCompleted
    | ClarificationRequest
    | ClarificationProvided
    | RecoveryRequest
    | RecoveryChosen
    | ContextCompacted
    | StepsList
    | PlanPaused
    | PlanResumed
    | PlanImported
    | Answer
    | PlanCompleted
    | PlanFailed
    | PlanCancelled
    | Log,
    Field(discriminator="type"),
]


class Recorded(NamedTuple):
    """An event as the ledger stores it: `seq` counts from 1 within a plan, without gaps.

    It is no model, since whatever reads one has checked the event and its place: a model's validator would be that of
    all events.
    """

    seq: int
    plan_id: PlanId
    session_id: SessionId
    at: Instant
    event: Event


DURABLE = (
    PlanMessage,
    PlanApproved,
    ApprovalResolved,
    EditStarted,
    EditApplied,
    EditReverted,
    CommandChanged,
    ConflictResolved,
)
"""Events that are on disk before anything else happens, since their loss could lose or repeat an effect."""


ENDS = (PlanCompleted, PlanFailed, PlanCancelled, PlanRejected)
"""Events after which nothing of a plan runs. A draft that failed can be made again."""


def is_durable(event: Event, plan: Plan | None) -> bool:
    """Whether an event must be on disk before anything else happens; `plan` is the plan before it.

    The start and the end of a command must be, since its effects cannot be found out afterwards.
    """
    match event:
        case PlanDirect():
            # Durable where a person has approved a plan that they have seen. A request that runs at once can be made
            # again, and its first effect writes all earlier events to the disk.
            return plan is not None and plan.version > 0
        case StepUpdate():
            return event.command_started
        case ToolCompleted():
            return event.command is not None
        case StepCompleted():
            # A step that has only read may run again; that costs less than to wait for the disk each time.
            # So may one that is a single call: it finds the outcome of that call, which is on the disk.
            step = None if plan is None else plan.step(event.step_id)
            is_found = step is not None and step.kind == "tool_call" and len(step.tools_executed) == 1
            return plan is not None and not is_found and _had_effects(plan, event.step_id)
        case _:
            return isinstance(event, DURABLE)


def _had_effects(plan: Plan, step_id: StepId) -> bool:
    step = plan.step(step_id)
    calls = step.tools_executed if step is not None else ()
    return any(plan.edits_of(step_id)) or any(call.command is not None or call.has_effect for call in calls)


events: TypeAdapter[Event] = TypeAdapter(Event, config=WHEN_USED)
"""Validates and serializes one event."""
