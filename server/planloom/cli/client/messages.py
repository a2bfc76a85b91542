"""The messages that the command line reads, as plain JSON. Written by `make generate`; a test compares it."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

Json = dict[str, Any]
"""A JSON object as it was received; nothing of it is validated."""


class Attachment(TypedDict, total=False):
    """A resolved reference of a request, as it was when the request was resolved."""

    id: str
    kind: Literal[
        "file", "folder", "link", "image", "selection", "diagnostics", "terminal", "changes", "resource"
    ]
    reference: str
    uri: str
    label: str
    range: Json
    languageId: str
    bytes: int
    truncated: bool
    note: str
    secret: bool
    version: int
    sha256: str


class Unresolved(TypedDict, total=False):
    """A reference that could not be attached, and why."""

    reference: str
    code: Literal[
        "not_found", "ambiguous", "outside", "secret", "too_large", "binary", "undecodable", "no_context"
    ]
    message: str
    candidates: list[str]


class ApprovalFile(TypedDict, total=False):
    """One file that the proposed change affects."""

    uri: str
    change: Literal["create", "edit", "delete", "rename", "createFolder"]
    newUri: str
    added: int
    removed: int
    resolvedPath: str
    newResolvedPath: str


class Confinement(TypedDict, total=False):
    """In what confinement a command runs; not `confined`, it has all rights. It may change `git` and `writes`."""

    confined: bool
    network: Literal["none", "loopback", "all"]
    git: str
    writes: list[str]
    reads: list[str]


class ConfinementOffer(TypedDict, total=False):
    """A confinement that may be chosen instead: a label for its button, and a line that says what it means."""

    confined: bool
    network: Literal["none", "loopback", "all"]
    git: str
    writes: list[str]
    reads: list[str]
    label: str
    line: str


class ConfinementRequest(TypedDict, total=False):
    """The rights that a command asks for, and those to choose from. Without `held` the machine cannot enforce them."""

    confined: bool
    network: Literal["none", "loopback", "all"]
    git: str
    writes: list[str]
    reads: list[str]
    line: str
    asksNetwork: bool
    held: bool
    offers: list[ConfinementOffer]


class ListPlace(TypedDict, total=False):
    """The place, from 1, of an approval among those that are asked together; each is answered for itself."""

    listId: str
    position: int
    size: int


class Approval(TypedDict, total=False):
    """What waits for permission. By its `rules`, such as `git add …`, a command can be allowed in plan or folder."""

    approvalId: str
    planId: str
    stepId: str
    tool: str
    proposal: str
    effect: Literal["read", "write", "destroy", "execute", "fetch"]
    title: str
    warning: str
    protected: bool
    files: list[ApprovalFile]
    command: str
    cwd: str
    confinement: ConfinementRequest
    rules: list[str]
    listed: ListPlace
    server: str
    package: str
    url: str
    host: str
    planChanges: list[Json]
    goesOn: bool
    mayHaveRun: bool
    judged: Json


class ConflictHunk(TypedDict, total=False):
    """One overlap: `base` is the common text, `mine` the user's, `theirs` the step's."""

    range: Json
    base: str
    mine: str
    theirs: str


class ConflictFile(TypedDict, total=False):
    """A file in which the user and a step changed the same lines."""

    uri: str
    hunks: list[ConflictHunk]
    sha256: str


class Conflict(TypedDict, total=False):
    """An edit that cannot be merged without a decision of the user."""

    editId: str
    stepId: str
    files: list[ConflictFile]


class Detection(TypedDict, total=False):
    """Whether a request needs a plan; `score` is 0 to 100."""

    planned: bool
    rule: Literal[
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
    score: int
    ambiguous: bool


class PlanError(TypedDict, total=False):
    """Why a plan failed."""

    code: str
    message: str
    hint: str
    rawText: str
    modelProblem: Json


class StepResult(TypedDict, total=False):
    """The result of a finished step. With a `caveat` it is not simply done: `summary` says why."""

    ok: bool
    caveat: Literal["unchanged", "unchecked", "command_failed"]
    value: Any
    summary: str
    error: str
    durationMs: int
    timestamp: str


class Step(TypedDict, total=False):
    """One step; `order`, `blocks` and the statuses blocked and ready are computed from the plan."""

    stepId: str
    description: str
    instruction: str
    activeForm: str
    kind: Literal["tool_call", "processing", "clarification", "check", "approval", "sub_plan"]
    agent: Literal["chapo", "koda", "devo"]
    tool: str
    args: Json
    dependsOn: list[str]
    requiresApproval: bool
    status: Literal[
        "pending", "blocked", "ready", "running", "needs_clarification", "completed", "failed", "skipped"
    ]
    result: StepResult
    question: str
    checks: list[Json]
    reverted: Literal["whole", "part"]
    templateId: str
    when: str
    forEach: str
    repeatUntil: str
    repeatMost: int


class Question(TypedDict, total=False):
    """A question whose answer a step waits for."""

    stepId: str
    question: str
    options: list[str]


class Proposal(TypedDict, total=False):
    """A proposal for a failed step: the model's, or with the code `several_matches` to replace a text everywhere."""

    action: Literal["retry", "skip", "insert", "abort"]
    args: Json
    steps: list[Step]
    why: str


