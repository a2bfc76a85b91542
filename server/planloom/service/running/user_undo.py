"""Detects when the user undoes our edits in the editor, discards or redoes them there, and records it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator, Sequence
from typing import Final

from planloom.domain.changes import ChangeKind, EditedFile, EditRecord, sha256
from planloom.domain.errors import StorageFailed
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan, PlanStatus
from planloom.domain.text.live_text import LiveText
from planloom.domain.values import EditId, PlanId, Sha256, Uri
from planloom.execution.jobs import Jobs
from planloom.execution.plan_store import PlanStore
from planloom.workspace.moves import Move
from planloom.workspace.paths.uris import is_at_or_below, normalized
from planloom.workspace.view import WorkspaceView

_AT_REST: Final[frozenset[PlanStatus]] = frozenset({"paused", "completed", "failed", "cancelled"})
_LARGE: Final = 1 << 16
"""Characters of a document from which on its length is compared before its hash is computed."""
_BOM: Final = "\ufeff"


class UserUndo:
    """Compares files with their texts before and after our newest edits, and before the edit that was undone last.

    A file is the open document; one that was closed is what is on disk, since its unsaved text is discarded.

    What is undone or redone while the plan runs is recorded when the plan pauses or ends.
    """

    def __init__(self, plan_store: PlanStore, view: WorkspaceView, jobs: Jobs) -> None:
        self._plan_store = plan_store
        self._view = view
        self._jobs = jobs
        self._closed: set[Uri] = set()
        self._files: dict[PlanId, _EditsByFile] = {}
        self._last: dict[Uri, PlanId] = {}
        view.documents.listen(self._on_document_event)
        view.on_rename(self._on_rename)

    async def file_changed(self, uri: str) -> None:
        """Somebody has created or deleted a file in the editor, which its undo and redo of such a change do too."""
        key = normalized(uri)
        text = await self._view.saved_text(key)
        if text is not None or self._view.renamed_to(key) is None:
            for plan in self._plan_store.live():
                self._look(plan, key, ("create", "delete"), text)

    def _on_rename(self, move: Move) -> None:
        """Record a rename by the user in each plan that has changed what was renamed, or something in it."""
        renamed = EditedFile(uri=move.old, change="rename", new_uri=move.new)
        for plan in self._plan_store.live():
            uris = {uri for edit in plan.edits for file in edit.files for uri in file.uris}
            if any(is_at_or_below(uri, move.old) for uri in uris):
                edit_id = EditId(uuid.uuid4().hex)
                self._plan_store.record(plan.plan_id, ev.FilesRenamed(edit_id=edit_id, files=(renamed,)))

    def _on_document_event(self, uri: str) -> None:
        key = normalized(uri)
        plans = self._plan_store.live()
        if self._view.documents.get(key) is not None:
            self._closed.discard(key)
        elif any(self._known(plan.plan_id).indices(plan, key) for plan in plans):
            self._closed.add(key)
        for plan in plans:
            self._look_at_file(plan, key)

    def forget(self, plan_id: PlanId) -> None:
        """Drop what is known of a plan that is no longer live here."""
        self._files.pop(plan_id, None)

    def on_event(self, recorded: ev.Recorded, plan: Plan) -> None:
        """Note what a plan writes, and look at its files when it rests."""
        event = recorded.event
        if isinstance(event, ev.EditStarted | ev.EditApplied):
            self._last.update((normalized(uri), plan.plan_id) for each in event.files for uri in each.uris)
        if isinstance(event, ev.EditApplied):
            self._closed.difference_update(normalized(uri) for file in event.files for uri in file.uris)
        elif plan.edits and not isinstance(event, ev.EditStarted):
            # Later, so that all listeners get this event before those recorded here.
            asyncio.get_running_loop().call_soon(self._look_at_all, plan.plan_id)

    def _look_at_all(self, plan_id: PlanId) -> None:
        plan = self._plan_store.find(plan_id)
        edits = plan.edits if plan is not None else ()
        for key in dict.fromkeys(normalized(file.uri) for edit in edits for file in edit.files):
            if (now := self._plan_store.find(plan_id)) is not None:
                self._look_at_file(now, key)

    def _look_at_file(self, plan: Plan, key: Uri) -> None:
        if key in self._closed and plan.status in _AT_REST:
            self._jobs.start(f"closed:{key}", self._look_at_disk(key))
            return
        # `buffer` leaves out a document that the editor has yet to reload: that has the old text without any undo.
        document = self._view.buffer(key)
        if document is not None:
            self._look(plan, key, ("edit",), document.content)

    async def _look_at_disk(self, key: Uri) -> None:
        text = await self._view.saved_text(key)
        if text is not None and key in self._closed:
            for plan in self._plan_store.live():
                self._look(plan, key, ("edit",), text)

    def _look(self, plan: Plan, key: Uri, changes: Sequence[ChangeKind], text: LiveText | str | None) -> None:
        """Record what was undone or redone of the edits that made such changes of a file.

        That is one edit, or several that were undone at once, since the text is from before all of them.
        """
        for edit in self._latest(plan, key) if plan.status in _AT_REST else ():
            file = next(each for each in edit.files if normalized(each.uri) == key)
            is_undone = self._is_undone(plan, file, text) if file.change in changes else None
            if is_undone is not None and self._record(plan, edit, file, is_undone=is_undone):
                return
        together = (
            self._undone_at_once(plan, key, text) if "edit" in changes and plan.status in _AT_REST else ()
        )
        for edit, file in together:
            self._record(self._plan_store.plan(plan.plan_id), edit, file, is_undone=True)

    def _undone_at_once(
        self, plan: Plan, key: Uri, text: LiveText | str | None
    ) -> Sequence[tuple[EditRecord, EditedFile]]:
        """The last edits that changed a file, newest first, if the text is from before all of them."""
        passed: list[tuple[EditRecord, EditedFile]] = []
        for index in reversed(self._known(plan.plan_id).indices(plan, key)):
            edit = plan.edits[index]
            file = next((each for each in edit.files if normalized(each.uri) == key), None)
            if file is None or edit.state not in ("intended", "applied"):
                continue
            is_undone = self._is_undone(plan, file, text)
            if edit.state == "intended" or file.change != "edit" or is_undone is False:
                break
            passed.append((edit, file))
            if is_undone:
                return passed
        return ()

    def _record(self, plan: Plan, edit: EditRecord, file: EditedFile, *, is_undone: bool) -> bool:
        """Record that a file of the edit was undone or redone; False if this is known."""
        if is_undone == (file.uri in edit.undone):
            return False
        if not is_undone and self._last.get(normalized(file.uri), plan.plan_id) != plan.plan_id:
            # Another plan has written the same text since.
            return False
        left = tuple(each for each in edit.files if (is_undone if each == file else each.uri in edit.undone))
        happened: list[ev.Event] = []
        if not is_undone:
            happened.append(
                ev.EditApplied(
                    step_id=edit.step_id,
                    edit_id=edit.edit_id,
                    files=edit.files,
                    merged=edit.merged,
                    outcome=edit.outcome or "verified",
                )
            )
        if left:
            happened.append(ev.EditReverted(step_id=edit.step_id, edit_id=edit.edit_id, files=left))
        self._plan_store.record(plan.plan_id, *happened)
        return True

    def _is_undone(self, plan: Plan, file: EditedFile, text: LiveText | str | None) -> bool | None:
        """Whether a text is that from before the edit of a file, rather than that from after it; None for another."""
        texts = {file.before_sha256: True, file.after_sha256: False}
        if not isinstance(text, str | None):
            if text.length >= _LARGE:
                # Called at every keystroke, which must not cost a hash of the whole text.
                lengths = {self._length(plan.plan_id, digest) for digest in texts if digest is not None}
                if None not in lengths and text.length - text.begins_with(_BOM) not in lengths:
                    return None
            text = text.text.removeprefix(_BOM)
        return texts.get(None if text is None else sha256(text)) if len(texts) > 1 else None

    def _length(self, plan_id: PlanId, digest: Sha256) -> int | None:
        """The length of a text in the ledger; None if it is not there."""
        known = self._known(plan_id)
        if digest not in known.lengths:
            try:
                text = self._plan_store.store.text(digest)
            except StorageFailed:
                return None
            known.lengths[digest] = None if text is None else len(text)
        return known.lengths[digest]

    def _known(self, plan_id: PlanId) -> _EditsByFile:
        return self._files.setdefault(plan_id, _EditsByFile())

    def _latest(self, plan: Plan, key: Uri) -> Iterator[EditRecord]:
        """The edit of a file that the user undid last, then the last one applied; none while one is in progress."""
        undone: EditRecord | None = None
        for index in reversed(self._known(plan.plan_id).indices(plan, key)):
            edit = plan.edits[index]
            # An edit may have been applied to only some of the intended files.
            if all(normalized(file.uri) != key for file in edit.files):
                continue
            if edit.state == "intended":
                return
            if edit.state == "applied":
                # The editor may have yet to read what a command has written, which is no undo of it.
                if edit.command is None:
                    yield from (edit,) if undone is None else (undone, edit)
                return
            undone = edit if edit.state == "reverted" else undone
        if undone is not None:
            yield undone


class _EditsByFile:
    """Maps each file to the edits of one plan that were intended for it. Edits are only ever added to a plan.

    `lengths` are those of texts in the ledger.
    """

    def __init__(self) -> None:
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
