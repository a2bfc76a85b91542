"""Notices that the user has undone an edit of ours in the editor: its step shows it, and nothing runs again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from planloom.domain.changes import EditedFile, EditRecord, sha256
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan, PlanStatus
from planloom.domain.values import EditId, PlanId, Uri
from planloom.execution.plan_store import PlanStore
from planloom.workspace.paths.uris import normalized
from planloom.workspace.view import WorkspaceView

_AT_REST: Final[frozenset[PlanStatus]] = frozenset({"paused", "completed", "failed", "cancelled"})
_RESTS: Final = frozenset({"plan_completed", "plan_failed", "plan_cancelled", "plan_paused"})


class UserUndo:
    """Compares open documents with the texts from before the newest edit of ours in them.

    While a plan runs it waits: what was undone then is told when the plan rests.
    """

    def __init__(self, plan_store: PlanStore, view: WorkspaceView) -> None:
        self._plan_store = plan_store
        self._view = view
        self._told: dict[EditId, frozenset[Uri]] = {}
        self._files: dict[PlanId, _Files] = {}
        view.documents.listen(self._changed)
        plan_store.listen(self._rested)

    def _changed(self, uri: str) -> None:
        key = normalized(uri)
        for plan in self._plan_store.live():
            newest = self._newest(plan, key) if plan.status in _AT_REST else None
            if newest is not None:
                self._look(plan, newest)

    def _rested(self, recorded: ev.Recorded, plan: Plan) -> None:
        if plan.edits and recorded.event.type in _RESTS:
            # Later, so that everyone hears the events in their order.
            asyncio.get_running_loop().call_soon(self._look_at_all, plan.plan_id)

    def _look_at_all(self, plan_id: PlanId) -> None:
        plan = self._plan_store.find(plan_id)
        for edit in plan.edits if plan is not None and plan.status in _AT_REST else ():
            now = self._plan_store.find(plan_id)
            if now is not None and any(
                self._newest(now, normalized(file.uri)) == edit for file in edit.files
            ):
                self._look(now, edit)

    def _look(self, plan: Plan, edit: EditRecord) -> None:
        """Tell of those files of the edit that hold their old text again."""
        back = tuple(file for file in edit.files if self._is_back(file))
        uris = frozenset(file.uri for file in back)
        if back and uris - self._told.get(edit.edit_id, frozenset()):
            self._told[edit.edit_id] = uris
            self._plan_store.record(
                plan.plan_id, ev.EditReverted(task_id=edit.step_id, edit_id=edit.edit_id, files=back)
            )

    def _is_back(self, file: EditedFile) -> bool:
        if file.change != "edit" or file.before_sha256 in (None, file.after_sha256):
            return False
        # A buffer that the editor has yet to reload still holds the old text, which nobody has brought back.
        document = self._view.buffer(file.uri)
        return document is not None and sha256(document.text.removeprefix("\ufeff")) == file.before_sha256

    def _newest(self, plan: Plan, key: Uri) -> EditRecord | None:
        """The last edit of the plan in a file if it is made; none while one is under way."""
        for place in reversed(self._files.setdefault(plan.plan_id, _Files()).places(plan, key)):
            edit = plan.edits[place]
            # Not all that was meant may have been made.
            if all(normalized(file.uri) != key for file in edit.files):
                continue
            if edit.state in ("intended", "applied"):
                return edit if edit.state == "applied" else None
        return None


class _Files:
    """Which edits of one plan were meant for which file. Edits are only ever added."""

    def __init__(self) -> None:
        self._places: dict[Uri, list[int]] = {}
        self._known = 0

    def places(self, plan: Plan, key: Uri) -> Sequence[int]:
        """The places in `plan.edits` of those in a file, oldest first."""
        for place in range(self._known, len(plan.edits)):
            for uri in {normalized(file.uri) for file in plan.edits[place].files}:
                self._places.setdefault(uri, []).append(place)
        self._known = len(plan.edits)
        return self._places.get(key, ())
