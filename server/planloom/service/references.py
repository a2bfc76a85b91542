"""Resolves and completes the references of requests against the workspace, unsaved text included."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from planloom.domain.plans.attachments import Attachment, ResolvedAttachment, Unresolved
from planloom.domain.safety.protected import is_secret
from planloom.domain.values import Sha256, Uri
from planloom.execution.session import Session
from planloom.execution.workspace_index import WorkspaceIndex
from planloom.intake.completion import Completion, OpenDocument, complete, with_resources, with_symbols
from planloom.intake.reference_sources import Context, Limits, Requested, Resolution
from planloom.intake.resolve import look_again, resolve_references
from planloom.intake.workspace_sources import WorkspaceSources
from planloom.service.pasted_images import keep_image
from planloom.workspace.documents import Document

RECENT = 50
"""How many files count as recently opened."""


class WorkspaceReferences:
    """References to one workspace. `text_of` finds the kept text of an attachment by its hash."""

    def __init__(
        self, session: Session, index: WorkspaceIndex, text_of: Callable[[Sha256], str | None]
    ) -> None:
        self._session = session
        self._view = session.view
        self._index = index
        self._text_of = text_of
        self._recent: deque[Uri] = deque(maxlen=RECENT)
        self._sources = WorkspaceSources(
            session.view,
            index.current,
            lambda: session.editor,
            session.programs,
            lambda: session.language,
            lambda: session.external,
        )
        session.view.documents.listen(self._note_recent)

    async def resolve(
        self,
        text: str,
        context: Context | None,
        confirmed: tuple[str, ...] = (),
        requested: tuple[Requested, ...] = (),
    ) -> Resolution:
        """Every reference of the text and every requested attachment, each once."""
        limits = Limits(reference_bytes=self._session.settings.context.max_reference_bytes)
        return await resolve_references(text, self._sources, context, confirmed, limits, requested)

    async def look_again(self, attachment: Attachment) -> ResolvedAttachment | Unresolved | None:
        """Re-read an attachment; None if its text is unchanged."""
        limits = Limits(reference_bytes=self._session.settings.context.max_reference_bytes)
        return await look_again(attachment, self._sources, limits)

    async def with_images(self, attachments: Sequence[ResolvedAttachment]) -> tuple[ResolvedAttachment, ...]:
        """The attachments, with the images as they are now."""
        found = [
            await self.look_again(each.attachment) if each.attachment.kind == "image" else each
            for each in attachments
        ]
        return tuple(
            now if isinstance(now, ResolvedAttachment) else each
            for now, each in zip(found, attachments, strict=True)
        )

    async def find(self, reference: str) -> tuple[ResolvedAttachment, ...]:
        """The thing that a reference names now, read again with its text."""
        return (await self.resolve(reference, None)).attachments

    async def keep_image(self, data: bytes) -> Uri:
        """Keep an image that has no file; its URI. Raises what `pasted_images.keep_image` raises."""
        return await keep_image(self._session, data)

    async def complete(self, text: str, offset: int, limit: int, context: Context | None) -> Completion:
        """The completions at `offset`, in UTF-16 code units."""
        index = self._index.current()
        documents = [
            found
            for document in self._view.documents.all()
            if (found := self._open(document, context)) is not None
        ]
        recents = [path for uri in self._recent if (path := index.path_of(uri)) is not None]
        files = await complete(text, offset, index, documents, recents, limit)
        known = await with_symbols(files, text, offset, self._sources.symbols_like)
        return await with_resources(known, text, offset, self._sources.resources_of)

    def recent(self) -> tuple[str, ...]:
        """The workspace's files that the user has opened, the latest first, without those that may hold secrets."""
        index = self._index.current()
        paths = (index.path_of(uri) for uri in self._recent)
        return tuple(path for path in paths if path and not is_secret(path))

    def _open(self, document: Document, context: Context | None) -> OpenDocument | None:
        path = self._index.current().path_of(document.uri)
        if path is None:
            return None
        active = context is not None and context.uri is not None and self._same(context.uri, document)
        selected = tuple(
            (span.start.line + 1, span.end.line + 1)
            for span in (context.selections if context and active else ())
        )
        return OpenDocument(path, document.text.count("\n") + 1, selected, active)

    def _same(self, uri: Uri, document: Document) -> bool:
        found = self._view.documents.get(uri)
        return found is not None and found.uri == document.uri

    def _note_recent(self, uri: Uri) -> None:
        if self._view.documents.get(uri) is not None and (not self._recent or self._recent[0] != uri):
            if uri in self._recent:
                self._recent.remove(uri)
            self._recent.appendleft(uri)

    def attached(self, attachments: Sequence[Attachment]) -> tuple[ResolvedAttachment, ...]:
        """The attachments with their texts at the time when they were attached."""
        return tuple(
            ResolvedAttachment(attachment=each, text=self._text_of(each.sha256) if each.sha256 else None)
            for each in attachments
        )
