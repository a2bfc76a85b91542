"""The journal of edits: an intent is durable before the editor hears of it, its outcome before anyone else does."""

from __future__ import annotations

import uuid

from planloom.domain import events as ev
from planloom.domain.approvals import Grant
from planloom.domain.changes import sha256
from planloom.domain.values import EditId, PlanId, Sha256, StepId
from planloom.execution.book import Book
from planloom.workspace.outcomes import JournalFile, Settlement


class EditJournal:
    """Writes the edits of one step, or of a whole plan, into the ledger."""

    def __init__(
        self,
        book: Book,
        plan_id: PlanId,
        step_id: StepId | None,
        reverts: tuple[EditId, ...] = (),
        settles: tuple[StepId, ...] = (),
    ) -> None:
        self._reverts = reverts
        self._settles = settles
        self._book = book
        self._plan_id = plan_id
        self._step_id = step_id

    async def intend(self, grant: Grant, files: tuple[JournalFile, ...]) -> EditId:
        """Keep the texts from before and after, then the intent. The grant must be for this very plan."""
        assert grant.plan_id == self._plan_id, "an edit of one plan under the grant of another"
        texts: dict[Sha256, str] = {}
        for file in files:
            for text in (file.before, file.after):
                if text is not None:
                    texts[sha256(text)] = text
        self._book.store.keep(self._plan_id, texts.items())
        edit_id = EditId(uuid.uuid4().hex)
        edited = tuple(file.edited() for file in files)
        started = ev.EditStarted(
            task_id=self._step_id,
            edit_id=edit_id,
            files=edited,
            reverts=self._reverts,
            settles=self._settles,
        )
        self._book.record(self._plan_id, started)
        return edit_id

    async def settle(self, edit_id: EditId, settlement: Settlement) -> None:
        """Record what became of the intent, file by file; what was applied stands last and counts."""
        happened: list[ev.Event] = []
        lost = (*settlement.rejected, *settlement.unexpected)
        if lost or not settlement.applied:
            reason = settlement.reason or "The files do not hold what was meant."
            happened.append(
                ev.EditRejected(task_id=self._step_id, edit_id=edit_id, files=lost, reason=reason)
            )
        if settlement.applied:
            happened.append(
                ev.EditApplied(
                    task_id=self._step_id,
                    edit_id=edit_id,
                    files=settlement.applied,
                    merged=settlement.merged,
                    outcome=settlement.outcome or "unverified",
                )
            )
        self._book.record(self._plan_id, *happened)
