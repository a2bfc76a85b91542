"""The view of a plan: what every client shows of it. `view` is pure; clocks are start times and sums."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal, NamedTuple, get_args

from planloom.domain.events.folding import OPEN
from planloom.domain.plans.agents import (
    Agent,
    ChapoPerspective,
    DevoPerspective,
    KodaPerspective,
    Perspective,
)
from planloom.domain.plans.plan import Plan, Progress, Step, left_steps, progress
from planloom.domain.safety.approvals import PlanChange
from planloom.domain.values import PlanId, StepId
from planloom.view import approvals, figures, heads, problems
from planloom.view.actions import Button, Situation, buttons
from planloom.view.approvals import ApprovalView
from planloom.view.changes import ChangedFile, changed_files
from planloom.view.figures import Context
from planloom.view.problems import Explained
from planloom.view.states import (
    Around,
    MessageField,
    Sign,
    causes,
    message_field,
    resource_words,
    sign_of,
    state_words,
    waiting_for,
)
from planloom.view.step import steps
from planloom.view.step.commands import RanCommand, commands
from planloom.view.step.steps import StepView
from planloom.view.words import Words


class LogView(NamedTuple):
    """A message for the user."""

    level: Literal["debug", "info", "warning", "error"]
    message: str
    at: datetime


class NotDone(NamedTuple):
    """A step that an ended plan has not done, by its number, and why."""

    step_id: StepId
    number: int
    description: str
    why: str


class PerspectiveState(NamedTuple):
    """Whether an agent has written its report; `error` is why it has not."""

    agent: Agent
    name: str
    state: Literal["thinking", "failed", "done", "to come"]
    words: str
    error: str | None
    parts: tuple[ReportPart, ...] = ()


class ReportPart(NamedTuple):
    """A part of an agent's report: a text, or a list."""

    title: str
    text: str | None
    items: tuple[str, ...]


class DraftView(NamedTuple):
    """The outcome of the last draft, where that needs a word."""

    feedback: str | None
    failed: bool
    warnings: tuple[str, ...]


class OtherPlan(NamedTuple):
    """Another plan that uses what this one waits for, and the words of that."""

    plan_id: PlanId
    words: str


class PlanView(NamedTuple):
    """A plan as people see it.

    `state` and `sign` say where it stands, `waits` what it waits for, `problem` why it has failed or cannot use its
    model, `looked` what a draft has looked at last, `context` how full the model's context is, `causes` what calls for
    the user: a cause keeps its key until it is answered. `decisions` counts what waits in cards. `partly`: it has
    completed without all of its steps, which are `left`; `rest` is a request for them. `line` is its head in one line,
    under review `asks` says what it asks where each step is reviewed. `facts` are for who wants to know more. `talk`:
    it is a question with its answer. `changes` are those of a version under review since the one before it.
    `worked_on`: it holds work that is lost with it.
    """

    plan: Plan
    state: str
    sign: Sign
    waits: str | None
    causes: tuple[str, ...]
    decisions: int
    approvals: tuple[ApprovalView, ...]
    live: bool
    line: str
    asks: str | None
    facts: tuple[str, ...]
    talk: bool
    partly: bool
    worked_on: bool
    progress: Progress
    risk: str | None
    task: str | None
    verdict: str | None
    pause: str | None
    pause_help: str | None
    problem: Explained | None
    thought: str | None
    looked: tuple[str, ...]
    estimate: str | None
    estimates: tuple[str, ...]
    used: str
    used_lines: tuple[str, ...]
    context: Context | None
    perspectives: tuple[PerspectiveState, ...]
    draft: DraftView | None
    changes: tuple[PlanChange, ...]
    revision: str | None
    confidence: str | None
    left: tuple[NotDone, ...]
    rest: str | None
    commands: tuple[RanCommand, ...]
    message_field: MessageField
    files: tuple[ChangedFile, ...]
    log: tuple[LogView, ...]
    waits_for: tuple[OtherPlan, ...]
    actions: tuple[Button, ...]
    steps: tuple[StepView, ...]


_AGENTS: tuple[Agent, ...] = get_args(Agent)


