"""Resolves and completes the references of requests against the workspace, unsaved text included."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable

from planloom.domain.plans.attachments import Attachment, ResolvedAttachment, Unresolved
from planloom.domain.values import Sha256, Uri
from planloom.execution.jobs import Jobs
from planloom.intake.completion import Completion, OpenDocument, complete
from planloom.intake.reference_sources import Context, Limits, Requested, Resolution
from planloom.intake.resolve import look_again, resolve_references
from planloom.intake.workspace_sources import WorkspaceSources
from planloom.settings import Settings
from planloom.workspace.documents import Document
from planloom.workspace.editor import Editor
from planloom.workspace.index.file_index import Changed, FileIndex
from planloom.workspace.index.programs import Programs
from planloom.workspace.view import WorkspaceView

RECENT = 50
"""How many files count as recently opened."""


class WorkspaceReferences:
    """References to one workspace, and its index, which is built in the background."""

    def __init__(
        self,
        view: WorkspaceView,
        editor: Editor,
        settings: Callable[[], Settings],
        jobs: Jobs,
        programs: Programs,
    ) -> None:
        self._view = view
        self._settings = settings
        self._jobs = jobs
        self._programs = programs
        self._index = FileIndex(())
        self._excluded: tuple[str, ...] = ()
        self._listings = itertools.count(1)
        self._recent: deque[Uri] = deque(maxlen=RECENT)
        self._sources = WorkspaceSources(view, lambda: self._index, lambda: editor)
        view.documents.listen(self._note_recent)

    def index(self) -> FileIndex:
        """The index of the open folders; a new one if the folders or `context.exclude` have changed."""
        folders, exclude = self._view.roots.folders, self._settings().context.exclude
        if (self._index.folders, self._excluded) != (folders, exclude):
            self._index = FileIndex(folders, exclude=exclude, programs=self._programs)
            self._excluded = exclude
            self.rescan()
        return self._index

    def rescan(self) -> asyncio.Task[None]:
        """Rebuild the index in the background, even if a build is running: that may have missed the latest changes."""
        return self._jobs.start(f"index:{next(self._listings)}", self._index.build())

    async def changed(self, changes: tuple[Changed, ...]) -> None:
        """Update the index with files that were created, deleted or changed."""
        await self.index().update(changes)

    async def resolve(
        self,
        text: str,
        context: Context | None,
        confirmed: tuple[str, ...] = (),
        requested: tuple[Requested, ...] = (),
    ) -> Resolution:
        """Every reference of the text and every requested attachment, each once."""
        self.index()
        limits = Limits(reference_bytes=self._settings().context.max_reference_bytes)
        return await resolve_references(text, self._sources, context, confirmed, limits, requested)

    async def look_again(self, attachment: Attachment) -> ResolvedAttachment | Unresolved | None:
        """Re-read an attachment; None if it is unchanged."""
        limits = Limits(reference_bytes=self._settings().context.max_reference_bytes)
        return await look_again(attachment, self._sources, limits)

    async def complete(self, text: str, offset: int, limit: int, context: Context | None) -> Completion:
        """The completions at `offset`, in UTF-16 code units."""
        index = self.index()
        documents = [
            found
            for document in self._view.documents.all()
            if (found := self._open(document, context)) is not None
        ]
        recents = [path for uri in self._recent if (path := index.path_of(uri)) is not None]
        return await complete(text, offset, index, documents, recents, limit)

    def _open(self, document: Document, context: Context | None) -> OpenDocument | None:
        path = self._index.path_of(document.uri)
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

    def attached(
        self, attachments: tuple[Attachment, ...], text_of: Callable[[Sha256], str | None]
    ) -> tuple[ResolvedAttachment, ...]:
        """The attachments with their texts at the time when they were attached."""
        return tuple(
            ResolvedAttachment(attachment=each, text=text_of(each.sha256) if each.sha256 else None)
            for each in attachments
        )
