"""The files of the client's editor: its live buffers where it offers them, else the disk alone.

The protocol has no versions and tells of no typing. So a text is asked for whenever it is read, and compared once more
right before it is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, MutableMapping, Sequence
from typing import Any, Final

from acp.exceptions import RequestError

from planloom.acp.client import WRITE_SECONDS, Client, within
from planloom.domain.text.positions import ContentChange, apply_edits, dominant_eol, with_eol
from planloom.domain.values import Args, Json, Uri
from planloom.workspace.disk import read
from planloom.workspace.documents import DocumentStore
from planloom.workspace.editor import (
    EditAnswer,
    EditorCapabilities,
    EditorEdit,
    EditorSilent,
    FileDiagnostics,
    FolderAnswer,
    LanguageMethod,
    SaveAnswer,
    SaveFailure,
    TextOperation,
)
from planloom.workspace.paths.resolver import PathRefused
from planloom.workspace.paths.roots import Roots
from planloom.workspace.paths.uris import to_path
from planloom.workspace.snapshots import BOM, Snapshot
from planloom.workspace.view import WorkspaceView, confined_path

_AT_ONCE: Final = 16
_LANGUAGE: Final = "plaintext"
_MOVED_ON: Final = "The client's editor has another version of the text."


class LiveView(WorkspaceView):
    """The workspace with the texts of the client's editor, asked for whenever a file is read."""

    def __init__(self, roots: Roots, client: Client, session_id: str) -> None:
        super().__init__(roots, DocumentStore("utf-16"), refresh=self._refresh)
        self._client = client
        self._session_id = session_id
        self._requests = asyncio.Semaphore(_AT_ONCE)

    async def snapshots(
        self, uris: Sequence[str], ahead: MutableMapping[Uri, Snapshot] | None = None
    ) -> tuple[Snapshot, ...]:
        """The current states of several files; those that are read anew are refreshed by that."""
        known = [Uri(uri) for uri in uris if self.buffer(uri) is not None or (ahead and uri in ahead)]
        await self._refresh(known)
        return await super().snapshots(uris, ahead)

    async def _refresh(self, uris: Iterable[Uri]) -> frozenset[Uri]:
        """Take over the texts of the editor. Returns the files of which it does not tell in time."""
        if not self._client.abilities.read:
            return frozenset()
        asked = list(dict.fromkeys(uris))
        told = await asyncio.gather(*map(self._is_told, asked))
        return frozenset(uri for uri, known in zip(asked, told, strict=True) if not known)

    async def _is_told(self, uri: Uri) -> bool:
        try:
            await self.live_text(uri)
        except EditorSilent:
            return False
        return True

    async def live_text(self, uri: Uri) -> str | None:
        """The text of a file in the editor, or else on the disk; None if it has none. Raises EditorSilent.

        A buffer whose text the disk has counts as closed: it is changed as the disk is.
        """
        place = await asyncio.to_thread(self.locate, uri, "read")
        if isinstance(place, PathRefused) or place.secret:
            # A file that may hold secrets is read where the user has confirmed it, and not shown around for it.
            return None
        found = await asyncio.to_thread(read, confined_path(place), self.limit)
        disk = None if found.decoded is None else found.decoded.text
        can_be_open = found.kind == "missing" or (
            found.decoded is not None and found.decoded.encoding == "utf-8"
        )
        async with self._requests:
            told = await self._client.read(self._session_id, str(to_path(place.uri))) if can_be_open else None
        if told is None or (disk is None and not told) or (disk is not None and _same(told, disk)):
            self.documents.did_close(uri)
            return disk
        text = told.removeprefix(BOM)
        if disk is not None and dominant_eol(disk) == "\r\n" and "\r" not in text:
            # Editors count a line end as one character, and write the file's own.
            text = with_eol(text, "\r\n")
        self.put(uri, text, on_disk=disk or "")
        return text

    def put(self, uri: Uri, text: str, *, on_disk: str | None = None) -> None:
        """The editor has this text of a file now."""
        document = self.documents.get(uri)
        if document is None:
            self.documents.did_open(uri, _LANGUAGE, 1, text, on_disk=on_disk)
        elif document.text != text:
            self.documents.did_change(uri, document.version + 1, (ContentChange(text),))


