"""The view of a plan on the wire: whole, and as a patch of the one that was sent before."""

from typing import Literal

from pydantic import JsonValue

from planloom.lsp.wire.base import Bool, Int, Maybe, MaybeCount, MaybeMany, Time, Wire
from planloom.lsp.wire.plan import Agent, Args, Plan, Progress, Review, Step
from planloom.lsp.wire.review import ChangeKind, PlanChange, Unresolved
from planloom.view.problems import Mend
from planloom.view.states import Sign
from planloom.view.step.steps import StepSign

StepDecision = Literal["approval", "conflict", "answer", "recovery"]


class Action(Wire):
    """What the user can do now: a command of `workspace/executeCommand`, and the words on its button."""

    title: str
    command: str
    arguments: tuple[JsonValue, ...]


class Explained(Wire):
    """An error in the user's words, and what mends it, the most likely first; also `data.explained` of an error.

    `until` is when a server that takes no more requests can be asked again, `help` the address of the page about it.
    """

    words: str
    mends: tuple[Mend, ...]
    until: Maybe[Time] = None
    help: Maybe[str] = None


class OpenCall(Wire):
    """A tool call that is being carried out."""

    call_id: str
    tool: str
    args: Args


class AnsweredQuestion(Wire):
    """A question that a step has asked, and its answer."""

    question: str
    answer: str


class Clock(Wire):
    """How long a run has worked: from `since`, less `waitedMs`, to `until`, or to now."""

    since: Time
    waited_ms: Int
    until: Maybe[Time] = None


class CheckWords(Wire):
    """What a check says of its path, command or condition, and how it came out."""

    what: str
    outcome: str


class Rule(Wire):
    """What decides whether or how often a step runs, in words; `hint` says what such a rule does."""

    kind: Literal["when", "forEach", "repeatUntil"]
    words: str
    hint: str


class ProblemView(Wire):
    """A problem that a change would bring. `line` counts from 1 in the file as it would be; `kind` is the severity in
    words."""

    uri: str
    path: str
    line: Int
    severity: Literal["error", "warning"]
    kind: str
    message: str


class JudgedView(Wire):
    """What language servers say of a change, in a line, and the problems at their places; `more` counts the others."""

    words: str
    problems: MaybeMany[ProblemView] = None
    more: Maybe[str] = None


class StepView(Wire):
    """A step as people see it.

    `sign` and `words` say where it stands, `waits` what it waits for of the user, `stalled` what another step uses.
    `lost` says which steps are skipped if the user refuses. `workedMs`, or of a running step `clock`, is its time.
    `node` says what it is if it is no work, `after` the numbers of the steps before it. `checks`
    are those of `step.checks` in words, `proposal` is what the model proposes where it has failed. `note` is what its
    row says besides its title, `facts` and what is `judged` of its changes are for who opens it. It asks before its
    effect under the reviews `asks`. `wave`, from 0, is its place in a drawing, `links` the steps before it without
    those that a longer path implies.
    """

    step: Step
    number: Int
    sign: StepSign
    words: str
    waits: Maybe[StepDecision] = None
    stalled: Maybe[str] = None
    calls: MaybeMany[OpenCall] = None
    background: Maybe[str] = None
    retry: Maybe[str] = None
    skipped: Maybe[str] = None
    position: Maybe[str] = None
    asked: MaybeMany[AnsweredQuestion] = None
    changed: Int
    lost: Maybe[str] = None
    worked_ms: Maybe[Int] = None
    clock: Maybe[Clock] = None
    agent: str
    node: Maybe[str] = None
    rules: MaybeMany[Rule] = None
    after: str
    checks: MaybeMany[CheckWords] = None
    proposal: Maybe[str] = None
    used: Maybe[str] = None
    note: Maybe[str] = None
    facts: MaybeMany[str] = None
    judged: Maybe[JudgedView] = None
    asks: MaybeMany[Review] = None
    wave: MaybeCount = None
    links: MaybeMany[str] = None
    actions: MaybeMany[Action] = None


class ChangedFile(Wire):
    """The last change of a file; `kind` says what it does, `words` where it stands. `lasting`: it cannot be undone.

    A file that the step `createdBy` has created stays new when it is edited.
    """

    edit_id: str
    step_id: Maybe[str] = None
    created_by: Maybe[str] = None
    uri: str
    new_uri: Maybe[str] = None
    change: ChangeKind
    kind: str
    state: Literal["writing", "applied", "refused", "reverted", "conflict"]
    words: str
    merged: Bool
    by_command: Bool
    lasting: Bool
    reason: Maybe[str] = None


class ReportPart(Wire):
    """A part of an agent's report: a text, or a list."""

    title: str
    text: Maybe[str] = None
    items: MaybeMany[str] = None


class RanCommand(Wire):
    """A command and the outcome of its last run; without `good` it did not end by itself and need not have failed."""

    command: str
    good: Maybe[Bool] = None
    words: str


