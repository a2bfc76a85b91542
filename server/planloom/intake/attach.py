"""Attaches files, parts of files, folder trees and images, within limits."""

from __future__ import annotations

from collections.abc import Iterable

from planloom.domain.changes import sha256
from planloom.domain.image_types import named_image_type
from planloom.domain.plans.attachments import (
    Attachment,
    ResolvedAttachment,
    Unresolved,
    UnresolvedCode,
    source_key,
)
from planloom.domain.text.positions import Encoding, LineIndex, Range
from planloom.domain.values import AttachmentId, Uri
from planloom.intake.contents import MOST_ENTRIES, Cut, cut, lines_of, tree_of
from planloom.intake.languages import language_of
from planloom.intake.reference_sources import Limits, ReferenceSources, Resolution
from planloom.intake.references import LineSpan
from planloom.workspace.paths.names import PathCode, quoted
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath
from planloom.workspace.snapshots import Snapshot

Found = ResolvedAttachment | Unresolved

_CODES: dict[PathCode, UnresolvedCode] = {
    "outside": "outside",
    "foreign": "outside",
    "forbidden": "outside",
    "ambiguous": "ambiguous",
    "no_folder": "no_context",
    "special": "binary",
    "unreadable": "undecodable",
}


class Attachments:
    """The attachments of one request so far, without duplicates, and the size that is left for more."""

    def __init__(self, sources: ReferenceSources, confirmed: Iterable[str], limits: Limits) -> None:
        self._sources = sources
        self._confirmed = frozenset(map(bare, confirmed))
        self._limits = limits
        self._left = limits.total_bytes
        self._attached: list[ResolvedAttachment] = []
        self._unresolved: list[Unresolved] = []
        self._keys: set[tuple[str, str, Range | None]] = set()

    def resolution(self) -> Resolution:
        """Everything so far, in order."""
        return Resolution(attachments=tuple(self._attached), unresolved=tuple(self._unresolved))

    async def attach(
        self,
        place: ResolvedPath | PathRefused,
        reference: str,
        lines: LineSpan | None = None,
        label: str | None = None,
        range_: Range | None = None,
    ) -> Found:
        """Attach a file, some lines of it, a folder or an image."""
        if isinstance(place, PathRefused):
            return refused(reference, place)
        refusal = self.secret(place, reference)
        if refusal is not None:
            return refusal
        if named_image_type(place.relative) is not None and lines is None and range_ is None:
            return await self._image(place, reference, label)
        snapshot = await self._sources.snapshot(place.uri)
        if snapshot.problem == "folder":
            return await self._folder(place, reference, label)
        if snapshot.text is None:
            return self._described(place, reference, snapshot, whole=lines is None and range_ is None)
        text = snapshot.text
        if lines is not None:
            part = lines_of(text, lines, self._sources.encoding)
            if isinstance(part, int):
                sentence = f"{quoted(place.relative)} has {part} lines; there is no line {min(lines)}."
                return Unresolved(reference=reference, code="not_found", message=sentence)
            text, range_ = part
        elif range_ is not None:
            text = inside(text, range_, self._sources.encoding)
        return self.resolved(
            text_of(place.uri, reference, label or place.relative),
            self.cut(text),
            {
                "range": range_,
                "language_id": self._sources.language_id(snapshot.uri) or language_of(place.relative),
                "secret": place.secret or None,
                "version": snapshot.version,
                "note": _source_note(place, snapshot),
            },
        )

    async def _folder(self, place: ResolvedPath, reference: str, label: str | None) -> Found:
        below = await self._sources.below(place, MOST_ENTRIES + 1)
        tree = tree_of("", below)
        part = self.cut(tree)
        note = f"Only the first {MOST_ENTRIES} names are listed." if len(below) > MOST_ENTRIES else None
        name = place.root.name if place.relative == "." else place.relative
        return self.resolved(
            text_of(place.uri, reference, label or f"{name}/").model_copy(update={"kind": "folder"}),
            part._replace(truncated=part.truncated or note is not None, note=part.note or note),
            {},
        )

    async def _image(self, place: ResolvedPath, reference: str, label: str | None) -> Found:
        data = await self._sources.image(place, self._limits.image_bytes)
        attachment = Attachment(
            attachment_id=AttachmentId(""),
            kind="image",
            reference=reference,
            uri=place.uri,
            label=label or place.relative,
            bytes=len(data) if data is not None else 0,
            truncated=data is None,
            note=None
            if data is not None
            else "The image cannot be read, or is too large; only its name is attached.",
        )
        return ResolvedAttachment(attachment=attachment, image=data)

    def _described(self, place: ResolvedPath, reference: str, snapshot: Snapshot, *, whole: bool) -> Found:
        """A file whose text cannot be attached: only described if the whole was requested, else refused."""
        name = quoted(place.relative)
        size = f"{snapshot.size:,} bytes"
        code: UnresolvedCode
        match snapshot.problem:
            case "binary":
                code, sentence = "binary", f"{name} is binary ({size}); only its name is attached."
            case "undecodable":
                code, sentence = (
                    "undecodable",
                    f"{name} ({size}) is in an unknown encoding; only its name is attached.",
                )
            case "too_large":
                code, sentence = "too_large", f"{name} is too large ({size}); only its name is attached."
            case _:
                detail = snapshot.detail or f"{name} no longer exists. Name another file."
                return Unresolved(reference=reference, code="not_found", message=detail)
        if not whole:
            return Unresolved(reference=reference, code=code, message=sentence)
        attachment = text_of(place.uri, reference, place.relative).model_copy(
            update={
                "bytes": snapshot.size,
                "truncated": True,
                "note": sentence,
                "secret": place.secret or None,
            }
        )
        return ResolvedAttachment(attachment=attachment)

    def secret(self, place: ResolvedPath, reference: str) -> Unresolved | None:
        """The refusal to attach a secret that was not confirmed; None if it may be attached."""
        if not place.secret or not self._confirmed.isdisjoint((bare(reference), place.relative)):
            return None
        sentence = (
            f"{quoted(place.relative)} may hold secrets, which would be sent to a model."
            " Confirm that it may be attached, then ask again."
        )
        return Unresolved(reference=reference, code="secret", message=sentence)

    def cut(self, text: str) -> Cut:
        """The text, cut to the limit of one attachment and to the size that is left for all."""
        return cut(text, max(0, min(self._limits.reference_bytes, self._left)))

    def resolved(self, attachment: Attachment, part: Cut, more: dict[str, object]) -> ResolvedAttachment:
        """The attachment with its text and further fields; its size counts against the limit for all."""
        self._left -= min(part.bytes, self._limits.reference_bytes)
        note = " ".join(filter(None, (part.note, str(more.pop("note", None) or ""))))
        whole = attachment.model_copy(
            update={
                **more,
                "bytes": part.bytes,
                "truncated": part.truncated,
                "note": note or None,
                "sha256": sha256(part.text),
            }
        )
        return ResolvedAttachment(attachment=whole, text=part.text)

    def add(self, found: Found) -> None:
        """Add the result of one reference."""
        if isinstance(found, Unresolved):
            if found not in self._unresolved:
                self._unresolved.append(found)
            return
        key = source_key(found.attachment)
        if key in self._keys:
            return
        self._keys.add(key)
        ident = AttachmentId(f"attachment_{len(self._attached) + 1}")
        numbered = found.attachment.model_copy(update={"attachment_id": ident})
        self._attached.append(found.model_copy(update={"attachment": numbered}))


def text_of(uri: Uri, reference: str, label: str) -> Attachment:
    """An attachment without its content."""
    return Attachment(attachment_id=AttachmentId(""), kind="file", reference=reference, uri=uri, label=label)


def inside(text: str, span: Range, encoding: Encoding) -> str:
    """The text of a range, which may be backward."""
    index = LineIndex(text)
    start, end = sorted((index.offset(span.start, encoding), index.offset(span.end, encoding)))
    return text[start:end]


def _source_note(place: ResolvedPath, snapshot: Snapshot) -> str | None:
    """A note on the source of the text: an unsaved buffer or a link."""
    if snapshot.dirty:
        return "This is the text in the editor, which is not saved yet."
    return f"It is a link to {quoted(place.relative)}." if place.is_link else None


def refused(reference: str, place: PathRefused) -> Unresolved:
    """The refusal of the path resolver as an unresolved reference."""
    return Unresolved(
        reference=reference,
        code=_CODES.get(place.code, "not_found"),
        message=place.reason,
        candidates=place.candidates,
    )


def bare(reference: str) -> str:
    """A reference without its `@` and quote marks."""
    return reference.strip().removeprefix("@").strip('"“”')
