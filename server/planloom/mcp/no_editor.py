"""Stands where an editor would be: there is none, so the server reads and writes the files itself."""

from __future__ import annotations

from typing import Final, NoReturn

from planloom.domain.values import Args, Json, Uri
from planloom.workspace.editor import (
    EditAnswer,
    EditorCapabilities,
    EditorEdit,
    EditorSilent,
    FileDiagnostics,
    FolderAnswer,
    LanguageMethod,
    SaveAnswer,
)

_NOTHING: Final = EditorCapabilities()


class NoEditor:
    """An `Editor` without any capability."""

    @property
    def capabilities(self) -> EditorCapabilities:
        """None."""
        return _NOTHING

    async def apply(self, _edit: EditorEdit) -> EditAnswer:
        """Raises EditorSilent."""
        _refuse()

    async def save(self, _uris: tuple[Uri, ...]) -> SaveAnswer:
        """Raises EditorSilent."""
        _refuse()

    async def create_folder(self, _uri: Uri) -> FolderAnswer:
        """Raises EditorSilent."""
        _refuse()

    async def diagnostics(self, _uris: tuple[Uri, ...]) -> tuple[FileDiagnostics, ...]:
        """Raises EditorSilent."""
        _refuse()

    async def language(self, _method: LanguageMethod, _params: Args) -> Json:
        """Raises EditorSilent."""
        _refuse()


def _refuse() -> NoReturn:
    raise EditorSilent("There is no editor.")
