"""The approvals that wait for the user: each is requested by an event, answered once, or withdrawn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from planloom.domain.changes import Changeset
from planloom.domain.errors import InvalidParams, UnknownThing, WrongState
from planloom.domain.events import catalog as ev
from planloom.domain.problems import Judged
from planloom.domain.safety.approvals import (
    ALLOWED,
    Approval,
    Decision,
    EditedProposal,
    ListPlace,
    UserDecision,
    same_question,
)
from planloom.domain.safety.confinement import Confinement
from planloom.domain.values import ApprovalId, PlanId, StepId, Uri
from planloom.execution.effects.edited_proposals import edited_proposals
from planloom.execution.plan_store import PlanStore

CHANGED_SINCE: Final = "What this command would run has changed since you were asked for it in a list."


class ApprovalResponse(NamedTuple):
    """The user's answer to an approval. `files` are those allowed, None for all.

    `confinement` is what the user has chosen for a command, None for what was shown. `changeset` are the changes as the
    user has edited them, None for those proposed.
    """

    decision: UserDecision
    reason: str | None = None
    files: tuple[Uri, ...] | None = None
    confinement: Confinement | None = None
    changeset: Changeset | None = None


Covered: TypeAlias = Callable[[], ApprovalResponse | None]
"""The response to a request by what the user has allowed since it was made; None if it is still to be asked."""


class Question(NamedTuple):
    """An approval to request, and what may answer it before the user does."""

    approval: Approval
    covered: Covered


class _Waiting(NamedTuple):
    """A request; `is_ahead` until the call that it is for asks for it."""

    approval: Approval
    changeset: Changeset
    answer: asyncio.Future[ApprovalResponse]
    covered: Covered
    is_ahead: bool = False


class _Resolved(NamedTuple):
    decision: Decision
    by: str


class PendingApprovals:
    """The approvals that wait for the user, and the decisions on earlier ones."""

    def __init__(self, plan_store: PlanStore) -> None:
        self._plan_store = plan_store
        self._waiting: dict[ApprovalId, _Waiting] = {}
        self._resolved: dict[ApprovalId, _Resolved] = {}

    async def ask(
        self,
        approval: Approval,
        changeset: Changeset,
        following: Sequence[Question] = (),
        covered: Covered = lambda: None,
    ) -> ApprovalResponse:
        """Request an approval and wait for the response. A cancellation withdraws the request.

        Those `following` are requested with it, as one list; who asks for one of them later gets the response to it.
        What `covered` says after an answer to another request of the plan answers this one, too.
        """
        changed = self._has_changed(approval)
        waiting = self._asked_ahead(approval, [each.approval for each in following])
        if waiting is None:
            new = [each for each in following if self._same_ahead(each.approval) is None]
            if changed:
                warning = f"{CHANGED_SINCE} {approval.warning or ''}".rstrip()
                approval = approval.model_copy(update={"warning": warning})
            waiting = self._request(Question(approval, covered), changeset, new)
        approval, future = waiting.approval, waiting.answer
        try:
            return await future
        except asyncio.CancelledError:
            # A response that arrived at the moment of the cancellation is already recorded.
            if future.cancelled() or not future.done():
                self._record(approval, "superseded", "server")
            raise
        finally:
            self._waiting.pop(approval.approval_id, None)

    def judged(self, approval_id: ApprovalId, judged: Judged | None) -> None:
        """Record what is said of the changes of a request, unless it has a response by now."""
        waiting = self._waiting.get(approval_id)
        if waiting is None or waiting.answer.done():
            return
        approval = waiting.approval.model_copy(update={"judged": judged})
        self._waiting[approval_id] = waiting._replace(approval=approval)
        self._plan_store.record(approval.plan_id, ev.ApprovalJudged(approval_id=approval_id, judged=judged))

    def withdraw_ahead(self, plan_id: PlanId, step_id: StepId | None) -> None:
        """Withdraw what was requested for a step ahead of its calls, and forget the responses to it."""
        for waiting in self._ahead(plan_id, step_id):
            self._withdraw(waiting)

    def settle_covered(self, plan_id: PlanId) -> None:
        """Answer the requests of a plan that are covered by what the user has just allowed."""
        for waiting in [*self._waiting.values()]:
            if waiting.approval.plan_id != plan_id or waiting.answer.done():
                continue
            response = waiting.covered()
            if response is not None:
                self._record(waiting.approval, response.decision, "policy", response)
                waiting.answer.set_result(response)

    def _request(self, first: Question, changeset: Changeset, following: Sequence[Question]) -> _Waiting:
        questions = [first, *following]
        if following:
            list_id, size = first.approval.approval_id, len(questions)
            questions = [
                each._replace(
                    approval=each.approval.model_copy(
                        update={"listed": ListPlace(list_id=list_id, position=position, size=size)}
                    )
                )
                for position, each in enumerate(questions, start=1)
            ]
        for place, (approval, covered) in enumerate(questions):
            future: asyncio.Future[ApprovalResponse] = asyncio.get_running_loop().create_future()
            self._waiting[approval.approval_id] = _Waiting(approval, changeset, future, covered, place > 0)
        for approval, _ in questions:
            self._plan_store.record(approval.plan_id, ev.ApprovalRequested(approval=approval))
        return self._waiting[first.approval.approval_id]

    def settled_ahead(self, approval: Approval) -> bool:
        """Whether the very same was asked ahead and has a response. Without one the request is withdrawn."""
        waiting = self._same_ahead(approval)
        if waiting is None or waiting.answer.done():
            return waiting is not None
        self._withdraw(waiting)
        return False

    def _asked_ahead(self, approval: Approval, following: Sequence[Approval]) -> _Waiting | None:
        """The request that asked the very same ahead. What was asked ahead and is not called any more is withdrawn."""
        called = self._same_ahead(approval)
        for waiting in self._ahead(approval.plan_id, approval.step_id):
            if waiting is not called and not any(same_question(waiting.approval, each) for each in following):
                self._withdraw(waiting)
        if called is None:
            return None
        called = called._replace(is_ahead=False)
        self._waiting[called.approval.approval_id] = called
        return called

    def _has_changed(self, approval: Approval) -> bool:
        """Whether this command was asked ahead, and what it would run has changed since."""
        ahead = self._ahead(approval.plan_id, approval.step_id)
        return self._same_ahead(approval) is None and any(
            (waiting.approval.command, waiting.approval.cwd) == (approval.command, approval.cwd)
            for waiting in ahead
        )

    def _same_ahead(self, approval: Approval) -> _Waiting | None:
        ahead = self._ahead(approval.plan_id, approval.step_id)
        return next((waiting for waiting in ahead if same_question(waiting.approval, approval)), None)

    def _ahead(self, plan_id: PlanId, step_id: StepId | None) -> list[_Waiting]:
        """The requests for a step ahead of its calls."""
        return [
            waiting
            for waiting in self._waiting.values()
            if waiting.is_ahead and (waiting.approval.plan_id, waiting.approval.step_id) == (plan_id, step_id)
        ]

    def _withdraw(self, waiting: _Waiting) -> None:
        self._waiting.pop(waiting.approval.approval_id, None)
        if not waiting.answer.done():
            self._record(waiting.approval, "superseded", "server")

    def respond(self, approval_id: ApprovalId, response: ApprovalResponse) -> None:
        """Record the user's response durably, then pass it on to the waiting step. The same response may be repeated.

        Raises UnknownThing, InvalidParams, and WrongState if there was a different response before.
        """
        waiting = self._waiting.get(approval_id)
        if waiting is None or waiting.answer.done():
            earlier = self._resolved.get(approval_id)
            if earlier is None:
                raise UnknownThing("approval", approval_id)
            if earlier.decision == response.decision:
                return
            raise WrongState(
                f"This was already answered: {earlier.decision}.",
                status="resolved",
                by=earlier.by,
                decision=earlier.decision,
            )
        if response.confinement is not None and waiting.approval.confinement is None:
            raise InvalidParams(
                "Only a command has a confinement.",
                details=[{"field": "confinement", "problem": "the approval is not for a command"}],
            )
        edited = None
        if response.changeset is not None:
            edited = edited_proposals(waiting.changeset, response.changeset)
        self._record(waiting.approval, response.decision, "user", response, edited)
        waiting.answer.set_result(response)
        if response.decision == "cancel" and waiting.is_ahead:
            self._cancel_list(waiting.approval, response)

    def _cancel_list(self, approval: Approval, response: ApprovalResponse) -> None:
        """Answer the request that its step waits for, too, so that the plan is cancelled at once."""
        for waiting in self._waiting.values():
            same_step = (waiting.approval.plan_id, waiting.approval.step_id) == (
                approval.plan_id,
                approval.step_id,
            )
            if same_step and not waiting.is_ahead and not waiting.answer.done():
                self._record(waiting.approval, "superseded", "server")
                waiting.answer.set_result(response)

    def pending(self, approval_id: ApprovalId) -> tuple[Approval, Changeset]:
        """A pending approval and the changes it is about. Raises UnknownThing."""
        waiting = self._waiting.get(approval_id)
        if waiting is None:
            raise UnknownThing("approval", approval_id)
        return waiting.approval, waiting.changeset

    def _record(
        self,
        approval: Approval,
        decision: Decision,
        by: Literal["user", "policy", "server"],
        response: ApprovalResponse | None = None,
        edited: tuple[EditedProposal, ...] | None = None,
    ) -> None:
        if self._plan_store.plan(approval.plan_id).status in ("draft", "executing", "paused"):
            resolved = ev.ApprovalResolved(
                approval_id=approval.approval_id,
                decision=decision,
                by=by,
                reason=response.reason if response is not None else None,
                files=response.files if response is not None else None,
                confinement=chosen_confinement(approval, response) if response is not None else None,
                edited=edited or None,
            )
            self._plan_store.record(approval.plan_id, resolved)
        self._resolved[approval.approval_id] = _Resolved(decision, by)


def chosen_confinement(approval: Approval, response: ApprovalResponse) -> Confinement | None:
    """The confinement in which an allowed command may run: the user's choice, else what was shown.

    None for what is denied, and for what is not a command.
    """
    if approval.confinement is None or response.decision not in ALLOWED:
        return None
    shown = approval.confinement.chosen
    return shown if shown.workspace == "throwaway" else response.confinement or shown
