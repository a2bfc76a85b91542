"""Completes `@` references in any open document, for editors without an extension."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from planloom.domain.text.positions import LineIndex, Position
from planloom.domain.values import Uri
from planloom.intake.reference_sources import Context
from planloom.lsp.handlers import plan_documents

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

    from planloom.domain.text.positions import Encoding
    from planloom.intake.completion import ReferenceItem
    from planloom.lsp.connection import Connection

LIMIT = 50
"""The most items of one answer. The answer is marked incomplete, so that the editor asks again as the user types."""


def register(server: LanguageServer, connection: Connection) -> None:
    """Answer `textDocument/completion`; the list is empty where no reference is being typed."""

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["@", "/"]))
    async def complete(params: types.CompletionParams) -> types.CompletionList:
        return await _complete(connection, params)


async def _complete(connection: Connection, params: types.CompletionParams) -> types.CompletionList:
    app = await connection.application()
    document = connection.documents.get(params.text_document.uri)
    if document is None:
        return types.CompletionList(is_incomplete=False, items=[])
    of_plan = await plan_documents.completions(connection, params)
    if of_plan:
        return types.CompletionList(is_incomplete=False, items=of_plan)
    # A reference never spans lines, so only the current line is read.
    index = LineIndex(document.text)
    line = index.line_text(min(params.position.line, index.line_count - 1))
    encoding = connection.client.encoding
    line_index = LineIndex(line)
    offset = line_index.offset(Position(line=0, character=params.position.character), encoding)
    units = line_index.position(offset, "utf-16").character
    context = Context(uri=Uri(params.text_document.uri))
    found = await app.references.complete(line, units, LIMIT, context)
    items = [
        _item(item, number, line_index, params.position.line, encoding)
        for number, item in enumerate(found.items)
    ]
    return types.CompletionList(is_incomplete=found.is_incomplete or bool(items), items=items)


def _item(
    item: ReferenceItem, number: int, line: LineIndex, row: int, encoding: Encoding
) -> types.CompletionItem:
    start, end = (line.offset(Position(line=0, character=units), "utf-16") for units in item.replace)
    ends = [line.position(offset, encoding).character for offset in (start, end)]
    kinds = {
        "folder": types.CompletionItemKind.Folder,
        "file": types.CompletionItemKind.File,
        "symbol": types.CompletionItemKind.Reference,
        "special": types.CompletionItemKind.Keyword,
    }
    return types.CompletionItem(
        label=item.label,
        kind=kinds[item.kind],
        detail=item.detail,
        # Editors sort and filter again by these two, which keep our order by match and use.
        sort_text=f"{number:04}",
        filter_text=line.text[start:end] or item.label,
        text_edit=types.TextEdit(
            range=types.Range(types.Position(row, ends[0]), types.Position(row, ends[1])),
            new_text=item.insert_text,
        ),
    )
