"""Finds open documents by real path, since an editor may have opened a file through a link."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from planloom.domain.values import Uri
from planloom.workspace.documents import DocumentStore
from planloom.workspace.paths.uris import to_path


class RealPathIndex:
    """Maps real paths to open documents. Resolving touches the disk, so the caller does it in a thread:
    `unresolved`, then `resolve_real_paths` in the thread, then `add`."""

    def __init__(self, documents: DocumentStore) -> None:
        self._documents = documents
        self._places: dict[Uri, str] = {}
        self._owners: dict[str, Uri] = {}
        self._new: dict[Uri, None] = {document.uri: None for document in documents.all()}
        documents.listen(self._on_change)

    def unresolved(self) -> tuple[tuple[Uri, Path], ...]:
        """The open documents whose real paths have not been resolved yet."""
        return tuple((uri, path) for uri in self._new if (path := to_path(uri)) is not None)

    def add(self, places: Mapping[Uri, str]) -> None:
        """Add the results of `resolve_real_paths` for documents that are still open."""
        for uri, place in places.items():
            if self._documents.get(uri) is not None:
                self._new.pop(uri, None)
                self._places[uri] = place
                self._owners.setdefault(place, uri)

    def document_at(self, path: Path) -> Uri | None:
        """The open document whose real path this is."""
        return self._owners.get(str(path))

    def _on_change(self, uri: Uri) -> None:
        if self._documents.get(uri) is not None:
            if uri not in self._places:
                self._new[uri] = None
            return
        self._new.pop(uri, None)
        place = self._places.pop(uri, None)
        if place is not None and self._owners.get(place) == uri:
            del self._owners[place]
            # The same file may still be open under another name: resolve that one again.
            for other in [uri for uri, real in self._places.items() if real == place]:
                del self._places[other]
                self._new[other] = None


def resolve_real_paths(paths: tuple[tuple[Uri, Path], ...]) -> dict[Uri, str]:
    """The real path of each file; call it from a thread."""
    return {uri: os.path.realpath(path) for uri, path in paths}
