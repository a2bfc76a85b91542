"""The actions on offer for a plan as it stands: one table for every client."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, NamedTuple, TypeVar

from planloom.domain.changes import Conflict
from planloom.domain.events.reverts import standing, steps_undone, undone
from planloom.domain.plans.plan import SETTLED, Plan, Question, Recovery, RecoveryAction
from planloom.domain.safety.approvals import Approval
from planloom.domain.text.counted import cut
from planloom.domain.values import Json, StepId
from planloom.service.running.states import ALLOWED, Action
from planloom.view.approvals import responses
from planloom.view.states import Cause, causes
from planloom.view.words import Words

_RECOVERY: Final[dict[RecoveryAction, str]] = {
    "retry": "Retry",
    "skip": "Skip",
    "go_on": "Skip and go on",
    "abort": "End the plan",
    "accept": "Accept",
    "model": "Ask the model",
}
Kept = Literal["text", "plan"]
"""The side that is kept where the text of a document and its plan have gone apart."""
ConflictSide = Literal["mine", "theirs", "both", "merged"]
CONFLICT: Final[Mapping[ConflictSide, str]] = {
    "mine": "Keep mine",
    "theirs": "Take Planloom's",
    "both": "Keep both",
    "merged": "Use the merged document",
}
"""The choices for lines that the user and the plan have both changed, with the words on the button of each."""
CANCEL: Final = "planloom.cancel"
SHOW_CHANGES: Final = "planloom.showChanges"
RESPOND_ALL: Final = "planloom.respondAll"
RESOLVE: Final = "planloom.resolve"
M = TypeVar("M", Approval, Conflict, Question, Recovery)
_LONGEST_TITLE: Final = 40
ANSWER: Final = "Answer with the selection"
"""Answers a question without options by the text that is selected in the document."""


class Button(NamedTuple):
    """A command with its arguments, and the words on it. `step_id` is None for the whole plan.

    `cause` is the key of the matter that it answers, `hint` says what it means. What is not offered at first stands
    under the words of its `menu`.
    """

    title: str
    command: str
    arguments: list[Json]
    step_id: StepId | None = None
    cause: str | None = None
    hint: str | None = None
    menu: str | None = None


@dataclass(frozen=True)
class Situation:
    """The basis of the offers. `feedback` are the steps below which feedback is written, None for the whole plan.

    `answers` are those that are written below steps, `words` those of the user's language. `asks_trust`: the user has
    yet to say that they trust the folders. `moved_on`: the text is of an older version of the plan. `can_save`: the
    editor can be asked to save files.
    """

    plan: Plan
    feedback: Collection[StepId | None] = ()
    answers: Mapping[StepId, str] = field(default_factory=dict)
    asks_trust: bool = False
    moved_on: bool = False
    can_save: bool = False
    words: Words = field(default_factory=Words)

    def allows(self, action: Action) -> bool:
        """Whether the plan's status allows an action."""
        return action in ALLOWED[self.plan.status]

    @cached_property
    def causes(self) -> tuple[Cause, ...]:
        """What calls for the user."""
        return causes(self.plan)

    def cause(self, kind: str) -> str | None:
        """The key of what calls for the user, if it is of this kind."""
        return next((each.key for each in self.causes if each.kind == kind), None)


class _Offer(NamedTuple):
    """A button without its command."""

    title: str
    arguments: list[Json]
    step_id: StepId | None = None
    cause: str | None = None
    hint: str | None = None
    menu: str | None = None


def buttons(of: Situation) -> Iterator[Button]:
    """The actions on offer, in the order of the table."""
    for command, offers in OFFERED:
        for offer in offers(of):
            yield Button(offer.title, command, *offer[1:])


def _recoveries(recovery: Recovery) -> dict[str, RecoveryAction]:
    """The actions on offer for a failed step, by the words on the button of each."""
    titles = dict(_RECOVERY)
    if recovery.code == "lacked_network":
        titles["retry"] = "Run again with network"
    if recovery.code == "lacked_rights":
        titles["retry"] = "Run again with more rights"
    if recovery.code == "several_matches":
        titles["accept"] = "Replace all"
    return {titles[action]: action for action in recovery.options}


def _of_plan(action: Action, title: str, cause: str = "") -> Callable[[Situation], Iterator[_Offer]]:
    """An action on the whole plan, which answers a cause of this kind."""

    def offers(of: Situation) -> Iterator[_Offer]:
        if of.allows(action):
            yield _Offer(of.words(title), [of.plan.plan_id], cause=of.cause(cause))

    return offers


def _trust(of: Situation) -> Iterator[_Offer]:
    if of.asks_trust:
        yield _Offer(of.words("Trust this folder"), [])


def _keep(of: Situation) -> Iterator[_Offer]:
    if of.moved_on:
        yield _Offer(of.words("Make the plan what this text says"), [of.plan.plan_id, "text"])
        yield _Offer(of.words("Show the plan as it is"), [of.plan.plan_id, "plan"])


def _approve(of: Situation) -> Iterator[_Offer]:
    if of.allows("approve") and not of.moved_on:
        arguments: list[Json] = [of.plan.plan_id, of.plan.version]
        yield _Offer(of.words("Start execution"), arguments, cause=of.cause("review"))


def _pause(of: Situation) -> Iterator[_Offer]:
    runs = any(call.running and call.background is None for call in of.plan.open_calls)
    title = "Pause and stop the command" if runs else "Pause"
    yield from _of_plan("pause", "Keep for later" if of.plan.status == "pending_approval" else title)(of)


def _resume(of: Situation) -> Iterator[_Offer]:
    title = "Run without saving" if _waits_for_files(of) else "Resume"
    if of.plan.version > 0 and of.plan.approved_version is None:
        title = "Back to review"
    yield from _of_plan("resume", title, "pause")(of)


