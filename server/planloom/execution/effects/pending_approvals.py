"""Questions to a person: each is asked as an event, answered once, and taken back when nobody needs it any more."""

from __future__ import annotations

import asyncio
from typing import Literal, NamedTuple

from planloom.domain.changes import Changeset
from planloom.domain.errors import UnknownThing, WrongState
from planloom.domain.events import catalog as ev
from planloom.domain.safety.approvals import Approval, Decision
from planloom.domain.values import ApprovalId, Uri
from planloom.execution.plan_store import PlanStore


class ApprovalResponse(NamedTuple):
    """A person's word on an approval."""

    decision: Literal["allow", "allowForPlan", "deny", "cancel"]
    reason: str | None = None
    files: tuple[Uri, ...] | None = None


class _Waiting(NamedTuple):
    approval: Approval
    changeset: Changeset
    answer: asyncio.Future[ApprovalResponse]


class _Resolved(NamedTuple):
    decision: Decision
    by: str


class PendingApprovals:
    """The approvals that wait for a person, and what was said to those that do no longer."""

    def __init__(self, plan_store: PlanStore) -> None:
        self._plan_store = plan_store
        self._waiting: dict[ApprovalId, _Waiting] = {}
        self._resolved: dict[ApprovalId, _Resolved] = {}

    async def ask(self, approval: Approval, changeset: Changeset) -> ApprovalResponse:
        """Put a question and wait for the word on it. A cancellation supersedes the question."""
        future: asyncio.Future[ApprovalResponse] = asyncio.get_running_loop().create_future()
        self._waiting[approval.approval_id] = _Waiting(approval, changeset, future)
        self._plan_store.record(approval.plan_id, ev.ApprovalRequested(approval=approval))
        try:
            return await future
        except asyncio.CancelledError:
            # An answer that was taken in the moment of the cancellation stands.
            if future.cancelled() or not future.done():
                self._record(approval, "superseded", "server", None, None)
            raise
        finally:
            self._waiting.pop(approval.approval_id, None)

    def respond(self, approval_id: ApprovalId, response: ApprovalResponse) -> None:
        """A person's word. Raises UnknownThing, and WrongState if another word was taken before.

        The word is durable before anything follows from it.
        """
        waiting = self._waiting.get(approval_id)
        if waiting is None or waiting.answer.done():
            before = self._resolved.get(approval_id)
            if before is None:
                raise UnknownThing("approval", approval_id)
            if before.decision == response.decision:
                return
            raise WrongState(
                f"This was answered already: {before.decision}.",
                status="resolved",
                by=before.by,
                decision=before.decision,
            )
        self._record(waiting.approval, response.decision, "user", response.reason, response.files)
        waiting.answer.set_result(response)

    def asked(self, approval_id: ApprovalId) -> tuple[Approval, Changeset]:
        """What a pending approval is about. Raises UnknownThing."""
        waiting = self._waiting.get(approval_id)
        if waiting is None:
            raise UnknownThing("approval", approval_id)
        return waiting.approval, waiting.changeset

    def _record(
        self,
        approval: Approval,
        decision: Decision,
        by: Literal["user", "policy", "server"],
        reason: str | None,
        files: tuple[Uri, ...] | None,
    ) -> None:
        if self._plan_store.plan(approval.plan_id).status in ("executing", "paused"):
            happened = ev.ApprovalResolved(
                approval_id=approval.approval_id, decision=decision, by=by, reason=reason, files=files
            )
            self._plan_store.record(approval.plan_id, happened)
        self._resolved[approval.approval_id] = _Resolved(decision, by)
