"""`ReferenceSources` for the real workspace: its documents, disk, index and editor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import islice

from planloom.domain.errors import UntrustedWorkspace
from planloom.domain.text.positions import Encoding
from planloom.domain.values import Uri
from planloom.intake.reference_sources import Changes, SymbolPlace
from planloom.intake.references import LineSpan
from planloom.tools.catalog import FindSymbol, GitDiff
from planloom.tools.code.symbols import Declared, declarations, parts_of, shown
from planloom.tools.context import ToolContext
from planloom.tools.external_tools import ExternalTools, NotThere, RemoteResource
from planloom.tools.git.git_tools import git_diff
from planloom.tools.tool import ToolResult
from planloom.workspace.disk import read_bytes
from planloom.workspace.editor import Editor, EditorSilent, FileDiagnostics
from planloom.workspace.index.file_index import FileIndex
from planloom.workspace.index.programs import TRUSTED, Programs
from planloom.workspace.language import Language, NotKnown
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath, resolve, resolve_uri
from planloom.workspace.paths.uris import normalized
from planloom.workspace.snapshots import Snapshot
from planloom.workspace.staged.overlay import Overlay
from planloom.workspace.view import WorkspaceView, confined_path

_MOST_LIKE = 20
_MOST_CONSIDERED = 200
_OF_A_CLASS = frozenset({"method", "property", "field", "constructor", "enummember"})
SYMBOL_SECONDS = 3.0
"""How long a request waits for the symbol that it names."""
COMPLETION_SECONDS = 0.3
"""How long a completion waits for symbols."""
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
        language: Callable[[], Language | None] = lambda: None,
        external: Callable[[], ExternalTools | None] = lambda: None,
    ) -> None:
        self._view = view
        self._index = index
        self._editor = editor
        self._programs = programs
        self._language = language
        self._external = external
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

    async def symbols(self, name: str) -> tuple[SymbolPlace, ...]:
        language = self._language()
        if language is None:
            return ()
        try:
            async with asyncio.timeout(SYMBOL_SECONDS):
                found = await declarations(FindSymbol(symbol=name), self._context(), language)
        except (NotKnown, TimeoutError):
            return ()
        return () if isinstance(found, ToolResult) else tuple(map(_symbol_place, found))

    async def symbols_like(self, name: str) -> tuple[SymbolPlace, ...]:
        """Those whose name contains this one, as far as they are known at once."""
        language = self._language()
        if language is None:
            return ()
        try:
            async with asyncio.timeout(COMPLETION_SECONDS):
                known = await language.named(parts_of(name)[-1], {})
                found = await shown(known[:_MOST_CONSIDERED], self._context())
        except (NotKnown, TimeoutError):
            return ()
        places = {(each.name, each.place.uri): each for each in map(_symbol_place, found)}
        like = (each for each in places.values() if name.casefold() in each.name.casefold())
        return tuple(islice(like, _MOST_LIKE))

    def _context(self) -> ToolContext:
        return ToolContext(
            files=Overlay(self._view), roots=self._view.roots, index=self._index, programs=self._programs
        )

    async def resource(self, server: str, uri: str) -> str | NotThere | None:
        external = self._external()
        if external is None or server not in external.names():
            return None
        try:
            return await external.read(server, uri)
        except NotThere as why:
            return why
        except UntrustedWorkspace as untrusted:
            return NotThere(untrusted.message)

    async def resources_of(self, typed: str) -> tuple[RemoteResource, ...]:
        """What the server before the colon offers, as far as it says so at once; else the servers, as `name:`."""
        external = self._external()
        names = () if external is None else external.names()
        server, colon, rest = typed.partition(":")
        if external is None or not colon:
            return tuple(RemoteResource(name, "", "MCP server") for name in names if name.startswith(typed))
        if server not in names:
            return ()
        try:
            async with asyncio.timeout(COMPLETION_SECONDS):
                offered = await external.resources(server)
        except (NotThere, TimeoutError, UntrustedWorkspace):
            return ()
        return tuple(each for each in offered if rest.casefold() in f"{each.uri} {each.title}".casefold())[
            :_MOST_LIKE
        ]

    async def changes(self, path: str) -> Changes:
        compared = await git_diff(GitDiff(path=path), self._context())
        if not compared.ok:
            return Changes(None, compared.text)
        return Changes(f"{compared.text}\n")


def _symbol_place(found: Declared) -> SymbolPlace:
    symbol = found.symbol
    is_part = symbol.kind.replace(" ", "").lower() in _OF_A_CLASS and symbol.container.isidentifier()
    name = f"{symbol.container}.{symbol.name}" if is_part else symbol.name
    lines = LineSpan(symbol.range.start.line + 1, symbol.range.end.line + 1)
    return SymbolPlace(name, symbol.kind, found.place, lines)
