"""What can be done with a plan and its steps as they stand: one list for code lenses and code actions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from planloom.domain.plans.plan import Plan, Recovery, RecoveryAction
from planloom.domain.values import Json, StepId
from planloom.service.running.states import ALLOWED, Action

_RECOVERY: Final[dict[RecoveryAction, str]] = {
    "retry": "Retry",
    "skip": "Skip",
    "go_on": "Skip and go on",
    "abort": "End the plan",
    "accept": "Accept",
    "model": "Ask the model",
}
_PLAN: Final[tuple[tuple[Action, str, str], ...]] = (
    ("reject", "Reject", "planloom.reject"),
    ("direct", "Execute directly", "planloom.direct"),
    ("pause", "Pause", "planloom.pause"),
    ("resume", "Resume", "planloom.resume"),
    ("cancel", "Cancel", "planloom.cancel"),
    ("regenerate", "Plan again", "planloom.regenerate"),
    ("undo", "Undo", "planloom.undo"),
)

ANSWER: Final = "Answer with the selection"
"""Answers a question without options by the text that is selected in the document."""


class Button(NamedTuple):
    """A command with its arguments, and the words on it. `step_id` is None for the whole plan."""

    title: str
    command: str
    arguments: list[Json]
    step_id: StepId | None = None


def recovery_choices(recovery: Recovery) -> dict[str, RecoveryAction]:
    """What can be done about a failed step, by the words on its button."""
    titles = dict(_RECOVERY)
    if recovery.code == "lacked_network":
        titles["retry"] = "Run again with network"
    return {titles[action]: action for action in recovery.options}


def buttons(plan: Plan) -> Iterator[Button]:
    """What the user can do now; each button names the plan and, where it matters, the version."""
    allowed = ALLOWED[plan.status]
    if "approve" in allowed:
        yield Button("Approve and start", "planloom.approve", [plan.plan_id, plan.version])
    has_edits = any(edit.state == "applied" and not edit.reverts for edit in plan.edits)
    for action, title, command in _PLAN:
        if action in allowed and (action != "undo" or has_edits):
            yield Button(title, command, [plan.plan_id])
    for approval in plan.pending.approvals:
        asks = approval.confinement is not None and approval.confinement.asks_network
        for title, decision in (("Allow with network" if asks else "Allow", "allow"), ("Deny", "deny")):
            yield Button(title, "planloom.respond", [approval.approval_id, decision], approval.step_id)
    for question in plan.pending.questions:
        for option in question.options:
            yield Button(
                option, "planloom.answer", [plan.plan_id, question.step_id, option], question.step_id
            )
    for recovery in plan.pending.recoveries:
        for title, choice in recovery_choices(recovery).items():
            arguments: list[Json] = [plan.plan_id, recovery.step_id, choice]
            yield Button(title, "planloom.recover", arguments, recovery.step_id)
    if "undo" in allowed:
        changed = {
            step_id
            for edit in plan.edits
            if edit.state == "applied" and not edit.reverts
            for step_id in edit.references
        }
        for step in plan.steps:
            if step.step_id in changed:
                yield Button("Undo this step", "planloom.undo", [plan.plan_id, step.step_id], step.step_id)