class Recovery(TypedDict, total=False):
    """A failed step that waits for a decision."""

    stepId: str
    error: str
    code: str
    options: list[Literal["retry", "skip", "go_on", "abort", "model", "accept"]]
    proposal: Proposal


class Pending(TypedDict, total=False):
    """Everything that waits for a decision of the user."""

    approvals: list[Approval]
    questions: list[Question]
    recoveries: list[Recovery]
    conflicts: list[Conflict]


class ReportedStep(TypedDict, total=False):
    """A completed step; `summary` is left out if `closing` of the report says the same."""

    stepId: str
    description: str
    summary: str
    caveat: Literal["unchanged", "unchecked", "command_failed"]


class ReportedFile(TypedDict, total=False):
    """A file that has changed; `oldUri`: its name before. `lasting`: by a command, and cannot be taken back."""

    uri: str
    change: Literal["create", "edit", "delete", "rename", "createFolder"]
    oldUri: str
    added: int
    removed: int
    byCommand: bool
    lasting: bool


class ReportedCommand(TypedDict, total=False):
    """A command and its last run in words; `failed` whatever its `exitCode`, if it ended by itself."""

    command: str
    exitCode: int
    outcome: str
    runs: int
    failedBefore: int
    failed: bool
    denied: bool
    confinement: str


class Report(TypedDict, total=False):
    """What an ended plan has done. `closing`: its answer if `answered`, else a summary; `notes`: what commands did."""

    done: list[ReportedStep]
    files: list[ReportedFile]
    commands: list[ReportedCommand]
    left: list[Json]
    notAllowed: list[str]
    closing: str
    answered: bool
    caveats: list[str]
    notes: list[str]


class Plan(TypedDict, total=False):
    """A plan. Version 1 does not promise `detection`, `templateId`, `pauseReason` and `pauseDetail`."""

    planId: str
    version: int
    seq: int
    status: Literal[
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
    workspaceFolders: list[str]
    request: str
    messages: list[Json]
    attachments: list[Attachment]
    detection: Detection
    summary: str
    commandsRun: list[str]
    steps: list[Step]
    sequential: bool
    overallRisk: Literal["low", "medium", "high"]
    asksAgain: str
    route: Literal["plan", "perspectives", "direct", "undecided"]
    author: Literal["rules", "model", "template", "package", "user"]
    executionSummary: str
    report: Report
    error: PlanError
    pending: Pending
    pauseReason: str
    pauseDetail: str
    modelProblem: Json
    createdAt: str


class Progress(TypedDict, total=False):
    """The number of steps by status."""

    total: int
    pending: int
    inProgress: int
    completed: int
    failed: int
    skipped: int
    percentComplete: int


class PlanSummary(TypedDict, total=False):
    """A plan in a list; `state` and `sign` say where it stands, as far as the list knows."""

    planId: str
    sessionId: str
    version: int
    seq: int
    request: str
    status: Literal[
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
    workspaceFolders: list[str]
    createdAt: str
    updatedAt: str
    progress: Progress
    reverted: Literal["whole", "part"]
    state: str
    sign: Literal[
        "waiting",
        "undone",
        "partly",
        "stalled",
        "draft",
        "pending_approval",
        "approved",
        "executing",
        "paused",
        "completed",
        "failed",
        "cancelled",
        "rejected",
    ]
    live: bool


class DiffResult(TypedDict, total=False):
    """The text of a file before and after the change; null if the file does not exist."""

    uri: str
    before: str | None
    after: str | None
    languageId: str


class ChangedFile(TypedDict, total=False):
    """The last change of a file; `kind` says what it does, `words` where it stands. `lasting`: it cannot be undone."""

    stepId: str
    createdBy: str
    uri: str
    newUri: str
    change: Literal["create", "edit", "delete", "rename", "createFolder"]
    kind: str
    state: Literal["writing", "applied", "refused", "reverted", "conflict"]
    words: str
    byCommand: bool
    lasting: bool


class StepView(TypedDict, total=False):
    """A step as people see it."""

    step: Step
    number: int
    sign: Literal[
        "pending",
        "blocked",
        "ready",
        "running",
        "needs_clarification",
        "completed",
        "failed",
        "skipped",
        "waiting",
        "stalled",
        "unchanged",
        "warning",
        "undone",
    ]
    words: str
    skipped: str
    workedMs: int
    judged: Json
    actions: list[Json]


class PlanView(TypedDict, total=False):
    """A plan as people see it, whole."""

    plan: Plan
    state: str
    sign: Literal[
        "waiting",
        "undone",
        "partly",
        "stalled",
        "draft",
        "pending_approval",
        "approved",
        "executing",
        "paused",
        "completed",
        "failed",
        "cancelled",
        "rejected",
    ]
    waits: str
    live: bool
    partly: bool
    progress: Progress
    pause: str
    pauseHelp: str
    problem: Json
    thought: str
    perspectives: list[Json]
    left: list[Json]
    files: list[ChangedFile]
    steps: list[StepView]
    used: str
    usedLines: list[str]
    changes: list[Json]
    actions: list[Json]
