"""Saves files before a command: those with only Planloom's changes by the editor, the others by the user."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from planloom.domain.changes import Changeset, DeleteFile, EditRecord, sha256
from planloom.domain.errors import WrongState
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import SETTLED, Plan
from planloom.domain.values import PlanId, Sha256, Uri
from planloom.execution.jobs import Jobs
from planloom.execution.plan_store import PlanStore
from planloom.execution.session import Session
from planloom.workspace.editor import EditorSilent, SaveAnswer
from planloom.workspace.paths.names import listed
from planloom.workspace.paths.resolver import PathRefused, Purpose, ResolvedPath
from planloom.workspace.paths.uris import after_rename, display_name, is_at_or_below, normalized
from planloom.workspace.snapshots import BOM

_NEVER_ASKED = Sha256("")
"""In place of a hash, for a file that the user was not asked about; no text has this hash."""
_TAKE_AWAY: Final = frozenset({"rename_path", "delete_path"})
_Texts = dict[Uri, Sha256 | None]


class UnsavedFiles(Exception):
    """Raised when a command needs these files on disk, or staged changes before it do, as `why` says: the plan waits
    for the user to save them.
    """

    def __init__(self, names: tuple[str, ...] = (), why: str | None = None) -> None:
        super().__init__(why or ", ".join(names))
        self.names = names
        self.why = why

    @property
    def sentence(self) -> str:
        """Tells the user what to do."""
        if self.why is not None:
            return f"A command is next, and the changes before it cannot be made: {self.why}"
        files = "this file has" if len(self.names) == 1 else "these files have"
        return (
            f"A command is next, and {files} unsaved changes: {listed(self.names, 10)}. The"
            " plan goes on once they are saved; or resume it to run the command without."
        )


class UnsavedFileSaver:
    """Has unsaved files saved before commands, and resumes plans that wait for the user to save files."""

    def __init__(self, session: Session, plan_store: PlanStore, jobs: Jobs) -> None:
        self._session = session
        self._plan_store = plan_store
        self._view = session.view
        self._jobs = jobs
        self._saving = asyncio.Lock()
        self._numbers = itertools.count()
        self._waiting: dict[PlanId, _Texts] = {}
        self._waived: dict[PlanId, _Texts] = {}
        session.view.documents.listen(self._on_document_event)

    async def save_before_command(self, plan: Plan) -> None:
        """Have the editor save files that only Planloom has changed. Raises UnsavedFiles for those of the user.

        Files that the user was just asked to save are ignored: by resuming the plan, the user has declined. That
        holds, if the user is asked about other files before the command runs, while their text is the same.
        """
        waived = self._waived.pop(plan.plan_id, {})
        answered = self._waiting.pop(plan.plan_id, {})
        dirty = await self.save_own(plan)
        texts = {uri: (await self._view.snapshot(uri)).sha256 for uri in dirty}
        ignored = {
            uri: text
            for uri, text in texts.items()
            if uri in answered or waived.get(uri, _NEVER_ASKED) == text
        }
        unsaved = {uri: text for uri, text in texts.items() if uri not in ignored}
        if unsaved:
            self._waiting[plan.plan_id] = unsaved
            self._waived[plan.plan_id] = ignored
            raise UnsavedFiles(tuple(self._name(uri) for uri in unsaved))

    async def save_own(self, plan: Plan) -> tuple[Uri, ...]:
        """Have the editor save files that only Planloom has changed, unless `edits.save` is `never`.

        Returns the files that are still unsaved.
        """
        dirty = await self._dirty(plan)
        if dirty and self._session.settings.edits.save != "never":
            await self._save_own(dirty)
            dirty = await self._dirty(plan)
        return dirty

    async def save_waiting(self, plan_id: PlanId) -> None:
        """Have the editor save the files that a paused plan waits for. The caller resumes the plan.

        Raises WrongState if the editor cannot be asked to save, or has not saved one of them.
        """
        plan = self._plan_store.read(plan_id)
        # Taken out before the files are saved, since the last of them would resume the plan here.
        waiting = self._waiting.pop(plan_id, {})
        # A server before this one may have paused the plan.
        problem = await self._not_saved(tuple(waiting) or await self._dirty(plan))
        if problem:
            if waiting:
                self._waiting[plan_id] = waiting
            raise WrongState(problem, status=plan.status)

    async def _not_saved(self, uris: tuple[Uri, ...]) -> str:
        """Have the editor save files. Returns which it has not saved and why, "" if it has saved all."""
        if not uris:
            return ""
        answer = await save(self._session, uris)
        if answer is None:
            return "The editor cannot be asked to save files: save them yourself."
        if not answer.failed:
            return ""
        names = listed([self._name(normalized(each.uri)) for each in answer.failed], 10)
        return f"Not saved: {names}. {answer.failed[0].reason}"

    async def on_edit_applied(self, plan: Plan, edit: EditRecord) -> None:
        """Have the editor save files that only Planloom has changed, if `edits.save` is `always`; not after an undo."""
        if edit.reverts or self._session.settings.edits.save != "always":
            return
        async with self._saving:
            # An edit of many files is applied in batches: what the batch before has saved is not asked for again.
            await self._save_own(await self._dirty(plan))

    async def _save_own(self, uris: Iterable[Uri]) -> None:
        """Ask the editor to save those of the files whose unsaved changes are all Planloom's."""
        if not self._session.editor.capabilities.save:
            return
        edits = [edit for plan in self._plan_store.live() for edit in plan.edits]
        own = [uri for uri in uris if await self._is_own(uri, edits)]
        if own:
            await save(self._session, own)

    async def _dirty(self, plan: Plan) -> tuple[Uri, ...]:
        """The files of the workspace that are known to have unsaved text."""
        found: dict[Uri, None] = {}
        for uri in await self._view.unsaved():
            path = await asyncio.to_thread(self._view.locate, uri, "read")
            if not isinstance(path, PathRefused):
                found[uri] = None
        for edit in plan.edits:
            for file in edit.files if edit.state == "applied" else ():
                uri = normalized(file.new_uri or file.uri)
                if uri in found or file.change != "edit":
                    continue
                if (await self._view.snapshot(uri)).source == "acknowledged":
                    found[uri] = None
        return tuple(found)

    async def _is_own(self, uri: Uri, edits: list[EditRecord]) -> bool:
        """Whether a chain of our edits leads from the text on disk to the text in the editor."""
        now = (await self._view.snapshot(uri)).sha256
        text = await self._view.saved_text(uri)
        saved = None if text is None else sha256(text)
        if now is None:
            return False
        for edit in reversed(edits):
            for file in reversed(edit.files) if edit.state == "applied" else ():
                if file.new_uri is not None:
                    uri = after_rename(uri, normalized(file.new_uri), file.uri)
                elif normalized(file.uri) == uri and file.after_sha256 == now:
                    now = file.before_sha256
                if now in (saved, None):
                    return now is not None
        return False

    def _name(self, uri: Uri) -> str:
        path = self._view.locate(uri, "read")
        return display_name(uri) if isinstance(path, PathRefused) else path.relative

    def _on_document_event(self, uri: Uri) -> None:
        """Re-examine the plans that wait for this document to be saved."""
        for plan_id, waiting in self._waiting.items():
            if uri in waiting and self._is_waiting(plan_id):
                self._jobs.start(f"unsaved:{next(self._numbers)}", self._resume_if_saved(plan_id))

    async def _resume_if_saved(self, plan_id: PlanId) -> None:
        """Resume a plan if all files that it waits for were saved, or reloaded from disk."""
        waiting = self._waiting.get(plan_id, {})
        if any([await self._view.is_dirty(uri) for uri in waiting]):
            return
        if self._waiting.get(plan_id) == waiting and self._is_waiting(plan_id):
            del self._waiting[plan_id]
            self._plan_store.record(plan_id, ev.PlanResumed())

    def _is_waiting(self, plan_id: PlanId) -> bool:
        plan = self._plan_store.load(plan_id)
        return plan is not None and plan.status == "paused" and plan.pause_reason == "unsaved_files"


