"""The workspace's `Editor` over LSP: `workspace/applyEdit`, and the requests that an extension may support."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Callable
from typing import Any, Literal, assert_never

from lsprotocol import types
from pydantic import ValidationError
from pygls.capabilities import get_capability

from planloom.domain.text.positions import Encoding, Position, Range, TextEdit
from planloom.domain.values import Args, Json, Uri
from planloom.lsp.client_options import ClientExtensions
from planloom.lsp.transport.codec import PlanloomProtocol
from planloom.lsp.transport.outgoing import ClientGone, ClientRefused
from planloom.lsp.wire.methods import editor as wire
from planloom.workspace.editor import (
    Diagnostic,
    EditAnswer,
    EditorCapabilities,
    EditorEdit,
    EditorGone,
    EditorSilent,
    FileDiagnostics,
    FileThere,
    FolderAnswer,
    LanguageMethod,
    Operation,
    SaveAnswer,
    SaveFailure,
)
from planloom.workspace.paths.uris import normalized

logger = logging.getLogger(__name__)

APPLY_SECONDS = 30.0
CONFIRM_SECONDS = 24 * 3600.0
"""An editor that previews an edit answers only when the user has confirmed it."""
ASK_SECONDS = 20.0
_ANNOTATION = "planloom"
_SEVERITIES = {1: "error", 2: "warning", 3: "information", 4: "hint"}


def capabilities(
    client: types.ClientCapabilities, declared: ClientExtensions, encoding: Encoding
) -> EditorCapabilities:
    """The client's capabilities as the workspace names them."""
    operations = get_capability(client, "workspace.workspace_edit.resource_operations", None) or ()
    names = {str(getattr(each, "value", each)) for each in operations}
    failure = get_capability(client, "workspace.workspace_edit.failure_handling", None)
    annotations = get_capability(client, "workspace.workspace_edit.change_annotation_support", None)
    return EditorCapabilities(
        apply_edit=bool(get_capability(client, "workspace.apply_edit", False)),
        document_changes=bool(get_capability(client, "workspace.workspace_edit.document_changes", False)),
        create_files="create" in names,
        create_contents=declared.create_contents,
        create_folders=declared.create_folder,
        rename_files="rename" in names,
        delete_files="delete" in names,
        change_annotations=annotations is not None,
        failure_handling=None if failure is None else str(getattr(failure, "value", failure)),
        save=declared.save,
        diagnostics=declared.diagnostics,
        language=declared.language,
        encoding=encoding,
    )


