"""The open documents as the editor last told them: what the user has typed, saved or not, comes from here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from planloom.domain.changes import sha256
from planloom.domain.text.live_text import LiveText
from planloom.domain.text.positions import ContentChange, Encoding
from planloom.domain.values import Sha256, Uri
from planloom.workspace.paths.uris import normalized

Listener = Callable[[Uri], None]
"""Called at once with the normalised URI of a document that was opened, changed, saved or closed."""


class Saved(NamedTuple):
    """The text on disk, as far as opening and saving tell: by its hash, and its length, which costs less to ask.

    `seen` tells that it was really there, since it was saved or read; a document that was opened may never have been.
    """

    sha256: Sha256
    length: int
    seen: bool = False


@dataclass(frozen=True)
class Document:
    """One state of an open document; `client_uri` is the URI in the editor's own spelling.

    What costs time in proportion to the text is done when it is asked for: nobody asks at every keystroke.
    """

    uri: Uri
    client_uri: Uri
    language_id: str
    version: int
    content: LiveText
    saved: Saved

    @property
    def text(self) -> str:
        """The whole text."""
        return self.content.text

    @cached_property
    def dirty(self) -> bool:
        """Whether the text is not the one on disk, as far as opening, saving and typing tell."""
        return self.content.length != self.saved.length or sha256(self.text) != self.saved.sha256


class DocumentStore:
    """The open documents by normalised URI; every state is a value of its own that never changes.

    All calls are immediate, so that the states follow the order in which the editor's messages arrive.
    """

    def __init__(self, encoding: Encoding = "utf-16") -> None:
        self.encoding: Encoding = encoding
        self._open: dict[Uri, Document] = {}
        self._listeners: list[Listener] = []

    def get(self, uri: str) -> Document | None:
        """The document as it is now, under any spelling of its URI; None if it is not open."""
        return self._open.get(normalized(uri))

    def all(self) -> tuple[Document, ...]:
        """Every open document, in the order in which they were opened."""
        return tuple(self._open.values())

    def spelling(self, uri: str) -> Uri:
        """The URI as the editor spells it, for what is sent to the editor."""
        document = self.get(uri)
        return document.client_uri if document else Uri(uri)

    def did_open(
        self, uri: str, language_id: str, version: int, text: str, *, on_disk: str | None = None
    ) -> Document:
        """Take in a document; without the text `on_disk` it is taken to be what is on disk.

        An editor that opens a document twice is taken at its latest word.
        """
        key = normalized(uri)
        document = Document(
            uri=key,
            client_uri=Uri(uri),
            language_id=language_id,
            version=version,
            content=LiveText(text),
            saved=_saved(text if on_disk is None else on_disk),
        )
        self._open.pop(key, None)
        return self._put(document)

    def did_change(self, uri: str, version: int, changes: Iterable[ContentChange]) -> Document | None:
        """Apply what was typed, each change on the result of the one before; None if it is not open."""
        document = self.get(uri)
        if document is None:
            return None
        content = document.content
        for change in changes:
            content = content.changed(change, self.encoding)
        return self._put(replace(document, version=version, content=content))

    def did_save(self, uri: str, text: str | None = None) -> Document | None:
        """The text is on disk now; `text` is what was saved, if the editor sends it along."""
        document = self.get(uri)
        if document is None:
            return None
        self.note_saved(uri, document.text if text is None else text)
        return self._put(self._open[document.uri])

    def note_saved(self, uri: str, text: str) -> None:
        """Take down what is on disk of an open document, as somebody has seen it there; nobody is told."""
        document = self.get(uri)
        if document is not None:
            self._open[document.uri] = replace(document, saved=_saved(text, seen=True))

    def is_as_saved(self, uri: str) -> bool:
        """Whether a document holds what is known to have been on disk, so that nothing in it was typed since."""
        document = self.get(uri)
        return document is not None and document.saved.seen and not document.dirty

    def did_close(self, uri: str) -> None:
        """From now on the disk says what the file holds; a document that is not open is passed over."""
        key = normalized(uri)
        if self._open.pop(key, None) is not None:
            self._tell(key)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after every change of a document; the result ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _put(self, document: Document) -> Document:
        self._open[document.uri] = document
        self._tell(document.uri)
        return document

    def _tell(self, uri: Uri) -> None:
        for listener in tuple(self._listeners):
            listener(uri)


def _saved(text: str, *, seen: bool = False) -> Saved:
    return Saved(sha256(text), len(text), seen)
