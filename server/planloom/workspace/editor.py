"""The port to the editor: its capabilities, requests and answers."""

from __future__ import annotations

import asyncio
from typing import Literal, NamedTuple, Protocol

from planloom.domain.text.positions import Encoding, Range, TextEdit
from planloom.domain.values import Args, Json, Uri, Value

LanguageMethod = Literal[
    "textDocument/documentSymbol",
    "workspace/symbol",
    "textDocument/definition",
    "textDocument/implementation",
    "textDocument/references",
    "textDocument/hover",
    "textDocument/prepareCallHierarchy",
    "callHierarchy/incomingCalls",
    "callHierarchy/outgoingCalls",
    "textDocument/rename",
    "textDocument/codeAction",
    "codeAction/resolve",
    "textDocument/formatting",
]
"""The requests of LSP that an editor passes on to the language servers of its user."""
NewFiles = Literal["auto", "editor", "disk"]
"""Who makes new files, as the setting `edits.newFiles` names it."""


class EditorCapabilities(NamedTuple):
    """The client's capabilities; an absent one is off. `failure_handling` is LSP's `FailureHandlingKind`.

    `create_contents`: a new file and its text are one creation, whole on disk at once. `create_folders`: it makes empty
    folders.
    """

    apply_edit: bool = False
    document_changes: bool = False
    create_files: bool = False
    create_contents: bool = False
    create_folders: bool = False
    rename_files: bool = False
    delete_files: bool = False
    change_annotations: bool = False
    failure_handling: str | None = None
    save: bool = False
    diagnostics: bool = False
    language: bool = False
    encoding: Encoding = "utf-16"

    def creating(self, wanted: NewFiles) -> EditorCapabilities:
        """The capabilities that are used by who is to make new files: by default an editor that leaves them saved."""
        asked = wanted == "editor" or (wanted == "auto" and (self.create_contents or self.save))
        able = self.apply_edit and self.document_changes and self.create_files
        folders = self.create_folders and wanted != "disk"
        return self._replace(create_files=able and asked, create_folders=folders)


class TextOperation(NamedTuple):
    """Non-overlapping edits of one text, all against the same state; `version` is None for a closed file."""

    uri: Uri
    version: int | None
    edits: tuple[TextEdit, ...]
    kind: Literal["text"] = "text"


class CreateOperation(NamedTuple):
    """Creates an empty file with the folders above it; never overwrites. A text operation for it follows at once."""

    uri: Uri
    kind: Literal["create"] = "create"


class RenameOperation(NamedTuple):
    """Renames a file or folder; never overwrites."""

    uri: Uri
    new_uri: Uri
    kind: Literal["rename"] = "rename"


class DeleteOperation(NamedTuple):
    """Deletes a file or folder; a folder that is not empty only if `recursive`."""

    uri: Uri
    recursive: bool = False
    kind: Literal["delete"] = "delete"


Operation = TextOperation | CreateOperation | RenameOperation | DeleteOperation


class EditorEdit(NamedTuple):
    """Operations that the editor applies in order as one edit, and so as one undo step."""

    label: str
    operations: tuple[Operation, ...]
    needs_confirmation: bool = False


class EditAnswer(NamedTuple):
    """The client's answer to an edit; `failed_change` is the index of the operation that it reports as failed."""

    applied: bool
    reason: str | None = None
    failed_change: int | None = None


class SaveFailure(NamedTuple):
    """A document that the editor could not save."""

    uri: Uri
    reason: str


class SaveAnswer(NamedTuple):
    """The documents that the editor saved, and those that it could not save."""

    saved: tuple[Uri, ...] = ()
    failed: tuple[SaveFailure, ...] = ()


class FolderAnswer(NamedTuple):
    """Whether the editor made an empty folder, and why not."""

    created: bool
    reason: str | None = None


class FileThere(NamedTuple):
    """The file or folder at a URI. `content` is None for a folder, for nothing, and for a file larger than any text."""

    kind: Literal["file", "folder", "absent"]
    content: bytes | None = None
    size: int = 0


class Diagnostic(Value):
    """One diagnostic from another language server or linter; positions in the negotiated encoding."""

    range: Range
    severity: Literal["error", "warning", "information", "hint"]
    message: str
    source: str | None = None
    code: str | None = None


class FileDiagnostics(NamedTuple):
    """The diagnostics of one file; `version` is the document version they were computed for, if known."""

    uri: Uri
    items: tuple[Diagnostic, ...]
    version: int | None = None


class EditorSilent(Exception):
    """The editor gave no answer that can be read: only the files show what it did.

    `late` is there for an edit that was not answered within `seconds`, and that the editor may still make. It gets
    the answer once it comes, or None when the connection closes.
    """

    def __init__(
        self,
        reason: str = "",
        *,
        late: asyncio.Future[EditAnswer | None] | None = None,
        seconds: float = 0.0,
    ) -> None:
        super().__init__(reason)
        self.late = late
        self.seconds = seconds


class EditorGone(EditorSilent):
    """The connection to the editor is closed, so the server is about to end."""


class Editor(Protocol):
    """The editor as the tools see it. Each call may raise `EditorSilent`.

    `apply` must send its request before it first yields to the event loop, so that buffers compared just before
    the call cannot change in between. It must also survive the cancellation of its caller.
    """

    @property
    def capabilities(self) -> EditorCapabilities: ...

    async def apply(self, edit: EditorEdit) -> EditAnswer: ...

    async def save(self, uris: tuple[Uri, ...]) -> SaveAnswer: ...

    async def create_folder(self, uri: Uri) -> FolderAnswer: ...

    async def diagnostics(self, uris: tuple[Uri, ...]) -> tuple[FileDiagnostics, ...]: ...

    async def language(self, method: LanguageMethod, params: Args) -> Json:
        """What the language servers of its user answer, in LSP's own JSON, with positions in UTF-16.

        URIs of the answer are spelled as they like. Raises EditorSilent if none can answer; its message says why.
        """
        ...
