"""The files that a plan changes, with the state of each change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from planloom.domain.changes import ChangeKind, EditedFile, EditRecord
from planloom.domain.plans.plan import Plan
from planloom.domain.values import EditId, StepId, Uri
from planloom.view.words import Words
from planloom.workspace.paths.uris import after_rename

State = Literal["writing", "applied", "refused", "reverted", "conflict"]
_STATE: dict[str, State] = {
    "intended": "writing",
    "applied": "applied",
    "rejected": "refused",
    "conflict": "conflict",
    "reverted": "reverted",
}


class ChangedFile(NamedTuple):
    """One change of a file. `new_uri` is its name after a rename; `lasting`: it cannot be taken back.

    `kind` and `words` say what the change does, and where it stands if that is not simply applied. A file that a step
    of the plan has created, `created_by`, stays new when it is edited.
    """

    edit_id: EditId
    step_id: StepId | None
    created_by: StepId | None
    uri: Uri
    new_uri: Uri | None
    change: ChangeKind
    kind: str
    state: State
    words: str
    merged: bool
    by_command: bool
    lasting: bool
    reason: str | None


def changed_files(plan: Plan, t: Words) -> tuple[ChangedFile, ...]:
    """The last change of each file, in the order in which they were first changed; undos and redos are none."""
    found: dict[Uri, ChangedFile] = {}
    for edit in plan.edits:
        if edit.reverts:
            continue
        if edit.by_user:
            found = {uri: _moved(each, edit.files) for uri, each in found.items()}
            continue
        for file, lasting in _files(edit):
            found[file.uri] = _changed(edit, file, t, found.get(file.uri), lasting=lasting)
    return tuple(found.values())


def standing_files(plan: Plan) -> frozenset[tuple[StepId | None, Uri]]:
    """The files that steps have changed, each with its step, as far as the changes are not undone."""
    return frozenset(
        (edit.step_id, file.uri)
        for edit in plan.edits
        if edit.state == "applied" and not edit.reverts and not edit.by_user
        for file, _ in _files(edit)
        if file.uri not in edit.undone
    )


def _moved(changed: ChangedFile, moves: Sequence[EditedFile]) -> ChangedFile:
    """The change under the name to which the user has moved its file, or a folder that holds it."""
    before = name = changed.new_uri or changed.uri
    for move in moves:
        name = after_rename(name, move.uri, move.new_uri or move.uri)
    return changed if name == before else changed._replace(new_uri=name)


def _files(edit: EditRecord) -> Iterator[tuple[EditedFile, bool]]:
    yield from ((file, False) for file in edit.files)
    yield from ((file, True) for file in edit.unknown)


def _changed(
    edit: EditRecord, file: EditedFile, t: Words, before: ChangedFile | None, *, lasting: bool
) -> ChangedFile:
    state = "reverted" if file.uri in edit.undone else _STATE[edit.state]
    is_new = before is not None and before.change == "create" and before.state == "applied"
    change: ChangeKind = "create" if is_new and file.change == "edit" else file.change
    creator = before.created_by if is_new and before is not None else edit.step_id
    return ChangedFile(
        edit_id=edit.edit_id,
        step_id=edit.step_id,
        created_by=creator if change == "create" else None,
        uri=file.uri,
        new_uri=file.new_uri,
        change=change,
        kind=kind_words(change, t),
        state=state,
        words=_state_words(state, t),
        merged=edit.merged,
        by_command=edit.command is not None,
        lasting=lasting,
        reason=edit.reason,
    )


def kind_words(change: ChangeKind, t: Words) -> str:
    """What a change does to its file."""
    match change:
        case "create":
            return t("new file")
        case "edit":
            return t("edited")
        case "delete":
            return t("deleted")
        case "rename":
            return t("renamed")
        case "createFolder":
            return t("new folder")


def _state_words(state: State, t: Words) -> str:
    match state:
        case "writing":
            return t("writing…")
        case "applied":
            return ""
        case "refused":
            return t("not applied")
        case "reverted":
            return t("undone")
        case "conflict":
            return t("conflict")
