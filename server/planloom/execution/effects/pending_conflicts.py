"""Conflicts of a step with its user: both sides are shown, a person chooses, and nothing is resolved by guessing."""

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
from planloom.workspace.edits.rebase import three_way
from planloom.workspace.paths.uris import display_name
from planloom.workspace.view import WorkspaceView


class _Clash(NamedTuple):
    choices: asyncio.Future[tuple[ev.ConflictChoice, ...]]
    changeset: Changeset
    shown: Mapping[Uri, str]


class PendingConflicts:
    """The conflicts that wait for a person."""

    def __init__(self, plan_store: PlanStore, view: WorkspaceView) -> None:
        self._plan_store = plan_store
        self._view = view
        self._clashes: dict[EditId, _Clash] = {}

    async def ask(self, proposal: ChangeProposal, met: ChangesetConflicted) -> Changeset:
        """Show both sides and wait for a person; the changes with the choices in them, on the text that was shown."""
        files = met.files
        shown = {file.uri: text for file, text in zip(files, met.texts, strict=True)}
        # A conflict of a whole plan is told as one of the last step that has a part in it.
        step_id = proposal.step_id or proposal.parts[-1].step_id
        edit_id = EditId(uuid.uuid4().hex)
        conflict = Conflict(edit_id=edit_id, step_id=step_id, files=files)
        future: asyncio.Future[tuple[ev.ConflictChoice, ...]] = asyncio.get_running_loop().create_future()
        self._clashes[edit_id] = _Clash(future, proposal.changeset, shown)
        happened: list[ev.Event] = [ev.EditConflict(task_id=step_id, conflict=conflict)]
        if self._plan_store.plan(proposal.plan_id).status == "executing":
            names = ", ".join(display_name(file.uri) for file in files)
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
            self._clashes.pop(edit_id, None)
        return await _resolved(self._view, proposal.changeset, shown, choices)

    def _withdraw(self, plan_id: PlanId, conflict: Conflict) -> None:
        """Nobody waits for an answer any more: the step is stopped, and meets the conflict anew if it runs again."""
        plan = self._plan_store.plan(plan_id)
        if conflict in plan.pending.conflicts and plan.status in ("executing", "paused"):
            gone = ev.ConflictResolved(
                task_id=conflict.step_id, edit_id=conflict.edit_id, files=(), by="server"
            )
            self._plan_store.record(plan_id, gone)

    def resolve(self, plan_id: PlanId, edit_id: EditId, choices: Collection[ev.ConflictChoice]) -> Plan:
        """A person's word on a conflict. Raises UnknownThing."""
        clash = self._clashes.get(edit_id)
        pending = self._plan_store.plan(plan_id).pending.conflicts
        conflict = next((each for each in pending if each.edit_id == edit_id), None)
        if clash is None or clash.choices.done() or conflict is None:
            raise UnknownThing("edit", edit_id)
        taken = tuple(choices)
        plan = self._plan_store.record(
            plan_id, ev.ConflictResolved(task_id=conflict.step_id, edit_id=edit_id, files=taken)
        )
        clash.choices.set_result(taken)
        return plan

    def both_sides(self, edit_id: EditId, uri: Uri) -> str | None:
        """A conflicted file as it was when the conflict was shown, with both sides of each overlap between markers.

        None if the file is in no conflict. What is made of this text is an answer for the text that was shown.
        """
        clash = self._clashes.get(edit_id)
        shown = clash.shown.get(uri) if clash is not None else None
        if clash is None or shown is None:
            return None
        change = next((each for each in clash.changeset.changes if each.uri == uri), None)
        if not isinstance(change, EditFile | CreateFile):
            return None
        merged = three_way(_base(change), shown, change.after)
        return merged.text if isinstance(merged, Merged) else with_markers(merged, "yours", "Planloom's")


async def _resolved(
    view: WorkspaceView,
    changeset: Changeset,
    shown: Mapping[Uri, str],
    choices: tuple[ev.ConflictChoice, ...],
) -> Changeset:
    """The changes with a person's choice for each conflicted file.

    The base of such a change is the text that the choice was made for, so that what was typed since is merged
    like any other typing, and is asked about where it overlaps.
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
            # Whoever has written a text may have looked at a newer one than the overlaps were shown in.
            live = (await view.snapshot(change.uri)).text
            if live is not None and choice.sha256 == sha256(live):
                base = live
            after = choice.text or ""
        else:
            after = _with(choice.choice, change, base)
        if after != base:
            changes.append(EditFile(uri=change.uri, before=base, after=after))
    return Changeset(changes=tuple(changes))


def _with(choice: Literal["theirs", "both"], change: EditFile | CreateFile, shown: str) -> str:
    """The text that was shown, with the change merged in and every overlap decided alike."""
    merged = three_way(_base(change), shown, change.after)
    if isinstance(merged, Merged):
        return merged.text
    return resolve(merged, [choice] * len(merged.hunks))


def _base(change: EditFile | CreateFile) -> str:
    return change.before if isinstance(change, EditFile) else ""