def _save_files(of: Situation) -> Iterator[_Offer]:
    if of.can_save and _waits_for_files(of):
        yield from _of_plan("resume", "Save and go on", "pause")(of)


def _waits_for_files(of: Situation) -> bool:
    return of.plan.status == "paused" and of.plan.pause_reason == "unsaved_files"


def _review(of: Situation) -> Iterator[_Offer]:
    if of.plan.status == "paused" and of.plan.approved_version is not None:
        yield from _of_plan("review", "Back to review")(of)


def _regenerate(of: Situation) -> Iterator[_Offer]:
    if not of.allows("regenerate"):
        return
    with_feedback = of.words("Plan again with the feedback")
    yield _Offer(with_feedback if of.feedback else of.words("Plan again"), [of.plan.plan_id])
    for step_id in of.feedback:
        if step_id is not None:
            yield _Offer(with_feedback, [of.plan.plan_id], step_id)


def _restore(of: Situation) -> Iterator[_Offer]:
    before = of.plan.version - 1
    if of.allows("edit") and of.plan.revised and before > 0:
        yield _Offer(of.words("Back to version {0}", before), [of.plan.plan_id, before])


def _undo(of: Situation) -> Iterator[_Offer]:
    made = standing(of.plan.edits) if of.allows("undo") else ()
    if made:
        yield _Offer(of.words("Undo all edits of this plan"), [of.plan.plan_id])
    yield from _of_steps(of, "Undo this step", {edit.step_id for edit in made})


def _redo(of: Situation) -> Iterator[_Offer]:
    if not of.allows("undo"):
        return
    if undone(of.plan.edits):
        yield _Offer(of.words("Redo all edits of this plan"), [of.plan.plan_id])
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
            yield _Offer(of.words(title), [of.plan.plan_id, step.step_id], step.step_id)


def _asked(of: Situation, kind: type[M]) -> Iterator[tuple[str, M]]:
    """The matters of a kind that wait for the user, each with the key of its cause."""
    return ((cause.key, each) for cause in of.causes for each in cause.about if isinstance(each, kind))


def _respond_all(of: Situation) -> Iterator[_Offer]:
    """The answers to commands that are asked together; each can be answered for itself too."""
    for cause in of.causes:
        first = cause.about[0] if len(cause.about) > 1 else None
        if isinstance(first, Approval) and first.listed is not None:
            for title, decision in ((of.words("Run all"), "allow"), (of.words("Run none"), "deny")):
                yield _Offer(
                    title, [of.plan.plan_id, first.listed.list_id, decision], first.step_id, cause.key
                )


def _respond(of: Situation) -> Iterator[_Offer]:
    for cause, approval in _asked(of, Approval):
        which = f": {_short(approval.command or '')}" if approval.listed is not None else ""
        for response in responses(approval, of.words):
            arguments: list[Json] = [approval.approval_id, response.decision]
            menu = None
            if response.rights is not None:
                arguments += [None, response.rights]
                menu = of.words("Run it with other rights")
            title = f"{response.title}{which}"
            yield _Offer(title, arguments, approval.step_id, cause, response.hint, menu)


def _show_changes(of: Situation) -> Iterator[_Offer]:
    for cause, approval in _asked(of, Approval):
        if approval.files or approval.command is not None:
            title = of.words("Show changes") if approval.files else of.words("Show the command")
            yield _Offer(title, [approval.approval_id], approval.step_id, cause)


def _answer(of: Situation) -> Iterator[_Offer]:
    for cause, question in _asked(of, Question):
        answers = {option: option for option in question.options}
        if written := of.answers.get(question.step_id):
            answers[of.words("Answer: {0}", _short(written))] = written
        for title, answer in answers.items():
            yield _Offer(title, [of.plan.plan_id, question.step_id, answer], question.step_id, cause)


def _recover(of: Situation) -> Iterator[_Offer]:
    for cause, recovery in _asked(of, Recovery):
        for title, choice in _recoveries(recovery).items():
            arguments: list[Json] = [of.plan.plan_id, recovery.step_id, choice]
            yield _Offer(of.words(title), arguments, recovery.step_id, cause)


def _resolve(of: Situation) -> Iterator[_Offer]:
    for cause, conflict in _asked(of, Conflict):
        for choice, title in CONFLICT.items():
            arguments: list[Json] = [of.plan.plan_id, conflict.edit_id, choice]
            yield _Offer(of.words(title), arguments, conflict.step_id, cause)


def _short(text: str) -> str:
    return cut(" ".join(text.split()), _LONGEST_TITLE)


OFFERED: Final[tuple[tuple[str, Callable[[Situation], Iterable[_Offer]]], ...]] = (
    ("planloom.trust", _trust),
    ("planloom.keep", _keep),
    ("planloom.approve", _approve),
    ("planloom.reject", _of_plan("reject", "Reject", "review")),
    ("planloom.direct", _of_plan("direct", "Execute directly")),
    ("planloom.pause", _pause),
    ("planloom.saveFiles", _save_files),
    ("planloom.resume", _resume),
    ("planloom.review", _review),
    (CANCEL, _of_plan("cancel", "Cancel the plan")),
    ("planloom.regenerate", _regenerate),
    ("planloom.restore", _restore),
    (RESPOND_ALL, _respond_all),
    ("planloom.respond", _respond),
    (SHOW_CHANGES, _show_changes),
    ("planloom.answer", _answer),
    ("planloom.recover", _recover),
    (RESOLVE, _resolve),
    ("planloom.skipStep", _skip),
    ("planloom.unskipStep", _unskip),
    ("planloom.undo", _undo),
    ("planloom.redo", _redo),
)
"""Each command that a document offers, with the function that makes its offers; `lsp/commands.py` declares them."""
