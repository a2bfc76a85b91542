"""Computes which edits are in force after any sequence of undos and redos."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from planloom.domain.changes import EditedFile, EditRecord, taken_back
from planloom.domain.values import EditId, StepId, Uri


def standing(edits: Iterable[EditRecord], *, renames: bool = False) -> tuple[EditRecord, ...]:
    """The edits that an undo reverts, oldest first, with those of their files in which they are in force.

    Changes by a command of which no text from before is known are left out. With `renames` those by the user are among
    them.
    """
    return tuple(
        edit.standing
        for edit in edits
        if edit.state == "applied"
        and not edit.reverts
        and (edit.files or edit.command is None)
        and (renames or not edit.by_user)
    )


def undone(edits: Iterable[EditRecord], step_id: StepId | None = None) -> tuple[EditRecord, ...]:
    """The undos that a redo reverts, oldest first: the last one in force, and interrupted ones of the same edits, with
    all that completed these; each with those of its files in which it is in force.

    With `step_id` only undos of that step alone: an undo of the whole plan is reverted as a whole.
    """
    chains = _Chains(edits)
    undos = [edit for edit in chains.undos() if step_id is None or chains.steps(edit) == {step_id}]
    all_origins = [chains.origins(edit) for edit in undos]
    related, grown = frozenset[EditId](), frozenset().union(*all_origins[-1:])
    while grown != related:
        related = grown
        grown = related.union(*(each for each in all_origins if related & each))
    return tuple(edit.standing for edit in undos if related & chains.origins(edit))


def steps_undone(edits: Iterable[EditRecord]) -> frozenset[StepId]:
    """The steps for which `undone` finds something."""
    chains = _Chains(edits)
    found = (chains.steps(edit) for edit in chains.undos())
    return frozenset(
        step_id for steps in found if len(steps) == 1 for step_id in steps if step_id is not None
    )


def undone_after(
    find: Callable[[EditId], EditRecord | None],
    edit: EditRecord,
    files: Collection[EditedFile],
    *,
    back: bool,
) -> Mapping[EditId, frozenset[Uri]]:
    """The files in which edits are reverted, once `edit` was reverted in these files, or, with `back`, made in them
    (again). A revert of an undo restores what that has reverted, and so on.
    """
    undone = {edit.edit_id: edit.undone}
    waiting = [(edit, files, back)]
    while waiting:
        each, files, back = waiting.pop()
        before, uris = undone.get(each.edit_id, each.undone), {file.uri for file in files}
        undone[each.edit_id] = before - uris if back else before | uris
        targets = filter(None, map(find, each.reverts))
        waiting += [(target, changed, not back) for target, changed in _reverted(each, files, targets)]
    return undone


def _reverted(
    edit: EditRecord, files: Iterable[EditedFile], targets: Iterable[EditRecord]
) -> Iterator[tuple[EditRecord, list[EditedFile]]]:
    """The files of each of the `targets` that the changes of these `files` by an undo or redo revert."""
    causes = {cause for file in files for cause in file.causes}
    # In older ledgers causes name no file.
    named = any(" " in cause for file in edit.files for cause in file.causes)
    for target in targets:
        if named:
            found = [file for file in target.files if taken_back(target.edit_id, file.uri) in causes]
        else:
            uris = {
                uri for file in files if not file.causes or target.edit_id in file.causes for uri in file.uris
            }
            found = [file for file in target.files if not uris.isdisjoint(file.uris)]
        yield target, found


class _Chains:
    """Resolves chains of reverts. An edit reverts only older ones, so every chain ends."""

    def __init__(self, edits: Iterable[EditRecord]) -> None:
        self._edits: dict[EditId, EditRecord] = {edit.edit_id: edit for edit in edits}
        self._undos: dict[EditId, bool] = {}
        self._origins: dict[EditId, frozenset[EditId]] = {}
        for edit in self._edits.values():
            targets = [each for each in edit.reverts if each in self._origins]
            self._undos[edit.edit_id] = bool(edit.reverts) and not any(self._undos[each] for each in targets)
            self._origins[edit.edit_id] = (
                frozenset().union(*(self._origins[each] for each in targets))
                if edit.reverts
                else frozenset({edit.edit_id})
            )

    def undos(self) -> Iterator[EditRecord]:
        """The undos in force: neither edits of a plan nor redos."""
        for edit in self._edits.values():
            if edit.state == "applied" and self._undos[edit.edit_id]:
                yield edit

    def origins(self, edit: EditRecord) -> frozenset[EditId]:
        """The edits that are neither undo nor redo from which an edit derives."""
        return self._origins[edit.edit_id]

    def steps(self, edit: EditRecord) -> frozenset[StepId | None]:
        """The steps whose edits these are; None for those of no step."""
        return frozenset(self._edits[each].step_id for each in self.origins(edit))
