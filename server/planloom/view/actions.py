"""The actions on offer for a plan as it stands: one table for every client."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from planloom.domain.events.reverts import standing, steps_undone, undone
from planloom.domain.plans.plan import SETTLED, Plan, Recovery, RecoveryAction
from planloom.domain.safety.approvals import UserDecision
from planloom.domain.text.counted import cut
from planloom.domain.values import Json, StepId
from planloom.service.running.states import ALLOWED, Action
from planloom.view.words import Words

_RECOVERY: Final[dict[RecoveryAction, str]] = {
    "retry": "Retry",
    "skip": "Skip",
    "go_on": "Skip and go on",
    "abort": "End the plan",
    "accept": "Accept",
    "model": "Ask the model",
}
ALLOW, ALLOW_PLAN, ALLOW_FOLDER, DENY = "Allow once", "Allow for this plan", "Allow in this folder", "No"
Kept = Literal["text", "plan"]
"""The side that is kept where the text of a document and its plan have gone apart."""
ConflictSide = Literal["mine", "theirs", "both"]
CONFLICT: Final[Mapping[ConflictSide, str]] = {
    "mine": "Keep mine",
    "theirs": "Take Planloom's",
    "both": "Keep both",
}
"""The choices for lines that the user and the plan have both changed, with the words on the button of each."""
_LONGEST_TITLE: Final = 40
ANSWER: Final = "Answer with the selection"
"""Answers a question without options by the text that is selected in the document."""


class Button(NamedTuple):
    """A command with its arguments, and the words on it. `step_id` is None for the whole plan."""

    title: str
    command: str
    arguments: list[Json]
    step_id: StepId | None = None


@dataclass(frozen=True)
class Situation:
    """The basis of the offers. `feedback` are the steps below which feedback is written, None for the whole plan.

    `answers` are those that are written below steps, `words` those of the user's language. `asks_trust`: the user has
    yet to say that they trust the folders. `moved_on`: the text is of an older version of the plan.
    """

    plan: Plan
    feedback: Collection[StepId | None] = ()
    answers: Mapping[StepId, str] = field(default_factory=dict)
    asks_trust: bool = False
    moved_on: bool = False
    words: Words = field(default_factory=Words)

    def allows(self, action: Action) -> bool:
        """Whether the plan's status allows an action."""
        return action in ALLOWED[self.plan.status]


class _Offer(NamedTuple):
    """The words on a button with their values, the arguments of its command, and the step that it is about."""

    title: str
    arguments: list[Json]
    step_id: StepId | None = None
    values: tuple[str, ...] = ()


def buttons(of: Situation) -> Iterator[Button]:
    """The actions on offer, in the order of the table."""
    for command, offers in OFFERED:
        for offer in offers(of):
            yield Button(of.words(offer.title, *offer.values), command, offer.arguments, offer.step_id)


def recovery_choices(recovery: Recovery) -> dict[str, RecoveryAction]:
    """The actions on offer for a failed step, by the words on its button."""
    titles = dict(_RECOVERY)
    if recovery.code == "lacked_network":
        titles["retry"] = "Run again with network"
    if recovery.code == "lacked_rights":
        titles["retry"] = "Run again with more rights"
    if recovery.code == "several_matches":
        titles["accept"] = "Replace all"
    return {titles[action]: action for action in recovery.options}


def _of_plan(action: Action, title: str) -> Callable[[Situation], Iterator[_Offer]]:
    def offers(of: Situation) -> Iterator[_Offer]:
        if of.allows(action):
            yield _Offer(title, [of.plan.plan_id])

    return offers


def _trust(of: Situation) -> Iterator[_Offer]:
    if of.asks_trust:
        yield _Offer("Trust this folder", [])


def _keep(of: Situation) -> Iterator[_Offer]:
    if of.moved_on:
        yield _Offer("Make the plan what this text says", [of.plan.plan_id, "text"])
        yield _Offer("Show the plan as it is", [of.plan.plan_id, "plan"])


def _approve(of: Situation) -> Iterator[_Offer]:
    if of.allows("approve") and not of.moved_on:
        yield _Offer("Start execution", [of.plan.plan_id, of.plan.version])


def _pause(of: Situation) -> Iterator[_Offer]:
    title = "Keep for later" if of.plan.status == "pending_approval" else "Pause"
    yield from _of_plan("pause", title)(of)


def _resume(of: Situation) -> Iterator[_Offer]:
    kept = of.plan.version > 0 and of.plan.approved_version is None
    yield from _of_plan("resume", "Back to review" if kept else "Resume")(of)


def _review(of: Situation) -> Iterator[_Offer]:
    if of.plan.status == "paused" and of.plan.approved_version is not None:
        yield from _of_plan("review", "Back to review")(of)


