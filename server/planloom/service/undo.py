"""Undo: what a step or a plan did to files is taken back, and what the user has typed since stays."""

from __future__ import annotations

from collections.abc import Callable

from planloom.domain import events as ev
from planloom.domain.approvals import Grant
from planloom.domain.changes import EditRecord
from planloom.domain.errors import UnknownThing, UntrustedWorkspace, WrongState
from planloom.domain.plan import Plan
from planloom.domain.values import EditId, PlanId, StepId, Uri
from planloom.execution.book import Book
from planloom.execution.journal import EditJournal
from planloom.execution.settling import journal_files
from planloom.service.ownership import Ownership
from planloom.service.requests import Undone
from planloom.service.states import ALLOWED, require
from planloom.workspace.apply import apply_changeset
from planloom.workspace.editor import Editor
from planloom.workspace.outcomes import Applied, Conflicted, PartlyApplied, Refused
from planloom.workspace.undo import Reversal, reverse
from planloom.workspace.view import WorkspaceView


class Undoing:
    """Takes applied edits back, as one edit of the editor, which can be taken back itself."""

    def __init__(
        self,
        book: Book,
        ownership: Ownership,
        view: WorkspaceView,
        editor: Editor,
        trusted: Callable[[], bool],
    ) -> None:
        self._book = book
        self._ownership = ownership
        self._view = view
        self._editor = editor
        self._trusted = trusted

    async def undo(self, plan_id: PlanId, step_id: StepId | None, redo: bool) -> Undone:
        """Take back what a step, or the whole plan, did; `redo` takes back the last undo.

        The user's own request is the approval. Raises UnknownThing, WrongState if there is nothing to take
        back or the editor will not, UntrustedWorkspace.
        """
        async with self._ownership.turn(plan_id):
            plan = self._ownership.take(plan_id)
            require(plan, "undo")
            if not self._trusted():
                raise UntrustedWorkspace("The workspace is not trusted, so nothing in it is changed.")
            if step_id is not None and plan.step(step_id) is None:
                raise UnknownThing("step", step_id)
            chosen = _last_undo(plan) if redo else _applied(plan, step_id)
            if not chosen and step_id is not None and any(step_id in edit.settles for edit in plan.edits):
                raise WrongState(
                    "The plan was made as one edit: take the whole plan back.",
                    status=plan.status,
                    allowed=ALLOWED[plan.status],
                )
            if not chosen:
                what = "no undo to take back" if redo else "nothing to take back"
                raise WrongState(f"There is {what}.", status=plan.status, allowed=ALLOWED[plan.status])
            reversal = await reverse(self._view, journal_files(chosen, self._book.store))
            await self._apply(plan, chosen, reversal, step_id, redo)
            return self._record(plan, chosen, reversal)

    async def _apply(
        self,
        plan: Plan,
        chosen: tuple[EditRecord, ...],
        reversal: Reversal,
        step_id: StepId | None,
        redo: bool,
    ) -> None:
        """Make the reverse changes, if there are any."""
        if not reversal.changeset.changes:
            return
        reverts: tuple[EditId, ...] = () if redo else tuple(edit.edit_id for edit in chosen)
        journal = EditJournal(self._book, plan.plan_id, step_id, reverts)
        grant = Grant(plan_id=plan.plan_id, version=plan.version, source="request")
        label = "Planloom: redo" if redo else "Planloom: undo"
        outcome = await apply_changeset(self._view, self._editor, reversal.changeset, grant, label, journal)
        match outcome:
            case Applied():
                return
            case Refused() | PartlyApplied():
                raise WrongState(outcome.reason, status=plan.status, allowed=ALLOWED[plan.status])
            case Conflicted():
                names = ", ".join(file.uri.rpartition("/")[2] for file in outcome.files)
                raise WrongState(
                    f"You are changing the same lines of {names}.",
                    status=plan.status,
                    allowed=ALLOWED[plan.status],
                )
            case _:
                raise WrongState(
                    "The files changed meanwhile. Try again.",
                    status=plan.status,
                    allowed=ALLOWED[plan.status],
                )

    def _record(self, plan: Plan, chosen: tuple[EditRecord, ...], reversal: Reversal) -> Undone:
        happened: list[ev.Event] = []
        reverted: dict[Uri, None] = {}
        begins = sum(len(edit.files) for edit in chosen)
        for edit in reversed(chosen):
            begins -= len(edit.files)
            files = tuple(
                file for place, file in enumerate(edit.files, start=begins) if place in reversal.taken
            )
            if files:
                happened.append(ev.EditReverted(task_id=edit.step_id, edit_id=edit.edit_id, files=files))
                reverted.update(dict.fromkeys(file.uri for file in files))
        happened += [ev.Log(level="warning", message=each.reason) for each in reversal.kept]
        now = self._book.record(plan.plan_id, *happened)
        return Undone(plan=now, reverted=tuple(reverted), conflicts=tuple(each.uri for each in reversal.kept))


def _applied(plan: Plan, step_id: StepId | None) -> tuple[EditRecord, ...]:
    return tuple(
        edit
        for edit in plan.edits
        if edit.state == "applied" and not edit.reverts and (step_id is None or edit.step_id == step_id)
    )


def _last_undo(plan: Plan) -> tuple[EditRecord, ...]:
    undone = [edit for edit in plan.edits if edit.state == "applied" and edit.reverts]
    return tuple(undone[-1:])
