"""What an approved effect does to files: changes with their text before and after, and records of them."""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

from pydantic import Field

from planloom.domain.text.positions import FileForm, Range
from planloom.domain.values import Args, EditId, Sha256, StepId, Uri, Value

ChangeKind = Literal["create", "edit", "delete", "rename", "createFolder"]
EditOutcome = Literal["verified", "normalized", "unverified"]


def sha256(text: str) -> Sha256:
    """The hash of a text as UTF-8; lone surrogates, which some editors send, are hashed as they are."""
    return Sha256(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())


class CreateFile(Value):
    """A file that was not there; never overwrites."""

    kind: Literal["create"] = "create"
    uri: Uri
    after: str
    form: FileForm = FileForm()


class EditFile(Value):
    """A file whose text changes; `before` is what the author of the change had read.

    `notes` are said to the person who approves: a fuzzy match, a suspicious shrink, a hard link. `form` is the one
    that the file gets, None if it keeps its own.
    """

    kind: Literal["edit"] = "edit"
    uri: Uri
    before: str
    after: str
    notes: tuple[str, ...] = ()
    form: FileForm | None = None


class DeleteFile(Value):
    """A file or folder that goes away. `before` is None for a folder, whose files are deleted by name too."""

    kind: Literal["delete"] = "delete"
    uri: Uri
    before: str | None


class RenameFile(Value):
    """A file or folder that gets another name; never overwrites."""

    kind: Literal["rename"] = "rename"
    uri: Uri
    new_uri: Uri
    before: str | None = None


class CreateFolder(Value):
    """A folder that was not there."""

    kind: Literal["createFolder"] = "createFolder"
    uri: Uri


FileChange = Annotated[
    CreateFile | EditFile | DeleteFile | RenameFile | CreateFolder, Field(discriminator="kind")
]


class Changeset(Value):
    """Changes that belong together: approved, applied and taken back as one. One change a file."""

    changes: tuple[FileChange, ...] = ()

    def uris(self) -> tuple[Uri, ...]:
        """Every place the changes touch, in order."""
        return tuple(
            uri
            for change in self.changes
            for uri in ((change.uri, change.new_uri) if change.kind == "rename" else (change.uri,))
        )


class EditedFile(Value):
    """One file of an edit, by hash; None stands for no file.

    `form` is that of the file before, if the edit does not keep it. Ledgers of older versions have none.
    """

    uri: Uri
    change: ChangeKind
    new_uri: Uri | None = None
    before_sha256: Sha256 | None = None
    after_sha256: Sha256 | None = None
    form: FileForm | None = None


class EditRecord(Value):
    """An edit in the journal: an intent without an outcome is settled by looking at the files.

    `reverts` names the edits that this one takes back, if it is an undo or a redo; `partly` those of them of which
    something was to stay, since the user has changed the same lines. `args` are those that the step had,
    `whole` tells that every file which was meant to change did. `settles` names the steps whose staged changes
    this edit makes, if it is that of a whole plan.
    """

    edit_id: EditId
    step_id: StepId | None
    files: tuple[EditedFile, ...]
    state: Literal["intended", "applied", "rejected", "conflict", "reverted"]
    merged: bool = False
    outcome: EditOutcome | None = None
    reverts: tuple[EditId, ...] = ()
    partly: tuple[EditId, ...] = ()
    args: Args | None = None
    whole: bool = True
    settles: tuple[StepId, ...] = ()

    @property
    def key(self) -> EditId:
        """What a plan finds the edit by."""
        return self.edit_id

    @property
    def references(self) -> tuple[StepId, ...]:
        """The steps for which the edit was made."""
        return self.settles if self.step_id is None else (self.step_id, *self.settles)


class ConflictHunk(Value):
    """One overlap: the text both started from, the user's (`mine`) and the step's (`theirs`)."""

    range: Range
    base: str
    mine: str
    theirs: str


class ConflictFile(Value):
    """A file in which the user and the step changed the same lines.

    `sha256` is that of the user's whole text in which the overlaps were found: an answer is made for that text.
    """

    uri: Uri
    hunks: tuple[ConflictHunk, ...]
    sha256: Sha256 | None = None


class Conflict(Value):
    """An edit that cannot be merged without asking."""

    edit_id: EditId
    step_id: StepId
    files: tuple[ConflictFile, ...]
