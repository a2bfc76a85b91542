"""Answers approvals and conflicts, and shows the text before and after the changes that they are about."""

from __future__ import annotations

from collections.abc import Sequence

from planloom.domain.changes import Changeset, CreateFile, EditFile, FileChange, sides
from planloom.domain.errors import InvalidParams, UnknownThing
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.domain.safety.approvals import Approval, UserDecision
from planloom.domain.safety.confinement import Confinement
from planloom.domain.values import ApprovalId, EditId, PlanId, Uri
from planloom.execution.effects.edited_proposals import ProposalEdit, with_edits
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.pending_approvals import ApprovalResponse
from planloom.execution.plan_store import PlanStore
from planloom.intake.languages import language_of
from planloom.service.requests import ConflictTexts, FileDiff, FilePreview
from planloom.service.running.turns import Turns
from planloom.workspace.paths.uris import display_name
from planloom.workspace.staged.rebase import three_way
from planloom.workspace.view import WorkspaceView


class Approvals:
    """Pending approvals and conflicts."""

    def __init__(self, gate: Gate, plan_store: PlanStore, turns: Turns, view: WorkspaceView) -> None:
        self._gate = gate
        self._view = view
        self._plan_store = plan_store
        self._turns = turns

    async def respond(
        self,
        approval_id: ApprovalId,
        decision: UserDecision,
        reason: str | None,
        files: tuple[Uri, ...] | None,
        confinement: Confinement | None = None,
        edits: Sequence[ProposalEdit] = (),
    ) -> None:
        """Record the user's decision durably. `files` are those allowed, None for all.

        `confinement` is what the user has chosen for a command, None for what was shown. With `edits` an allow is for
        these texts instead of the proposed ones; a file that they leave as it is counts as not allowed.

        Raises UnknownThing, WrongState, StorageFailed, InvalidParams.
        """
        await self._plan_store.ready()
        changeset = None
        if edits:
            if decision != "allow":
                raise InvalidParams(
                    "Only an allow can be for other texts than the proposed ones.",
                    details=[{"field": "edits", "problem": f"the decision is {decision}"}],
                )
            _, proposed = self._gate.approvals.pending(approval_id)
            changeset = with_edits(proposed, edits)
            left = [change.uri for change in changeset.changes]
            if len(left) < len(proposed.changes):
                files = tuple(uri for uri in left if files is None or uri in files)
        response = ApprovalResponse(decision, reason, files, confinement, changeset)
        self._gate.approvals.respond(approval_id, response)

    def conflict_texts(self, edit_id: EditId, uri: Uri) -> ConflictTexts:
        """The whole texts of a conflicted file. Raises UnknownThing if no pending conflict has it."""
        texts = self._gate.conflicts.texts(edit_id, uri)
        return ConflictTexts(uri=uri, **texts._asdict())

    async def resolve_conflict(
        self, plan_id: PlanId, edit_id: EditId, choices: Sequence[ev.ConflictChoice]
    ) -> Plan:
        """Resolve a conflict by the user's choice for each file. Raises UnknownThing."""
        async with self._turns.turn(plan_id, "conflict/resolve"):
            plan = self._gate.conflicts.resolve(plan_id, edit_id, choices)
            self._turns.conductor.conduct(plan_id)
            return plan

    async def preview(self, approval_id: ApprovalId, uri: Uri, edit: ProposalEdit | None) -> FilePreview:
        """The text that a pending change, or the user's edit of it, would make of the file as it is now.

        Raises UnknownThing, InvalidParams if no text of the file is proposed.
        """
        _, proposed = self._gate.approvals.pending(approval_id)
        changeset = with_edits(proposed, () if edit is None else (edit,))
        live = (await self._view.snapshot(uri)).text
        change = _change_of(changeset, uri)
        if isinstance(change, EditFile) and live is not None and live != change.before:
            merged = three_way(change.before, live, change.after)
            text = merged.text if merged.kind == "merged" else None
            return FilePreview(uri=uri, now=live, proposed=text, overlaps=text is None)
        after = change.after if isinstance(change, CreateFile | EditFile) else None
        return FilePreview(uri=uri, now=live, proposed=live if change is None else after)

    def pending(self, approval_id: ApprovalId) -> Approval:
        """A pending approval. Raises UnknownThing."""
        return self._gate.approvals.pending(approval_id)[0]

    async def diff(self, approval_id: ApprovalId, uri: Uri) -> FileDiff:
        """One file of a pending approval, before and after. Raises UnknownThing."""
        _, changeset = self._gate.approvals.pending(approval_id)
        change = _change_of(changeset, uri)
        if change is None:
            raise UnknownThing("approval", f"{approval_id} for {uri}")
        before, after = sides(change)
        return FileDiff(uri=uri, before=before, after=after, language_id=language_of(display_name(uri)))


def _change_of(changeset: Changeset, uri: Uri) -> FileChange | None:
    """The change of what has this name, rather a text than a rename."""
    found = [each for each in changeset.changes if each.uri == uri]
    return min(found, key=lambda each: each.kind == "rename", default=None)