class MessageField(Wire):
    """The question of the field in which a message is written, the word on its button, and what becomes of it."""

    placeholder: str
    button: str
    hint: str


class PerspectiveState(Wire):
    """Whether an agent has written its report."""

    agent: Agent
    name: str
    state: Literal["thinking", "failed", "done", "to come"]
    words: str
    error: Maybe[str] = None
    parts: MaybeMany[ReportPart] = None


class DraftView(Wire):
    """What became of the last draft: `failed` if the version before it is back."""

    feedback: Maybe[str] = None
    failed: Bool
    warnings: tuple[str, ...]


class NotDone(Wire):
    """A step that an ended plan has not done, by its number, and why."""

    step_id: str
    number: Int
    description: str
    why: str


class LogView(Wire):
    """A message for the user."""

    level: Literal["debug", "info", "warning", "error"]
    message: str
    at: Time


class OtherPlan(Wire):
    """Another plan that uses what this one waits for."""

    plan_id: str
    words: str


class Danger(Wire):
    """What is dangerous about an approval."""

    tone: Literal["medium", "high"]
    words: str


class ApprovalView(Wire):
    """An approval that waits. `allow` and `deny` are the words on its buttons, `refuse` leads to `deny`.

    `ahead` and `inFolder` say what it covers if it is allowed for the plan, or in its folder, where it can be. `folder`
    is that of a command. `kinds` say what happens to each of its files, `lost` what is skipped if it is denied.
    `judged` is what language servers say of the changes, where one judges such files.
    """

    approval_id: str
    allow: str
    refuse: str
    deny: str
    danger: Maybe[Danger] = None
    ahead: Maybe[str] = None
    in_folder: Maybe[str] = None
    folder: Maybe[str] = None
    kinds: tuple[str, ...]
    lost: Maybe[str] = None
    judged: Maybe[JudgedView] = None


class ContextFill(Wire):
    """How full the model's context was in the last request, in percent and in words."""

    percent: Int
    words: str


class PlanHead(Wire):
    """A plan as people see it, without its steps: those of `plan` are in `PlanView.steps`.

    `state` and `sign` say where it stands, `waits` what it waits for, `problem` why it has failed or its model cannot
    be used, `looked` what a draft has looked at last. A cause in `causes` calls for the user until it is answered;
    `decisions` counts the cards. `partly`: it has completed without the steps of `left`; `rest` is a request for them.
    `workedOn`: it holds work that is lost with it. `line` is its head in one line, `asks` what it asks under review
    where each step is reviewed. `facts` are for who wants to know more. `talk`: it is a question with its answer.
    """

    plan: Plan
    state: str
    sign: Sign
    waits: Maybe[str] = None
    causes: tuple[str, ...]
    decisions: Int
    approvals: MaybeMany[ApprovalView] = None
    live: Bool
    line: str
    asks: Maybe[str] = None
    facts: MaybeMany[str] = None
    talk: Bool
    partly: Bool
    worked_on: Bool
    progress: Progress
    risk: Maybe[str] = None
    task: Maybe[str] = None
    verdict: Maybe[str] = None
    pause: Maybe[str] = None
    pause_help: Maybe[str] = None
    problem: Maybe[Explained] = None
    thought: Maybe[str] = None
    looked: MaybeMany[str] = None
    estimate: Maybe[str] = None
    estimates: MaybeMany[str] = None
    used: str
    used_lines: MaybeMany[str] = None
    context: Maybe[ContextFill] = None
    perspectives: MaybeMany[PerspectiveState] = None
    draft: Maybe[DraftView] = None
    changes: MaybeMany[PlanChange] = None
    revision: Maybe[str] = None
    answer: Maybe[str] = None
    confidence: Maybe[str] = None
    unresolved: MaybeMany[Unresolved] = None
    left: MaybeMany[NotDone] = None
    rest: Maybe[str] = None
    commands: MaybeMany[RanCommand] = None
    message_field: MessageField
    files: tuple[ChangedFile, ...]
    log: tuple[LogView, ...]
    waits_for: MaybeMany[OtherPlan] = None
    actions: tuple[Action, ...]


class PlanView(PlanHead):
    """A plan as people see it, whole."""

    steps: tuple[StepView, ...]


class ViewPatch(Wire):
    """What differs from the view before: fields of `plan` and of `PlanHead`, null for those that are left out now.

    `steps` are the new and the changed ones as whole values; `order` are the ids of all, where that changed.
    """

    plan: Maybe[dict[str, JsonValue]] = None
    head: Maybe[dict[str, JsonValue]] = None
    steps: MaybeMany[StepView] = None
    order: Maybe[tuple[str, ...]] = None


class ViewParams(Wire):
    """`planloom/plan/view`: the first view of a plan whole, then patches, counted by `number` without gaps."""

    plan_id: str
    number: Int
    view: Maybe[PlanView] = None
    patch: Maybe[ViewPatch] = None


class ViewResult(Wire):
    """The whole view of a plan, of which patches from `number` on follow."""

    number: Int
    view: PlanView
