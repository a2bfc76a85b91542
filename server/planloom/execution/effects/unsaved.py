"""Unsaved files before a command: those that are ours are saved by the editor, the others are left to the user."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable

from planloom.domain.changes import EditRecord, sha256
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.domain.values import PlanId, Sha256, Uri
from planloom.execution.jobs import Jobs
from planloom.execution.plan_store import PlanStore
from planloom.settings import Settings
from planloom.workspace.editor import Editor, EditorSilent
from planloom.workspace.paths.resolver import PathRefused
from planloom.workspace.paths.uris import display_name, normalized
from planloom.workspace.view import WorkspaceView

_EMPTY = sha256("")
_ASK = Sha256("")
"""Stands for the hash of a file that the user was not asked about; no text has it."""
_Texts = dict[Uri, Sha256 | None]


class UnsavedFiles(Exception):
    """A command needs files as they are on disk, and these are not: the plan waits for the user to save them."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(", ".join(names))
        self.names = names

    @property
    def sentence(self) -> str:
        """What to do, for the user."""
        shown = ", ".join(self.names[:10]) + (f" and {len(self.names) - 10} more" if self.names[10:] else "")
        files = "this file has" if len(self.names) == 1 else "these files have"
        return f"A command is next, and {files} unsaved changes: {shown}. Save them, or resume to run it without."


class Unsaved:
    """Settles unsaved files before commands, and lets a plan that waits for them go on once they are saved."""

    def __init__(
        self,
        plan_store: PlanStore,
        view: WorkspaceView,
        editor: Editor,
        settings: Callable[[], Settings],
        jobs: Jobs,
    ) -> None:
        self._plan_store = plan_store
        self._view = view
        self._editor = editor
        self._settings = settings
        self._jobs = jobs
        self._numbers = itertools.count()
        self._waiting: dict[PlanId, _Texts] = {}
        self._waived: dict[PlanId, _Texts] = {}
        view.documents.listen(self._heard)

    async def settle(self, plan: Plan) -> None:
        """Have the editor save what only we have changed. Raises UnsavedFiles for what the user must save.

        Files that the user was just asked to save are passed over: resuming the plan was the answer. If others are
        asked for before the command runs, that answer holds for as long as these files hold the same text.
        """
        waived = self._waived.pop(plan.plan_id, {})
        answered = self._waiting.pop(plan.plan_id, {})
        dirty = await self._dirty(plan)
        if dirty and self._settings().edits.save != "never":
            await self.save_ours(dirty)
            dirty = await self._dirty(plan)
        texts = {uri: (await self._view.snapshot(uri)).sha256 for uri in dirty}
        passed = {
            uri: text for uri, text in texts.items() if uri in answered or waived.get(uri, _ASK) == text
        }
        left = {uri: text for uri, text in texts.items() if uri not in passed}
        if left:
            self._waiting[plan.plan_id] = left
            self._waived[plan.plan_id] = passed
            raise UnsavedFiles(tuple(self._name(uri) for uri in left))

    async def after_edit(self, plan: Plan) -> None:
        """Have the editor save at once what only we have changed, if the user wants that of every edit."""
        if self._settings().edits.save == "always":
            await self.save_ours(await self._dirty(plan))

    async def save_ours(self, uris: Iterable[Uri]) -> None:
        """Ask the editor to save those files in which nothing is unsaved but what we wrote."""
        if not self._editor.capabilities.save:
            return
        edits = [edit for plan in self._plan_store.live() for edit in plan.edits]
        ours = [uri for uri in uris if await self._is_ours(uri, edits)]
        if ours:
            try:
                await self._editor.save(tuple(ours))
            except EditorSilent:
                return

    async def _dirty(self, plan: Plan) -> tuple[Uri, ...]:
        """The files of the workspace whose text is not on disk, as far as can be told."""
        found: dict[Uri, None] = {}
        for document in self._view.documents.all():
            place = await asyncio.to_thread(self._view.locate, document.uri, "read")
            if not isinstance(place, PathRefused) and await self._view.is_dirty(document.uri):
                found[document.uri] = None
        for edit in plan.edits:
            for file in edit.files if edit.state == "applied" else ():
                uri = normalized(file.new_uri or file.uri)
                if uri in found or file.change not in ("edit", "create"):
                    continue
                if (await self._view.snapshot(uri)).source == "acknowledged":
                    found[uri] = None
        return tuple(found)

    async def _is_ours(self, uri: Uri, edits: list[EditRecord]) -> bool:
        """Whether edits of ours, one after the other, lead from what is on disk to what the editor holds."""
        now = (await self._view.snapshot(uri)).sha256
        text = await self._view.saved_text(uri)
        saved = None if text is None else sha256(text)
        if now is None:
            return False
        for edit in reversed(edits):
            for file in edit.files if edit.state == "applied" else ():
                if normalized(file.new_uri or file.uri) == uri and file.after_sha256 == now:
                    now = file.before_sha256
                    if now == saved or (now is None and saved == _EMPTY):
                        return True
                    break
            if now is None:
                return False
        return False

    def _name(self, uri: Uri) -> str:
        place = self._view.locate(uri, "read")
        return display_name(uri) if isinstance(place, PathRefused) else place.relative

    def _heard(self, uri: Uri) -> None:
        """Something happened to a document: plans that wait for it may have nothing to wait for any more."""
        for plan_id, waiting in self._waiting.items():
            if uri in waiting and self._is_waiting(plan_id):
                self._jobs.start(f"unsaved:{next(self._numbers)}", self._look_again(plan_id))

    async def _look_again(self, plan_id: PlanId) -> None:
        """Let a plan go on if all that it waited for is saved, or was reloaded from the disk."""
        waiting = self._waiting.get(plan_id, {})
        if any([await self._view.is_dirty(uri) for uri in waiting]):
            return
        if self._waiting.get(plan_id) == waiting and self._is_waiting(plan_id):
            del self._waiting[plan_id]
            self._plan_store.record(plan_id, ev.PlanResumed())

    def _is_waiting(self, plan_id: PlanId) -> bool:
        plan = self._plan_store.load(plan_id)
        return plan is not None and plan.status == "paused" and plan.pause_reason == "unsaved_files"
