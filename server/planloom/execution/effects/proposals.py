"""Proposed changes, the gate's answers to them, and the approval request: files, line counts, and dangers."""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from planloom.domain.changes import (
    Changeset,
    CreateFile,
    CreateFolder,
    DeleteFile,
    EditFile,
    FileChange,
    RenameFile,
    sha256,
    sides,
)
from planloom.domain.plans.covered_calls import covered_args
from planloom.domain.plans.plan import Plan
from planloom.domain.safety.approvals import Approval, ApprovalFile, Effect
from planloom.domain.safety.confinement import Confinement
from planloom.domain.text.diff import changed_lines
from planloom.domain.text.hidden_characters import far_text
from planloom.domain.text.look_alikes import look_alike_warning
from planloom.domain.values import ApprovalId, PlanId, Sha256, StepId, Uri
from planloom.workspace.edits.touched_places import Look, Touches, look_at
from planloom.workspace.moves import Move, with_later_names
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath
from planloom.workspace.paths.uris import display_name, name_in, to_path
from planloom.workspace.staged.staging import changes_after
from planloom.workspace.view import WorkspaceView


class ChangeProposal(NamedTuple):
    """Changes that a step wants to make. `replaced_unread` are files that it would replace without having read them,
    `incomplete` those whose new text seems to lack a part.

    The staged changes of a whole plan have no `step_id`, but the `steps` that have staged them.
    """

    plan_id: PlanId
    step_id: StepId | None
    number: int
    title: str
    tool: str | None
    changeset: Changeset
    replaced_unread: frozenset[Uri] = frozenset()
    incomplete: frozenset[Uri] = frozenset()
    steps: tuple[StepId, ...] = ()

    def after(self, moves: Sequence[Move]) -> ChangeProposal:
        """The same changes of files that the user has renamed meanwhile."""
        return self._replace(
            changeset=changes_after(moves, self.changeset),
            replaced_unread=with_later_names(moves, self.replaced_unread),
            incomplete=with_later_names(moves, self.incomplete),
        )


class ChangeFacts(NamedTuple):
    """The facts about a set of changes that an approval request shows; `proposal` is the hash of the changes.

    `touches` is what an approval covers, and is compared when the changes are made. `look` is what they follow from.
    """

    effect: Effect
    protected: bool
    warnings: tuple[str, ...]
    files: tuple[ApprovalFile, ...]
    proposal: Sha256
    touches: Touches
    look: Look


class Committed(NamedTuple):
    """The changes were made, or staged for the end of the plan; `denied` are files that the user left out.

    `edited` says of each file whose proposed text the user has changed what was made instead.
    """

    denied: tuple[Uri, ...] = ()
    edited: tuple[str, ...] = ()
    kind: Literal["committed"] = "committed"


class Denied(NamedTuple):
    """The user or the policy denied the effect. `cancelled`: the user cancelled the whole plan."""

    reason: str
    cancelled: bool = False
    kind: Literal["denied"] = "denied"


class NotMade(NamedTuple):
    """The changes were allowed, but could not be made. `unsaved`: they can once the user has saved a file."""

    reason: str
    code: str | None = None
    unsaved: bool = False
    kind: Literal["not_made"] = "not_made"


class Permitted(NamedTuple):
    """The fetch may be made, or the plan be changed."""

    kind: Literal["permitted"] = "permitted"


class CommandPermitted(NamedTuple):
    """The command may run, confined as it says. `covered_by` is the version of the plan whose approval covers it."""

    confinement: Confinement
    covered_by: int | None = None
    kind: Literal["command_permitted"] = "command_permitted"


CommitResult = Committed | Denied | NotMade
"""The gate's answer to proposed changes."""


