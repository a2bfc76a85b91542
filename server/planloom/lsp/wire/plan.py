"""Plans and steps on the wire.

The fields are declared apart from those of `domain/plans/plan`, so that a rename there changes no message.
"""

from typing import Literal

from pydantic import JsonValue

from planloom.lsp.wire.base import Bool, Int, Maybe, MaybeCount, MaybeMany, Time, Wire
from planloom.lsp.wire.report import Report, StepCaveat
from planloom.lsp.wire.review import Approval, Attachment, Conflict, Perspectives
from planloom.view.states import Sign

Json = JsonValue
Args = dict[str, JsonValue]
Agent = Literal["chapo", "koda", "devo"]
PlanStatus = Literal[
    "draft",
    "pending_approval",
    "approved",
    "rejected",
    "executing",
    "paused",
    "completed",
    "failed",
    "cancelled",
]
StepStatus = Literal[
    "pending", "blocked", "ready", "running", "needs_clarification", "completed", "failed", "skipped"
]
StepKind = Literal["tool_call", "processing", "clarification", "check", "approval", "sub_plan"]
Priority = Literal["critical", "high", "normal", "low"]
Route = Literal["plan", "perspectives", "direct", "undecided"]
Review = Literal["each", "end", "auto"]
Risk = Literal["low", "medium", "high"]
SkipReason = Literal["user", "approval_denied", "dependency_failed", "condition", "policy"]
MessageOutcome = Literal["revising", "delivered", "queued", "continued"]
RecoveryAction = Literal["retry", "skip", "go_on", "abort", "model", "accept"]
DetectionRule = Literal[
    "question",
    "numbered_list",
    "verb_and_scope",
    "multiple_tasks",
    "long_request",
    "none",
    "disabled",
    "model",
    "qualification",
    "unsure",
]


class Detection(Wire):
    """Whether a request needs a plan; `score` is 0 to 100."""

    planned: Bool
    rule: DetectionRule
    score: Int
    ambiguous: Bool


class Qualification(Wire):
    """The kind, complexity and risk of a request."""

    task_type: Literal["question", "code", "devops", "mixed"]
    complexity: Literal["trivial", "simple", "moderate", "complex"]
    risk_level: Risk
    reasons: tuple[str, ...]
    by: Literal["rules", "model"]


class Usage(Wire):
    """How many requests were sent to the model, and their tokens.

    `cachedTokens` are those of the prompts that came from the cache of the model's server, as far as it says so.
    """

    requests: Int
    prompt_tokens: Int
    completion_tokens: Int
    cached_tokens: MaybeCount = None


ModelCause = Literal[
    "none",
    "unreachable",
    "unknown_host",
    "proxy",
    "slow",
    "key_missing",
    "key_refused",
    "forbidden",
    "payment",
    "model_missing",
    "no_models",
    "model_not_chosen",
    "wrong_address",
    "certificate",
    "busy",
    "server_failed",
]


class ModelProblem(Wire):
    """Why a model cannot be used, and which: also the `details` of the error `model_unavailable`.

    `said` is what its server answered. What is unknown is "".
    """

    cause: ModelCause
    provider: str
    address: str
    model: str
    said: str
    wait_seconds: Maybe[Int] = None


class PlanError(Wire):
    """Why a plan failed."""

    code: str
    message: str
    hint: Maybe[str] = None
    raw_text: Maybe[str] = None
    model_problem: Maybe[ModelProblem] = None


class Check(Wire):
    """A check that proves a step done."""

    kind: Literal["file_exists", "file_contains", "no_new_errors", "command", "condition"]
    path: Maybe[str] = None
    text: Maybe[str] = None
    command: Maybe[str] = None
    outcome: Maybe[Literal["passed", "failed", "unknown"]] = None
    detail: Maybe[str] = None


class StepResult(Wire):
    """The result of a finished step. With a `caveat` it is not simply done: `summary` says why."""

    ok: Bool
    caveat: Maybe[StepCaveat] = None
    value: Maybe[Json] = None
    summary: Maybe[str] = None
    error: Maybe[str] = None
    duration_ms: Int
    timestamp: Time


class ExecutedTool(Wire):
    """One finished tool call of a step."""

    tool: str
    args: Args
    ok: Bool
    deduplicated: Bool
    summary: str
    duration_ms: Int


class ExpectedTool(Wire):
    """A tool call that the plan expects but does not require."""

    tool: str
    args: Maybe[Args] = None


class Step(Wire):
    """One step; `order`, `blocks` and the statuses blocked and ready are computed from the plan."""

    step_id: str
    order: Int
    description: str
    instruction: str
    active_form: str
    kind: StepKind
    agent: Agent
    tool: Maybe[str] = None
    args: Maybe[Args] = None
    depends_on: tuple[str, ...]
    blocks: tuple[str, ...]
    priority: Priority
    critical: Bool
    requires_approval: Bool
    status: StepStatus
    progress: Maybe[Int] = None
    attempts: Int
    usage: Maybe[Usage] = None
    result: Maybe[StepResult] = None
    skip_reason: Maybe[SkipReason] = None
    question: Maybe[str] = None
    options: MaybeMany[str] = None
    checks: tuple[Check, ...]
    expected_files: tuple[str, ...]
    attachments: tuple[str, ...]
    tools_to_execute: MaybeMany[ExpectedTool] = None
    tools_executed: tuple[ExecutedTool, ...]
    reverted: Maybe[Literal["whole", "part"]] = None
    when: Maybe[str] = None
    for_each: Maybe[str] = None
    repeat_until: Maybe[str] = None
    repeat_most: Maybe[Int] = None
    template_id: Maybe[str] = None
    parent: Maybe[str] = None
    created_at: Maybe[Time] = None
    started_at: Maybe[Time] = None
    completed_at: Maybe[Time] = None


