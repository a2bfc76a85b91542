"""The features of plan documents: what the editor asks about a document that shows a plan; empty for any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

    from planloom.lsp.connection import Connection
    from planloom.lsp.plan_documents.features import View


def register(server: LanguageServer, connection: Connection) -> None:
    """Answer what an editor asks about the document of a plan."""

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        from planloom.lsp.plan_documents import features

        view = await _view(connection, params.text_document.uri)
        return [] if view is None else features.lenses(view)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION)
    async def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        from planloom.lsp.plan_documents import features

        view = await _view(connection, params.text_document.uri)
        return [] if view is None else features.actions(view, params.range, params.context.diagnostics)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def symbols(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        from planloom.lsp.plan_documents import features

        view = await _view(connection, params.text_document.uri)
        return [] if view is None else features.symbols(view)

    @server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
    async def folds(params: types.FoldingRangeParams) -> list[types.FoldingRange]:
        from planloom.lsp.plan_documents import features

        view = await _view(connection, params.text_document.uri)
        return [] if view is None else features.folds(view)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        from planloom.lsp.plan_documents import features
        from planloom.tools.registry import builtin

        view = await _view(connection, params.text_document.uri)
        return None if view is None else features.hover(view, params.position, builtin().of_plans())

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def hints(params: types.InlayHintParams) -> list[types.InlayHint]:
        from planloom.lsp.plan_documents import features

        view = await _view(connection, params.text_document.uri)
        return [] if view is None else features.hints(view)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_LINK)
    async def links(params: types.DocumentLinkParams) -> list[types.DocumentLink]:
        from planloom.lsp.plan_documents import features

        view = await _view(connection, params.text_document.uri)
        folder = next(iter(connection.view.roots.folders), None)
        if view is None or folder is None:
            return []
        index = view.index
        return [
            types.DocumentLink(features.range_of(index, place, view.encoding), f"{folder.uri}/{name}")
            for place, name in features.file_places(view)
            if (folder.path / name).is_file()
        ]


async def completions(
    connection: Connection, params: types.CompletionParams
) -> list[types.CompletionItem] | None:
    """What can be typed at a place of a plan's document; None for any other document."""
    from planloom.lsp.plan_documents import features
    from planloom.tools.registry import builtin

    view = await _view(connection, params.text_document.uri)
    return None if view is None else features.completions(view, params.position, builtin().of_plans())


async def _view(connection: Connection, uri: str) -> View | None:
    """The document as it stands, if it shows a plan."""
    if not uri.endswith(".plan.md"):
        return None
    from planloom.domain.document.reader import read_document
    from planloom.lsp.plan_documents.features import View

    app = await connection.application()
    document = connection.documents.get(uri)
    shown = await connection.plan_documents.find(uri)
    plan = None if shown is None else app.plans.get(shown.plan.plan_id, None)
    if document is None or plan is None:
        return None
    written = read_document(document.text)
    return View(str(document.client_uri), document.text, written, plan, connection.client.encoding)
