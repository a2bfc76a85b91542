"""Finds out what became of an edit that the editor did not answer in time, once it makes or answers it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from planloom.domain.changes import Changeset, EditedFile, RenameFile, sha256
from planloom.domain.values import EditId, Uri
from planloom.workspace.editor import EditAnswer, Editor, EditorCapabilities, EditorEdit
from planloom.workspace.edits.new_files import complete, of_effects
from planloom.workspace.edits.outcomes import EditResult, Journal
from planloom.workspace.edits.prepare import PlannedEffect
from planloom.workspace.edits.verify import FileOutcome, compare, verified, wait_for_buffers
from planloom.workspace.paths.uris import display_names, normalized
from planloom.workspace.unanswered import UnansweredEdit
from planloom.workspace.view import WorkspaceView

_PATIENCE: Final = 2.0
"""Seconds to wait until the editor reports the buffers that its late answer says it has changed."""
_MADE: Final[frozenset[FileOutcome]] = frozenset({"verified", "normalized", "unverified"})


class GivenUp(NamedTuple):
    """An edit whose answer did not come in time: what was sent, the changes that its files do not show, and the files
    that it has changed."""

    edit_id: EditId
    sent: EditorEdit
    effects: tuple[PlannedEffect, ...]
    applied: tuple[EditedFile, ...]


def results_of(effects: Sequence[PlannedEffect]) -> Mapping[Uri, str | None]:
    """The hashes of the texts that changes lead to, by URI; None where there is none afterwards."""
    results: dict[Uri, str | None] = {}
    for effect in effects:
        change = effect.change
        if change.kind == "rename":
            results[normalized(change.uri)] = None
            results[normalized(change.new_uri)] = sha256(change.before or "")
        else:
            after = change.after if change.kind in ("create", "edit") else None
            results[normalized(change.uri)] = None if after is None else sha256(after)
    return results


def over_unanswered(
    view: WorkspaceView, capabilities: EditorCapabilities, changeset: Changeset
) -> str | None:
    """Why these changes must wait, if the editor may still make an earlier edit of their files; None if they need not.

    A change of an open document names its version. The editor that has made the earlier edit by then refuses it. What
    both create or rename alike is made once, since neither overwrites the other.
    """
    out = view.unanswered.over(changeset.uris())
    unversioned = {uri for edit in out for uri in edit.unversioned}
    exclusive = {
        change.uri
        for change in changeset.changes
        if (change.kind == "edit" and capabilities.document_changes and view.buffer(change.uri) is not None)
        or (change.kind == "create" and normalized(change.uri) not in unversioned)
    }
    for change in changeset.changes:
        if change.kind == "rename":
            both = (change.uri, change.new_uri)
            if all(_renames(late, change) for late in view.unanswered.over(both)):
                exclusive |= {*both}
    files = frozenset(normalized(uri) for uri in changeset.uris() if uri not in exclusive)
    uris = [uri for late in view.unanswered.over(files) for uri in sorted(late.uris & files)]
    if not uris:
        return None
    return (
        f"The editor has not answered an earlier edit of {display_names(uris)}, and may still make it."
        " Try again when it has answered, or open the file in the editor and try again."
    )


def _renames(late: UnansweredEdit, change: RenameFile) -> bool:
    """Whether an edit that is out makes this rename and changes neither file otherwise."""
    old, new = normalized(change.uri), normalized(change.new_uri)
    return late.results.get(old, "") is None and late.results.get(new) == sha256(change.before or "")


def unanswered(
    view: WorkspaceView,
    editor: Editor,
    journal: Journal,
    edit: GivenUp,
    answer: asyncio.Future[EditAnswer | None],
    seconds: float,
) -> UnansweredEdit:
    """The edit as one that is out, and whose outcome `journal` gets."""

    async def look(said: EditAnswer | None, is_answered: bool) -> bool:
        acknowledged = said is not None and said.applied
        if acknowledged:
            await wait_for_buffers(view, edit.effects, _PATIENCE)
        if said is None:
            findings = await compare(view, [effect.recorded() for effect in edit.effects])
            made = [effect for effect, each in zip(edit.effects, findings, strict=True) if each in _MADE]
            await complete(view, editor, of_effects(made), is_made=False)
        else:
            await complete(view, editor, of_effects(edit.effects), is_made=acknowledged)
            findings = await verified(view, edit.effects, acknowledged=acknowledged)
        if not all(finding in _MADE for finding in findings) and not acknowledged:
            if not is_answered:
                return False
            if said is None:
                # The connection has closed: the next server compares the files.
                return True
        await _record(view, journal, edit, findings)
        return True

    results = results_of(edit.effects)
    versioned = {
        normalized(each.uri)
        for each in edit.sent.operations
        if each.kind == "create" or (each.kind == "text" and each.version is not None)
    }
    return UnansweredEdit(results, frozenset(results.keys() - versioned), seconds, [answer], look)


async def _record(
    view: WorkspaceView, journal: Journal, edit: GivenUp, findings: Sequence[FileOutcome]
) -> None:
    """Record the outcome of every file of the edit."""
    by_outcome: dict[str, list[EditedFile]] = {"made": [], "not_applied": [], "unexpected": []}
    for effect, finding in zip(edit.effects, findings, strict=True):
        by_outcome["made" if finding in _MADE else finding].append(effect.recorded().edited())
    for file in by_outcome["made"]:
        if file.new_uri is not None:
            view.did_rename(file.uri, file.new_uri)
    applied = (*edit.applied, *by_outcome["made"])
    unmade = display_names(file.uri for file in (*by_outcome["not_applied"], *by_outcome["unexpected"]))
    result = EditResult(
        applied=applied,
        rejected=tuple(by_outcome["not_applied"]),
        unexpected=tuple(by_outcome["unexpected"]),
        outcome=("unverified" if "unverified" in findings else "verified") if applied else None,
        reason=f"The editor answered late, and did not change {unmade}." if unmade else None,
    )
    await journal.record_result(edit.edit_id, result)
