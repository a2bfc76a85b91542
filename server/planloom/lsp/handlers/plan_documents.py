"""The editor's requests about a document that shows a plan, and the offers in any other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from planloom.domain.document.reader import read_document
from planloom.lsp.editor import served_texts
from planloom.lsp.editor.change_lenses import change_lenses
from planloom.lsp.plan_documents import features, hovers
from planloom.lsp.plan_documents.features import View, command_of
from planloom.lsp.plan_documents.names import ENDING
from planloom.lsp.plan_documents.offers import lenses, offers
from planloom.tools.registry import builtin

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

    from planloom.lsp.connection import Connection

_FEATURES: Final = {
    types.TEXT_DOCUMENT_CODE_LENS: "lenses",
    types.TEXT_DOCUMENT_CODE_ACTION: "actions",
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: "symbols",
    types.TEXT_DOCUMENT_FOLDING_RANGE: "folds",
    types.TEXT_DOCUMENT_INLAY_HINT: "hints",
    types.TEXT_DOCUMENT_DOCUMENT_LINK: "links",
}
"""The functions of `plan_documents/features` that answer; each gets a View and the params."""


def register(server: LanguageServer, connection: Connection) -> None:
    """Answer what an editor asks about the document of a plan."""
    for method, name in _FEATURES.items():
        server.feature(method)(_answering(connection, name))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        view = await _view(connection, params.text_document.uri)
        if view is None:
            return None
        return await hovers.hover(connection.app, view, params)

    @server.feature(types.WORKSPACE_TEXT_DOCUMENT_CONTENT)
    async def content(params: types.TextDocumentContentParams) -> types.TextDocumentContentResult:
        app = await connection.application()
        return types.TextDocumentContentResult(await served_texts.text_at(app, params.uri, connection.words))


def _answering(connection: Connection, name: str) -> Any:
    async def answer(params: Any) -> Any:
        view = await _view(connection, params.text_document.uri)
        if view is None:
            return await _offers(connection, params, name)
        return getattr(features, name)(view, params)

    return answer


async def _offers(connection: Connection, params: Any, name: str) -> Any:
    """The actions and lenses of a document that shows no plan; None for anything else."""
    if name not in ("actions", "lenses"):
        return None
    await connection.application()
    document = connection.documents.get(params.text_document.uri)
    if document is None:
        return []
    t, merged = connection.words, [command_of(each) for each in connection.merged.offers(document.uri)]
    if name == "lenses":
        top = types.Range(types.Position(0, 0), types.Position(0, 0))
        made = connection.app.made_changes.of(document.uri, document.text)
        of_document = (types.CodeLens(top, command=each) for each in merged)
        return [*of_document, *lenses(document, t), *change_lenses(made, t)]
    actions = [types.CodeAction(f"Planloom: {each.title}", command=each) for each in merged]
    folders = [root.uri for root in connection.view.roots.folders]
    return [*actions, *offers(document, params, folders, connection.client.encoding, t)]


async def completions(
    connection: Connection, params: types.CompletionParams
) -> list[types.CompletionItem] | None:
    """The completions at a place of a plan's document; None for any other document."""
    view = await _view(connection, params.text_document.uri)
    if view is None:
        return None
    return features.completions(view, params)


async def _view(connection: Connection, uri: str) -> View | None:
    """The document as it stands, if it shows a plan."""
    if not uri.endswith(ENDING):
        return None
    app = await connection.application()
    document = connection.documents.get(uri)
    shown = await connection.plan_documents.find(uri)
    plan = None if shown is None else app.plans.get(shown.plan.plan_id, None)
    if document is None or plan is None:
        return None
    return View(
        str(document.client_uri),
        document.text,
        read_document(document.text),
        plan,
        connection.client.encoding,
        next(iter(connection.view.roots.folders), None),
        builtin().before_commands(),
        connection.asks_trust,
        shown is not None and shown.moved_on,
        connection.words,
    )
