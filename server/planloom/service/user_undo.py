"""Notices that the user has undone an edit of ours in the editor: its step shows it, and nothing runs again."""

from __future__ import annotations

import asyncio
from typing import Final

from planloom.domain import events as ev
from planloom.domain.changes import EditedFile, EditRecord, sha256
from planloom.domain.plan import Plan, PlanStatus
from planloom.domain.values import EditId, PlanId, Uri
from planloom.execution.book import Book
from planloom.workspace.documents import DocumentStore
from planloom.workspace.uris import normalized

_AT_REST: Final[frozenset[PlanStatus]] = frozenset({"paused", "completed", "failed", "cancelled"})
_RESTS: Final = frozenset({"plan_completed", "plan_failed", "plan_cancelled", "plan_paused"})


class UserUndo:
    """Compares open documents with the texts from before the newest edit of ours in them.

    While a plan runs it waits: what was undone then is told when the plan rests.
    """

    def __init__(self, book: Book, documents: DocumentStore) -> None:
        self._book = book
        self._documents = documents
        self._told: dict[EditId, frozenset[Uri]] = {}
        documents.listen(self._changed)
        book.listen(self._rested)

    def _changed(self, uri: str) -> None:
        key = normalized(uri)
        for plan in self._book.live():
            newest = _newest(plan, key)
            if newest is not None and plan.status in _AT_REST:
                self._look(plan, newest)

    def _rested(self, recorded: ev.Recorded, plan: Plan) -> None:
        if plan.edits and recorded.event.type in _RESTS:
            # Later, so that everyone hears the events in their order.
            asyncio.get_running_loop().call_soon(self._look_at_all, plan.plan_id)

    def _look_at_all(self, plan_id: PlanId) -> None:
        plan = self._book.find(plan_id)
        for edit in plan.edits if plan is not None and plan.status in _AT_REST else ():
            now = self._book.find(plan_id)
            if now is not None and any(_newest(now, normalized(file.uri)) == edit for file in edit.files):
                self._look(now, edit)

    def _look(self, plan: Plan, edit: EditRecord) -> None:
        """Tell of those files of the edit that hold their old text again."""
        back = tuple(file for file in edit.files if self._is_back(file))
        uris = frozenset(file.uri for file in back)
        if back and uris - self._told.get(edit.edit_id, frozenset()):
            self._told[edit.edit_id] = uris
            self._book.record(
                plan.plan_id, ev.EditReverted(task_id=edit.step_id, edit_id=edit.edit_id, files=back)
            )

    def _is_back(self, file: EditedFile) -> bool:
        if file.change != "edit" or file.before_sha256 in (None, file.after_sha256):
            return False
        document = self._documents.get(file.uri)
        return document is not None and sha256(document.text.removeprefix("\ufeff")) == file.before_sha256


def _newest(plan: Plan, key: Uri) -> EditRecord | None:
    """The last edit of the plan in a file if it is made; none while one is under way."""
    found = [edit for edit in plan.edits if any(normalized(file.uri) == key for file in edit.files)]
    made = [edit for edit in found if edit.state in ("intended", "applied")]
    return made[-1] if made and made[-1].state == "applied" else None
