"""The possible outcomes of applying a changeset, and the journal that records them."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from planloom.domain.changes import (
    Cause,
    ChangeKind,
    Changeset,
    ConflictFile,
    EditedFile,
    EditOutcome,
    FileChange,
    sha256,
    sides,
)
from planloom.domain.safety.approvals import Grant
from planloom.domain.text.positions import FileForm
from planloom.domain.values import EditId, Uri


class JournalFile(NamedTuple):
    """One file of an edit with its whole texts; a text is None if there is no file, or for a folder.

    `form` is the file's encoding before the edit, if the edit changes it; `causes` are those of the change. `by_user`:
    the user has renamed the file.
    """

    uri: Uri
    change: ChangeKind
    new_uri: Uri | None = None
    before: str | None = None
    after: str | None = None
    form: FileForm | None = None
    causes: tuple[Cause, ...] = ()
    by_user: bool = False

    @property
    def uris(self) -> tuple[Uri, ...]:
        """The URIs that it affects; a rename affects two."""
        return (self.uri,) if self.new_uri is None else (self.uri, self.new_uri)

    def edited(self) -> EditedFile:
        """The record with hashes in place of texts."""
        return EditedFile(
            uri=self.uri,
            change=self.change,
            new_uri=self.new_uri,
            before_sha256=None if self.before is None else sha256(self.before),
            after_sha256=None if self.after is None else sha256(self.after),
            form=self.form,
            causes=self.causes,
        )


def recorded(change: FileChange) -> JournalFile:
    """The journal record of one change."""
    before, after = sides(change)
    new_uri = change.new_uri if change.kind == "rename" else None
    return JournalFile(change.uri, change.kind, new_uri, before, after, causes=change.causes)


class EditResult(NamedTuple):
    """How an edit ended, file by file. `unexpected` files contain neither the old text nor the new one.

    `outcome` is None if nothing was applied; `reason` says why some files were not changed.
    """

    applied: tuple[EditedFile, ...] = ()
    rejected: tuple[EditedFile, ...] = ()
    unexpected: tuple[EditedFile, ...] = ()
    merged: bool = False
    outcome: EditOutcome | None = None
    reason: str | None = None


class Journal(Protocol):
    """Records intents and outcomes of edits. Both calls return when the record is durable; both may raise."""

    async def intend(self, grant: Grant, files: tuple[JournalFile, ...]) -> EditId: ...

    async def record_result(self, edit_id: EditId, result: EditResult) -> None: ...


class ChangesetApplied(NamedTuple):
    """Every change was made; `files` are those that had to change, `edit_ids` the edits in the journal."""

    files: tuple[EditedFile, ...]
    merged: bool = False
    outcome: EditOutcome = "verified"
    edit_ids: tuple[EditId, ...] = ()
    kind: Literal["applied"] = "applied"


class ChangesetRefused(NamedTuple):
    """Nothing was changed; `reason` is a sentence for the model and the user. `unsaved`: a file has to be saved."""

    reason: str
    files: tuple[Uri, ...] = ()
    unsaved: bool = False
    kind: Literal["refused"] = "refused"


class ChangesetConflicted(NamedTuple):
    """Nothing was changed in any file, since the user has changed the same lines of `files`.

    `texts` are the user's whole texts, one for each of `files`.
    """

    files: tuple[ConflictFile, ...]
    texts: tuple[str, ...]
    kind: Literal["conflicted"] = "conflicted"


class ChangesetSuperseded(NamedTuple):
    """Nothing was changed: against the current files the changes are different ones, or touch more than was approved,
    and need a new approval.
    """

    changeset: Changeset
    kind: Literal["superseded"] = "superseded"


class ChangesetPartlyApplied(NamedTuple):
    """Some changes were made. `unexpected` files contain neither the old text nor the new one."""

    applied: tuple[EditedFile, ...]
    not_applied: tuple[EditedFile, ...]
    reason: str
    unexpected: tuple[EditedFile, ...] = ()
    merged: bool = False
    edit_ids: tuple[EditId, ...] = ()
    kind: Literal["partly_applied"] = "partly_applied"


ApplyOutcome = (
    ChangesetApplied | ChangesetRefused | ChangesetConflicted | ChangesetSuperseded | ChangesetPartlyApplied
)
