"""Feeds the editor's notifications on created, renamed, deleted and changed files into the file index."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from lsprotocol import types

from planloom.domain.values import Uri
from planloom.workspace.index.file_index import Changed
from planloom.workspace.paths.uris import normalized

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection

Kind = Literal["created", "deleted", "changed"]

_KINDS: dict[int, Kind] = {1: "created", 2: "changed", 3: "deleted"}
_job_numbers = itertools.count(1)


def register(server: Any, connection: Connection) -> None:
    """Listen to changes of files. The notifications have only names; contents are read when they are needed."""
    of_files = types.FileOperationRegistrationOptions(
        filters=[types.FileOperationFilter(pattern=types.FileOperationPattern(glob="**/*"))]
    )

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)  # type: ignore[untyped-decorator]
    def watched(params: types.DidChangeWatchedFilesParams) -> None:
        changes = [(change.uri, _KINDS[int(change.type)]) for change in params.changes]
        for uri, _ in changes:
            connection.view.forget(uri)
        _update_index(connection, changes)

    @server.feature(types.WORKSPACE_DID_RENAME_FILES, of_files)  # type: ignore[untyped-decorator]
    def renamed(params: types.RenameFilesParams) -> None:
        for file in params.files:
            connection.view.told_of_rename(file.old_uri, file.new_uri)
        _update_index(connection, [(file.old_uri, "deleted") for file in params.files])
        _update_index(connection, [(file.new_uri, "created") for file in params.files])

    @server.feature(types.WORKSPACE_DID_CREATE_FILES, of_files)  # type: ignore[untyped-decorator]
    def created(params: types.CreateFilesParams) -> None:
        _update_index(connection, [(file.uri, "created") for file in params.files])
        look_for_undo(params.files)

    @server.feature(types.WORKSPACE_DID_DELETE_FILES, of_files)  # type: ignore[untyped-decorator]
    def deleted(params: types.DeleteFilesParams) -> None:
        _update_index(connection, [(file.uri, "deleted") for file in params.files])
        look_for_undo(params.files)

    def look_for_undo(files: Sequence[types.FileCreate | types.FileDelete]) -> None:
        async def look() -> None:
            app = await connection.application()
            for file in files:
                await app.user_undo.file_changed(file.uri)

        connection.jobs.start(f"look-for-undo:{next(_job_numbers)}", look())


def _update_index(connection: Connection, changes: Iterable[tuple[str, Kind]]) -> None:
    """Pass changes on to the index, in the order in which they arrive."""
    changed = tuple(Changed(Uri(uri), kind) for uri, kind in changes)

    async def pass_on() -> None:
        app = await connection.application()
        await connection.view.refresh(normalized(change.uri) for change in changed)
        await app.index.update(changed)

    connection.jobs.start(f"files:{next(_job_numbers)}", pass_on())
