"""The port to the editor: what it can do, what we ask of it, and what it answers."""

from __future__ import annotations

from typing import Annotated, Literal, Protocol

from pydantic import Field

from planloom.domain.text.positions import Encoding, Range, TextEdit
from planloom.domain.values import Uri, Value


class EditorCapabilities(Value):
    """What the client said it can do; everything absent is off.

    `failure_handling` is LSP's word for what remains of an edit that failed half-way; None if unsaid.
    """

    apply_edit: bool = False
    document_changes: bool = False
    rename_files: bool = False
    delete_files: bool = False
    change_annotations: bool = False
    failure_handling: str | None = None
    save: bool = False
    diagnostics: bool = False
    encoding: Encoding = "utf-16"


class TextOperation(Value):
    """Edits of one text, none overlapping, all against the same state; `version` None for a closed file."""

    kind: Literal["text"] = "text"
    uri: Uri
    version: int | None
    edits: tuple[TextEdit, ...]


class RenameOperation(Value):
    """Another name for a file or folder; never overwrites."""

    kind: Literal["rename"] = "rename"
    uri: Uri
    new_uri: Uri


class DeleteOperation(Value):
    """A file or folder that goes away; a folder that is not empty only if `recursive`."""

    kind: Literal["delete"] = "delete"
    uri: Uri
    recursive: bool = False


Operation = Annotated[TextOperation | RenameOperation | DeleteOperation, Field(discriminator="kind")]


class EditorEdit(Value):
    """What goes to the editor as one edit, and so as one undo step, its operations in order."""

    label: str
    operations: tuple[Operation, ...]
    needs_confirmation: bool = False


class EditorAnswer(Value):
    """What the client said; `failed_change` is the index of the operation that it names as failed."""

    applied: bool
    reason: str | None = None
    failed_change: int | None = None


class SaveFailure(Value):
    """A document that the editor could not save."""

    uri: Uri
    reason: str


class SaveAnswer(Value):
    """Which documents the editor has saved."""

    saved: tuple[Uri, ...] = ()
    failed: tuple[SaveFailure, ...] = ()


class Diagnostic(Value):
    """One finding of another tool of the editor, positions in the negotiated encoding."""

    range: Range
    severity: Literal["error", "warning", "information", "hint"]
    message: str
    source: str | None = None
    code: str | None = None


class FileDiagnostics(Value):
    """What the editor's other tools say of one file; `version` is the text that they looked at, if known."""

    uri: Uri
    items: tuple[Diagnostic, ...]
    version: int | None = None


class EditorSilent(Exception):
    """The editor gave no answer in time, or is gone: what it did must be seen from the files."""


class Editor(Protocol):
    """The editor as the tools see it. Each call may raise `EditorSilent`.

    `apply` must send its request before it first yields to the event loop: what was compared just before the
    call is then what the edit was made for. It must also survive the cancellation of its caller.
    """

    @property
    def capabilities(self) -> EditorCapabilities: ...

    async def apply(self, edit: EditorEdit) -> EditorAnswer: ...

    async def save(self, uris: tuple[Uri, ...]) -> SaveAnswer: ...

    async def diagnostics(self, uris: tuple[Uri, ...]) -> tuple[FileDiagnostics, ...]: ...