def _regenerate(of: Situation) -> Iterator[_Offer]:
    if not of.allows("regenerate"):
        return
    yield _Offer("Plan again with the feedback" if of.feedback else "Plan again", [of.plan.plan_id])
    for step_id in of.feedback:
        if step_id is not None:
            yield _Offer("Plan again with the feedback", [of.plan.plan_id], step_id)


def _undo(of: Situation) -> Iterator[_Offer]:
    made = standing(of.plan.edits) if of.allows("undo") else ()
    if made:
        yield _Offer("Undo all edits of this plan", [of.plan.plan_id])
    yield from _of_steps(of, "Undo this step", {edit.step_id for edit in made})


def _redo(of: Situation) -> Iterator[_Offer]:
    if not of.allows("undo"):
        return
    if undone(of.plan.edits):
        yield _Offer("Redo all edits of this plan", [of.plan.plan_id])
    yield from _of_steps(of, "Redo this step", steps_undone(of.plan.edits))


def _skip(of: Situation) -> Iterator[_Offer]:
    asked = {recovery.step_id for recovery in of.plan.pending.recoveries}
    if of.allows("edit"):
        left = (step for step in of.plan.steps if step.status not in SETTLED and step.status != "running")
        yield from _of_steps(of, "Skip this step", {step.step_id for step in left} - asked)


def _unskip(of: Situation) -> Iterator[_Offer]:
    if of.allows("edit"):
        skipped = {step.step_id for step in of.plan.steps if step.status == "skipped"}
        yield from _of_steps(of, "Do not skip", skipped)


def _of_steps(of: Situation, title: str, steps: Collection[StepId | None]) -> Iterator[_Offer]:
    for step in of.plan.steps:
        if step.step_id in steps:
            yield _Offer(title, [of.plan.plan_id, step.step_id], step.step_id)


def _respond(of: Situation) -> Iterator[_Offer]:
    for approval in of.plan.pending.approvals:
        decisions: dict[str, UserDecision] = {ALLOW: "allow", ALLOW_PLAN: "allowForPlan", DENY: "deny"}
        if approval.only_once:
            del decisions[ALLOW_PLAN]
        for title, decision in decisions.items():
            yield _Offer(title, [approval.approval_id, decision], approval.step_id)


def _show_changes(of: Situation) -> Iterator[_Offer]:
    for approval in of.plan.pending.approvals:
        if approval.files or approval.command is not None:
            yield _Offer("Show changes", [approval.approval_id], approval.step_id)


def _answer(of: Situation) -> Iterator[_Offer]:
    for question in of.plan.pending.questions:
        for option in question.options:
            yield _Offer("{0}", [of.plan.plan_id, question.step_id, option], question.step_id, (option,))
        if answer := of.answers.get(question.step_id):
            shown = cut(" ".join(answer.split()), _LONGEST_TITLE)
            yield _Offer(
                "Answer: {0}", [of.plan.plan_id, question.step_id, answer], question.step_id, (shown,)
            )


def _recover(of: Situation) -> Iterator[_Offer]:
    for recovery in of.plan.pending.recoveries:
        for title, choice in recovery_choices(recovery).items():
            yield _Offer(title, [of.plan.plan_id, recovery.step_id, choice], recovery.step_id)


def _resolve(of: Situation) -> Iterator[_Offer]:
    for conflict in of.plan.pending.conflicts:
        for choice, title in CONFLICT.items():
            yield _Offer(title, [of.plan.plan_id, conflict.edit_id, choice], conflict.step_id)


OFFERED: Final[tuple[tuple[str, Callable[[Situation], Iterable[_Offer]]], ...]] = (
    ("planloom.trust", _trust),
    ("planloom.keep", _keep),
    ("planloom.approve", _approve),
    ("planloom.reject", _of_plan("reject", "Reject")),
    ("planloom.direct", _of_plan("direct", "Execute directly")),
    ("planloom.pause", _pause),
    ("planloom.resume", _resume),
    ("planloom.review", _review),
    ("planloom.cancel", _of_plan("cancel", "Cancel")),
    ("planloom.regenerate", _regenerate),
    ("planloom.respond", _respond),
    ("planloom.showChanges", _show_changes),
    ("planloom.answer", _answer),
    ("planloom.recover", _recover),
    ("planloom.resolve", _resolve),
    ("planloom.skipStep", _skip),
    ("planloom.unskipStep", _unskip),
    ("planloom.undo", _undo),
    ("planloom.redo", _redo),
)
"""Each command that a document offers, with the function that makes its offers; `lsp/commands.py` declares them."""
