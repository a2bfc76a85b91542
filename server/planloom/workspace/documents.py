"""The open documents as the editor last told them: what the user has typed, saved or not, comes from here."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planloom.domain.changes import sha256
from planloom.domain.text import ContentChange, Encoding, apply_change
from planloom.domain.values import Sha256, Uri, Value
from planloom.workspace.uris import normalized

Listener = Callable[[Uri], None]
"""Called at once with the normalised URI of a document that was opened, changed, saved or closed."""


class Document(Value):
    """One state of an open document; `client_uri` is the URI in the editor's own spelling.

    `dirty` says that the text is not the one on disk, as far as opening, saving and typing tell.
    """

    uri: Uri
    client_uri: Uri
    language_id: str
    version: int
    text: str
    dirty: bool = False


class DocumentStore:
    """The open documents by normalised URI; every state is a value of its own that never changes.

    All calls are immediate, so that the states follow the order in which the editor's messages arrive.
    """

    def __init__(self, encoding: Encoding = "utf-16") -> None:
        self.encoding: Encoding = encoding
        self._open: dict[Uri, Document] = {}
        self._saved: dict[Uri, Sha256] = {}
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
        saved = sha256(text if on_disk is None else on_disk)
        self._saved[key] = saved
        document = Document(
            uri=key,
            client_uri=Uri(uri),
            language_id=language_id,
            version=version,
            text=text,
            dirty=sha256(text) != saved,
        )
        self._open.pop(key, None)
        return self._put(document)

    def did_change(self, uri: str, version: int, changes: Iterable[ContentChange]) -> Document | None:
        """Apply what was typed, each change on the result of the one before; None if it is not open."""
        document = self.get(uri)
        if document is None:
            return None
        text = document.text
        for change in changes:
            text = apply_change(text, change, self.encoding)
        dirty = sha256(text) != self._saved[document.uri]
        return self._put(document.model_copy(update={"version": version, "text": text, "dirty": dirty}))

    def did_save(self, uri: str, text: str | None = None) -> Document | None:
        """The text is on disk now; `text` is what was saved, if the editor sends it along."""
        document = self.get(uri)
        if document is None:
            return None
        saved = sha256(document.text if text is None else text)
        self._saved[document.uri] = saved
        return self._put(document.model_copy(update={"dirty": sha256(document.text) != saved}))

    def did_close(self, uri: str) -> None:
        """From now on the disk says what the file holds; a document that is not open is passed over."""
        key = normalized(uri)
        if self._open.pop(key, None) is not None:
            del self._saved[key]
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
