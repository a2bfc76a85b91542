"""What becomes of an approved changeset, and the journal that is written around it."""

from __future__ import annotations

from typing import Annotated, Literal, Protocol, assert_never

from pydantic import Field

from planloom.domain.changes import (
    ChangeKind,
    Changeset,
    ConflictFile,
    EditedFile,
    EditOutcome,
    FileChange,
    sha256,
)
from planloom.domain.safety.approvals import Grant
from planloom.domain.text.positions import FileForm
from planloom.domain.values import EditId, Uri, Value


class JournalFile(Value):
    """One file of an edit with its whole texts; None stands for no file, or for a folder.

    `form` is that of the file before, if the edit does not keep it.
    """

    uri: Uri
    change: ChangeKind
    new_uri: Uri | None = None
    before: str | None = None
    after: str | None = None
    form: FileForm | None = None

    def edited(self) -> EditedFile:
        """The same by hash."""
        return EditedFile(
            uri=self.uri,
            change=self.change,
            new_uri=self.new_uri,
            before_sha256=None if self.before is None else sha256(self.before),
            after_sha256=None if self.after is None else sha256(self.after),
            form=self.form,
        )


def recorded(change: FileChange) -> JournalFile:
    """The record of one change with its whole texts."""
    match change.kind:
        case "create":
            return JournalFile(uri=change.uri, change="create", after=change.after)
        case "edit":
            return JournalFile(uri=change.uri, change="edit", before=change.before, after=change.after)
        case "delete":
            return JournalFile(uri=change.uri, change="delete", before=change.before)
        case "rename":
            text = change.before
            return JournalFile(
                uri=change.uri, change="rename", new_uri=change.new_uri, before=text, after=text
            )
        case "createFolder":
            return JournalFile(uri=change.uri, change="createFolder")
        case _:
            assert_never(change)


class Settlement(Value):
    """How an edit ended, file by file. `unexpected` are files that hold neither the old text nor the new one.

    `outcome` is None if nothing was applied; `reason` says why not everything was.
    """

    applied: tuple[EditedFile, ...] = ()
    rejected: tuple[EditedFile, ...] = ()
    unexpected: tuple[EditedFile, ...] = ()
    merged: bool = False
    outcome: EditOutcome | None = None
    reason: str | None = None


class Journal(Protocol):
    """Where edits are written down. Both calls return when what they are told is durable; both may raise."""

    async def intend(self, grant: Grant, files: tuple[JournalFile, ...]) -> EditId: ...

    async def settle(self, edit_id: EditId, settlement: Settlement) -> None: ...


class ChangesetApplied(Value):
    """Every change is done; `files` are those that had to change, `edit_ids` their places in the journal."""

    kind: Literal["applied"] = "applied"
    files: tuple[EditedFile, ...]
    merged: bool = False
    outcome: EditOutcome = "verified"
    edit_ids: tuple[EditId, ...] = ()


class ChangesetRefused(Value):
    """Nothing is done; `reason` is a sentence for the model and the user."""

    kind: Literal["refused"] = "refused"
    reason: str
    files: tuple[Uri, ...] = ()


class ChangesetConflicted(Value):
    """Nothing is done: the user has changed the same lines; the other files wait with them.

    `texts` are the user's whole texts in which the overlaps were found, one for each of the files.
    """

    kind: Literal["conflicted"] = "conflicted"
    files: tuple[ConflictFile, ...]
    texts: tuple[str, ...]


class ChangesetSuperseded(Value):
    """Nothing is done: against what is there now the changes are these, which must be approved anew."""

    kind: Literal["superseded"] = "superseded"
    changeset: Changeset


class ChangesetPartlyApplied(Value):
    """Some of it is done. `unexpected` are files that hold neither the old text nor the new one."""

    kind: Literal["partly_applied"] = "partly_applied"
    applied: tuple[EditedFile, ...]
    not_applied: tuple[EditedFile, ...]
    unexpected: tuple[EditedFile, ...] = ()
    reason: str
    merged: bool = False
    edit_ids: tuple[EditId, ...] = ()


ApplyOutcome = Annotated[
    ChangesetApplied | ChangesetRefused | ChangesetConflicted | ChangesetSuperseded | ChangesetPartlyApplied,
    Field(discriminator="kind"),
]