class UserMessage(Wire):
    """What the user has said to a plan after its request: `open` until a planner or a step has read it.

    `dropped`: the revision that it asked for failed or was cancelled.
    """

    text: str
    at: Time
    state: Literal["open", "read", "dropped"]


class Question(Wire):
    """A question whose answer a step waits for."""

    step_id: str
    question: str
    options: MaybeMany[str] = None


class Proposal(Wire):
    """A proposal for a failed step: the model's, or with the code `several_matches` to replace a text everywhere."""

    action: Literal["retry", "skip", "insert", "abort"]
    args: Maybe[Args] = None
    steps: MaybeMany[Step] = None
    why: str


class Recovery(Wire):
    """A failed step that waits for a decision."""

    step_id: str
    error: str
    code: Maybe[str] = None
    options: tuple[RecoveryAction, ...]
    proposal: Maybe[Proposal] = None


class Pending(Wire):
    """Everything that waits for a decision of the user."""

    approvals: tuple[Approval, ...]
    questions: tuple[Question, ...]
    recoveries: tuple[Recovery, ...]
    conflicts: tuple[Conflict, ...]


class Forecast(Wire):
    """What a plan will probably use of the model, from `plans` earlier ones; `seconds` without those of the user.

    `cost` is in the currency of the setting `model.prices`, left out without a price of the model.
    """

    plans: Int
    seconds: Int
    requests: Int
    prompt_tokens: Int
    completion_tokens: Int
    cost: Maybe[float] = None


class Plan(Wire):
    """A plan. Version 1 does not promise `detection`, `templateId`, `pauseReason` and `pauseDetail`."""

    plan_id: str
    session_id: str
    version: Int
    seq: Int
    status: PlanStatus
    workspace_folders: tuple[str, ...]
    request: str
    follows: Maybe[str] = None
    messages: MaybeMany[UserMessage] = None
    attachments: tuple[Attachment, ...]
    detection: Maybe[Detection] = None
    qualification: Maybe[Qualification] = None
    perspectives: Perspectives
    summary: str
    commands_run: MaybeMany[str] = None
    steps: tuple[Step, ...]
    sequential: Bool
    estimated_duration: Maybe[Int] = None
    stated_duration: Maybe[Int] = None
    forecast: Maybe[Forecast] = None
    overall_risk: Risk
    asks_again: Maybe[str] = None
    route: Route
    review: Maybe[Review] = None
    author: Literal["rules", "model", "template", "package", "user"]
    template_id: Maybe[str] = None
    execution_summary: Maybe[str] = None
    report: Maybe[Report] = None
    context_summary: Maybe[str] = None
    usage: Usage
    error: Maybe[PlanError] = None
    pending: Pending
    paused_at: Maybe[Time] = None
    pause_reason: Maybe[str] = None
    pause_detail: Maybe[str] = None
    model_problem: Maybe[ModelProblem] = None
    created_at: Time
    approved_at: Maybe[Time] = None
    rejected_at: Maybe[Time] = None
    rejection_reason: Maybe[str] = None
    completed_at: Maybe[Time] = None


class Progress(Wire):
    """The number of steps by status."""

    total: Int
    pending: Int
    in_progress: Int
    completed: Int
    failed: Int
    skipped: Int
    percent_complete: Int


class PlanSummary(Wire):
    """A plan in a list; `state` and `sign` say where it stands, as far as the list knows."""

    plan_id: str
    session_id: str
    version: Int
    seq: Int
    request: str
    status: PlanStatus
    workspace_folders: tuple[str, ...]
    created_at: Time
    updated_at: Time
    progress: Progress
    reverted: Maybe[Literal["whole", "part"]] = None
    state: str
    sign: Sign
    live: Bool


class TemplateParameter(Wire):
    """A value that the user enters when applying a template: `choice` is one of `options`, `path` in the workspace."""

    name: str
    description: Maybe[str] = None
    default: Maybe[str] = None
    type: Literal["text", "path", "number", "choice"]
    options: MaybeMany[str] = None


class Template(Wire):
    """A reusable plan."""

    template_id: str
    name: str
    description: Maybe[str] = None
    parameters: tuple[TemplateParameter, ...]
    steps: tuple[Step, ...]
    builtin: Bool


class PlanResult(Wire):
    """The plan after the request."""

    plan: Plan


class ModelUse(Wire):
    """What plans have used of a model, named `provider/name`; `seconds` is how long their steps have waited."""

    model: str
    usage: Usage
    seconds: float


class Spent(Wire):
    """What was used of models, in all and by model; some requests of older ledgers name no model.

    `costs` are those of the models that have a price in `model.prices`, by their names.
    """

    usage: Usage
    models: tuple[ModelUse, ...]
    costs: dict[str, float]