class AcpEditor:
    """The client's editor as the tools see it: it writes texts of files that exist; the rest is done on disk."""

    def __init__(self, client: Client, view: LiveView, session_id: str) -> None:
        self._client = client
        self._view = view
        self._session_id = session_id

    @property
    def capabilities(self) -> EditorCapabilities:
        """Edits of texts, where it can be asked both what a text is and to write it."""
        can = self._client.abilities
        return EditorCapabilities(apply_edit=can.read and can.write, encoding=self._view.documents.encoding)

    async def apply(self, edit: EditorEdit) -> EditAnswer:
        """Write the texts, unless one of them is no longer what the edit was made from. Raises EditorSilent."""
        changed: list[tuple[TextOperation, str]] = []
        # Before the first wait: the buffers are still as they were compared.
        documents = {operation.uri: self._view.buffer(operation.uri) for operation in edit.operations}
        for index, operation in enumerate(edit.operations):
            assert isinstance(operation, TextOperation), "it has declared no other capability"
            document = documents[operation.uri]
            before = await self._on_disk(operation.uri) if document is None else document.text
            if before is None or not _same(before, await self._view.live_text(operation.uri) or ""):
                return EditAnswer(applied=False, reason=_MOVED_ON, failed_change=index)
            changed.append((operation, apply_edits(before, operation.edits, self._view.documents.encoding)))
        for index, (operation, text) in enumerate(changed):
            try:
                text.encode()
            except UnicodeEncodeError:
                reason = "The protocol cannot carry half of a surrogate pair."
                return EditAnswer(applied=False, reason=reason, failed_change=index)
            answer = await self._written(operation.uri, text)
            if not answer.applied:
                return answer._replace(failed_change=index)
        return EditAnswer(applied=True)

    async def _on_disk(self, uri: Uri) -> str | None:
        place = await asyncio.to_thread(self._view.locate, uri, "write")
        if isinstance(place, PathRefused):
            return None
        found = await asyncio.to_thread(read, confined_path(place), self._view.limit)
        return None if found.decoded is None else found.decoded.text

    async def _written(self, uri: Uri, text: str) -> EditAnswer:
        place = await asyncio.to_thread(self._view.locate, uri, "write")
        if isinstance(place, PathRefused):
            return EditAnswer(applied=False, reason=place.reason)
        # The client knows the folder as it has opened it; below that no link is followed.
        request = self._client.write(self._session_id, str(to_path(place.uri)), text)
        try:
            await within(request, WRITE_SECONDS)
        except RequestError as error:
            return EditAnswer(applied=False, reason=str(error))
        except EditorSilent as silent:
            if request.done():
                raise
            raise EditorSilent(str(silent), late=_late(request), seconds=WRITE_SECONDS) from None
        if self._view.documents.get(uri) is not None:
            self._view.put(uri, text)
        return EditAnswer(applied=True)

    async def save(self, uris: tuple[Uri, ...]) -> SaveAnswer:
        """It cannot be asked to save; clients do when they write."""
        return SaveAnswer(failed=tuple(SaveFailure(uri, "The protocol cannot ask for it.") for uri in uris))

    async def create_folder(self, uri: Uri) -> FolderAnswer:  # noqa: ARG002
        """Folders are made on disk."""
        return FolderAnswer(created=False, reason="The protocol cannot ask for it.")

    async def diagnostics(self, uris: tuple[Uri, ...]) -> tuple[FileDiagnostics, ...]:  # noqa: ARG002
        """The protocol has none; language servers of our own are asked instead. Raises EditorSilent."""
        raise EditorSilent("The protocol has no diagnostics.")

    async def language(self, method: LanguageMethod, params: Args) -> Json:  # noqa: ARG002
        """The protocol has no questions about code. Raises EditorSilent."""
        raise EditorSilent("The protocol has no questions about code.")


def _same(one: str, other: str) -> bool:
    """Whether texts are equal but for line ends and a byte order mark, which editors keep to themselves."""
    return with_eol(one.removeprefix(BOM), "\n") == with_eol(other.removeprefix(BOM), "\n")


def _late(request: asyncio.Task[Any]) -> asyncio.Future[EditAnswer | None]:
    """The answer to a write that is no longer waited for; None if the connection closes before it comes."""
    late: asyncio.Future[EditAnswer | None] = asyncio.get_running_loop().create_future()

    def arrived(_: asyncio.Task[Any]) -> None:
        error = None if request.cancelled() else request.exception()
        if request.cancelled() or isinstance(error, ConnectionError):
            late.set_result(None)
        else:
            late.set_result(EditAnswer(applied=error is None, reason=None if error is None else str(error)))

    request.add_done_callback(arrived)
    return late
