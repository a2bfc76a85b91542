"""The approvals that wait for the user: each is requested by an event, answered once, or withdrawn."""

from __future__ import annotations

import asyncio
from typing import Literal, NamedTuple

from planloom.domain.changes import Changeset
from planloom.domain.errors import InvalidParams, UnknownThing, WrongState
from planloom.domain.events import catalog as ev
from planloom.domain.safety.approvals import Approval, Decision, UserDecision
from planloom.domain.safety.confinement import Confinement
from planloom.domain.values import ApprovalId, Uri
from planloom.execution.plan_store import PlanStore


class ApprovalResponse(NamedTuple):
    """The user's answer to an approval. `files` are those allowed, None for all.

    `confinement` is what the user has chosen for a command, None for what was shown.
    """

    decision: UserDecision
    reason: str | None = None
    files: tuple[Uri, ...] | None = None
    confinement: Confinement | None = None


class _Waiting(NamedTuple):
    approval: Approval
    changeset: Changeset
    answer: asyncio.Future[ApprovalResponse]


class _Resolved(NamedTuple):
    decision: Decision
    by: str


class PendingApprovals:
    """The approvals that wait for the user, and the decisions on earlier ones."""

    def __init__(self, plan_store: PlanStore) -> None:
        self._plan_store = plan_store
        self._waiting: dict[ApprovalId, _Waiting] = {}
        self._resolved: dict[ApprovalId, _Resolved] = {}

    async def ask(self, approval: Approval, changeset: Changeset) -> ApprovalResponse:
        """Request an approval and wait for the response. A cancellation withdraws the request."""
        future: asyncio.Future[ApprovalResponse] = asyncio.get_running_loop().create_future()
        self._waiting[approval.approval_id] = _Waiting(approval, changeset, future)
        self._plan_store.record(approval.plan_id, ev.ApprovalRequested(approval=approval))
        try:
            return await future
        except asyncio.CancelledError:
            # A response that arrived at the moment of the cancellation is already recorded.
            if future.cancelled() or not future.done():
                self._record(approval, "superseded", "server")
            raise
        finally:
            self._waiting.pop(approval.approval_id, None)

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
        self._record(waiting.approval, response.decision, "user", response)
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
    ) -> None:
        if self._plan_store.plan(approval.plan_id).status in ("executing", "paused"):
            resolved = ev.ApprovalResolved(
                approval_id=approval.approval_id,
                decision=decision,
                by=by,
                reason=response.reason if response is not None else None,
                files=response.files if response is not None else None,
                confinement=chosen_confinement(approval, response) if response is not None else None,
            )
            self._plan_store.record(approval.plan_id, resolved)
        self._resolved[approval.approval_id] = _Resolved(decision, by)


def chosen_confinement(approval: Approval, response: ApprovalResponse) -> Confinement | None:
    """The confinement in which an allowed command may run: the user's choice, else what was shown.

    None for what is denied, and for what is not a command.
    """
    if approval.confinement is None or response.decision not in ("allow", "allowForPlan"):
        return None
    return response.confinement or approval.confinement.shown