class LspEditor:
    """The editor at the other end of a connection."""

    def __init__(
        self, protocol: PlanloomProtocol, can: EditorCapabilities, spelling: Callable[[str], Uri] = Uri
    ) -> None:
        """`spelling` maps a URI to the way the editor itself writes it."""
        self._protocol = protocol
        self._can = can
        self._spelling = spelling

    @property
    def capabilities(self) -> EditorCapabilities:
        """The editor's capabilities."""
        return self._can

    async def apply(self, edit: EditorEdit) -> EditAnswer:
        """Send one edit before the first suspension. It is not withdrawn if the caller is cancelled.

        Raises EditorSilent, whose `late` is the answer that may still come.
        """
        params = {"label": edit.label, "edit": workspace_edit(edit, self._can, self._spelling)}
        answer = asyncio.wrap_future(self._protocol.send_request(types.WORKSPACE_APPLY_EDIT, params))
        limit = CONFIRM_SECONDS if edit.needs_confirmation else APPLY_SECONDS
        try:
            return _edit_answer(await self._answer(answer, limit))
        except EditorSilent as silent:
            if answer.done():
                raise
            raise EditorSilent(str(silent), late=_late(answer), seconds=limit) from None

    async def save(self, uris: tuple[Uri, ...]) -> SaveAnswer:
        """Ask the editor to save documents. Raises EditorSilent."""
        request = self._protocol.request(
            "planloom/editor/save", {"uris": [self._spelling(uri) for uri in uris]}
        )
        result = _read(
            wire.EditorSaveResult, await self._answer(asyncio.ensure_future(request)), "planloom/editor/save"
        )
        return SaveAnswer(
            saved=tuple(Uri(uri) for uri in result.saved),
            failed=tuple(SaveFailure(uri=Uri(each.uri), reason=each.reason) for each in result.failed),
        )

    async def create_folder(self, uri: Uri) -> FolderAnswer:
        """Ask the editor to make an empty folder. Raises EditorSilent."""
        method = "planloom/editor/createFolder"
        request = self._protocol.request(method, {"uri": self._spelling(uri)})
        raw = await self._answer(asyncio.ensure_future(request))
        result = _read(wire.EditorCreateFolderResult, raw, method)
        return FolderAnswer(created=result.created, reason=result.reason)

    async def list_folder(self, uri: Uri) -> tuple[tuple[str, Literal["file", "folder"]], ...]:
        """The entries of a folder that only the editor can reach. Raises EditorSilent."""
        method = "planloom/editor/files"
        raw = await self._answer(asyncio.ensure_future(self._protocol.request(method, {"uri": uri})))
        result = _read(wire.EditorFilesResult, raw, method)
        return tuple((entry.name, entry.kind) for entry in result.entries)

    async def read_file(self, uri: Uri) -> FileThere:
        """The file or folder at a URI that only the editor can reach. Raises EditorSilent."""
        method = "planloom/editor/read"
        raw = await self._answer(asyncio.ensure_future(self._protocol.request(method, {"uri": uri})))
        result = _read(wire.EditorReadResult, raw, method)
        try:
            content = None if result.content is None else base64.b64decode(result.content, validate=True)
        except ValueError as error:
            raise EditorSilent(f"The editor's answer to {method} could not be read.") from error
        return FileThere(result.kind, content, result.size or 0)

    async def diagnostics(self, uris: tuple[Uri, ...]) -> tuple[FileDiagnostics, ...]:
        """The editor's current diagnostics of files. Raises EditorSilent."""
        ours = {normalized(uri): uri for uri in uris}
        request = self._protocol.request(
            "planloom/editor/diagnostics", {"uris": [self._spelling(uri) for uri in uris]}
        )
        raw = await self._answer(asyncio.ensure_future(request))
        result = _read(wire.EditorDiagnosticsResult, raw, "planloom/editor/diagnostics")
        return tuple(
            FileDiagnostics(
                uri=ours.get(normalized(file.uri), Uri(file.uri)),
                items=tuple(_diagnostic(item) for item in file.items),
                version=file.version,
            )
            for file in result.diagnostics
        )

    async def language(self, method: LanguageMethod, params: Args) -> Json:
        """What the user's language servers answer, in LSP's own JSON. Raises EditorSilent."""
        asked = "planloom/editor/language"
        request = asyncio.ensure_future(
            self._protocol.request(asked, {"method": method, "params": self._spelled(params)})
        )
        try:
            result = _read(wire.EditorLanguageResult, await self._answer(request), asked)
        finally:
            # A search that nobody waits for any more is not worth the editor's time: it gets `$/cancelRequest`.
            request.cancel()
        if result.problem is not None and result.result is None:
            raise EditorSilent(result.problem)
        answer: Json = result.result
        return answer

    def _spelled(self, params: Args) -> Args:
        """Params of LSP whose document, if they name one, is spelled as the editor does."""
        document = params.get("textDocument")
        if not isinstance(document, dict):
            return params
        return {**params, "textDocument": {**document, "uri": self._spelling(str(document.get("uri")))}}

    async def _answer(self, answer: asyncio.Future[Any], limit: float = ASK_SECONDS) -> Any:
        """The client's answer. A cancellation or timeout ends only this wait, not the request.

        The request needs no supervisor: it always ends with its answer or with the connection.
        """
        try:
            done, _ = await asyncio.wait({answer}, timeout=limit)
        except asyncio.CancelledError:
            answer.add_done_callback(_retrieve)
            raise
        if not done:
            answer.add_done_callback(_retrieve)
            raise EditorSilent(f"The editor gave no answer within {limit:g} seconds.")
        return _given(answer)


def _given(answer: asyncio.Future[Any]) -> Any:
    """The answer that the client has given. Raises EditorGone."""
    try:
        return answer.result()
    except ClientGone as error:
        raise EditorGone("The connection to the editor is closed.") from error
    except ClientRefused as error:
        return {"applied": False, "failureReason": error.message, "refused": True}


def _edit_answer(raw: Any) -> EditAnswer:
    """The answer to an edit. Raises EditorSilent if it cannot be read."""
    result = _read(wire.ApplyEditResult, raw, types.WORKSPACE_APPLY_EDIT)
    return EditAnswer(
        applied=result.applied, reason=result.failure_reason, failed_change=result.failed_change
    )