def view(plan: Plan, around: Around) -> PlanView:
    """The view of a plan."""
    t = around.words
    left = _left(plan, t)
    partly = plan.status == "completed" and bool(left)
    pending = plan.pending
    decisions = sum(map(len, (pending.approvals, pending.questions, pending.recoveries, pending.conflicts)))
    counts = progress(plan)
    offered = tuple(buttons(Situation(plan=plan, can_save=around.can_save, words=t)))
    files = changed_files(plan, t)
    # While a plan is revised, the steps that it had stand.
    shown = steps.views(plan.before_draft or plan if plan.status == "draft" else plan, around, offered)
    state = state_words(plan, around.waits, counts, t)
    used_lines, context = figures.used_lines(plan, around.spent, t), figures.context(plan, around.spent, t)
    return PlanView(
        plan=plan,
        state=state,
        sign=sign_of(plan, around.waits),
        waits=waiting_for(plan, t),
        causes=tuple(each.key for each in causes(plan)),
        decisions=decisions,
        approvals=approvals.views(plan, {each.step.step_id: each.lost for each in shown}, t),
        live=plan.status in OPEN,
        line=heads.line(plan, state, counts, t),
        asks=heads.asks(plan, t),
        facts=(*heads.facts(plan, used_lines, t), *([context.words] if context is not None else [])),
        talk=heads.is_talk(plan),
        partly=partly,
        worked_on=plan.version > 1 or plan.author == "user" or counts.completed > 0,
        progress=counts,
        risk=None if plan.status == "draft" or not plan.steps else figures.risk(plan, t),
        task=figures.task(plan, t),
        verdict=figures.verdict(plan, t),
        pause=figures.pause(plan, t) if decisions == 0 else None,
        pause_help=_pause_help(plan) if decisions == 0 else None,
        problem=problems.of_plan(plan, t),
        thought=_thought(plan, around),
        looked=plan.last_draft.looked if plan.status == "draft" and plan.last_draft is not None else (),
        estimate=figures.estimate(plan, t),
        estimates=figures.estimates(plan, t),
        used=figures.used(plan, around.spent, t),
        used_lines=used_lines,
        context=context,
        perspectives=_perspectives(plan, t),
        draft=_draft(plan),
        changes=plan.revised if plan.status == "pending_approval" else (),
        revision=heads.revision(plan, t),
        confidence=figures.confidence(plan, t),
        left=left,
        rest=_rest(plan, left) if partly else None,
        commands=commands(plan, t),
        message_field=message_field(plan.status, t),
        files=files,
        log=tuple(LogView(line.level, t(line.message, *line.values), line.at) for line in plan.log),
        waits_for=_waits_for(plan, around, t),
        actions=tuple(each for each in offered if each.step_id is None),
        steps=shown,
    )


def _pause_help(plan: Plan) -> str | None:
    """The page about a pause; None of one that the user has made, or whose problem has a page of its own."""
    if plan.status != "paused" or plan.pause_reason in (None, "user", "model_unavailable"):
        return None
    return problems.help_of("pause", plan.pause_reason)


def _left(plan: Plan, t: Words) -> tuple[NotDone, ...]:
    """The steps of an ended plan that did not complete, except those whose condition did not hold."""
    reasons = {each.step_id: each.reason for each in plan.report.left} if plan.report is not None else {}
    numbers = {step.step_id: number for number, step in enumerate(plan.steps, start=1)}
    return tuple(
        NotDone(
            step.step_id,
            numbers[step.step_id],
            step.title,
            _why_left(step, reasons.get(step.step_id, ""), t),
        )
        for step in left_steps(plan)
    )


def _why_left(step: Step, reason: str, t: Words) -> str:
    if step.status == "failed":
        error = step.result.error if step.result is not None else None
        return t("failed: {0}", error or t("the reason is unknown"))
    if reason:
        return reason
    return steps.skip_words(step, t) if step.status == "skipped" else t("the plan ended before it ran")


