"""The offers in any document: to plan what is selected or stands in a comment, and to mend a diagnostic."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from lsprotocol import types

from planloom.domain.document.adoption import adoption
from planloom.domain.document.top import STEPS
from planloom.domain.text.positions import Encoding, LineIndex, Position
from planloom.domain.values import Uri
from planloom.intake.completion import written
from planloom.lsp.plan_documents.names import ENDING
from planloom.lsp.plan_documents.shown_documents import ADOPT
from planloom.view.words import Words
from planloom.workspace.documents import Document
from planloom.workspace.paths.uris import name_in

_COMMENT: Final = re.compile(r"\s*(?:#+!?|//+!?|--|;+|%+|/\*+|\*+/?|<!--)\s?(.*?)\s*(?:\*/|-->)?\s*")
_PROSE: Final = frozenset({"markdown", "plaintext", "text", "rst", "asciidoc", "org", "gitcommit"})
_LONGEST: Final = 10_000
"""Characters that are taken as the words of a request."""


def offers(
    document: Document, params: types.CodeActionParams, folders: Sequence[Uri], encoding: Encoding, t: Words
) -> list[types.CodeAction]:
    """The actions at a place of a document of the workspace; none for a file outside of it."""
    if not any(document.uri.startswith(f"{folder}/") for folder in folders):
        return []
    name = name_in(document.uri, folders)
    index = LineIndex(document.text)
    found = [
        _action(
            t("Fix with Planloom"),
            f"Fix this problem in {written(name)}:{each.range.start.line + 1}: {each.message}",
            types.CodeActionKind.QuickFix,
            [each],
        )
        for each in params.context.diagnostics
        if each.source != "planloom"
    ]
    found += mends(document.client_uri, params.context.diagnostics, t)
    whole = _of_whole(document, t)
    task = _task(index, params.range, encoding, document.language_id)
    if whole is not None:
        found.append(types.CodeAction(whole.title, command=whole))
    elif task is not None:
        text, first, last = task
        lines = f"{first + 1}" if first == last else f"{first + 1}-{last + 1}"
        found.append(
            _action(
                t("Plan this task with Planloom"), f"{text}\n\n{written(name)}:{lines}".lstrip(), None, None
            )
        )
    return found


def mends(uri: str, diagnostics: Sequence[types.Diagnostic], t: Words) -> list[types.CodeAction]:
    """The quick fixes of diagnostics that say what could stand in their place."""
    found = []
    for each in diagnostics:
        instead = each.data.get("instead") if isinstance(each.data, dict) else None
        if isinstance(instead, str):
            edit = types.WorkspaceEdit(changes={uri: [types.TextEdit(each.range, instead)]})
            found.append(
                types.CodeAction(
                    t("Write “{0}”", instead),
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[each],
                    edit=edit,
                    is_preferred=True,
                )
            )
    return found


def written_request(document: Document) -> str | None:
    """The request that is written in a document named `*.plan.md` which shows no plan; None if there is none."""
    text = document.text.strip()
    is_request = document.uri.endswith(ENDING) and STEPS not in text.splitlines()
    return text if is_request and text and len(text) <= _LONGEST else None


def lenses(document: Document, t: Words) -> list[types.CodeLens]:
    """The lens on a document that shows no plan, but could: a request, or a plan of elsewhere."""
    command = _of_whole(document, t)
    start = types.Position(0, 0)
    return [] if command is None else [types.CodeLens(types.Range(start, start), command=command)]


def _of_whole(document: Document, t: Words) -> types.Command | None:
    """The command to offer for the whole document."""
    request = written_request(document)
    if request is not None:
        return types.Command(t("Plan this with Planloom"), "planloom.plan", arguments=[request])
    if document.uri.endswith(ENDING) and adoption(document.text) is not None:
        return types.Command(t(ADOPT), "planloom.adopt", arguments=[document.client_uri])
    return None


def _action(
    title: str, request: str, kind: str | None, diagnostics: list[types.Diagnostic] | None
) -> types.CodeAction:
    command = types.Command(title=title, command="planloom.plan", arguments=[request])
    return types.CodeAction(title, kind=kind, diagnostics=diagnostics, command=command)


def _task(
    index: LineIndex, span: types.Range, encoding: Encoding, language: str
) -> tuple[str, int, int] | None:
    """The words of a request with their first and last line: the comment at the cursor, or what is selected of comments
    or of prose. None where there are no words: a piece of code says where, and not what.
    """
    first, last = span.start.line, span.end.line
    if span.start == span.end:
        while first > 0 and _comment(index, first) is not None and _comment(index, first - 1) is not None:
            first -= 1
        while last + 1 < index.line_count and _comment(index, last + 1) is not None:
            last += 1
    elif last > first and not span.end.character:
        last -= 1
    words = [_comment(index, line) for line in range(first, last + 1)]
    text = " ".join(" ".join(each or "" for each in words).split())
    if span.start != span.end and language in _PROSE:
        start, end = (
            index.offset(Position(line=each.line, character=each.character), encoding)
            for each in (span.start, span.end)
        )
        text = index.text[start:end].strip()
    elif any(each is None for each in words):
        return None
    return (text, first, last) if text and len(text) <= _LONGEST else None


def _comment(index: LineIndex, line: int) -> str | None:
    """The words of a line that is a comment in one of the usual languages."""
    match = _COMMENT.fullmatch(index.line_text(line))
    return None if match is None else match[1]
