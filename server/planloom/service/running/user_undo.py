"""Detects when the user undoes one of our edits in the editor, and records it as reverted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from planloom.domain.changes import EditedFile, EditRecord, sha256
from planloom.domain.errors import StorageFailed
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan, PlanStatus
from planloom.domain.values import EditId, PlanId, Sha256, Uri
from planloom.execution.plan_store import PlanStore
from planloom.workspace.paths.uris import normalized
from planloom.workspace.view import WorkspaceView

_AT_REST: Final[frozenset[PlanStatus]] = frozenset({"paused", "completed", "failed", "cancelled"})
_LARGE: Final = 1 << 16
"""Characters of a document from which on its length is compared before its hash is computed."""
_BOM: Final = "\ufeff"
_RESTS: Final = frozenset({"plan_completed", "plan_failed", "plan_cancelled", "plan_paused"})


class UserUndo:
    """Compares open documents with their texts before our newest edit.

    What is undone while the plan runs is recorded when the plan pauses or ends.
    """

    def __init__(self, plan_store: PlanStore, view: WorkspaceView) -> None:
        self._plan_store = plan_store
        self._view = view
        self._files: dict[PlanId, _EditsByFile] = {}
        view.documents.listen(self._on_document_event)
        plan_store.listen(self._on_plan_event)
        plan_store.on_forget(lambda plan_id: self._files.pop(plan_id, None))

    async def deleted(self, uri: str) -> None:
        """Somebody has deleted a file in the editor, which its undo of the file's creation does too."""
        key = normalized(uri)
        if await self._view.saved(key) is not None or self._view.renamed_to(key) is not None:
            return
        for plan in self._plan_store.live():
            newest = self._newest(plan, key) if plan.status in _AT_REST else None
            if newest is not None:
                made = (
                    each for each in newest.files if each.change == "create" and normalized(each.uri) == key
                )
                self._record(plan, newest, tuple(made))

    def _on_document_event(self, uri: str) -> None:
        key = normalized(uri)
        for plan in self._plan_store.live():
            newest = self._newest(plan, key) if plan.status in _AT_REST else None
            if newest is not None:
                self._check(plan, newest)

    def _on_plan_event(self, recorded: ev.Recorded, plan: Plan) -> None:
        if plan.edits and recorded.event.type in _RESTS:
            # Later, so that all listeners get this event before those recorded here.
            asyncio.get_running_loop().call_soon(self._check_all, plan.plan_id)

    def _check_all(self, plan_id: PlanId) -> None:
        plan = self._plan_store.find(plan_id)
        for edit in plan.edits if plan is not None and plan.status in _AT_REST else ():
            now = self._plan_store.find(plan_id)
            if now is not None and any(
                self._newest(now, normalized(file.uri)) == edit for file in edit.files
            ):
                self._check(now, edit)

    def _check(self, plan: Plan, edit: EditRecord) -> None:
        """Record those files of the edit as reverted whose documents have their old text again."""
        known = self._known(plan.plan_id)
        self._record(plan, edit, tuple(file for file in edit.files if self._is_undone(file, known)))

    def _record(self, plan: Plan, edit: EditRecord, undone: tuple[EditedFile, ...]) -> None:
        known = self._known(plan.plan_id)
        uris = frozenset(file.uri for file in undone)
        if undone and uris - known.recorded.get(edit.edit_id, frozenset()):
            known.recorded[edit.edit_id] = uris
            self._plan_store.record(
                plan.plan_id, ev.EditReverted(task_id=edit.step_id, edit_id=edit.edit_id, files=undone)
            )

    def _is_undone(self, file: EditedFile, known: _EditsByFile) -> bool:
        if file.change != "edit" or file.before_sha256 in (None, file.after_sha256):
            return False
        # `buffer` leaves out a document that the editor has yet to reload: that has the old text without any undo.
        document = self._view.buffer(file.uri)
        if document is None:
            return False
        if document.content.length >= _LARGE:
            # Called at every keystroke, which must not cost a hash of the whole text.
            length = self._length(file.before_sha256, known)
            if length is not None and document.content.length - document.content.begins_with(_BOM) != length:
                return False
        return sha256(document.text.removeprefix(_BOM)) == file.before_sha256

    def _length(self, digest: Sha256, known: _EditsByFile) -> int | None:
        """The length of a text in the ledger; None if it is not there."""
        if digest not in known.lengths:
            try:
                text = self._plan_store.store.text(digest)
            except StorageFailed:
                return None
            known.lengths[digest] = None if text is None else len(text)
        return known.lengths[digest]

    def _known(self, plan_id: PlanId) -> _EditsByFile:
        return self._files.setdefault(plan_id, _EditsByFile())

    def _newest(self, plan: Plan, key: Uri) -> EditRecord | None:
        """The plan's last edit of a file, if it is applied; None while an edit is in progress."""
        for index in reversed(self._known(plan.plan_id).indices(plan, key)):
            edit = plan.edits[index]
            # An edit may have been applied to only some of the intended files.
            if all(normalized(file.uri) != key for file in edit.files):
                continue
            if edit.state in ("intended", "applied"):
                # The editor may have yet to read what a command has written, which is no undo of it.
                return edit if edit.state == "applied" and edit.command is None else None
        return None


class _EditsByFile:
    """Maps each file to the edits of one plan that were intended for it. Edits are only ever added to a plan.

    `recorded` are the files of each edit that were recorded as reverted; `lengths` those of texts in the ledger.
    """

    def __init__(self) -> None:
        self.recorded: dict[EditId, frozenset[Uri]] = {}
        self.lengths: dict[Sha256, int | None] = {}
        self._indices: dict[Uri, list[int]] = {}
        self._mapped = 0

    def indices(self, plan: Plan, key: Uri) -> Sequence[int]:
        """The indices in `plan.edits` of the edits of a file, oldest first."""
        for index in range(self._mapped, len(plan.edits)):
            for uri in {normalized(file.uri) for file in plan.edits[index].files}:
                self._indices.setdefault(uri, []).append(index)
        self._mapped = len(plan.edits)
        return self._indices.get(key, ())
