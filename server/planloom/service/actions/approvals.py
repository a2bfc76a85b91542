"""Answers approvals and conflicts, and shows the text before and after the changes that they are about."""

from __future__ import annotations

from collections.abc import Sequence

from planloom.domain.errors import UnknownThing
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.domain.safety.approvals import UserDecision
from planloom.domain.safety.confinement import Confinement
from planloom.domain.values import ApprovalId, EditId, PlanId, Uri
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.pending_approvals import ApprovalResponse
from planloom.execution.effects.proposals import sides
from planloom.execution.plan_store import PlanStore
from planloom.intake.languages import language_of
from planloom.service.requests import FileDiff
from planloom.service.running.turns import Turns
from planloom.workspace.paths.uris import display_name


class Approvals:
    """Pending approvals and conflicts."""

    def __init__(self, gate: Gate, plan_store: PlanStore, turns: Turns) -> None:
        self._gate = gate
        self._plan_store = plan_store
        self._turns = turns

    async def respond(
        self,
        approval_id: ApprovalId,
        decision: UserDecision,
        reason: str | None,
        files: tuple[Uri, ...] | None,
        confinement: Confinement | None = None,
    ) -> None:
        """Record the user's decision durably. `files` are those allowed, None for all.

        `confinement` is what the user has chosen for a command, None for what was shown.

        Raises UnknownThing, WrongState, StorageFailed.
        """
        await self._plan_store.ready()
        self._gate.approvals.respond(approval_id, ApprovalResponse(decision, reason, files, confinement))

    def both_sides(self, edit_id: EditId, uri: Uri) -> str | None:
        """A conflicted file with conflict markers, for editors that can show only one text; None if not pending."""
        return self._gate.conflicts.both_sides(edit_id, uri)

    async def resolve_conflict(
        self, plan_id: PlanId, edit_id: EditId, choices: Sequence[ev.ConflictChoice]
    ) -> Plan:
        """Resolve a conflict by the user's choice for each file. Raises UnknownThing."""
        async with self._turns.turn(plan_id, "conflict/resolve"):
            plan = self._gate.conflicts.resolve(plan_id, edit_id, choices)
            self._turns.conductor.conduct(plan_id)
            return plan

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
