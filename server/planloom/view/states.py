"""Where a plan stands, in words and by a sign, and what it waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from planloom.domain.changes import Conflict
from planloom.domain.plans.outcome import Spent
from planloom.domain.plans.plan import Plan, PlanStatus, PlanSummary, Progress, Question, Recovery
from planloom.domain.safety.approvals import Approval
from planloom.domain.values import StepId
from planloom.execution.resources import StepWait
from planloom.service.running.resource_claims import described
from planloom.view.words import Words

Sign = Literal[
    "waiting",
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
"""The state shown first of a plan: its status, unless it waits for the user or for another step, or is done in part."""
Wait = Literal["approval", "conflict", "answer", "recovery"]
"""The reason why a step, or the plan, waits."""


class Around(NamedTuple):
    """The facts in a view besides the plan: who waits for what, the use of models, and the client's language.

    `waited_ms` is how long each step's run has waited for what another step uses, before it waits now.
    """

    words: Words
    spent: Spent = Spent()
    waits: tuple[StepWait, ...] = ()
    waited_ms: Mapping[StepId, int] = {}
    waits_since: Mapping[StepId, datetime] = {}


def step_waits(plan: Plan) -> Mapping[StepId | None, Wait]:
    """The decisions that steps wait for, of several the first."""
    return {each.step_id: wait for wait, asked in reversed(_asked(plan)) for each in asked}


def wait_words(wait: Wait, t: Words) -> str:
    """The reason why a step or plan waits, in words that can follow its name."""
    match wait:
        case "approval":
            return t("waits for your approval")
        case "conflict":
            return t("waits for your choice")
        case "answer":
            return t("waits for your answer")
        case "recovery":
            return t("waits for your decision")


def waiting_for(plan: Plan, t: Words) -> str | None:
    """The reason why the plan waits, in words; None if it does not wait for the user."""
    waits = [wait for wait, asked in _asked(plan) if asked]
    if waits:
        return wait_words(waits[0], t) if len(waits) == 1 else t("waits for you")
    if plan.status == "pending_approval":
        return t("waits for your review")
    if plan.status != "paused" or plan.pause_reason == "user":
        return None
    return t("is paused and waits for you")


def causes(plan: Plan) -> tuple[str, ...]:
    """Matters of a plan that call for the user's attention, as keys: a decision keeps its key until it is answered."""
    pending = plan.pending
    decisions = [
        *(f"conflict {each.edit_id}" for each in pending.conflicts),
        *(
            f"approval {each.listed.list_id if each.listed is not None else each.approval_id}"
            for each in pending.approvals
        ),
        *(f"question {plan.plan_id} {each.step_id} {each.question}" for each in pending.questions),
        *(f"recovery {plan.plan_id} {each.step_id} {each.error}" for each in pending.recoveries),
    ]
    if decisions:
        return tuple(dict.fromkeys(decisions))
    if plan.status == "pending_approval":
        return (f"review {plan.plan_id} {plan.version}",)
    if plan.status == "paused" and plan.pause_reason != "user":
        return (f"pause {plan.plan_id} {plan.pause_reason or ''}",)
    return ()


def resource_words(wait: StepWait, t: Words) -> str:
    """The resource that a step waits for while another uses it, in words that can follow the step's name."""
    kind, path = described(wait.resource)
    if kind == "terminal":
        return t("waits for the terminal")
    return t("waits for the model") if kind == "model" else t("waits for {0}", path or "")


def state_words(plan: Plan, waits: Sequence[StepWait], counts: Progress, t: Words, *, partly: bool) -> str:
    """The state of the plan, in a few words."""
    if _waits_in_cards(plan):
        return _capitalized(waiting_for(plan, t) or "")
    if _stalled(plan, waits):
        return _capitalized(resource_words(waits[0], t))
    if partly:
        sentence = "Partly done, {0} of {1}" if counts.completed else "Not done, {0} of {1}"
        return t(sentence, counts.completed, counts.total)
    if plan.status == "paused" and plan.version > 0 and plan.approved_version is None:
        return t("Kept for later")
    return status_words(plan.status, t)


def summary_state(found: PlanSummary, t: Words) -> tuple[str, Sign]:
    """The state of a plan in a list, in words and by a sign."""
    if found.status == "completed" and found.progress.completed < found.progress.total:
        return t("Partly done"), "partly"
    return status_words(found.status, t), found.status


def status_words(status: PlanStatus, t: Words) -> str:
    """The status of a plan, in words."""
    match status:
        case "draft":
            return t("Drafting")
        case "pending_approval":
            return t("Ready for review")
        case "approved":
            return t("Starting")
        case "rejected":
            return t("Rejected")
        case "executing":
            return t("Running")
        case "paused":
            return t("Paused")
        case "completed":
            return t("Done")
        case "failed":
            return t("Failed")
        case "cancelled":
            return t("Cancelled")


def sign_of(plan: Plan, waits: Sequence[StepWait], *, partly: bool) -> Sign:
    """The state that is shown first of the plan."""
    if _waits_in_cards(plan):
        return "waiting"
    if partly:
        return "partly"
    return "stalled" if _stalled(plan, waits) else plan.status


def _asked(plan: Plan) -> Sequence[tuple[Wait, Sequence[Approval | Conflict | Question | Recovery]]]:
    pending = plan.pending
    return (
        ("conflict", pending.conflicts),
        ("approval", pending.approvals),
        ("answer", pending.questions),
        ("recovery", pending.recoveries),
    )


def _waits_in_cards(plan: Plan) -> bool:
    return plan.status != "pending_approval" and any(asked for _, asked in _asked(plan))


def _stalled(plan: Plan, waits: Sequence[StepWait]) -> bool:
    """Whether a running plan waits for other steps, and none of its own is at work."""
    waiting = {wait.step_id for wait in waits}
    return (
        plan.status == "executing"
        and bool(waits)
        and not any(step.status == "running" and step.step_id not in waiting for step in plan.steps)
    )


def _capitalized(words: str) -> str:
    return words[:1].upper() + words[1:]