def _rest(plan: Plan, left: tuple[NotDone, ...]) -> str:
    """A request for the steps that are left. The rules planner reads a list literally if nothing else is there."""
    undone = [step for each in left if (step := plan.step(each.step_id))]
    texts = (
        "\n\n".join((each.instruction or each.description, *plan.answers(each.step_id))) for each in undone
    )
    listed = "\n".join(f"{number}. {text.strip()}" for number, text in enumerate(texts, start=1))
    if plan.author == "rules":
        return listed
    others = "The other steps are done and stay as they are. The earlier request was:"
    return f"Do what is left of an earlier request:\n{listed}\n\n{others}\n\n{plan.request}"


def _draft(plan: Plan) -> DraftView | None:
    found = plan.last_draft
    if found is None or plan.status != "pending_approval":
        return None
    if not found.failed and (found.version == 1 or not found.warnings):
        return None
    return DraftView(found.feedback, found.failed, found.warnings)


def _thought(plan: Plan, around: Around) -> str | None:
    wait = around.model_waits.get(None)
    return problems.of_wait(wait, around.words) if wait is not None else thought(plan, around.words)


def thought(plan: Plan, t: Words) -> str | None:
    """The activity while a plan is drafted."""
    if plan.status != "draft":
        return None
    if plan.steps:
        return t.plural(len(plan.steps), "1 step so far", "{0} steps so far")
    if plan.asking:
        roles = t.list([figures.agent_name(agent, t) for agent in plan.asking])
        return t("{0} is thinking…", roles) if len(plan.asking) == 1 else t("{0} are thinking…", roles)
    done = {each.agent for each in plan.perspectives} | plan.no_report.keys()
    return t("Merging the perspectives into one plan…") if done >= set(_AGENTS) else t("Thinking…")


def _perspectives(plan: Plan, t: Words) -> tuple[PerspectiveState, ...]:
    waited = plan.route == "perspectives" and plan.status == "draft"
    return tuple(each for each in _all_perspectives(plan, t) if waited or each.state != "to come")


def _all_perspectives(plan: Plan, t: Words) -> Iterator[PerspectiveState]:
    written = {each.agent: each for each in plan.perspectives}
    for agent in _AGENTS:
        name, error = figures.agent_name(agent, t), plan.no_report.get(agent)
        if agent in plan.asking:
            yield PerspectiveState(agent, name, "thinking", t("thinking"), None)
        elif error is not None:
            yield PerspectiveState(agent, name, "failed", t("no answer"), error)
        elif agent in written:
            yield PerspectiveState(agent, name, "done", t("done"), None, _parts(written[agent], t))
        else:
            yield PerspectiveState(agent, name, "to come", t("to come"), None)


def _parts(report: Perspective, t: Words) -> tuple[ReportPart, ...]:
    """The parts of a report that are not empty, in the order in which they are shown."""
    own: tuple[tuple[str, str | tuple[str, ...]], ...]
    match report:
        case ChapoPerspective():
            own = (
                (t("Strategy"), report.strategic_analysis),
                (t("Risks"), report.risk_assessment),
                (t("Impact"), report.impact_areas),
                (t("Coordination"), report.coordination_needs),
            )
        case KodaPerspective():
            own = (
                (t("Files"), report.affected_files),
                (t("Patterns"), report.code_patterns),
                (t("Breaking changes"), report.potential_breaking_changes),
                (t("Tests"), report.testing_requirements),
            )
        case DevoPerspective():
            own = (
                (t("Deployment"), report.deployment_impact),
                (t("Rollback"), report.rollback_strategy),
                (t("Services"), report.services_affected),
                (t("Infrastructure"), report.infrastructure_changes),
            )
    shared: tuple[tuple[str, str | tuple[str, ...]], ...] = (
        (t("Concerns"), report.concerns),
        (t("Recommendations"), report.recommendations),
        (t("Dependencies"), report.dependencies),
    )
    return tuple(
        ReportPart(title, value, ()) if isinstance(value, str) else ReportPart(title, None, value)
        for title, value in (*own, *shared)
        if value
    )


def _waits_for(plan: Plan, around: Around, t: Words) -> tuple[OtherPlan, ...]:
    others = {each.used_by_plan: each for each in around.waits if each.used_by_plan != plan.plan_id}
    return tuple(OtherPlan(plan_id, resource_words(wait, t)) for plan_id, wait in others.items())
