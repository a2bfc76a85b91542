"""Reverts the edits of a step or a plan, and keeps what the user has typed since."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from planloom.domain.changes import EditedFile, EditRecord, sha256
from planloom.domain.errors import FilesRefused, UnknownThing
from planloom.domain.events import catalog as ev
from planloom.domain.events.reverts import standing, undone
from planloom.domain.plans.plan import Plan
from planloom.domain.safety.approvals import Grant
from planloom.domain.values import PlanId, StepId, Uri
from planloom.execution.effects.journal import EditJournal
from planloom.execution.effects.reconcile import journal_files
from planloom.execution.effects.unsaved import save_again, save_own
from planloom.execution.plan_store import PlanStore
from planloom.execution.session import Session
from planloom.service.actions.export import sentence
from planloom.service.requests import UndoResult
from planloom.service.running.states import ALLOWED
from planloom.service.running.turns import Turns
from planloom.storage.ledger import Compaction
from planloom.workspace.edits.apply import apply_changeset
from planloom.workspace.edits.batch import Edit
from planloom.workspace.edits.outcomes import (
    ChangesetApplied,
    ChangesetConflicted,
    ChangesetPartlyApplied,
    ChangesetRefused,
    JournalFile,
)
from planloom.workspace.edits.touched_places import look_at
from planloom.workspace.edits.undo import Reversal, reverse, reverted_folders
from planloom.workspace.paths.names import listed, quoted
from planloom.workspace.paths.uris import display_name, display_names, name_in
from planloom.workspace.staged.order import in_order

_NO_TEXT: Final = sha256("")
_NAMED: Final = 5
_AT_ONCE: Final = 10
"""Events that are recorded before other requests have their turn. What is undone, the journal of edits says already."""


class UndoService:
    """Reverts applied edits by one new edit, which can be reverted in turn."""

    def __init__(
        self,
        session: Session,
        plan_store: PlanStore,
        turns: Turns,
        compaction: Callable[[PlanId], Compaction | None],
    ) -> None:
        """`compaction` is what was compacted of a plan's texts."""
        self._compaction = compaction
        self._saved_undo: set[PlanId] = set()
        self._session = session
        self._plan_store = plan_store
        self._turns = turns

    async def undo(self, plan_id: PlanId, step_id: StepId | None, redo: bool) -> UndoResult:
        """Revert the edits of a step or of the whole plan; `redo` reverts the last undo.

        The redo of a step reverts the last undo of that step alone.

        The user's request is the approval. Raises UnknownThing, UntrustedWorkspace, and FilesRefused if there is
        nothing to revert or the revert could not be made.
        """
        async with self._turns.turn(plan_id, "undo") as before:
            await self._session.settle_trust(plan_id)
            self._session.require_trust("nothing in it is changed")
            edited = [uri for edit in before.edits for file in edit.files for uri in file.uris]
            await self._session.view.unanswered.look(edited)
            plan = self._plan_store.plan(plan_id)
            if step_id is not None and plan.step(step_id) is None:
                raise UnknownThing("step", step_id)
            chosen = undone(plan.edits, step_id) if redo else _standing(plan, step_id)
            if not chosen and step_id is not None and any(step_id in edit.settles for edit in plan.edits):
                raise _refused(plan, "The plan was made as one edit: undo the whole plan.")
            if not chosen:
                raise _refused(
                    plan, f"There is {'no undo to take back' if redo else 'nothing to take back'}."
                )
            wanted = {edit.edit_id: edit for edit in chosen}
            chosen = tuple(
                wanted.get(edit.edit_id, edit)
                for edit in plan.edits
                if edit.by_user or edit.edit_id in wanted
            )
            files = journal_files(chosen, self._plan_store.store)
            self._require_texts(plan, chosen, files)
            reversal = await reverse(
                self._session.view,
                files,
                folders=() if redo else reverted_folders(plan.edits),
            )
            await self._require_harmless(plan, chosen, reversal)
            # What an undo has left unsaved looks saved to a redo, since the buffer has the text of the disk again.
            saved = () if redo and plan_id not in self._saved_undo else await self._saved(reversal)
            try:
                await self._apply(plan, chosen, reversal, step_id, redo)
            finally:
                await self._save(plan_id, saved)
            return await self._record(plan, chosen, reversal)

    def _require_texts(
        self, plan: Plan, chosen: tuple[EditRecord, ...], files: tuple[JournalFile, ...]
    ) -> None:
        """Raise FilesRefused if a text of the `files` is missing: what the user has typed cannot be told apart."""
        recorded = (file for edit in chosen for file in edit.files)
        none = (None, _NO_TEXT)
        if not any(
            (was.before_sha256 not in none and file.before is None)
            or (was.after_sha256 not in none and file.after is None)
            for was, file in zip(recorded, files, strict=True)
        ):
            return
        compaction = self._compaction(plan.plan_id)
        why = (
            "Texts of this plan's files are damaged in the ledger."
            if compaction is None
            else sentence(compaction)
        )
        raise _refused(plan, f"{why} So nothing was taken back.")

    async def _require_harmless(self, plan: Plan, chosen: tuple[EditRecord, ...], reversal: Reversal) -> None:
        """Raise FilesRefused if the revert would write texts of another machine where they could run by themselves."""
        if plan.made_elsewhere.isdisjoint(edit.edit_id for edit in chosen):
            return
        changes = reversal.changeset.changes
        look = await look_at(self._session.view, changes)
        for change, found in zip(changes, look.touched, strict=True):
            if found.dangers:
                raise _refused(
                    plan,
                    f"The plan comes from another machine, and this would change {display_name(change.uri)}."
                    f" {found.dangers[0]} Change that file yourself. Nothing was taken back.",
                )

    async def _apply(
        self,
        plan: Plan,
        chosen: tuple[EditRecord, ...],
        reversal: Reversal,
        step_id: StepId | None,
        redo: bool,
    ) -> None:
        """Make the reverse changes, one set after the other where their order matters.

        Each change names what it reverts, so that an undo that is cut off goes on with the rest. Raises FilesRefused if
        they could not be made.
        """
        reverts = tuple(edit.edit_id for edit, files in _covered(chosen, reversal) if files)
        for part in in_order(reversal.changeset.changes):
            journal = EditJournal(self._plan_store, plan.plan_id, step_id, reverts)
            edit = Edit(
                self._session.view,
                self._session.editor,
                Grant(plan_id=plan.plan_id, version=plan.version, source="request"),
                "Planloom: redo" if redo else "Planloom: undo",
                journal,
                is_journaled=self._plan_store.has_text,
                new_files=self._session.settings.edits.new_files,
            )
            await save_own(self._session, self._plan_store, part)
            outcome = await apply_changeset(edit, part)
            match outcome:
                case ChangesetApplied():
                    continue
                case ChangesetRefused() | ChangesetPartlyApplied():
                    raise _refused(plan, outcome.reason)
                case ChangesetConflicted():
                    names = display_names(file.uri for file in outcome.files)
                    raise _refused(plan, f"You are changing the same lines of {names}.")
                case _:
                    raise _refused(plan, "The files changed meanwhile. Try again.")

    async def _saved(self, reversal: Reversal) -> tuple[Uri, ...]:
        """The files, by the names that they will have, of which the disk has the text that is taken back."""
        changes = reversal.changeset.changes
        unsaved = [change.uri for change in changes if await self._session.view.is_dirty(change.uri)]
        ends = (change.ends[-1] for change in changes if change.uri not in unsaved)
        return tuple(dict.fromkeys(ends))

    async def _save(self, plan_id: PlanId, uris: tuple[Uri, ...]) -> None:
        """Have the editor save files that were saved before, so that the disk never holds half of an undo."""
        now = [uri for uri in uris if await self._session.view.is_unsaved(uri)]
        if now:
            self._saved_undo.add(plan_id)
            await save_again(self._session, now)

    async def _record(self, plan: Plan, chosen: tuple[EditRecord, ...], reversal: Reversal) -> UndoResult:
        happened: list[ev.Event] = []
        for edit, files in reversed(_covered(chosen, reversal)):
            if files:
                happened.append(ev.EditReverted(step_id=edit.step_id, edit_id=edit.edit_id, files=files))
        happened += [ev.Log(level="warning", message=each.reason) for each in reversal.kept]
        if unknown := [file.new_uri or file.uri for edit in chosen for file in edit.unknown]:
            names = listed([quoted(name_in(uri, plan.workspace_folders)) for uri in unknown], _NAMED)
            message = (
                f"{names}: changed by a command, and not taken back, since the text from before is not known."
            )
            happened.append(ev.Log(level="warning", message=message))
        if reversal.staying:
            names = display_names(reversal.staying)
            happened.append(ev.Log(level="info", message=f"Not empty, so still there: {names}."))
        for start in range(0, len(happened), _AT_ONCE):
            self._plan_store.record(plan.plan_id, *happened[start : start + _AT_ONCE])
            await asyncio.sleep(0)
        return UndoResult(
            plan=self._plan_store.plan(plan.plan_id),
            reverted=tuple(
                dict.fromkeys(uri for uri in reversal.reverted.values() if uri not in reversal.staying)
            ),
            conflicts=tuple(each.uri for each in reversal.kept),
        )


def _refused(plan: Plan, reason: str) -> FilesRefused:
    return FilesRefused(reason, status=plan.status, allowed=ALLOWED[plan.status])


def _standing(plan: Plan, step_id: StepId | None) -> tuple[EditRecord, ...]:
    # What a loop or a sub-plan has changed is what the steps have that it was unrolled into.
    chosen = {step_id, *(plan.made_of(step_id) if step_id is not None else ())}
    return tuple(edit for edit in standing(plan.edits) if step_id is None or edit.step_id in chosen)


def _covered(
    chosen: tuple[EditRecord, ...], reversal: Reversal
) -> tuple[tuple[EditRecord, tuple[EditedFile, ...]], ...]:
    """The edits, each with those of its files that the reversal covers."""
    covered = []
    first = 0
    for edit in chosen:
        files = tuple(
            file for index, file in enumerate(edit.files, start=first) if index in reversal.reverted
        )
        covered.append((edit, files))
        first += len(edit.files)
    return tuple(covered)
