"""A plan and its steps, as they are written and as they stand."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal

from pydantic import Field, model_validator

from planloom.domain.changes import Conflict, EditRecord
from planloom.domain.errors import ModelProblem
from planloom.domain.indexed_tuple import IndexedTuple
from planloom.domain.plans.agents import Agent, Perspective
from planloom.domain.plans.attachments import Attachment, Unresolved
from planloom.domain.plans.commands import (
    BackgroundCommand,
    CommandOutcome,
    CommandProcess,
    running_in_background,
)
from planloom.domain.plans.outputs import in_words, output_reference, output_references
from planloom.domain.plans.report import Report, ReportedCommand, StepCaveat
from planloom.domain.problems import Judged
from planloom.domain.safety.approvals import Approval, Effect, PlanChange
from planloom.domain.safety.confinement import GivenConfinement
from planloom.domain.values import (
    Args,
    AttachmentId,
    CallId,
    EditId,
    Instant,
    Json,
    PlanId,
    SessionId,
    Sha256,
    StepId,
    TemplateId,
    Uri,
    Value,
)

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
    "pending",
    "blocked",
    "ready",
    "running",
    "needs_clarification",
    "completed",
    "failed",
    "skipped",
]
ENDED: frozenset[PlanStatus] = frozenset({"completed", "failed", "cancelled"})
SETTLED: frozenset[StepStatus] = frozenset({"completed", "failed", "skipped"})

StepKind = Literal["tool_call", "processing", "clarification", "check", "approval", "sub_plan"]
"""A call of a tool; work for a model; a question; checks alone; a person's yes to go on; the steps of a template."""
Priority = Literal["critical", "high", "normal", "low"]
Route = Literal["plan", "perspectives", "direct", "undecided"]
Review = Literal["each", "end", "auto"]
Author = Literal["rules", "model", "template", "package", "user"]
Risk = Literal["low", "medium", "high"]
SkipReason = Literal["user", "approval_denied", "dependency_failed", "condition", "policy"]
MessageOutcome = Literal["revising", "delivered", "queued", "continued"]
"""The outcome of a message: the plan is revised; the running steps read it before their next request; the next step
of a model reads it; a new plan continues the ended one."""
PauseReason = Literal[
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


class Detection(Value):
    """Whether a request needs a plan; `score` is 0 to 100."""

    planned: bool
    rule: DetectionRule
    score: int
    ambiguous: bool

    @property
    def only_asks(self) -> bool:
        """Whether it surely is a question, in which nothing is ordered."""
        return self.rule == "question" and not self.ambiguous


class Qualification(Value):
    """The kind of work a request is, its complexity and risk, with the reasons."""

    task_type: Literal["question", "code", "devops", "mixed"]
    complexity: Literal["trivial", "simple", "moderate", "complex"]
    risk_level: Risk
    reasons: tuple[str, ...]
    by: Literal["rules", "model"]


class Usage(Value):
    """Requests to the model and their tokens, as its server reported them.

    `cached_tokens` are those of `prompt_tokens` that came from its cache, as far as it says so.
    """

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

    def plus(self, other: "Usage") -> "Usage":
        """The sum of both."""
        return Usage(
            requests=self.requests + other.requests,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
        )


class ModelUse(Value):
    """The use of one model, named `provider/name`. `seconds` is how long its steps have waited for it."""

    model: str
    usage: Usage = Usage()
    seconds: float = 0

    def plus(self, usage: Usage, seconds: float) -> "ModelUse":
        """With one more request, or several."""
        return ModelUse(model=self.model, usage=self.usage.plus(usage), seconds=self.seconds + seconds)


class Forecast(Value):
    """The probable use of a plan, from `plans` earlier ones of the same model. `seconds` are the model's.

    `cost` is in the currency of the user's prices, None without a price of the model.
    """

    plans: int
    seconds: int
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None = None


class FileRead(Value):
    """The part of a file that was read while the plan was made, under the `path` by which the model named it.

    `sha256` is that of the whole text then. `lines` are first and last lines, None for the end of the file; empty
    for the whole file.
    """

    uri: Uri
    path: str
    sha256: Sha256
    lines: tuple[tuple[int, int | None], ...] = ()


class CommandRun(Value):
    """A command that was run while the plan was made, with the beginning and the end of what it printed."""

    command: str
    outcome: CommandOutcome
    output: str

    @property
    def line(self) -> str:
        """The command and its outcome, for people."""
        return f"{self.command}: {self.outcome.line or f'exit code {self.outcome.exit_code}'}"


class PlanError(Value):
    """Why a plan failed; docs/protocol.md lists the codes."""

    code: str
    message: str
    hint: str | None = None
    raw_text: str | None = None
    model_problem: ModelProblem | None = None


class Check(Value):
    """A check that proves a step, and its outcome once it has run. The `text` of a condition is an expression.

    A command may be given as its text alone, as models write it.
    """

    kind: Literal["file_exists", "file_contains", "no_new_errors", "command", "condition"]
    path: str | None = None
    text: str | None = None
    command: str | None = None
    outcome: Literal["passed", "failed", "unknown"] | None = None
    detail: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_command(cls, given: Any) -> Any:
        return {"kind": "command", "command": given} if isinstance(given, str) and given.strip() else given


class StepResult(Value):
    """The result of a step. The summary of one with a caveat says what it is, and why."""

    ok: bool
    caveat: StepCaveat | None = None
    value: Json = None
    summary: str | None = None
    error: str | None = None
    code: str | None = None
    duration_ms: int
    timestamp: Instant


Fate = Literal["same", "held", "staged", "made", "undone", "denied", "refused", "doubtful", "lost"]
"""The state of the change that a call makes to one file.

`same`: the file had this content already. `held`: staged by the running step. `staged`: staged by the plan, until
its one approval. `made`: applied to the file. `undone`: undone by the user. `denied`: not allowed by the user or the
policy. `refused`: allowed, but it could not be applied. `doubtful`: the file holds neither the old text nor the new
one, so whether it was applied is unknown. `lost`: it was staged in a run that has ended.
"""
UNMADE: frozenset[Fate] = frozenset({"denied", "refused", "doubtful", "lost"})
CommandEnd = Literal["ended", "denied", "cut_off", "not_run", "background"]
"""The outcome of a command: `ended` with any exit code, or stopped; `cut_off`: started, its end is unknown;
`background`: it runs on after its call.
"""


class ExecutedTool(Value):
    """One settled tool call of a step, and the state of its effects.

    `files` maps the URIs of the files that it changes to their fates. `command` is None unless the call runs a
    command, `outcome` unless that ended. `background` is the command if it was started in the background. `output` is
    the beginning and the end of what it printed, None if that was not stored. `process` is that of a command that was
    cut off, where it is known. `confinement` is that in which a command has started; older ledgers lack it. `why` is
    the reason if part of it was not applied.
    """

    call_id: CallId
    tool: str
    args: Args
    ok: bool
    deduplicated: bool
    summary: str
    duration_ms: int
    files: dict[str, Fate] = Field(default_factory=dict)
    command: CommandEnd | None = None
    outcome: CommandOutcome | None = None
    background: BackgroundCommand | None = None
    output: str | None = None
    process: CommandProcess | None = None
    confinement: GivenConfinement | None = None
    why: str | None = None

    @property
    def fates(self) -> frozenset[Fate]:
        """The fates of its changes."""
        return frozenset(self.files.values())

    @property
    def command_key(self) -> tuple[str, str]:
        """Its command and that one's folder, by which runs are known as the same."""
        words = self.args.get("command")
        command = " ".join(map(str, words)) if isinstance(words, list) else str(words or self.tool)
        return command, str(self.args.get("cwd") or "")

    @property
    def is_failed_command(self) -> bool:
        """Whether it is a command that has failed. One in the background that was stopped need not have."""
        how = self.outcome
        if how is None or self.command != "ended" or self.deduplicated:
            return False
        return not how.succeeded and (how.exit_code is not None or self.background is None)

    @property
    def stands(self) -> bool:
        """Whether its result still holds: it succeeded, and none of its changes is missing."""
        return self.ok and not self.fates & UNMADE

    @property
    def has_effect(self) -> bool:
        """Whether it has changed something, or will once its staged changes are applied."""
        return self.ok and (
            self.command in ("ended", "background") or bool(self.fates & {"held", "staged", "made"})
        )


class ExpectedTool(Value):
    """A tool call that the author of a step expects; not binding."""

    tool: str
    args: Args | None = None


Reverted = Literal["whole", "part"]
"""How much of the changes of a step or a plan was reverted."""


class Step(Value):
    """One step of a plan.

    `status` is never stored as blocked or ready: `graph.shown_status` computes these two, and the wire computes
    `order` (the index in `Plan.steps`) and `blocks`. `staged`: the step is done, but its changes wait for the one
    approval of the whole plan. `checks_changed`: the model that works on it has changed its checks. `attempts`
    counts every start; `failures` counts the runs that failed (not those that were interrupted) since the user last
    decided. `passed_over`: the user goes on without this failed step, so that those that depend on it run. The first
    `calls_before` calls no longer count against the limit
    of the step; the first `calls_closed` belong to runs that failed or were skipped, so a later run does not reuse
    their results. `skip_reason` holds for a step that was skipped while the plan ran;
    a step that failed and that the setting leaves so stays failed, with the reason "policy". `when` is a condition,
    `for_each` a list, `repeat_until` the condition that ends a loop of at most `repeat_most` rounds (docs/planning.md
    has the language); `condition_held` says how the condition was found, after which it is not evaluated again.
    `children` are the steps that a loop or a sub-plan was unrolled into and waits for, `parent` is that step.
    `template_id` is that of a sub-plan. `usage` is what all its runs have used; None before the first request.
    `run_started_at` is the start of its last run, of which `waited_ms` were spent waiting for the user; `waits_since`
    is set while it waits for one. `judged` is what language servers say of what its last run has changed.
    """

    step_id: StepId
    description: str
    instruction: str
    active_form: str = ""
    kind: StepKind = "processing"
    agent: Agent = "koda"
    tool: str | None = None
    args: Args | None = None
    depends_on: tuple[StepId, ...] = ()
    priority: Priority = "normal"
    critical: bool = False
    requires_approval: bool = False
    status: StepStatus = "pending"
    progress: int | None = None
    attempts: int = 0
    failures: int = 0
    passed_over: bool = False
    calls_before: int = 0
    calls_closed: int = 0
    result: StepResult | None = None
    skip_reason: SkipReason | None = None
    condition_held: bool | None = None
    parent: StepId | None = None
    children: tuple[StepId, ...] = ()
    usage: Usage | None = None
    question: str | None = None
    options: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    expected_files: tuple[str, ...] = ()
    attachments: tuple[AttachmentId, ...] = ()
    tools_to_execute: tuple[ExpectedTool, ...] = ()
    tools_executed: tuple[ExecutedTool, ...] = ()
    reverted: Reverted | None = None
    staged: bool = False
    checks_changed: bool = False
    when: str | None = None
    for_each: str | None = None
    repeat_until: str | None = None
    repeat_most: int | None = None
    template_id: TemplateId | None = None
    created_at: Instant | None = None
    started_at: Instant | None = None
    run_started_at: Instant | None = None
    waited_ms: int = 0
    waits_since: Instant | None = None
    completed_at: Instant | None = None
    judged: Judged | None = None

    def as_written(self) -> "Step":
        """The step as if it had never run."""
        fresh = {name: Step.model_fields[name].get_default() for name in RUN_STATE}
        checks = tuple(check.model_copy(update={"outcome": None, "detail": None}) for check in self.checks)
        return self.model_copy(update={**fresh, "checks": checks})

    @property
    def title(self) -> str:
        """The description as people read it."""
        return in_words(self.description) if self.is_loop else self.description

    @property
    def active_title(self) -> str:
        """The active form as people read it; empty if there is none."""
        return in_words(self.active_form) if self.is_loop else self.active_form

    @property
    def is_loop(self) -> bool:
        """Whether it stands for a copy of itself for each item of a list, or for each round."""
        return self.for_each is not None or self.repeat_until is not None

    @property
    def is_undecided(self) -> bool:
        """Whether it has failed, and neither a person nor the setting has decided what follows from that."""
        return self.status == "failed" and self.skip_reason is None

    @property
    def is_left(self) -> bool:
        """Whether it is decided that it is not done: it was skipped, or it failed and is left so."""
        return self.status == "skipped" or (self.status == "failed" and not self.is_undecided)

    @property
    def has_failed(self) -> bool:
        """Whether its last run failed, whatever was decided about it then; a step that was not allowed has not."""
        return self.result is not None and not self.result.ok and self.skip_reason != "approval_denied"

    @property
    def frees_dependents(self) -> bool:
        """Whether the steps that depend on this one may run: it is done, or need not be."""
        not_needed = self.passed_over or self.skip_reason == "condition"
        return self.status == "completed" or (self.is_left and not_needed)

    @property
    def is_critical(self) -> bool:
        """Whether the plan fails if the step does: it is marked so, or is there to stop the plan."""
        return self.critical or self.kind in ("check", "approval")

    @property
    def asks(self) -> str:
        """The question of a clarification or an approval gate."""
        return self.question or self.instruction or self.description

    @property
    def begins_at_once(self) -> bool:
        """Whether the step can begin without an expression being evaluated."""
        decided = self.when is None or self.condition_held is True
        return decided and not self.is_loop

    @property
    def key(self) -> StepId:
        """The key by which a plan finds the step."""
        return self.step_id

    @property
    def waits(self) -> bool:
        """Whether changes of the step are staged and not applied yet."""
        return any(call.fates & {"held", "staged"} for call in self.tools_executed)

    @property
    def is_doubtful(self) -> bool:
        """Whether it is unknown if some change of the step was applied."""
        return bool(self.in_doubt)

    @property
    def in_doubt(self) -> tuple[Uri, ...]:
        """The files of which it is unknown whether a change of the step was applied to them."""
        files = (each for call in self.tools_executed for each in call.files.items())
        return tuple(Uri(uri) for uri, fate in files if fate == "doubtful")

    @property
    def is_done(self) -> bool:
        """Whether it is completed, its changes are made, and they were not taken back."""
        return self.status == "completed" and not self.staged and self.reverted != "whole"

    @property
    def failed_command(self) -> ExecutedTool | None:
        """The last command of its run if that failed; one that states no outcome hides no earlier one that does."""
        ran = [call for call in self.tools_executed[self.calls_closed :] if call.outcome is not None]
        telling = [call for call in ran if call.outcome is not None and call.outcome.is_telling]
        last = (telling or ran)[-1:]
        return last[0] if last and last[0].is_failed_command else None

    @property
    def was_turned_down(self) -> bool:
        """Whether the step is done, but none of its changes was allowed."""
        fates = {fate for call in self.tools_executed for fate in call.files.values()}
        effect = any(call.has_effect for call in self.tools_executed)
        return self.status == "completed" and "denied" in fates and not effect

    @property
    def references(self) -> tuple[StepId, ...]:
        """The steps that this one waits for: `depends_on`, its children, and those whose result it uses."""
        waits_for = (*self.depends_on, *self.children) if self.children else self.depends_on
        listed = None if self.for_each is None else output_reference(self.for_each.strip())
        if listed is not None:
            waits_for = (*waits_for, listed.step_id)
        if not self.args:
            return waits_for
        return (*waits_for, *(found.step_id for _, found in output_references(self.args)))


RUN_STATE: frozenset[str] = frozenset(
    {
        "status",
        "progress",
        "attempts",
        "failures",
        "passed_over",
        "calls_before",
        "calls_closed",
        "result",
        "skip_reason",
        "condition_held",
        "parent",
        "children",
        "usage",
        "tools_executed",
        "reverted",
        "staged",
        "checks_changed",
        "created_at",
        "started_at",
        "run_started_at",
        "waited_ms",
        "waits_since",
        "completed_at",
        "judged",
    }
)
"""The fields of a step that its runs set; the author writes all others. `checks` also holds the outcomes."""


class UserMessage(Value):
    """A sentence that the user has said to a plan after its request.

    `open` until a planner or a step has read it; `dropped` if the revision that it asked for failed or was cancelled.
    """

    text: str
    at: Instant
    state: Literal["open", "read", "dropped"] = "open"


class AskedQuestion(Value):
    """A question that a step has asked, and its answer once there is one."""

    step_id: StepId
    question: str
    answer: str | None = None


class DraftOutcome(Value):
    """The draft that was asked for last, until its plan is approved: `failed` if the version before it is back.

    `looked` says what was looked at for it last, each in a few words.
    """

    version: int
    feedback: str | None = None
    failed: bool = False
    warnings: tuple[str, ...] = ()
    looked: tuple[str, ...] = ()


class LogLine(Value):
    """A message for the user; `{0}`, `{1}` … stand for the `values`."""

    level: Literal["debug", "info", "warning", "error"]
    message: str
    values: tuple[str | int, ...] = ()
    at: Instant


class Question(Value):
    """A question that a step waits for."""

    step_id: StepId
    question: str
    options: tuple[str, ...] = ()


class RecoveryProposal(Value):
    """The model's proposal for a failed step, or an edit for which its old text stands in several places."""

    action: Literal["retry", "skip", "insert", "abort"]
    args: Args | None = None
    steps: tuple[Step, ...] = ()
    why: str


class Recovery(Value):
    """A failed step that waits for a decision."""

    step_id: StepId
    error: str
    code: str | None = None
    options: tuple[RecoveryAction, ...]
    proposal: RecoveryProposal | None = None


class Pending(Value):
    """Everything that waits for the user."""

    approvals: tuple[Approval, ...] = ()
    questions: tuple[Question, ...] = ()
    recoveries: tuple[Recovery, ...] = ()
    conflicts: tuple[Conflict, ...] = ()


NOTHING_PENDING: Final = Pending.model_construct()


class OpenCall(Value):
    """A tool call that has started and not settled.

    `running`: its command was started, in the background if `background` is set, else as `process` once that is known.
    `denied`: the user did not allow it, for the reason `why`.
    """

    call_id: CallId
    step_id: StepId
    tool: str
    args: Args
    effect: Effect
    running: bool = False
    background: BackgroundCommand | None = None
    process: CommandProcess | None = None
    confinement: GivenConfinement | None = None
    denied: bool = False
    why: str | None = None


class Plan(Value):
    """A plan as the fold of its events. `seq` is the number of the last event folded in.

    `before_draft`: the plan before a regeneration, restored if that fails. `budget_base`: the usage when the budget
    was last granted; the budget counts from there. `summarized`: the steps that prompts describe only by
    `context_summary`. `left_out`: the files whose changes the user did not allow. `answer`: the model's final answer.
    `files_read` and `commands_run`: what was read and run while this version was made, which its steps are shown.
    `revised`: how the version under review differs from the one before it.
    `edited`: the steps that the user has added or changed by hand. `follows`: the ended plan whose conversation this
    one continues.
    `models`: what the planner and the steps have used of each model, as far as events name it.
    `made_elsewhere`: the edits that were imported with the plan. `covering_version`: the version whose approval covers
    its literal calls, too. `asking` are the agents whose reports are being written, `no_report` why some wrote none.
    """

    plan_id: PlanId
    session_id: SessionId
    version: int = 0
    seq: int = 0
    status: PlanStatus = "draft"
    workspace_folders: tuple[Uri, ...] = ()
    request: str = ""
    follows: PlanId | None = None
    messages: tuple[UserMessage, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()
    detection: Detection | None = None
    qualification: Qualification | None = None
    perspectives: tuple[Perspective, ...] = ()
    asking: tuple[Agent, ...] = ()
    no_report: dict[Agent, str] = Field(default_factory=dict)
    last_draft: DraftOutcome | None = None
    revised: tuple[PlanChange, ...] = ()
    asked: tuple[AskedQuestion, ...] = ()
    log: tuple[LogLine, ...] = ()
    summary: str = ""
    files_read: tuple[FileRead, ...] = ()
    commands_run: tuple[CommandRun, ...] = ()
    steps: IndexedTuple[Step] = IndexedTuple()
    edited: frozenset[StepId] = frozenset()
    sequential: bool = False
    estimated_duration: int | None = None
    stated_duration: int | None = None
    forecast: Forecast | None = None
    overall_risk: Risk = "low"
    route: Route = "plan"
    review: Review | None = None
    author: Author = "rules"
    template_id: TemplateId | None = None
    template_parameters: dict[str, str] = Field(default_factory=dict)
    answer: str | None = None
    confidence: Literal["high", "medium", "low"] | None = None
    models: tuple[ModelUse, ...] = ()
    execution_summary: str | None = None
    report: Report | None = None
    context_summary: str | None = None
    summarized: frozenset[StepId] = frozenset()
    usage: Usage = Usage()
    last_request: Usage | None = None
    budget_base: Usage = Usage()
    error: PlanError | None = None
    pending: Pending = NOTHING_PENDING
    created_at: Instant | None = None
    approved_at: Instant | None = None
    rejected_at: Instant | None = None
    rejection_reason: str | None = None
    completed_at: Instant | None = None
    updated_at: Instant | None = None
    approved_version: int | None = None
    covering_version: int | None = None
    paused_at: Instant | None = None
    pause_reason: PauseReason | None = None
    pause_detail: str | None = None
    model_problem: ModelProblem | None = None
    before_draft: "Plan | None" = None
    open_calls: tuple[OpenCall, ...] = ()
    edits: IndexedTuple[EditRecord] = IndexedTuple()
    left_out: tuple[Uri, ...] = ()
    made_elsewhere: frozenset[EditId] = frozenset()

    @property
    def only_asks(self) -> bool:
        """Whether the request is a question or a review that is answered directly; nothing may be changed for it."""
        detected = self.detection is not None and self.detection.only_asks
        qualified = self.qualification is not None and self.qualification.task_type == "question"
        return self.route == "direct" and (detected or qualified)

    @property
    def left_to_model(self) -> bool:
        """Whether the model that began to work on the request decides if it submits a plan."""
        return self.detection is not None and self.detection.rule == "model" and not self.detection.planned

    @property
    def unread(self) -> tuple[UserMessage, ...]:
        """The messages that no planner and no step has read yet."""
        return tuple(each for each in self.messages if each.state == "open")

    def edits_of(self, step_id: StepId) -> Iterator[EditRecord]:
        """The edits of a step, including those made for several steps at once; oldest first."""
        return (self.edits[index] for index in self.edits.referencing(step_id))

    def step(self, step_id: StepId) -> Step | None:
        """The step with this id, if the plan has one."""
        return self.steps.find(step_id)

    def answers(self, step_id: StepId) -> tuple[str, ...]:
        """The questions that a step has asked, each with its answer in a line below it."""
        answered = (each for each in self.asked if each.step_id == step_id and each.answer is not None)
        return tuple(f"{each.question}\nAnswer: {each.answer}" for each in answered)

    def made_of(self, step_id: StepId) -> tuple[StepId, ...]:
        """The steps that a loop or a sub-plan was unrolled into, with those that these were unrolled into."""
        step = self.step(step_id)
        children = () if step is None else step.children
        return tuple(each for child in children for each in (child, *self.made_of(child)))

    def index_of(self, step_id: StepId) -> int | None:
        """The index in `steps` of the first step with this id."""
        return self.steps.index_of(step_id)


class Progress(Value):
    """How many steps have each status; `percent_complete` is completed over total, rounded down."""

    total: int = 0
    pending: int = 0
    in_progress: int = 0
    completed: int = 0
    failed: int = 0
    skipped: int = 0
    percent_complete: int = 0


Ending = Literal["undone", "partly_undone", "partly", "command_failed"]
"""How an ended plan is not what its status says: its changes were taken back, all or some; it completed without all of
its steps; a command failed at the end.
"""


class PlanSummary(Value):
    """A plan in a list."""

    plan_id: PlanId
    session_id: SessionId
    version: int
    seq: int
    request: str
    status: PlanStatus
    workspace_folders: tuple[Uri, ...]
    created_at: Instant
    updated_at: Instant
    progress: Progress
    reverted: Reverted | None = None
    ending: Ending | None = None
    kept: bool = False
    """See `is_kept`."""


def is_kept(plan: Plan) -> bool:
    """Whether the plan was kept for later at its review, so that nothing of it is approved yet."""
    return plan.status == "paused" and plan.version > 0 and plan.approved_version is None


def taken_back(plan: Plan) -> Reverted | None:
    """How much of what the plan has changed in files was reverted, as far as steps know it."""
    made = (edit for edit in plan.edits if edit.state in ("applied", "reverted") and edit.has_changes)
    ids = {edit.step_id for edit in made if not edit.reverts}
    shares = {step.reverted for step in plan.steps if step.step_id in ids}
    if shares <= {None}:
        return None
    return "whole" if shares == {"whole"} else "part"


def left_steps(plan: Plan) -> tuple[Step, ...]:
    """The steps of an ended plan that did not complete, except those whose condition did not hold."""
    if plan.status not in ENDED:
        return ()
    undone = (step for step in plan.steps if step.status != "completed")
    return tuple(step for step in undone if step.skip_reason != "condition" or step.status != "skipped")


def failing(plan: Plan, commands: Iterable[ReportedCommand]) -> tuple[ReportedCommand, ...]:
    """The commands that ended a done step of the plan and whose last run has failed."""
    done = (step for step in plan.steps if step.is_done and step.result is not None)
    last = {call.command_key[0] for step in done if (call := step.failed_command) is not None}
    return tuple(each for each in commands if each.failed and not each.denied and each.command in last)


def ending(plan: Plan) -> Ending | None:
    """What is to be said of an ended plan beside its status, the most important first."""
    if plan.status not in ENDED:
        return None
    if (reverted := taken_back(plan)) is not None:
        return "undone" if reverted == "whole" else "partly_undone"
    if plan.status != "completed":
        return None
    if left_steps(plan):
        return "partly"
    return "command_failed" if plan.report is not None and failing(plan, plan.report.commands) else None


def summary(plan: Plan) -> PlanSummary:
    """The summary of a plan for a list of plans."""
    assert plan.created_at is not None, "the first event of a plan sets it"
    return PlanSummary(
        plan_id=plan.plan_id,
        session_id=plan.session_id,
        version=plan.version,
        seq=plan.seq,
        request=plan.request,
        status=plan.status,
        workspace_folders=plan.workspace_folders,
        created_at=plan.created_at,
        updated_at=plan.updated_at or plan.created_at,
        progress=progress(plan),
        reverted=taken_back(plan),
        ending=ending(plan),
        kept=is_kept(plan),
    )


def has_open_work(plan: Plan) -> bool:
    """Whether a plan has open approvals, conflicts, steps, intents or background commands: a paused one has them after
    a crash."""
    return bool(
        plan.pending.approvals
        or plan.pending.conflicts
        or any(step.status == "running" for step in plan.steps)
        or any(edit.state == "intended" for edit in plan.edits)
        or running_in_background(plan)
    )


def progress(plan: Plan) -> Progress:
    """Count the steps by status; blocked and ready count as pending, needs_clarification as running."""
    counts = {"pending": 0, "running": 0, "completed": 0, "failed": 0, "skipped": 0}
    for step in plan.steps:
        key: str = step.status
        if key in ("blocked", "ready"):
            key = "pending"
        elif key == "needs_clarification":
            key = "running"
        counts[key] += 1
    total = len(plan.steps)
    return Progress(
        total=total,
        pending=counts["pending"],
        in_progress=counts["running"],
        completed=counts["completed"],
        failed=counts["failed"],
        skipped=counts["skipped"],
        percent_complete=counts["completed"] * 100 // total if total else 0,
    )
