"""What a person is asked about changes: which files, how much, how dangerous; and what an answer leaves of them."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from planloom.domain import events as ev
from planloom.domain.approvals import Approval, ApprovalFile, Effect
from planloom.domain.changes import (
    Changeset,
    ConflictFile,
    CreateFile,
    DeleteFile,
    EditFile,
    FileChange,
    RenameFile,
    sha256,
)
from planloom.domain.diff import changed_lines
from planloom.domain.merge import Merged, merge, resolve, with_markers
from planloom.domain.values import ApprovalId, Sha256, Uri
from planloom.workspace.paths import PathRefused
from planloom.workspace.paths import resolve as resolve_path
from planloom.workspace.rebase import three_way
from planloom.workspace.uris import to_path
from planloom.workspace.view import WorkspaceView

if TYPE_CHECKING:
    from planloom.execution.gate import Proposal


class Facts(NamedTuple):
    """What is known of a set of changes when a person is asked."""

    effect: Effect
    protected: bool
    warnings: tuple[str, ...]
    files: tuple[ApprovalFile, ...]
    proposal: Sha256


async def described(
    view: WorkspaceView, changeset: Changeset, blind: Collection[Uri], doubtful: Collection[Uri] = ()
) -> Facts:
    """Look at every file of the changes as it will be shown."""
    files: list[ApprovalFile] = []
    warnings: dict[str, None] = {}
    rows: list[tuple[str | None, ...]] = []
    protected = False
    effect: Effect = "write"
    for change in changeset.changes:
        path = str(to_path(change.uri) or change.uri)
        place = await asyncio.to_thread(resolve_path, view.roots, path, for_="write")
        resolved = path if isinstance(place, PathRefused) else str(place.path)
        danger = None if isinstance(place, PathRefused) else place.protected
        if danger is not None:
            protected = True
            warnings[danger] = None
        if isinstance(change, EditFile):
            warnings.update(dict.fromkeys(change.notes))
        if isinstance(change, DeleteFile) or change.uri in blind or change.uri in doubtful:
            effect = "destroy"
        if isinstance(change, DeleteFile | RenameFile) and await view.is_dirty(change.uri):
            protected = True
            name = change.uri.rpartition("/")[2]
            warnings[f"{name} has changes that are not saved."] = None
        if change.uri in blind:
            warnings[f"{change.uri.rpartition('/')[2]} is replaced as a whole without having been read."] = (
                None
            )
        added, removed = _counts(change)
        before, after = sides(change)
        rows.append((change.kind, change.uri, _new_uri(change), _hash(before), _hash(after), resolved))
        files.append(
            ApprovalFile(
                uri=change.uri,
                change=change.kind,
                new_uri=_new_uri(change),
                added=added,
                removed=removed,
                resolved_path=resolved,
            )
        )
    bound = Sha256(hashlib.sha256(json.dumps(rows).encode()).hexdigest())
    return Facts(effect, protected, tuple(warnings), tuple(files), bound)


def question(proposal: Proposal, facts: Facts, approval_id: ApprovalId) -> Approval:
    """The question as it is put to a person."""
    return Approval(
        approval_id=approval_id,
        plan_id=proposal.plan_id,
        step_id=proposal.step_id,
        tool=proposal.tool,
        proposal=facts.proposal,
        effect=facts.effect,
        title=proposal.title,
        warning=" ".join(facts.warnings) or None,
        protected=facts.protected,
        files=facts.files,
    )


def sides(change: FileChange) -> tuple[str | None, str | None]:
    """The text of a file before and after a change; None stands for no file, or no text."""
    match change:
        case CreateFile():
            return None, change.after
        case EditFile():
            return change.before, change.after
        case DeleteFile():
            return change.before, None
        case RenameFile():
            return change.before, change.before
        case _:
            return None, None


def narrowed(changeset: Changeset, allowed: Collection[Uri]) -> tuple[Changeset, tuple[Uri, ...]]:
    """The changes that a person allowed, and the places left out."""
    kept = tuple(change for change in changeset.changes if change.uri in allowed)
    left_out = tuple(change.uri for change in changeset.changes if change.uri not in allowed)
    return Changeset(changes=kept), left_out


async def resolve_conflicts(
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


async def both_sides(view: WorkspaceView, changeset: Changeset, uri: Uri) -> str | None:
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


def _counts(change: FileChange) -> tuple[int, int]:
    before, after = sides(change)
    if isinstance(change, RenameFile):
        return 0, 0
    return changed_lines(before or "", after or "")


def _new_uri(change: FileChange) -> Uri | None:
    return change.new_uri if isinstance(change, RenameFile) else None


def _hash(text: str | None) -> Sha256 | None:
    return None if text is None else sha256(text)
