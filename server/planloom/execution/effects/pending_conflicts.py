"""Conflicts between a step's changes and the user's: holds each until the user has chosen, then merges the choice."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Collection, Mapping
from typing import Literal, NamedTuple

from planloom.domain.changes import Changeset, Conflict, CreateFile, EditFile, FileChange, sha256
from planloom.domain.errors import UnknownThing
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.domain.text.merge import Merged, resolve, with_markers
from planloom.domain.values import EditId, PlanId, Uri
from planloom.execution.effects.proposals import ChangeProposal
from planloom.execution.plan_store import PlanStore
from planloom.workspace.edits.outcomes import ChangesetConflicted
from planloom.workspace.paths.uris import display_names
from planloom.workspace.staged.rebase import three_way
from planloom.workspace.view import WorkspaceView


class BothSides(NamedTuple):
    """A conflicted file: the common base, the user's text, the step's, and both with conflict markers."""

    base: str
    mine: str
    theirs: str
    both: str


class _Pending(NamedTuple):
    choices: asyncio.Future[tuple[ev.ConflictChoice, ...]]
    changeset: Changeset
    shown: Mapping[Uri, str]


class PendingConflicts:
    """The conflicts that wait for the user's choice. Nothing is resolved without one."""

    def __init__(self, plan_store: PlanStore, view: WorkspaceView) -> None:
        self._plan_store = plan_store
        self._view = view
        self._pending: dict[EditId, _Pending] = {}

    async def ask(self, proposal: ChangeProposal, conflicted: ChangesetConflicted) -> Changeset:
        """Show both sides and wait for the user. Returns the chosen changes, based on the text that was shown."""
        files = conflicted.files
        shown = {file.uri: text for file, text in zip(files, conflicted.texts, strict=True)}
        # A conflict of a whole plan is shown at the last step that contributed to the changes.
        step_id = proposal.step_id or proposal.steps[-1]
        edit_id = EditId(uuid.uuid4().hex)
        conflict = Conflict(edit_id=edit_id, step_id=step_id, files=files)
        future: asyncio.Future[tuple[ev.ConflictChoice, ...]] = asyncio.get_running_loop().create_future()
        self._pending[edit_id] = _Pending(future, proposal.changeset, shown)
        happened: list[ev.Event] = [ev.EditConflict(step_id=step_id, conflict=conflict)]
        if self._plan_store.plan(proposal.plan_id).status == "executing":
            names = display_names(file.uri for file in files)
            happened.append(
                ev.PlanPaused(reason="conflict", detail=f"You and the step both changed {names}.")
            )
        self._plan_store.record(proposal.plan_id, *happened)
        try:
            choices = await future
        except asyncio.CancelledError:
            self._withdraw(proposal.plan_id, conflict)
            raise
        finally:
            self._pending.pop(edit_id, None)
        return await _resolved(self._view, proposal.changeset, shown, choices)

    def _withdraw(self, plan_id: PlanId, conflict: Conflict) -> None:
        """Close a conflict whose step was stopped; the step finds it again if it runs again."""
        plan = self._plan_store.plan(plan_id)
        if conflict in plan.pending.conflicts and plan.status in ("executing", "paused"):
            withdrawn = ev.ConflictResolved(
                step_id=conflict.step_id, edit_id=conflict.edit_id, files=(), by="server"
            )
            self._plan_store.record(plan_id, withdrawn)

    def resolve(self, plan_id: PlanId, edit_id: EditId, choices: Collection[ev.ConflictChoice]) -> Plan:
        """Record the user's choices for a conflict and pass them to its step. Raises UnknownThing."""
        pending = self._pending.get(edit_id)
        conflicts = self._plan_store.plan(plan_id).pending.conflicts
        conflict = next((each for each in conflicts if each.edit_id == edit_id), None)
        if pending is None or pending.choices.done() or conflict is None:
            raise UnknownThing("edit", edit_id)
        files = tuple(choices)
        plan = self._plan_store.record(
            plan_id, ev.ConflictResolved(step_id=conflict.step_id, edit_id=edit_id, files=files)
        )
        pending.choices.set_result(files)
        return plan

    def texts(self, edit_id: EditId, uri: Uri) -> BothSides:
        """The texts of a conflicted file as the conflict showed it; a merge of them is a choice for the text shown.

        Raises UnknownThing if the file has no pending conflict.
        """
        pending = self._pending.get(edit_id)
        shown = pending.shown.get(uri) if pending is not None else None
        changes = pending.changeset.changes if pending is not None else ()
        change = next((each for each in changes if each.uri == uri), None)
        if shown is None or not isinstance(change, EditFile | CreateFile):
            raise UnknownThing("edit", f"{edit_id} for {uri}")
        merged = three_way(_base(change), shown, change.after)
        both = merged.text if isinstance(merged, Merged) else with_markers(merged, "yours", "Planloom's")
        return BothSides(_base(change), shown, change.after, both)


async def _resolved(
    view: WorkspaceView,
    changeset: Changeset,
    shown: Mapping[Uri, str],
    choices: tuple[ev.ConflictChoice, ...],
) -> Changeset:
    """The changes with the user's choice for each conflicted file.

    The base of such a change is the text that the choice was made for, so that later typing is merged like any
    other, and conflicts again where it overlaps.
    """
    chosen = {choice.uri: choice for choice in choices}
    changes: list[FileChange] = []
    for change in changeset.changes:
        base = shown.get(change.uri)
        if base is None or not isinstance(change, EditFile | CreateFile):
            changes.append(change)
            continue
        choice = chosen.get(change.uri)
        if choice is None or choice.choice == "mine":
            continue
        if choice.choice == "text":
            # The user may have edited a newer text than the one in which the overlaps were shown.
            live = (await view.snapshot(change.uri)).text
            if live is not None and choice.sha256 == sha256(live):
                base = live
            after = choice.text or ""
        else:
            after = _merged(choice.choice, change, base)
        if after != base:
            changes.append(EditFile(uri=change.uri, before=base, after=after, causes=change.causes))
    return Changeset(changes=tuple(changes))


def _merged(choice: Literal["theirs", "both"], change: EditFile | CreateFile, shown: str) -> str:
    """The text that was shown with the change merged in, and with the same choice for every overlap."""
    merged = three_way(_base(change), shown, change.after)
    if isinstance(merged, Merged):
        return merged.text
    return resolve(merged, [choice] * len(merged.hunks))


def _base(change: EditFile | CreateFile) -> str:
    return change.before if isinstance(change, EditFile) else ""
