"""A workspace on disk with open documents, for what resolves and completes references."""

from __future__ import annotations

from pathlib import Path

from planloom.domain.text.positions import Position, Range
from planloom.domain.values import Args, Json, Uri
from planloom.intake.workspace_sources import WorkspaceSources
from planloom.workspace.documents import DocumentStore
from planloom.workspace.editor import (
    Diagnostic,
    EditAnswer,
    EditorCapabilities,
    EditorEdit,
    EditorSilent,
    FileDiagnostics,
    FolderAnswer,
    LanguageMethod,
    SaveAnswer,
)
from planloom.workspace.index.file_index import FileIndex
from planloom.workspace.language import Language
from planloom.workspace.paths.roots import Roots, root_at
from planloom.workspace.paths.uris import from_path
from planloom.workspace.view import WorkspaceView


class TellingEditor:
    """An editor that tells diagnostics and does nothing else."""

    def __init__(
        self,
        items: tuple[Diagnostic, ...] = (),
        *,
        able: bool = True,
        silent: bool = False,
        everywhere: tuple[FileDiagnostics, ...] = (),
    ) -> None:
        """`everywhere` is what it tells if it is asked about no file."""
        self.capabilities = EditorCapabilities(diagnostics=able)
        self._items = items
        self._silent = silent
        self._everywhere = everywhere

    async def apply(self, edit: EditorEdit) -> EditAnswer:
        raise EditorSilent

    async def save(self, uris: tuple[Uri, ...]) -> SaveAnswer:
        raise EditorSilent

    async def create_folder(self, uri: Uri) -> FolderAnswer:
        raise EditorSilent

    async def diagnostics(self, uris: tuple[Uri, ...]) -> tuple[FileDiagnostics, ...]:
        if self._silent:
            raise EditorSilent
        if not uris:
            return self._everywhere
        return tuple(FileDiagnostics(uri=uri, items=self._items, version=3) for uri in uris)

    async def language(self, method: LanguageMethod, params: Args) -> Json:
        raise EditorSilent


class World:
    """Folders below `base`, each a workspace folder, with whatever is open in them."""

    def __init__(self, base: Path, *folders: str, editor: TellingEditor | None = None) -> None:
        self.base = base
        for folder in folders:
            (base / folder).mkdir(parents=True, exist_ok=True)
        self.roots = Roots(tuple(root_at(base / folder) for folder in folders))
        self.documents = DocumentStore()
        self.view = WorkspaceView(self.roots, self.documents)
        self.index: FileIndex | None = None
        self.language: Language | None = None
        self.sources = WorkspaceSources(
            self.view, lambda: self.index, lambda: editor, language=lambda: self.language
        )

    def write(self, files: dict[str, str | bytes]) -> None:
        for name, content in files.items():
            path = self.base / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def uri(self, name: str) -> Uri:
        return from_path(self.base / name)

    def open(self, name: str, text: str, *, version: int = 1, language: str = "plaintext") -> None:
        self.documents.did_open(self.uri(name), language, version, text, on_disk="")

    async def build_index(self) -> FileIndex:
        self.index = FileIndex(self.roots.folders, git=None)
        await self.index.build()
        return self.index


def span(first_line: int, first: int, last_line: int, last: int) -> Range:
    return Range(
        start=Position(line=first_line, character=first), end=Position(line=last_line, character=last)
    )