def _late(answer: asyncio.Future[Any]) -> asyncio.Future[EditAnswer | None]:
    """The answer to an edit that is no longer waited for; None if the connection closes before it comes."""
    late: asyncio.Future[EditAnswer | None] = asyncio.get_running_loop().create_future()

    def arrived(_: asyncio.Future[Any]) -> None:
        try:
            late.set_result(None if answer.cancelled() else _edit_answer(_given(answer)))
        except EditorGone:
            late.set_result(None)
        except EditorSilent as unreadable:
            late.set_result(EditAnswer(applied=False, reason=str(unreadable)))

    answer.add_done_callback(arrived)
    return late


def _retrieve(answer: asyncio.Future[Any]) -> None:
    """Retrieve a failure that nobody awaits any more, so that asyncio does not report it."""
    if not answer.cancelled():
        answer.exception()


def _read(model: type[Any], raw: Any, method: str) -> Any:
    """Parse the client's answer. Raises EditorSilent if it does not fit the model."""
    try:
        return model.model_validate(raw, by_alias=True, by_name=False)
    except ValidationError as error:
        reason = raw.get("failureReason") if isinstance(raw, dict) and raw.get("refused") else None
        logger.warning("The editor's answer to %s could not be read: %s", method, reason or error)
        raise EditorSilent(
            f"The editor refused {method}: {reason}"
            if reason
            else f"The editor's answer to {method} could not be read."
        ) from error


def _diagnostic(item: wire.LspDiagnostic) -> Diagnostic:
    start, end = item.range.start, item.range.end
    return Diagnostic.model_validate(
        {
            "range": Range(
                start=Position(line=start.line, character=start.character),
                end=Position(line=end.line, character=end.character),
            ),
            "severity": _SEVERITIES[item.severity or 1],
            "message": item.message,
            "source": item.source,
            "code": None if item.code is None else str(item.code),
        }
    )


def workspace_edit(
    edit: EditorEdit, can: EditorCapabilities, spelling: Callable[[str], Uri] = Uri
) -> dict[str, Any]:
    """The edit as an LSP WorkspaceEdit: `documentChanges` if the client supports them, else `changes` by URI.

    `changes` can hold text edits only; the caller makes no other operations for such a client.
    """
    if not can.document_changes:
        changes: dict[str, list[dict[str, Any]]] = {}
        for operation in edit.operations:
            if operation.kind == "text":
                text_edits = [_text_edit(each) for each in operation.edits]
                changes.setdefault(spelling(operation.uri), []).extend(text_edits)
        return {"changes": changes}
    annotated = edit.needs_confirmation and can.change_annotations
    annotation = {"annotationId": _ANNOTATION} if annotated else {}
    result: dict[str, Any] = {
        "documentChanges": [_operation(each, annotation, spelling) for each in edit.operations]
    }
    if annotated:
        result["changeAnnotations"] = {_ANNOTATION: {"label": edit.label, "needsConfirmation": True}}
    return result


def _operation(
    operation: Operation, annotation: dict[str, str], spelling: Callable[[str], Uri]
) -> dict[str, Any]:
    uri = spelling(operation.uri)
    no_overwrite = {"overwrite": False, "ignoreIfExists": False}
    match operation.kind:
        case "text":
            return {
                "textDocument": {"uri": uri, "version": operation.version},
                "edits": [{**_text_edit(edit), **annotation} for edit in operation.edits],
            }
        case "create":
            return {"kind": "create", "uri": uri, "options": no_overwrite, **annotation}
        case "rename":
            return {
                "kind": "rename",
                "oldUri": uri,
                "newUri": operation.new_uri,
                "options": no_overwrite,
                **annotation,
            }
        case "delete":
            options = {"recursive": operation.recursive, "ignoreIfNotExists": False}
            return {"kind": "delete", "uri": uri, "options": options, **annotation}
        case _:
            assert_never(operation)


def _text_edit(edit: TextEdit) -> dict[str, Any]:
    start, end = edit.range.start, edit.range.end
    return {
        "range": {
            "start": {"line": start.line, "character": start.character},
            "end": {"line": end.line, "character": end.character},
        },
        "newText": edit.new_text,
    }
