"""Computes which edits are in force after any sequence of undos and redos."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from planloom.domain.changes import EditRecord
from planloom.domain.values import EditId, StepId

State = Literal["applied", "reverted"]


def standing(edits: Iterable[EditRecord], *, renames: bool = False) -> tuple[EditRecord, ...]:
    """The edits that an undo reverts, oldest first. An edit counts once, however often it was redone.

    Changes by a command of which no text from before is known are left out. With `renames` those by the user are among
    them.

    An unfinished redo counts by itself, since the edits that it should restore still count as reverted.
    """
    chains = _Chains(edits)
    return tuple(
        edit
        for edit in chains.edits.values()
        if edit.state == "applied"
        and (edit.files or edit.command is None)
        and (renames or not edit.by_user)
        and not chains.is_undo(edit)
        and not chains.is_finished_redo(edit)
    )


def undone(edits: Iterable[EditRecord], step_id: StepId | None = None) -> tuple[EditRecord, ...]:
    """The undos that a redo reverts, oldest first: the last one in force, and interrupted ones of the same edits.

    With `step_id` only undos of that step alone: an undo of the whole plan is reverted as a whole.
    """
    chains = _Chains(edits)
    undos = [
        edit
        for edit in chains.edits.values()
        if edit.state == "applied"
        and chains.is_undo(edit)
        and (step_id is None or chains.steps(edit) == {step_id})
    ]
    last = chains.origins(undos[-1]) if undos else frozenset()
    return tuple(edit for edit in undos if last & chains.origins(edit))


def steps_undone(edits: Iterable[EditRecord]) -> frozenset[StepId]:
    """The steps for which `undone` finds something."""
    chains = _Chains(edits)
    undos = [edit for edit in chains.edits.values() if edit.state == "applied" and chains.is_undo(edit)]
    found = (chains.steps(edit) for edit in undos)
    return frozenset(
        step_id for steps in found if len(steps) == 1 for step_id in steps if step_id is not None
    )


def states_after(edits: Iterable[EditRecord], edit: EditRecord, state: State) -> Mapping[EditId, State]:
    """The new states of an edit that was applied or reverted, and of those that it reverts."""
    states: dict[EditId, State] = {edit.edit_id: state}
    opposite: State = "reverted" if state == "applied" else "applied"
    made = (each for each in edit.reverts if edit.whole and each not in edit.partly)
    reverted = frozenset(made if state == "applied" else edit.completes)
    for target in edits if reverted else ():
        if target.edit_id in reverted:
            states |= {**dict.fromkeys(target.completes, state), target.edit_id: opposite}
    return states


class _Chains:
    """Resolves chains of reverts. An edit reverts only older ones, so every chain ends."""

    def __init__(self, edits: Iterable[EditRecord]) -> None:
        self.edits: dict[EditId, EditRecord] = {edit.edit_id: edit for edit in edits}
        self._undos: dict[EditId, bool] = {}
        self._origins: dict[EditId, frozenset[EditId]] = {}
        for edit in self.edits.values():
            targets = [each for each in edit.reverts if each in self._origins]
            self._undos[edit.edit_id] = bool(edit.reverts) and not any(self._undos[each] for each in targets)
            self._origins[edit.edit_id] = (
                frozenset().union(*(self._origins[each] for each in targets))
                if edit.reverts
                else frozenset({edit.edit_id})
            )

    def is_undo(self, edit: EditRecord) -> bool:
        """Whether the edit is an undo, and neither an edit of a plan nor a redo."""
        return self._undos[edit.edit_id]

    def is_finished_redo(self, edit: EditRecord) -> bool:
        """Whether the edit is a redo that has reverted every undo that it completes."""
        targets = [self.edits[each] for each in edit.completes if each in self.edits]
        return bool(edit.reverts) and all(target.state != "applied" for target in targets)

    def origins(self, edit: EditRecord) -> frozenset[EditId]:
        """The edits that are neither undo nor redo from which an edit derives."""
        return self._origins[edit.edit_id]

    def steps(self, edit: EditRecord) -> frozenset[StepId | None]:
        """The steps whose edits these are; None for those of no step."""
        return frozenset(self.edits[each].step_id for each in self.origins(edit))