async def facts_of(view: WorkspaceView, proposal: ChangeProposal) -> ChangeFacts:
    """Gather the facts for an approval request from the workspace as it is now."""
    changes = proposal.changeset.changes
    files: list[ApprovalFile] = []
    warnings: dict[str, None] = {}
    rows: list[tuple[str | None, ...]] = []
    protected = False
    effect: Effect = "write"
    look = await look_at(view, changes)
    touches = dict(zip((change.ends for change in changes), look.touched, strict=True))
    for change, found in zip(changes, look.touched, strict=True):
        resolved, new_resolved = _path(change.uri, found.place), None
        if isinstance(change, RenameFile) and found.target is not None:
            new_resolved = _path(change.new_uri, found.target)
        protected = protected or bool(found.dangers)
        warnings.update(dict.fromkeys(found.dangers))
        if isinstance(change, EditFile):
            warnings.update(dict.fromkeys(change.notes))
        if _erases(change) or change.uri in proposal.replaced_unread | proposal.incomplete:
            effect = "destroy"
        if isinstance(change, DeleteFile | RenameFile) and await view.is_dirty(change.uri):
            protected = True
            warnings[f"{display_name(change.uri)} has changes that are not saved."] = None
        if change.uri in proposal.replaced_unread:
            warnings[
                f"{display_name(change.uri)} is replaced as a whole by a text whose author has not read it."
            ] = None
        added, removed = _counts(change)
        before, after = sides(change)
        far = far_text(after or "", before or "")
        if far is not None:
            name = display_name(change.uri)
            warnings[f"{name}: line {far.line} has text behind {far.blanks} blanks."] = None
        ends = (change.uri, _new_uri(change), resolved, new_resolved)
        rows.append((change.kind, *ends, _hash(before), _hash(after)))
        files.append(
            ApprovalFile(
                uri=change.uri,
                change=change.kind,
                new_uri=_new_uri(change),
                added=added,
                removed=removed,
                resolved_path=resolved,
                new_resolved_path=new_resolved,
            )
        )
    folders = [root.uri for root in view.roots.folders]
    other_letters = look_alike_warning(name_in(uri, folders) for file in files for uri in file.uris)
    if other_letters is not None:
        warnings[other_letters] = None
    digest = Sha256(hashlib.sha256(json.dumps(rows).encode()).hexdigest())
    return ChangeFacts(effect, protected, tuple(warnings), tuple(files), digest, touches, look)


def change_approval(proposal: ChangeProposal, facts: ChangeFacts, approval_id: ApprovalId) -> Approval:
    """The approval request to show the user."""
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


def is_covered_change(plan: Plan, proposal: ChangeProposal, facts: ChangeFacts) -> bool:
    """Whether the approval of the plan covers changes: they only add what stood whole in it, and nothing warns."""
    args = covered_args(plan, proposal.step_id)
    if args is None or facts.effect != "write" or facts.warnings:
        return False
    texts = [text for text in args.values() if isinstance(text, str)]
    places = [facts.touches[change.ends].place for change in proposal.changeset.changes]
    if not all(any(is_plain(place, text) for text in texts) for place in places):
        return False
    shown = [text.splitlines() for text in texts]
    return all(
        isinstance(change, CreateFolder)
        or (isinstance(change, CreateFile) and change.after.splitlines() in shown)
        for change in proposal.changeset.changes
    )


def is_plain(place: ResolvedPath | PathRefused, text: str) -> bool:
    """Whether a text names a place or one below it as it is, without a link on the way, and no name of secrets or a
    protected one.
    """
    if not isinstance(place, ResolvedPath) or place.secret or place.protected or place.notes:
        return False
    named = posixpath.normpath(text.replace("\\", "/")) + "/"
    return named.startswith((f"{place.relative}/", f"{place.path.as_posix()}/"))


def label_of(proposal: ChangeProposal) -> str:
    """The name of the edit in the editor's undo history."""
    if proposal.step_id is None:
        return f"Planloom: {proposal.title}"[:200]
    return f"Planloom: step {proposal.number} – {proposal.title}"[:200]


def restricted(changeset: Changeset, allowed: Collection[Uri]) -> tuple[Changeset, tuple[Uri, ...]]:
    """The changes of the allowed files, and the URIs of the others."""
    kept = tuple(change for change in changeset.changes if change.uri in allowed)
    left_out = tuple(change.uri for change in changeset.changes if change.uri not in allowed)
    return Changeset(changes=kept), left_out


def _erases(change: FileChange) -> bool:
    """Whether a change deletes a file or all of its text."""
    return isinstance(change, DeleteFile) or (
        isinstance(change, EditFile) and bool(change.before) and not change.after
    )


def _counts(change: FileChange) -> tuple[int, int]:
    before, after = sides(change)
    if isinstance(change, RenameFile):
        return 0, 0
    return changed_lines(before or "", after or "")


def _path(uri: Uri, resolved: ResolvedPath | PathRefused) -> str:
    if isinstance(resolved, ResolvedPath) and not resolved.root.is_virtual:
        return str(resolved.path)
    return str(to_path(uri) or uri)


def _new_uri(change: FileChange) -> Uri | None:
    return change.new_uri if isinstance(change, RenameFile) else None


def _hash(text: str | None) -> Sha256 | None:
    return None if text is None else sha256(text)
