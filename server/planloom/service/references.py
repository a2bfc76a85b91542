"""References of requests, resolved against the workspace as the user sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from planloom.domain.attachments import Attachment, ResolvedAttachment, Unresolved
from planloom.domain.changes import sha256
from planloom.domain.text import LineIndex, Position, Range
from planloom.domain.values import AttachmentId, Sha256
from planloom.intake.references import Reference, find_references
from planloom.service.requests import RequestContext, Resolution
from planloom.settings import Settings
from planloom.workspace.paths import PathRefused, resolve
from planloom.workspace.view import WorkspaceView


class WorkspaceReferences:
    """Resolves what a message names: open buffers first, unsaved text included, then the disk."""

    def __init__(self, view: WorkspaceView, settings: Callable[[], Settings]) -> None:
        self._view = view
        self._settings = settings

    async def resolve(
        self, text: str, context: RequestContext | None, confirmed: tuple[str, ...] = ()
    ) -> Resolution:
        """Every reference of the text, once."""
        attachments: list[ResolvedAttachment] = []
        unresolved: list[Unresolved] = []
        for number, reference in enumerate(find_references(text), start=1):
            found = await self._one(reference, AttachmentId(f"attachment_{number}"), confirmed)
            if isinstance(found, Unresolved):
                unresolved.append(found)
            else:
                attachments.append(found)
        return Resolution(attachments=tuple(attachments), unresolved=tuple(unresolved))

    async def _one(
        self, reference: Reference, ident: AttachmentId, confirmed: tuple[str, ...]
    ) -> ResolvedAttachment | Unresolved:
        if reference.kind == "link":
            return ResolvedAttachment(
                attachment=Attachment(attachment_id=ident, kind="link", reference=reference.text)
            )
        for reading in reference.readings:
            place = await asyncio.to_thread(resolve, self._view.roots, reading.path, for_="read")
            if isinstance(place, PathRefused):
                continue
            seen = await self._view.snapshot(place.uri)
            if not seen.exists or seen.text is None:
                continue
            span: Range | None = None
            text = seen.text
            if reading.lines is not None:
                index = LineIndex(text)
                last = min(reading.lines.last, index.line_count)
                span = Range(
                    start=Position(line=reading.lines.first - 1, character=0),
                    end=Position(line=last, character=0),
                )
                text = text[index.offset(span.start, "utf-16") : index.offset(span.end, "utf-16")]
            attachment = Attachment(
                attachment_id=ident,
                kind="file",
                reference=reference.text,
                uri=place.uri,
                label=place.relative,
                range=span,
                bytes=len(text.encode("utf-8", "surrogatepass")),
                version=seen.version,
                sha256=sha256(text),
            )
            return ResolvedAttachment(attachment=attachment, text=text)
        return Unresolved(
            reference=reference.text, code="not_found", message=f"There is no file for {reference.text}."
        )

    def attached(
        self, attachments: tuple[Attachment, ...], text_of: Callable[[Sha256], str | None]
    ) -> tuple[ResolvedAttachment, ...]:
        """The attachments of a plan with their texts, as they were when it began."""
        return tuple(
            ResolvedAttachment(attachment=each, text=text_of(each.sha256) if each.sha256 else None)
            for each in attachments
        )
