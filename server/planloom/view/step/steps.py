"""The view of a step: its sign and words, its clock, what it waits for, what is done at it now."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, TypeVar

from planloom.domain.plans import graph
from planloom.domain.plans.commands import running_in_background
from planloom.domain.plans.plan import (
    SETTLED,
    AskedQuestion,
    OpenCall,
    Plan,
    Recovery,
    Review,
    Step,
    StepStatus,
)
from planloom.domain.plans.unrolling import is_under_way, most_rounds
from planloom.domain.values import StepId
from planloom.view.actions import Button
from planloom.view.changes import standing_files
from planloom.view.figures import agent_name, usage_words
from planloom.view.judged import JudgedView, judged_view
from planloom.view.problems import of_wait
from planloom.view.states import Around, resource_words, wait_words
from planloom.view.step.nodes import CheckWords, Rule, check_words, node_words, rules
from planloom.view.step.rows import asks, facts, note
from planloom.view.step.waves import places
from planloom.view.words import Words

StepSign = Literal[
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
S = TypeVar("S", OpenCall, AskedQuestion, Button)
_WAITING: frozenset[StepSign] = frozenset({"waiting", "stalled", "unchanged", "warning", "undone"})
_OPEN: frozenset[StepStatus] = frozenset({"pending", "blocked", "ready"})


class Clock(NamedTuple):
    """How long a run of a step has worked: since `since`, less `waited_ms`, until `until` if it does not work now."""

    since: datetime
    waited_ms: int
    until: datetime | None


class StepView(NamedTuple):
    """A step as people see it. `number` counts from 1; `status` is computed from its dependencies.

    `sign` and `words` say where it stands. `waits` is the decision that it waits for, `stalled` what another step
    uses. `calls` are open; `background` is the command that it has left running. `worked_ms` is how long its last run
    took, of one that runs `clock` says since when. `lost` says which steps are skipped with it, `used` what its runs
    have used of the model. `node` says what it is if it is no work, `after` the numbers of the steps before it.

    `note` is what its row says besides its title, `facts` and what is `judged` of its changes are for who opens it. It
    asks before its effect under the reviews `asks`. `wave` and `links` are its place in a drawing.
    """

    step: Step
    number: int
    status: StepStatus
    blocks: tuple[StepId, ...]
    sign: StepSign
    words: str
    waits: graph.Wait | None
    stalled: str | None
    calls: tuple[OpenCall, ...]
    background: str | None
    retry: str | None
    skipped: str | None
    position: str | None
    asked: tuple[AskedQuestion, ...]
    changed: int
    lost: str | None
    worked_ms: int | None
    clock: Clock | None
    agent: str
    node: str | None
    rules: tuple[Rule, ...]
    after: str
    checks: tuple[CheckWords, ...]
    proposal: str | None
    used: str | None
    note: str | None
    facts: tuple[str, ...]
    judged: JudgedView | None
    asks: tuple[Review, ...]
    wave: int
    links: tuple[StepId, ...]
    actions: tuple[Button, ...]


def views(plan: Plan, around: Around, offered: Sequence[Button]) -> tuple[StepView, ...]:
    """The views of all steps of a plan."""
    t = around.words
    shown = graph.shown_statuses(plan)
    blocks = graph.all_blocks(plan.steps)
    waits = graph.step_waits(plan)
    stalls = {wait.step_id: wait for wait in reversed(around.waits)}
    changed = Counter(step_id for step_id, _ in standing_files(plan))
    background = {step_id: command.command for step_id, command in running_in_background(plan)}
    calls = _by_step(plan.open_calls)
    asked = _by_step(question for question in plan.asked if question.answer is not None)
    actions = _by_step(offered)
    proposals = {
        each.step_id: proposal_words(each, t) for each in plan.pending.recoveries if each.proposal is not None
    }
    numbers = {step.step_id: number for number, step in enumerate(plan.steps, start=1)}
    placed = places(plan.steps, sequential=plan.sequential)
    found = []
    for number, step in enumerate(plan.steps, start=1):
        after = ", ".join(str(numbers.get(each, each)) for each in step.depends_on)
        under_way = _under_way(plan, step)
        status = shown[number - 1]
        wait, stall = waits.get(step.step_id), stalls.get(step.step_id)
        model_wait = around.model_waits.get(step.step_id)
        stalled = None if stall is None else resource_words(stall, t)
        if model_wait is not None:
            stalled = of_wait(model_wait, t)
        sign, words = _look(step, "running" if under_way else status, wait, stalled, t)
        worked, clock = _clock(step, around)
        skipped = skip_words(step, t) if step.status == "skipped" else None
        retry, position = _retry(step), _position(plan, step, t) if under_way else None
        found.append(
            StepView(
                step=step,
                number=number,
                status=status,
                blocks=blocks.get(step.step_id, ()),
                sign=sign,
                words=words,
                waits=wait,
                stalled=stalled,
                calls=calls.get(step.step_id, ()),
                background=background.get(step.step_id),
                retry=retry,
                skipped=skipped,
                position=position,
                asked=asked.get(step.step_id, ()),
                changed=changed[step.step_id],
                lost=_lost(plan, step, blocks, t) if wait not in (None, "answer") else None,
                worked_ms=worked,
                clock=clock,
                agent=agent_name(step.agent, t),
                node=node_words(step, t),
                rules=rules(step, t),
                checks=tuple(check_words(each, t) for each in step.checks),
                proposal=proposals.get(step.step_id),
                after=after,
                used=None if step.usage is None else usage_words(step.usage, t),
                note=skipped or note(words if sign in _WAITING else None, retry, position, t),
                facts=tuple(facts(step, after, changed[step.step_id], background.get(step.step_id), t)),
                judged=_judged(plan, step, t),
                asks=asks(step),
                wave=placed[number - 1].wave,
                links=placed[number - 1].links,
                actions=actions.get(step.step_id, ()),
            )
        )
    return tuple(found)


def _judged(plan: Plan, step: Step, t: Words) -> JudgedView | None:
    """The last judgement of a step's changes, as long as they stand."""
    is_gone = step.status == "pending" or step.was_turned_down or step.reverted == "whole"
    return None if step.judged is None or is_gone else judged_view(step.judged, plan.workspace_folders, t)


