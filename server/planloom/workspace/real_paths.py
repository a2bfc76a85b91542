"""Open documents by the real place of their files, since an editor may know a file by another name than we do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from planloom.domain.values import Uri
from planloom.workspace.documents import DocumentStore
from planloom.workspace.paths.uris import to_path


class RealPathIndex:
    """Remembers where open documents really are; looking that up touches the disk and is done in a thread."""

    def __init__(self, documents: DocumentStore) -> None:
        self._documents = documents
        self._places: dict[Uri, str] = {}
        self._owners: dict[str, Uri] = {}
        self._new: dict[Uri, None] = {document.uri: None for document in documents.all()}
        documents.listen(self._notice)

    def unknown(self) -> tuple[tuple[Uri, Path], ...]:
        """The open documents whose real places are not known yet."""
        return tuple((uri, path) for uri in self._new if (path := to_path(uri)) is not None)

    def learn(self, places: Mapping[Uri, str]) -> None:
        """Take in what `real_places` found, of documents that are still open."""
        for uri, place in places.items():
            if self._documents.get(uri) is not None:
                self._new.pop(uri, None)
                self._places[uri] = place
                self._owners.setdefault(place, uri)

    def at(self, path: Path) -> Uri | None:
        """The open document whose file really is at a path."""
        return self._owners.get(str(path))

    def _notice(self, uri: Uri) -> None:
        if self._documents.get(uri) is not None:
            if uri not in self._places:
                self._new[uri] = None
            return
        self._new.pop(uri, None)
        place = self._places.pop(uri, None)
        if place is not None and self._owners.get(place) == uri:
            del self._owners[place]
            # Another name of the same file may be open still: it is looked up anew.
            for other in [other for other, known in self._places.items() if known == place]:
                del self._places[other]
                self._new[other] = None


def real_places(paths: tuple[tuple[Uri, Path], ...]) -> dict[Uri, str]:
    """Where files really are; call it from a thread."""
    return {uri: os.path.realpath(path) for uri, path in paths}
