"""`ReferenceSources` for the real workspace: its documents, disk, index and editor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from planloom.domain.text.positions import Encoding
from planloom.domain.values import Uri
from planloom.intake.reference_sources import Changes
from planloom.tools.catalog import GitDiff
from planloom.tools.context import ToolContext
from planloom.tools.git.git_tools import git_diff
from planloom.workspace.disk import read_bytes
from planloom.workspace.editor import Editor, EditorSilent, FileDiagnostics
from planloom.workspace.index.file_index import FileIndex
from planloom.workspace.index.programs import TRUSTED, Programs
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath, resolve, resolve_uri
from planloom.workspace.paths.uris import normalized
from planloom.workspace.snapshots import Snapshot
from planloom.workspace.staged.overlay import Overlay
from planloom.workspace.view import WorkspaceView, confined_path

INDEX_SECONDS = 2.0
"""How long a search for a path waits for the first listing of the workspace."""


class WorkspaceSources:
    """`ReferenceSources` for the workspace as the user sees it.

    `index` and `editor` are called each time, since the index changes with the workspace folders and the editor may
    connect later.
    """

    def __init__(
        self,
        view: WorkspaceView,
        index: Callable[[], FileIndex | None],
        editor: Callable[[], Editor | None],
        programs: Programs = TRUSTED,
    ) -> None:
        self._view = view
        self._index = index
        self._editor = editor
        self._programs = programs
        self._waited_for: FileIndex | None = None

    @property
    def encoding(self) -> Encoding:
        return self._view.documents.encoding

    async def locate(self, path: str) -> ResolvedPath | PathRefused:
        return await asyncio.to_thread(resolve, self._view.roots, path, for_="read")

    async def locate_uri(self, uri: str) -> ResolvedPath | PathRefused:
        return await asyncio.to_thread(resolve_uri, self._view.roots, uri, for_="read")

    async def snapshot(self, uri: str) -> Snapshot:
        return await self._view.snapshot(uri)

    def language_id(self, uri: str) -> str | None:
        document = self._view.documents.get(uri)
        return document.language_id if document else None

    def listed(self) -> bool:
        index = self._index()
        return index is None or index.listed

    async def ending_with(self, tail: str) -> tuple[str, ...]:
        index = await self._listed_index()
        # While the list is incomplete, it is unknown whether a name is unique.
        return await index.ending_with(tail) if index is not None and index.listed else ()

    async def below(self, place: ResolvedPath, limit: int) -> tuple[str, ...]:
        index = await self._listed_index()
        folder = index.path_of(place.uri) if index is not None else None
        if index is not None and folder is not None:
            found = await index.below(folder, limit)
            if found:
                return tuple(path.removeprefix(f"{folder}/") for path in found)
        # The index leaves out ignored files, but a folder that the user names is listed anyway.
        listing = await self._view.list_folder(place.uri)
        names = [entry.name + "/" * (entry.kind == "folder") for entry in listing.entries[:limit]]
        return tuple(names)

    async def _listed_index(self) -> FileIndex | None:
        """The index; the first call waits for its listing."""
        index = self._index()
        if index is not None and index is not self._waited_for:
            self._waited_for = index
            await index.wait_until_listed(INDEX_SECONDS)
        return index

    async def image(self, place: ResolvedPath, most_bytes: int) -> bytes | None:
        return await asyncio.to_thread(read_bytes, confined_path(place), most_bytes)

    async def diagnostics(self, uri: Uri) -> FileDiagnostics | None:
        editor = self._editor()
        if editor is None or not editor.capabilities.diagnostics:
            return None
        try:
            reported = await editor.diagnostics((uri,))
        except EditorSilent:
            return None
        return next(iter(reported), FileDiagnostics(uri=uri, items=()))

    async def problems(self) -> tuple[FileDiagnostics, ...] | None:
        editor = self._editor()
        if editor is None or not editor.capabilities.diagnostics:
            return None
        opened = tuple(document.uri for document in self._view.documents.all())
        try:
            # Asked about no file, some editors report on all; others only on files asked about, so open ones are too.
            told = [*await editor.diagnostics(()), *(await editor.diagnostics(opened) if opened else ())]
        except EditorSilent:
            return None
        return tuple({normalized(each.uri): each for each in told}.values())

    async def changes(self, path: str) -> Changes:
        context = ToolContext(
            files=Overlay(self._view), roots=self._view.roots, index=self._index, programs=self._programs
        )
        compared = await git_diff(GitDiff(path=path), context)
        if not compared.ok:
            return Changes(None, compared.text)
        return Changes(f"{compared.text}\n")