async def save_own(session: Session, plan_store: PlanStore, part: Changeset) -> None:
    """Have the editor save text of the journal that the server is to rename or delete on disk now or later: it would
    keep an unsaved buffer under the old name.
    """
    view, can = session.view, session.editor.capabilities
    if not can.save or (can.rename_files and can.delete_files) or session.settings.edits.save == "never":
        return
    gone = [change.uri for change in (*part.changes, *part.later) if change.kind in ("rename", "delete")]
    own = [
        document.uri
        for document in view.documents.all()
        if any(is_at_or_below(document.uri, uri) for uri in gone)
        and plan_store.has_text(document.text.removeprefix(BOM))
        and await view.is_dirty(document.uri)
    ]
    if own:
        await save(session, own)


async def save_again(session: Session, uris: Sequence[Uri]) -> None:
    """Have the editor save files whose text was saved before a change of it was taken back, unless `edits.save` is
    `never`.
    """
    if uris and session.settings.edits.save != "never":
        await save(session, uris)


async def save(session: Session, uris: Sequence[Uri]) -> SaveAnswer | None:
    """Have the editor save files; None if it cannot be asked, or does not answer."""
    if session.editor.capabilities.save:
        with suppress(EditorSilent):
            return await session.editor.save(tuple(uris))
    return None


async def taken_away_later(session: Session, plan: Plan) -> tuple[DeleteFile, ...]:
    """The files that literal calls still to come rename or delete on disk, where the editor can neither do that nor be
    asked to save: it would keep the plan's own text under a name that is gone.
    """
    can = session.editor.capabilities
    if can.save or (can.rename_files and can.delete_files):
        return ()
    paths = [
        (step.args or {}).get("path")
        for step in plan.steps
        if step.kind == "tool_call" and step.tool in _TAKE_AWAY and step.status not in SETTLED
    ]
    texts: list[tuple[str, Purpose]] = [(path, "write") for path in paths if isinstance(path, str)]
    found = await session.view.look_up(texts, None) if texts else ()
    places = [place for place, _ in found if isinstance(place, ResolvedPath)]
    return tuple(DeleteFile(uri=place.uri, before="") for place in places)
