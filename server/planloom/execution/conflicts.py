"""Conflicts of a step with its user: both sides are shown, a person chooses, and nothing is resolved by guessing."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Collection
from typing import NamedTuple

from planloom.domain import events as ev
from planloom.domain.changes import Changeset, Conflict, ConflictFile, CreateFile, EditFile, FileChange
from planloom.domain.errors import UnknownThing
from planloom.domain.merge import Merged, merge, resolve, with_markers
from planloom.domain.plan import Plan
from planloom.domain.values import EditId, PlanId, Uri
from planloom.execution.book import Book
from planloom.execution.proposals import Proposal
from planloom.workspace.rebase import three_way
from planloom.workspace.view import WorkspaceView


class _Clash(NamedTuple):
    choices: asyncio.Future[tuple[ev.ConflictChoice, ...]]
    changeset: Changeset


class Conflicts:
    """The conflicts that wait for a person."""

    def __init__(self, book: Book, view: WorkspaceView) -> None:
        self._book = book
        self._view = view
        self._clashes: dict[EditId, _Clash] = {}

    async def settle(self, proposal: Proposal, files: tuple[ConflictFile, ...]) -> Changeset:
        """Show both sides and wait for a person; the changes with the choices in them."""
        # A conflict of a whole plan is told as one of the last step that has a part in it.
        step_id = proposal.step_id or proposal.parts[-1].step_id
        edit_id = EditId(uuid.uuid4().hex)
        conflict = Conflict(edit_id=edit_id, step_id=step_id, files=files)
        future: asyncio.Future[tuple[ev.ConflictChoice, ...]] = asyncio.get_running_loop().create_future()
        self._clashes[edit_id] = _Clash(future, proposal.changeset)
        happened: list[ev.Event] = [ev.EditConflict(task_id=step_id, conflict=conflict)]
        if self._book.plan(proposal.plan_id).status == "executing":
            names = ", ".join(file.uri.rpartition("/")[2] for file in files)
            happened.append(
                ev.PlanPaused(reason="conflict", detail=f"You and the step both changed {names}.")
            )
        self._book.record(proposal.plan_id, *happened)
        try:
            choices = await future
        except asyncio.CancelledError:
            self._withdraw(proposal.plan_id, conflict)
            raise
        finally:
            self._clashes.pop(edit_id, None)
        return await _resolved(self._view, proposal.changeset, files, choices)

    def _withdraw(self, plan_id: PlanId, conflict: Conflict) -> None:
        """Nobody waits for an answer any more: the step is stopped, and meets the conflict anew if it runs again."""
        plan = self._book.plan(plan_id)
        if conflict in plan.pending.conflicts and plan.status in ("executing", "paused"):
            gone = ev.ConflictResolved(
                task_id=conflict.step_id, edit_id=conflict.edit_id, files=(), by="server"
            )
            self._book.record(plan_id, gone)

    def resolve(self, plan_id: PlanId, edit_id: EditId, choices: Collection[ev.ConflictChoice]) -> Plan:
        """A person's word on a conflict. Raises UnknownThing."""
        clash = self._clashes.get(edit_id)
        pending = self._book.plan(plan_id).pending.conflicts
        conflict = next((each for each in pending if each.edit_id == edit_id), None)
        if clash is None or clash.choices.done() or conflict is None:
            raise UnknownThing("edit", edit_id)
        taken = tuple(choices)
        plan = self._book.record(
            plan_id, ev.ConflictResolved(task_id=conflict.step_id, edit_id=edit_id, files=taken)
        )
        clash.choices.set_result(taken)
        return plan

    async def both_sides(self, edit_id: EditId, uri: Uri) -> str | None:
        """A conflicted file as it is now, with both sides between markers; None if it is in no conflict."""
        clash = self._clashes.get(edit_id)
        return None if clash is None else await _both_sides(self._view, clash.changeset, uri)


async def _resolved(
    view: WorkspaceView,
    changeset: Changeset,
    files: tuple[ConflictFile, ...],
    choices: tuple[ev.ConflictChoice, ...],
) -> Changeset:
    """The changes with a person's choice for each conflicted file; based on the text as it is now."""
    chosen = {choice.uri: choice for choice in choices}
    conflicted = {file.uri for file in files}
    changes: list[FileChange] = []
    for change in changeset.changes:
        if change.uri not in conflicted or not isinstance(change, EditFile | CreateFile):
            changes.append(change)
            continue
        choice = chosen.get(change.uri)
        live = (await view.snapshot(change.uri)).text or ""
        if choice is None or choice.choice == "mine":
            continue
        after = choice.text if choice.choice == "text" else _theirs(change, live)
        if after is not None and after != live:
            changes.append(EditFile(uri=change.uri, before=live, after=after))
    return Changeset(changes=tuple(changes))


async def _both_sides(view: WorkspaceView, changeset: Changeset, uri: Uri) -> str | None:
    """The text of a conflicted file as it is now, with both sides of each overlap between conflict markers."""
    change = next((each for each in changeset.changes if each.uri == uri), None)
    if not isinstance(change, EditFile | CreateFile):
        return None
    live = (await view.snapshot(uri)).text or ""
    before = change.before if isinstance(change, EditFile) else ""
    merged = three_way(before, live, change.after)
    return merged.text if isinstance(merged, Merged) else with_markers(merged, "yours", "Planloom's")


def _theirs(change: EditFile | CreateFile, live: str) -> str:
    before = change.before if isinstance(change, EditFile) else ""
    merged = merge(before, live, change.after)
    if isinstance(merged, Merged):
        return merged.text
    return resolve(merged, ["theirs"] * len(merged.hunks))