def _by_step(values: Iterable[S]) -> Mapping[StepId | None, tuple[S, ...]]:
    found: defaultdict[StepId | None, list[S]] = defaultdict(list)
    for value in values:
        found[value.step_id].append(value)
    return {step_id: tuple(those) for step_id, those in found.items()}


def proposal_words(recovery: Recovery, t: Words) -> str | None:
    """What the model proposes to do about a failed step; the tool's own proposal says it itself."""
    if recovery.proposal is None or recovery.code == "several_matches":
        return None
    match recovery.proposal.action:
        case "insert":
            return t("The model proposes to insert steps.")
        case "retry":
            return t("The model proposes to retry.")
        case "skip":
            return t("The model proposes to skip the step.")
        case "abort":
            return t("The model proposes to end the plan.")


def skip_words(step: Step, t: Words) -> str:
    """Why a step was skipped."""
    match step.skip_reason:
        case "approval_denied":
            return t("its changes were not applied")
        case "dependency_failed":
            return t("a step it depends on did not finish")
        case "condition":
            return t("its condition did not hold")
        case "policy":
            return t("skipped after it failed, as the setting says")
        case _:
            return t("skipped by you")


def _look(
    step: Step, status: StepStatus, waits: graph.Wait | None, stalled: str | None, t: Words
) -> tuple[StepSign, str]:
    if waits is not None:
        return "failed" if waits == "recovery" else "waiting", wait_words(waits, t)
    if stalled is not None:
        return "stalled", stalled
    if step.reverted is not None and status == "completed":
        return ("undone", t("undone")) if step.reverted == "whole" else ("warning", t("partly undone"))
    match step.result.caveat if step.result is not None else None:
        case "unchanged":
            return "unchanged", t("nothing to change")
        case "unchecked" if step.judged is not None and step.judged.errors:
            return "warning", t.plural(step.judged.errors, "1 new error is left", "{0} new errors are left")
        case "unchecked":
            return "warning", t("not checked")
        case "command_failed":
            return "warning", t("its last command failed")
        case _:
            return status, _status_words(status, t)


def _status_words(status: StepStatus, t: Words) -> str:
    match status:
        case "pending":
            return t("not started")
        case "blocked":
            return t("waits for other steps")
        case "ready":
            return t("ready")
        case "running":
            return t("running")
        case "needs_clarification":
            return t("waits for your answer")
        case "completed":
            return t("done")
        case "failed":
            return t("failed")
        case "skipped":
            return t("skipped")


def _under_way(plan: Plan, step: Step) -> bool:
    """Whether a step is a loop or a sub-plan whose steps run."""
    return plan.status == "executing" and is_under_way(step)


def _position(plan: Plan, step: Step, t: Words) -> str:
    """How many steps of a loop have ended, or which round it is in."""
    children = [child for child in map(plan.step, step.children) if child is not None]
    if step.repeat_until is not None:
        return t("round {0} of at most {1}", len(children), most_rounds(step))
    ended = sum(child.status in SETTLED for child in children)
    return t("{0} of {1} steps ended", ended, len(children))


def _retry(step: Step) -> str | None:
    """Why a step that is run again has failed."""
    result = step.result
    return result.error if step.status == "pending" and result is not None and not result.ok else None


def _clock(step: Step, around: Around) -> tuple[int | None, Clock | None]:
    waited = step.waited_ms + around.waited_ms.get(step.step_id, 0)
    if step.result is not None:
        return max(0, step.result.duration_ms - waited), None
    if step.status not in ("running", "needs_clarification") or step.run_started_at is None:
        return None, None
    stopped = step.waits_since or around.waits_since.get(step.step_id)
    return None, Clock(step.run_started_at, waited, stopped)


def _lost(plan: Plan, step: Step, blocks: Mapping[StepId, Sequence[StepId]], t: Words) -> str | None:
    """The steps that are skipped too if the user refuses what this one asks for."""
    lost, left = set[StepId](), [step.step_id]
    while left:
        found = set(blocks.get(left.pop(), ())) - lost
        lost |= found
        left.extend(found)
    numbers = [
        number
        for number, each in enumerate(plan.steps, start=1)
        if each.step_id in lost and each.status in _OPEN
    ]
    if not numbers:
        return None
    names = t.list([str(number) for number in numbers])
    # A refusal ends a step that is one call. A step of the model goes on: the model may find another way.
    if len(numbers) == 1:
        if step.tool is None:
            return t("Step {0} depends on it and is skipped too, unless the model finds another way.", names)
        return t("Step {0} depends on it and is skipped too.", names)
    if step.tool is None:
        return t("Steps {0} depend on it and are skipped too, unless the model finds another way.", names)
    return t("Steps {0} depend on it and are skipped too.", names)
