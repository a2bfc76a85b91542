"""The capabilities of LSP that the server reads, and what it does without each; a part of the page on the protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

USED: Final[Mapping[str, tuple[str, str]]] = {
    "workspace.applyEdit": (
        "changes are sent by `workspace/applyEdit`: those of one changeset as one edit of at most a hundred files, "
        "or as several where a name is used again",
        "the server writes every change on disk, none under an unsaved buffer",
    ),
    "workspaceEdit.documentChanges": (
        "edits name the version of an open document, null for a closed file",
        "`changes` by URI without versions; no operations on files",
    ),
    "workspaceEdit.resourceOperations: create": (
        "a new file is, in the edit of its changeset, a `CreateFile` (`overwrite` and `ignoreIfExists` false) and, "
        "unless it is empty, a text edit with the version null and one insertion at 0:0; the client makes the folders "
        "above. [Edits](#edits) says for which clients",
        "the server makes new files on disk",
    ),
    "workspaceEdit.resourceOperations: rename, delete": (
        "`RenameFile` and `DeleteFile`, which never overwrite; folders are deleted on disk",
        "the server renames and deletes on disk: see [edits](#edits)",
    ),
    "workspaceEdit.failureHandling": (
        "nothing: the files are compared after each edit, whatever the answer says",
        "the same",
    ),
    "workspaceEdit.changeAnnotationSupport": (
        "an edit that deletes or touches a protected name has `needsConfirmation`; its answer is awaited for a day",
        "Planloom's own question alone",
    ),
    "general.positionEncodings": (
        "the first of them that the server knows: utf-8, utf-16 or utf-32",
        "utf-16",
    ),
    "window.workDoneProgress": ("a plan that is drafted or runs has a progress", "none"),
    "window.showDocument": ("diffs, conflicts and plans are opened", "messages name the file"),
    "window.showMessage.messageActionItem": (
        "a client that names itself is asked whether the folder is trusted",
        "`planloomClient.trusted` decides",
    ),
    "workspace.configuration, didChangeConfiguration": (
        "settings are asked for, and again when they change",
        "`initializationOptions.planloom`",
    ),
    "workspace.didChangeWatchedFiles": (
        "the file index follows it",
        "a file that another program changes is noticed when it is read",
    ),
    "workspace.textDocumentContent": (
        "long texts are served as `planloom:` documents",
        "files in `.planloom/`",
    ),
    "workspace.codeLens.refreshSupport": (
        "the lenses of a plan's document are renewed",
        "the editor renews them when it likes",
    ),
}
"""Each with what the server does where it is declared, and without it."""

EDITS: Final = """\
## Edits

All changes of the approved plan are workspace edits where the client can make them, and the server's own writes on disk
where it cannot:

| change | by `workspace/applyEdit` if the client has | else |
|---|---|---|
| text of a file | `applyEdit` | on disk, unless the file has unsaved text: then the step fails |
| new file | `documentChanges`, `create`, and `createContents` or `save` of `planloomClient` | on disk |
| new folder | never, LSP has no operation for it: `planloom/editor/createFolder` | on disk |
| rename, delete of a file | `documentChanges` and the operation, `rename` or `delete` | on disk |
| delete of a folder | never | on disk |

Where the server renames or deletes, it makes the new files of the same changeset too, and for a client without `save`
all new files as long as such a step is to come. `edits.newFiles: editor` has every client with `create` make new files.
Folders of which a client declares `files` are changed by the client alone. [New files](edits.md#new-files) says why.

An answer to `workspace/applyEdit` decides less than the files do: they are compared after each answer, and a file
counts as changed only if it holds the new text.

- `didOpen` and `didChange` may come before the answer or after it. After `applied: true` the server waits up to 2
  seconds for them; an open document that then still shows the old text was not changed: “The editor says that it
  applied the edit, but not every file is as expected.” (`edit_rejected`).
- An edit for a version that the buffer no longer has is to be refused: `applied: false`, and in `failureReason` the
  word “version”. The server then waits up to 10 seconds for the `didChange` of what was typed, merges, and sends again.
- Any refused edit is computed anew and sent a second time, each with an `edit_started` and an `edit_rejected`; the
  folders above new files are made before that. After a second refusal the step fails with the `failureReason`.
- An edit without an answer within 30 seconds is [given up](edits.md#an-editor-that-answers-late), and claimed if it
  is made later.
- `outcome` of `edit_applied` is `verified`; `normalized` if the text differs in line ends and white space alone, as
  after formatting; `unverified` if the client said `applied: true` and the file is neither open nor changed on disk.
  Its new text is then assumed to be in a buffer that the client does not report, until a document or the disk shows
  another. A file that does not show it at the end of the plan either is named in the report (`caveats`) as not
  verified. A new file is never `unverified`.
"""


def rows() -> Iterator[str]:
    """The section after its heading."""
    yield "| capability | with it | without it |"
    yield "|---|---|---|"
    for name, (used, absent) in USED.items():
        yield f"| `{name}` | {used} | {absent} |"
