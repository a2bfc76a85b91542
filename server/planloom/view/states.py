"""Where a plan stands, in words and by a sign, what it waits for, and what can be said to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from planloom.domain.changes import Conflict
from planloom.domain.plans.graph import WAITS, Wait, asked, waits_in_words
from planloom.domain.plans.outcome import Spent
from planloom.domain.plans.plan import (
    Ending,
    Plan,
    PlanStatus,
    PlanSummary,
    Progress,
    Question,
    Recovery,
    ending,
)
from planloom.domain.safety.approvals import Approval
from planloom.domain.values import StepId
from planloom.execution.model_waits import NO_WAITS, Waits
from planloom.execution.resources import StepWait
from planloom.service.running.resource_claims import described
from planloom.view.words import Words

Sign = Literal[
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
"""The state shown first of a plan: its status, unless it waits for the user or for another step, was undone, or is done
with a reservation, which `partly` stands for.
"""


class Around(NamedTuple):
    """The facts in a view besides the plan: who waits for what, the use of models, and the client's language.

    `waited_ms` is how long each step's run has waited for what another step uses, before it waits now. `model_waits` is
    the work that waits for a model. `can_save`: the editor can be asked to save files.
    """

    words: Words
    spent: Spent = Spent()
    waits: tuple[StepWait, ...] = ()
    waited_ms: Mapping[StepId, int] = {}
    waits_since: Mapping[StepId, datetime] = {}
    model_waits: Waits = NO_WAITS
    can_save: bool = False


class Cause(NamedTuple):
    """A matter that calls for the user. A decision keeps its key until it is answered.

    `about` is the conflict, the question, the failed step, or the approvals that are asked together.
    """

    key: str
    kind: Wait | Literal["review", "pause"]
    about: tuple[Approval | Conflict | Question | Recovery, ...] = ()


def wait_words(wait: Wait, t: Words) -> str:
    """The reason why a step or plan waits, in words that can follow its name."""
    return t(WAITS[wait])


def waiting_for(plan: Plan, t: Words) -> str | None:
    """The reason why the plan waits, in words; None if it does not wait for the user."""
    if decisions := waits_in_words(plan):
        return t(decisions)
    if plan.status == "pending_approval":
        return t("waits for your review")
    if plan.status != "paused" or plan.pause_reason == "user":
        return None
    return t("is paused and waits for you")


def causes(plan: Plan) -> tuple[Cause, ...]:
    """Matters of a plan that call for the user's attention."""
    decisions: dict[str, Cause] = {}
    for kind, matters in asked(plan).items():
        for each in matters:
            key = _key(plan, each)
            before = decisions[key].about if key in decisions else ()
            decisions[key] = Cause(key, kind, (*before, each))
    if decisions:
        return tuple(decisions.values())
    if plan.status == "pending_approval":
        return (Cause(f"review {plan.plan_id}", "review"),)
    if plan.status == "paused" and plan.pause_reason != "user":
        return (Cause(f"pause {plan.plan_id} {plan.pause_reason or ''}", "pause"),)
    return ()


def _key(plan: Plan, matter: Approval | Conflict | Question | Recovery) -> str:
    match matter:
        case Conflict():
            return f"conflict {matter.edit_id}"
        case Approval():
            return f"approval {matter.listed.list_id if matter.listed is not None else matter.approval_id}"
        case Question():
            return f"question {plan.plan_id} {matter.step_id} {matter.question}"
        case Recovery():
            return f"recovery {plan.plan_id} {matter.step_id} {matter.error}"


def resource_words(wait: StepWait, t: Words) -> str:
    """The resource that a step waits for while another uses it, in words that can follow the step's name."""
    kind, path = described(wait.resource)
    if kind == "terminal":
        return t("waits for the terminal")
    return t("waits for the model") if kind == "model" else t("waits for {0}", path or "")


def state_words(plan: Plan, waits: Sequence[StepWait], counts: Progress, t: Words) -> str:
    """The state of the plan, in a few words."""
    if _waits_in_cards(plan):
        return _capitalized(waiting_for(plan, t) or "")
    if _stalled(plan, waits):
        return _capitalized(resource_words(waits[0], t))
    if (how := ending(plan)) == "partly":
        sentence = "Partly done, {0} of {1}" if counts.completed else "Not done, {0} of {1}"
        return t(sentence, counts.completed, counts.total)
    if how is not None:
        return _ending_words(how, t)
    if plan.status == "paused" and plan.version > 0 and plan.approved_version is None:
        return t("Kept for later")
    return status_words(plan.status, t)


def summary_state(found: PlanSummary, t: Words) -> tuple[str, Sign]:
    """The state of a plan in a list, in words and by a sign."""
    how = found.ending
    # Older ledgers say no ending.
    if how is None and found.status == "completed" and found.progress.completed < found.progress.total:
        how = "partly"
    if how is None:
        return status_words(found.status, t), found.status
    return _ending_words(how, t), _ENDING_SIGNS[how]


_ENDING_SIGNS: dict[Ending, Sign] = {
    "undone": "undone",
    "partly_undone": "partly",
    "partly": "partly",
    "command_failed": "partly",
}


def _ending_words(how: Ending, t: Words) -> str:
    match how:
        case "undone":
            return t("Undone")
        case "partly_undone":
            return t("Partly undone")
        case "partly":
            return t("Partly done")
        case "command_failed":
            return t("Done, but a command failed")


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


def sign_of(plan: Plan, waits: Sequence[StepWait]) -> Sign:
    """The state that is shown first of the plan."""
    if _waits_in_cards(plan):
        return "waiting"
    if (how := ending(plan)) is not None:
        return _ENDING_SIGNS[how]
    return "stalled" if _stalled(plan, waits) else plan.status


def _waits_in_cards(plan: Plan) -> bool:
    return plan.status != "pending_approval" and bool(asked(plan))


def _stalled(plan: Plan, waits: Sequence[StepWait]) -> bool:
    """Whether a running plan waits for other steps, and none of its own is at work."""
    waiting = {wait.step_id for wait in waits}
    return (
        plan.status == "executing"
        and bool(waits)
        and not any(step.status == "running" and step.step_id not in waiting for step in plan.steps)
    )


class MessageField(NamedTuple):
    """The question of the field in which a message is written, the word on its button, and what becomes of it."""

    placeholder: str
    button: str
    hint: str


def message_field(status: PlanStatus, t: Words) -> MessageField:
    """The field for messages to a plan of this status."""
    match status:
        case "draft" | "pending_approval" | "rejected":
            return MessageField(
                t("What should change in this plan?"),
                t("Revise"),
                t(
                    "Gives a new version of the plan; steps that you have edited stay, unless you speak of them."
                ),
            )
        case "paused":
            return MessageField(
                t("Say something to this plan."), t("Send"), t("The plan reads it when it is resumed.")
            )
        case "approved" | "executing":
            hint = t("The running step reads it before its next request to the model.")
            return MessageField(t("Say something to this plan."), t("Send"), hint)
        case "completed" | "failed" | "cancelled":
            return MessageField(
                t("What next?"), t("Continue"), t("A new plan goes on with the conversation of this one.")
            )


def _capitalized(words: str) -> str:
    return words[:1].upper() + words[1:]
