"""Changes of files, with the text before and after, and the records of edits in the ledger."""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field

from planloom.domain.text.positions import FileForm, Range
from planloom.domain.values import CallId, EditId, Sha256, StepId, Uri, Value

ChangeKind = Literal["create", "edit", "delete", "rename", "createFolder"]
EditOutcome = Literal["verified", "normalized", "unverified"]
Cause = CallId | EditId


def taken_back(edit_id: EditId, uri: Uri) -> Cause:
    """The cause of a change that reverts what an edit has changed under this URI."""
    return EditId(f"{edit_id} {uri}")


def sha256(text: str) -> Sha256:
    """The hash of a text as UTF-8; lone surrogates, which some editors send, are hashed as they are."""
    return Sha256(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())


class _Change(Value):
    """The fields of all changes; `causes` are the calls that a change comes from, or the edits that it reverts."""

    uri: Uri
    causes: tuple[Cause, ...] = ()

    @property
    def ends(self) -> tuple[Uri, ...]:
        """The URIs that it affects; a rename affects two."""
        return (self.uri,)


class CreateFile(_Change):
    """Creates a file; never overwrites one."""

    kind: Literal["create"] = "create"
    after: str
    form: FileForm = FileForm()


class EditFile(_Change):
    """Changes the text of a file; `before` is the text that the author of the change had read.

    `notes` are warnings for the person who approves: a fuzzy match, a suspicious shrink, a hard link. `form` is the
    new form of the file, None to keep the present one.
    """

    kind: Literal["edit"] = "edit"
    before: str
    after: str
    notes: tuple[str, ...] = ()
    form: FileForm | None = None


class DeleteFile(_Change):
    """Deletes a file or folder. `before` is None for a folder, whose files have a change of their own."""

    kind: Literal["delete"] = "delete"
    before: str | None


class RenameFile(_Change):
    """Renames a file or folder; never overwrites one."""

    kind: Literal["rename"] = "rename"
    new_uri: Uri
    before: str | None = None

    @property
    def ends(self) -> tuple[Uri, ...]:
        """Its old URI and its new one."""
        return (self.uri, self.new_uri)


class CreateFolder(_Change):
    """Creates a folder."""

    kind: Literal["createFolder"] = "createFolder"


FileChange = Annotated[
    CreateFile | EditFile | DeleteFile | RenameFile | CreateFolder, Field(discriminator="kind")
]


def sides(change: FileChange) -> tuple[str | None, str | None]:
    """The text of a file before and after a change; None if there is no file, or it is not text."""
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


class Changeset(Value):
    """Changes that are approved together, in the order in which they must be made; `later` are made after them."""

    changes: tuple[FileChange, ...] = ()
    later: tuple[FileChange, ...] = ()

    def before(self, more: tuple[FileChange, ...]) -> Self:
        """The same changes, and more to be made after them."""
        return self.model_copy(update={"later": (*self.later, *more)})

    def texts(self, under: Mapping[Uri, str | None] = {}) -> dict[Uri, str | None]:
        """The texts of files as they are once the changes are made, over others `under` them; None for a file that is
        gone. What is in a folder that is renamed is not told.
        """
        found = dict(under)
        for change in self.changes:
            match change:
                case CreateFile() | EditFile():
                    found[change.uri] = change.after
                case RenameFile(before=str(before)):
                    found[change.new_uri] = found.get(change.uri) or before
                    found[change.uri] = None
                case DeleteFile(before=str()):
                    found[change.uri] = None
                case _:
                    continue
        return found

    def uris(self) -> tuple[Uri, ...]:
        """Every URI that the changes affect, in order."""
        return tuple(uri for change in self.changes for uri in change.ends)


class EditedFile(Value):
    """One file of an edit, with hashes of its text; a hash is None where the file does not exist.

    `form` is the form of the file before the edit, if the edit changes it. `causes` are the
    calls that it comes from, or the edits that it takes back; older ledgers name none.
    """

    uri: Uri
    change: ChangeKind
    new_uri: Uri | None = None
    before_sha256: Sha256 | None = None
    after_sha256: Sha256 | None = None
    form: FileForm | None = None
    causes: tuple[Cause, ...] = ()

    @property
    def uris(self) -> tuple[Uri, ...]:
        """The URIs that it affects; a rename affects two."""
        return (self.uri,) if self.new_uri is None else (self.uri, self.new_uri)


class EditRecord(Value):
    """An edit in the journal. The outcome of an intent that a crash cut off is found by comparing the files.

    `reverts`: the edits that the same undo or redo reverts; the causes of `files` say which of their files this edit
    reverts. `undone`: the files in which this edit is reverted; in all of them, its state says so. `settles`: the steps
    whose staged changes this edit applies, if it is the one edit of a whole plan.

    `reason`: why it was rejected. `command`: a command has made these changes, and those of `unknown`, whose texts from
    before are not known, so that they cannot be taken back; `notes` are sentences on it for the user. `by_user`: the
    user has renamed these files, which tells their names from here on and is never reverted.
    """

    edit_id: EditId
    step_id: StepId | None
    files: tuple[EditedFile, ...]
    state: Literal["intended", "applied", "rejected", "conflict", "reverted"]
    merged: bool = False
    outcome: EditOutcome | None = None
    reverts: tuple[EditId, ...] = ()
    undone: frozenset[Uri] = frozenset()
    settles: tuple[StepId, ...] = ()
    reason: str | None = None
    command: str | None = None
    unknown: tuple[EditedFile, ...] = ()
    notes: tuple[str, ...] = ()
    by_user: bool = False

    @property
    def standing(self) -> Self:
        """The edit with those of its files alone in which it is not reverted."""
        files = tuple(file for file in self.files if file.uri not in self.undone)
        return self.model_copy(update={"files": files}) if self.undone else self

    @property
    def key(self) -> EditId:
        """The key by which a plan finds the edit."""
        return self.edit_id

    @property
    def has_changes(self) -> bool:
        """Whether it changed a file for the plan; a command's may say only what was set aside."""
        return bool(self.files or self.unknown) and not self.by_user

    @property
    def references(self) -> tuple[StepId, ...]:
        """The steps for which the edit was made."""
        return self.settles if self.step_id is None else (self.step_id, *self.settles)


class ConflictHunk(Value):
    """One overlap: the common base, the user's text (`mine`) and the step's (`theirs`)."""

    range: Range
    base: str
    mine: str
    theirs: str


class ConflictFile(Value):
    """A file in which the user and the step changed the same lines.

    `sha256` is the hash of the user's whole text in which the overlaps were found; an answer applies to that text.
    """

    uri: Uri
    hunks: tuple[ConflictHunk, ...]
    sha256: Sha256 | None = None


class Conflict(Value):
    """An edit that cannot be merged without a decision of the user."""

    edit_id: EditId
    step_id: StepId
    files: tuple[ConflictFile, ...]
