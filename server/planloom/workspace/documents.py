"""The open documents as the editor last reported them, with unsaved text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from planloom.domain.changes import sha256
from planloom.domain.text.live_text import LiveText
from planloom.domain.text.positions import ContentChange, Encoding
from planloom.domain.values import Sha256, Uri
from planloom.workspace.paths.uris import normalized

Listener = Callable[[Uri], None]
"""Called synchronously with the normalised URI of a document that was opened, changed, saved or closed."""


class Saved(NamedTuple):
    """Hash and length of the text on disk, inferred from open and save notifications; the length is cheap to compare.

    `confirmed` is False for a document that was only opened: its text may never have been on disk.
    """

    sha256: Sha256
    length: int
    confirmed: bool = False


@dataclass(frozen=True)
class Document:
    """One state of an open document; `client_uri` is the URI in the editor's own spelling.

    `passed` are the texts between the changes of the last message that told of several.

    `text` and `dirty` cost time in proportion to the text, so they are computed on demand, not at every keystroke.
    """

    uri: Uri
    client_uri: Uri
    language_id: str
    version: int
    content: LiveText
    saved: Saved
    passed: tuple[LiveText, ...] = field(default=(), compare=False)

    @property
    def text(self) -> str:
        """The whole text."""
        return self.content.text

    @cached_property
    def dirty(self) -> bool:
        """Whether the text differs from the one on disk, inferred from the editor's notifications alone."""
        return self.content.length != self.saved.length or sha256(self.text) != self.saved.sha256


class DocumentStore:
    """The open documents by normalised URI; every state is an immutable `Document`.

    No call awaits, so the states follow the order of the editor's messages. `is_own` says whether the server itself
    writes a document, for the user to read: its text is nobody's unsaved work.
    """

    def __init__(self, encoding: Encoding = "utf-16") -> None:
        self.encoding: Encoding = encoding
        self._open: dict[Uri, Document] = {}
        self.is_own: Callable[[Uri], bool] = lambda _: False
        self._listeners: list[Listener] = []

    def get(self, uri: str) -> Document | None:
        """The current state, by any spelling of the URI; None if the document is not open."""
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
        """Add a document. Without `on_disk`, `text` is assumed to be on disk; a second open replaces the first."""
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
        """Apply changes, each to the result of the one before; None if the document is not open."""
        document = self.get(uri)
        if document is None:
            return None
        contents = [document.content]
        for change in changes:
            contents.append(contents[-1].changed(change, self.encoding))
        return self._put(
            replace(document, version=version, content=contents[-1], passed=tuple(contents[1:-1]))
        )

    def did_save(self, uri: str, text: str | None = None) -> Document | None:
        """Record a save; `text` is the saved text, if the editor sends it along. None if the document is not open."""
        document = self.get(uri)
        if document is None:
            return None
        self.note_saved(uri, document.text if text is None else text)
        return self._put(self._open[document.uri])

    def note_saved(self, uri: str, text: str) -> None:
        """Record the text of an open document as read from disk, without calling listeners."""
        document = self.get(uri)
        if document is not None:
            self._open[document.uri] = replace(document, saved=_saved(text, confirmed=True))

    def is_saved(self, uri: str) -> bool:
        """Whether a document holds exactly the text that was last confirmed on disk."""
        document = self.get(uri)
        return document is not None and document.saved.confirmed and not document.dirty

    def did_close(self, uri: str) -> None:
        """Remove a document; one that is not open is ignored."""
        key = normalized(uri)
        if self._open.pop(key, None) is not None:
            self._notify(key)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after every change of a document; call the result to unsubscribe."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def wait_until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait until `holds` is true, which is evaluated after every change; False if it is not within this time."""
        changed = asyncio.Event()
        stop = self.listen(lambda _: changed.set())
        try:
            async with asyncio.timeout(seconds):
                while not holds():
                    await changed.wait()
                    changed.clear()
            return True
        except TimeoutError:
            return False
        finally:
            stop()

    def _put(self, document: Document) -> Document:
        self._open[document.uri] = document
        self._notify(document.uri)
        return document

    def _notify(self, uri: Uri) -> None:
        for listener in tuple(self._listeners):
            listener(uri)


def _saved(text: str, *, confirmed: bool = False) -> Saved:
    return Saved(sha256(text), len(text), confirmed)
