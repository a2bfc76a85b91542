"""Feeds the editor's text synchronisation into the document store, in the order in which it arrives."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from planloom.domain.text.positions import ContentChange, Position, Range

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection

logger = logging.getLogger(__name__)


def register(server: Any, connection: Connection) -> None:
    """Listen to text synchronisation. The handlers are plain `def`, so each runs at once and in order."""

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)  # type: ignore[untyped-decorator]
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        connection.documents.did_open(
            document.uri, str(document.language_id), document.version, document.text
        )

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)  # type: ignore[untyped-decorator]
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        changes = [_change(change) for change in params.content_changes]
        if connection.documents.did_change(document.uri, document.version, changes) is None:
            logger.warning("The editor changed %s without opening it", document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE, types.SaveOptions(include_text=False))  # type: ignore[untyped-decorator]
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        connection.documents.did_save(params.text_document.uri, params.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)  # type: ignore[untyped-decorator]
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        connection.documents.did_close(params.text_document.uri)


def _change(change: types.TextDocumentContentChangeEvent) -> ContentChange:
    if isinstance(change, types.TextDocumentContentChangeWholeDocument):
        return ContentChange(text=change.text)
    start, end = change.range.start, change.range.end
    return ContentChange(
        range=Range(
            start=Position(line=start.line, character=start.character),
            end=Position(line=end.line, character=end.character),
        ),
        text=change.text,
    )
