"""Finds what plans have changed in a file as it is now, and takes a part of that back in the editor."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from typing import Final, NamedTuple

from planloom.domain.changes import Changeset, EditFile
from planloom.domain.errors import UnknownThing, WrongState
from planloom.domain.events.reverts import standing
from planloom.domain.plans.plan import Plan
from planloom.domain.safety.approvals import Grant
from planloom.domain.text.diff import Hunk, hunks
from planloom.domain.text.positions import LineIndex
from planloom.domain.values import EditId, PlanId, StepId, Uri
from planloom.execution.effects.reconcile import journal_files
from planloom.execution.effects.unsaved import save_again
from planloom.execution.plan_store import PlanStore
from planloom.execution.session import Session
from planloom.service.running.states import ALLOWED
from planloom.workspace.edits.apply import apply_changeset
from planloom.workspace.edits.batch import Edit
from planloom.workspace.edits.outcomes import ChangesetApplied, EditResult, JournalFile
from planloom.workspace.paths.uris import normalized
from planloom.workspace.staged.rebase import three_way

_LONGEST: Final = 1 << 20
"""Characters of a text from which on its changes are not looked for: an editor asks at each key."""


class MadeChange(NamedTuple):
    """A part of a file that a plan has changed; `line` is its first line now, from 0.

    `key` tells it from the others of the file; it is empty for a file that the plan has made, which is one change.
    """

    plan_id: PlanId
    uri: Uri
    key: str
    line: int
    step_id: StepId | None = None
    hunk: Hunk | None = None
    before: str = ""


class MadeChanges:
    """The changes of plans that have not ended, and of the one that has ended last, but for those that are kept."""

    def __init__(self, session: Session, plan_store: PlanStore) -> None:
        self._session = session
        self._plan_store = plan_store
        self._kept: set[tuple[PlanId, Uri, str]] = set()

    def of(self, uri: Uri, text: str) -> tuple[MadeChange, ...]:
        """The changes in a file with this text, in the order of plans, then of lines."""
        if len(text) > _LONGEST:
            return ()
        found = (each for plan in self._plans() for each in self._of_plan(plan, normalized(uri), text))
        return tuple(each for each in found if (each.plan_id, each.uri, each.key) not in self._kept)

    def keep(self, plan_id: PlanId, uri: Uri, key: str | None) -> None:
        """Do not show a change any more; without a key, all changes of the plan in the file."""
        found = self.of(uri, self._text(uri))
        self._kept.update(
            (plan_id, each.uri, each.key)
            for each in found
            if each.plan_id == plan_id and key in (None, each.key)
        )

    async def undo(self, plan_id: PlanId, uri: Uri, key: str | None) -> Plan:
        """Take a change back in the editor; without a key, all changes of the plan in the file.

        It is the user's own change of the text, which a later undo of the plan keeps as what is typed. Raises
        UnknownThing, UntrustedWorkspace, and WrongState if the editor does not make it.
        """
        self._session.require_trust("nothing in it is changed")
        view = self._session.view
        text = self._text(uri)
        wanted = text
        for each in reversed(self._named(plan_id, uri, key, text)):
            if each.hunk is not None:
                wanted = wanted[: each.hunk.after_start] + each.before + wanted[each.hunk.after_end :]
        was_saved = await view.saved_text(normalized(uri)) == text
        plan = self._plan_store.plan(plan_id)
        grant = Grant(plan_id=plan_id, version=plan.version, source="request")
        edit = Edit(view, self._session.editor, grant, "Planloom: undo", _Unrecorded())
        change = EditFile(uri=normalized(uri), before=text, after=wanted)
        outcome = await apply_changeset(edit, Changeset(changes=(change,)))
        if not isinstance(outcome, ChangesetApplied):
            raise WrongState(
                "The file changed meanwhile. Try again.", status=plan.status, allowed=ALLOWED[plan.status]
            )
        if was_saved:
            await save_again(self._session, (normalized(uri),))
        return self._plan_store.plan(plan_id)

    def _text(self, uri: Uri) -> str:
        document = self._session.view.documents.get(normalized(uri))
        if document is None:
            raise UnknownThing("edit", uri)
        return document.text

    def _named(self, plan_id: PlanId, uri: Uri, key: str | None, text: str) -> tuple[MadeChange, ...]:
        found = tuple(
            each for each in self.of(uri, text) if each.plan_id == plan_id and key in (None, each.key)
        )
        if not found:
            raise UnknownThing("edit", key or uri)
        return found

    def _plans(self) -> Iterator[Plan]:
        live = self._plan_store.live()
        ended = [plan for plan in live if plan.completed_at is not None]
        last = max(ended, key=lambda plan: str(plan.completed_at), default=None)
        return (plan for plan in live if plan.completed_at is None or plan is last)

    def _of_plan(self, plan: Plan, uri: Uri, text: str) -> Iterator[MadeChange]:
        edits = tuple(
            edit.model_copy(update={"files": files})
            for edit in standing(plan.edits)
            if (files := tuple(file for file in edit.files if normalized(file.new_uri or file.uri) == uri))
        )
        if not edits:
            return
        before = text
        for file in reversed(journal_files(edits, self._plan_store.store)):
            if file.change == "create":
                yield MadeChange(plan.plan_id, uri, "", 0, edits[0].step_id)
                return
            merged = three_way(file.after or "", before, file.before or "")
            if file.change != "edit" or merged.kind == "conflicted":
                return
            before = merged.text
        index = LineIndex(text)
        for hunk in hunks(before, text):
            line = index.position(hunk.after_start, "utf-16").line
            above = index.line_text(line - 1) if line else ""
            was = before[hunk.before_start : hunk.before_end]
            now = text[hunk.after_start : hunk.after_end]
            key = hashlib.sha256(repr((above, index.line_text(line), was, now)).encode()).hexdigest()[:16]
            yield MadeChange(plan.plan_id, uri, key, line, None, hunk, was)


class _Unrecorded:
    """The journal of a change that is the user's own."""

    async def intend(self, _grant: Grant, _files: tuple[JournalFile, ...], /) -> EditId:
        return EditId(uuid.uuid4().hex)

    async def record_result(self, _edit_id: EditId, _result: EditResult, /) -> None:
        """There is no record."""
