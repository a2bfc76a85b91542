"""The journal of edits: an intent is durable before the editor is asked, its outcome before it is published."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from planloom.domain.changes import Cause, sha256
from planloom.domain.events import catalog as ev
from planloom.domain.safety.approvals import Grant
from planloom.domain.values import EditId, PlanId, Sha256, StepId
from planloom.execution.plan_store import PlanStore
from planloom.workspace.edits.outcomes import EditResult, JournalFile


class EditJournal:
    """Records the edits of one step, or of a whole plan, in the ledger."""

    def __init__(
        self,
        plan_store: PlanStore,
        plan_id: PlanId,
        step_id: StepId | None,
        reverts: tuple[EditId, ...] = (),
    ) -> None:
        """`reverts` are the edits that an undo reverts."""
        self._reverts = reverts
        self._plan_store = plan_store
        self._plan_id = plan_id
        self._step_id = step_id

    async def intend(self, grant: Grant, files: tuple[JournalFile, ...]) -> EditId:
        """Record the texts before and after, then the intent. The grant must be for this plan."""
        assert grant.plan_id == self._plan_id, "an edit of one plan under the grant of another"
        texts: dict[Sha256, str] = {}
        for file in files:
            for text in (file.before, file.after):
                if text is not None:
                    texts[sha256(text)] = text
        await self._plan_store.wait_unlocked()
        self._plan_store.store.keep(self._plan_id, texts.items())
        edit_id = EditId(uuid.uuid4().hex)
        edited = tuple(file.edited() for file in files)
        started = ev.EditStarted(
            step_id=self._step_id,
            edit_id=edit_id,
            files=edited,
            reverts=self._reverts,
            settles=self._staged_by({cause for file in files for cause in file.causes}),
            covered_by=grant.version if grant.covers else None,
        )
        self._plan_store.record(self._plan_id, started)
        return edit_id

    def _staged_by(self, causes: Collection[Cause]) -> tuple[StepId, ...]:
        """The steps whose calls have staged the changes of an edit of a whole plan."""
        if self._step_id is not None or self._reverts:
            return ()
        steps = self._plan_store.plan(self._plan_id).steps
        return tuple(
            step.step_id for step in steps if any(call.call_id in causes for call in step.tools_executed)
        )

    async def record_result(self, edit_id: EditId, result: EditResult) -> None:
        """Record the outcome of the intent."""
        await self._plan_store.wait_unlocked()
        self._plan_store.record(self._plan_id, *outcome_of(self._step_id, edit_id, result))


def outcome_of(step_id: StepId | None, edit_id: EditId, result: EditResult) -> tuple[ev.Event, ...]:
    """The events that record the outcome of an intent for each file. The applied files come last: they decide the
    state of the edit.

    A file that holds neither the old nor the new text is doubtful, after a crash as after an unexpected result of
    the editor: the user is asked before its change is made again.
    """
    happened: list[ev.Event] = []
    failed = (*result.rejected, *result.unexpected)
    if failed or not result.applied:
        reason = result.reason or "The files do not have the intended text."
        doubtful = tuple(file.uri for file in result.unexpected)
        happened.append(
            ev.EditRejected(step_id=step_id, edit_id=edit_id, files=failed, reason=reason, doubtful=doubtful)
        )
    if result.applied:
        happened.append(
            ev.EditApplied(
                step_id=step_id,
                edit_id=edit_id,
                files=result.applied,
                merged=result.merged,
                outcome=result.outcome or "unverified",
            )
        )
    return tuple(happened)
