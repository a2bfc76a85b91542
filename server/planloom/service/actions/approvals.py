"""Answers approvals, and shows the text before and after the changes that they are about."""

from __future__ import annotations

from planloom.domain.errors import UnknownThing
from planloom.domain.safety.approvals import UserDecision
from planloom.domain.values import ApprovalId, EditId, Uri
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.pending_approvals import ApprovalResponse
from planloom.execution.effects.proposals import sides
from planloom.execution.plan_store import PlanStore
from planloom.intake.languages import language_of
from planloom.service.requests import FileDiff
from planloom.workspace.paths.uris import display_name


class Approvals:
    """Pending approvals."""

    def __init__(self, gate: Gate, plan_store: PlanStore) -> None:
        self._gate = gate
        self._plan_store = plan_store

    async def respond(
        self,
        approval_id: ApprovalId,
        decision: UserDecision,
        reason: str | None,
        files: tuple[Uri, ...] | None,
    ) -> None:
        """Record the user's decision durably. `files` are those allowed, None for all.

        Raises UnknownThing, WrongState, StorageFailed.
        """
        await self._plan_store.ready()
        self._gate.approvals.respond(approval_id, ApprovalResponse(decision, reason, files))

    def both_sides(self, edit_id: EditId, uri: Uri) -> str | None:
        """A conflicted file with conflict markers, for editors that can show only one text; None if not pending."""
        return self._gate.conflicts.both_sides(edit_id, uri)

    async def diff(self, approval_id: ApprovalId, uri: Uri) -> FileDiff:
        """One file of a pending approval, before and after. Raises UnknownThing."""
        _, changeset = self._gate.approvals.pending(approval_id)
        for change in changeset.changes:
            if change.uri == uri:
                before, after = sides(change)
                return FileDiff(
                    uri=uri, before=before, after=after, language_id=language_of(display_name(uri))
                )
        raise UnknownThing("approval", f"{approval_id} for {uri}")
